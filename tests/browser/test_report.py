"""The page of `testbed report` in a browser: charts, tables, keys, colours, paper, and nothing that leaves the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.main import main
from testbed.look.report.writing import write_report
from tests.browser.conftest import Opened
from tests.browser.real_time import REAL_TIME, Runs
from tests.testbed.cli.swept import swept
from tests.testbed.tiny import only_run, write_tiny

pytestmark = pytest.mark.xdist_group("browser")
Open = Callable[..., Opened]
MORE = "trace: events\nrepeat: 3\nwarmup: 10\n"
CHANGING = "{kind: random, connectivity: 0.4, link_change_rate: 0.5}"
HOSTILE = "</script><img src=http://example.org/x onerror=alert(1)>\u202e<b>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    scenario = write_tiny(folder, MORE, topology=CHANGING, nodes="8", duration="300")
    assert main(["run", str(scenario), "--out", str(folder / "runs")]) == 0
    return only_run(folder / "runs")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def run_page(run: Path) -> Path:
    return write_report(run)


@pytest.fixture(scope="module")
def study_page(study: Path) -> Path:
    return write_report(study)


@pytest.fixture
def any_page(request: pytest.FixtureRequest, run_page: Path, real_time_runs: Runs) -> Path:
    """The page of the run on `sim`, or of that of a backend in real time; see `over_backends`."""
    return run_page if request.param == "sim" else write_report(real_time_runs[request.param])


over_backends = pytest.mark.parametrize("any_page", ["sim", *REAL_TIME], indirect=True)
"""For tests of what must work with the log of any backend."""


def painted(page: Any, selector: str) -> dict[str, int]:
    """How many pixels of a canvas have each colour, as `r,g,b,a`."""
    counts: dict[str, int] = page.locator(selector).first.evaluate(
        """canvas => {
            const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, counts = {};
            for (let at = 0; at < pixels.length; at += 4) {
                const colour = pixels.slice(at, at + 4).join(",");
                counts[colour] = (counts[colour] || 0) + 1;
            }
            return counts;
        }"""
    )
    return counts


@over_backends
def test_every_chart_is_drawn(any_page: Path, opened: Open) -> None:
    one = opened(any_page)
    figures = one.page.locator("figure.chart")
    titles = figures.locator("figcaption").all_inner_texts()
    assert {"Entries by node", "Messages by type", "Units in use", "Mean degree"} <= set(titles)
    charts = {chart["title"]: chart for chart in json.loads(one.page.locator("#charts").text_content())}
    has_entries = any(charts["Entries by node"]["series"][0]["values"])  # on a busy machine, perhaps none
    assert ("Waiting times" in titles) == has_entries
    for index in range(len(titles)):
        assert len(painted(one.page, f"figure[data-chart='{index}'] .uplot canvas")) > 5, titles[index]
    one.assert_well_behaved()


@over_backends
def test_the_table_of_a_chart_has_its_numbers(any_page: Path, opened: Open) -> None:
    one = opened(any_page)
    charts = json.loads(one.page.locator("#charts").text_content())
    (index,) = [index for index, chart in enumerate(charts) if chart["title"] == "Entries by node"]
    figure = one.page.locator(f"figure[data-chart='{index}']")
    figure.locator("summary").focus()
    one.page.keyboard.press("Enter")
    figure.locator("tbody tr").first.wait_for()
    cells = figure.locator("tbody td").all_inner_texts()
    assert [float(cell) for cell in cells] == charts[index]["series"][0]["values"]
    assert figure.locator("tbody th").all_inner_texts() == charts[index]["x"]


@over_backends
def test_arrow_keys_read_the_values(any_page: Path, opened: Open) -> None:
    one = opened(any_page)
    charts = json.loads(one.page.locator("#charts").text_content())
    (index,) = [index for index, chart in enumerate(charts) if chart["title"] == "Entries by node"]
    figure = one.page.locator(f"figure[data-chart='{index}']")
    figure.locator(".plot").focus()
    values = charts[index]["series"][0]["values"]
    last = len(values) - 1
    for key, node in (("ArrowRight", 0), ("ArrowRight", 1), ("End", last), ("ArrowLeft", last - 1), ("Home", 0)):
        one.page.keyboard.press(key)
        entries = values[node]
        assert figure.locator("output").inner_text() == f"node {node}: entries {entries:g}"
    one.page.keyboard.press("Escape")
    assert figure.locator("output").inner_text() == ""
    one.assert_well_behaved()


def test_tables_are_sorted(run_page: Path, opened: Open) -> None:
    """By click and by key, as numbers, with what was not measured last, and a screen reader is told."""
    one = opened(run_page)
    table = one.page.locator("#nodes table")
    heads = table.locator("thead th")
    column = [text.strip() for text in heads.all_inner_texts()].index("entries")

    def entries() -> list[float]:
        return [float(row.locator("th, td").nth(column).inner_text()) for row in table.locator("tbody tr").all()]

    before = entries()
    heads.nth(column).locator("button").click()
    assert entries() == sorted(before)
    assert heads.nth(column).get_attribute("aria-sort") == "ascending"
    heads.nth(column).locator("button").focus()
    one.page.keyboard.press("Enter")
    assert entries() == sorted(before, reverse=True)
    assert [head.get_attribute("aria-sort") for head in heads.all()].count("none") == heads.count() - 1
    metrics = one.page.locator("#metrics table")
    p95 = [text.strip() for text in metrics.locator("thead th").all_inner_texts()].index("p95")
    for _ in range(2):
        metrics.locator("thead button").nth(p95).click()
        cells = [row.locator("th, td").nth(p95).inner_text() for row in metrics.locator("tbody tr").all()]
        assert "-" in cells
        measured = [float(cell) for cell in cells[: cells.index("-")]]
        assert set(cells[len(measured) :]) == {"-"}
        assert measured in (sorted(measured), sorted(measured, reverse=True))


def test_the_legend_hides_a_line(run_page: Path, opened: Open) -> None:
    one = opened(run_page)
    figure = one.page.locator("figure[data-chart='0']")
    before = painted(one.page, "figure[data-chart='0'] .uplot canvas")
    button = figure.locator(".legend button").first
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    one.page.wait_for_timeout(50)
    assert painted(one.page, "figure[data-chart='0'] .uplot canvas") != before
    figure.locator(".each input").uncheck()
    assert {one.get_attribute("aria-pressed") for one in figure.locator(".legend button").all()} == {"false"}


def test_light_and_dark(run_page: Path, opened: Open) -> None:
    """As the system prefers, and the other one by a click: also the charts change their colours."""
    canvas = "figure[data-chart='0'] .uplot canvas"
    for scheme, other in (("light", "Dark"), ("dark", "Light")):
        one = opened(run_page, color_scheme=scheme)
        back = one.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert back == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 20, 26)"}[scheme]
        before = painted(one.page, canvas)
        button = one.page.locator("#theme")
        assert button.inner_text() == other
        button.click()
        one.page.wait_for_timeout(50)
        assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") != back
        assert painted(one.page, canvas) != before
        one.assert_well_behaved()


def test_on_paper(run_page: Path, opened: Open, tmp_path: Path) -> None:
    """In the light colours, also if the screen is dark; charts as wide as their column; then dark again."""
    one = opened(run_page, color_scheme="dark")
    dark = painted(one.page, "figure[data-chart='0'] .uplot canvas")
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    one.page.emulate_media(media="print")
    one.page.wait_for_timeout(50)
    assert painted(one.page, "figure[data-chart='0'] .uplot canvas") != dark
    assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not one.page.locator("nav").is_visible()
    widths = one.page.locator(".plot").evaluate_all(
        "plots => plots.map(one => [one.clientWidth, one.querySelector('canvas').getBoundingClientRect().width])"
    )
    assert all(abs(place - canvas) <= 1 for place, canvas in widths), widths
    one.page.emulate_media(media="screen")
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    one.page.wait_for_timeout(50)
    assert painted(one.page, "figure[data-chart='0'] .uplot canvas") == dark
    assert one.page.pdf(path=tmp_path / "report.pdf").startswith(b"%PDF")
    one.assert_well_behaved()


def test_no_page_is_wider_than_its_window(run_page: Path, study_page: Path, opened: Open) -> None:
    for page_file in (run_page, study_page):
        for width in (380, 1280):
            one = opened(page_file, viewport={"width": width, "height": 800})
            fits(one, width)
        one = opened(page_file, viewport={"width": 688, "height": 800})  # A4 without its margins
        one.page.emulate_media(media="print")
        fits(one, 688)


def fits(one: Opened, width: int) -> None:
    """Wait until the page is no wider than that: charts follow the window a moment later."""
    one.page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")


def test_a_study_can_be_explored(study_page: Path, opened: Open) -> None:
    """Metric, x axis, what is told apart, and values on the other axes; the numbers are those of the store."""
    one = opened(study_page)
    data = json.loads(one.page.locator("#explorer").text_content())
    explore = one.page.locator("#explore")

    def choose(label: str, option: str) -> None:
        explore.get_by_label(label, exact=True).select_option(label=option)

    def numbers() -> list[list[str]]:
        explore.locator("summary").click()
        explore.locator("tbody tr").first.wait_for()
        return [row.locator("th, td").all_inner_texts() for row in explore.locator("tbody tr").all()]

    def value(measure: str, *at: Any) -> float:
        index = [one["key"] for one in data["measures"]].index(measure)
        (found,) = [point["values"][index][0] for point in data["points"] if point["at"] == list(at)]
        return float(found)

    connectivity = "connectivity (share of all links)"
    choose("metric", "messages per CS (messages)")
    choose("x axis", connectivity)
    choose("told apart", "algorithm")
    rate = "request rate of a node (requests per time unit)"
    choose(rate, "1")
    assert f"messages per CS (messages) by {connectivity}, {rate} 1" in explore.locator("figcaption").inner_text()
    rows = numbers()
    assert [row[0] for row in rows] == ["0.4", "1"]
    assert float(rows[0][1].split(" ± ")[0]) == pytest.approx(value("messages_per_cs", "rl", 1, 0.4), rel=1e-3)
    assert float(rows[1][2].split(" ± ")[0]) == pytest.approx(value("messages_per_cs", "krl", 1, 1.0), rel=1e-3)
    choose("x axis", "algorithm")
    choose("told apart", "nothing")
    choose(connectivity, "0.4")
    rows = numbers()
    assert [row[0] for row in rows] == ["rl", "krl"]
    assert float(rows[0][1].split(" ± ")[0]) == pytest.approx(value("messages_per_cs", "rl", 1, 0.4), rel=1e-3)
    one.assert_well_behaved()


def test_hostile_texts_stay_texts(run: Path, tmp_path: Path, opened: Open) -> None:
    """Nothing of them runs or loads, neither in the page as it comes nor in what its scripts make of it."""
    waiting, more = {"mean": 1.5, "ci95": 0.5}, {"waiting_time": {"mean": 1, "ci95": 1}}
    checks = {HOSTILE: {"verdict": HOSTILE}}
    rows = [
        {"algorithm": f"{HOSTILE}{index}", "waiting_time": waiting, "checks": checks, "difference": more}
        for index in range(3)
    ]
    document = {"scenario": HOSTILE, "baseline": rows[0]["algorithm"], "rows": rows, "notes": [HOSTILE]}
    (tmp_path / "rows.json").write_text(json.dumps(document))
    one = opened(write_report(tmp_path))
    one.page.on("dialog", lambda dialog: one.errors.append(f"dialog: {dialog.message}"))
    for summary in one.page.locator("summary").all():
        summary.click()
    assert one.page.locator("img, main b").count() == 0
    assert "<img src=http://example.org/x onerror=alert(1)>" in one.page.locator("h1").inner_text()
    assert "<img" in one.page.locator("details.numbers table").first.inner_text()
    one.assert_well_behaved()


def test_the_policy_stops_what_gets_in(run_page: Path, tmp_path: Path, opened: Open) -> None:
    """If a text ever were HTML, its scripts would not run and its pictures would not be loaded."""
    page_file = tmp_path / "broken.html"
    script, picture = "<script>document.title = 'taken'</script>", "<img src='https://example.org/x'>"
    evil = f"{script}{picture}<p style='color:red'>x</p>"
    page_file.write_text(run_page.read_text().replace("<main>", f"<main>{evil}", 1))
    one = opened(page_file)
    assert one.page.title() != "taken"
    assert one.requests == []
    assert len([error for error in one.errors if re.search("Content.Security.Policy", error)]) >= 3
