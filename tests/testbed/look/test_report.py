"""`testbed report`: its numbers are those of the run, the comparison or the study, and all that it shows is text."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.registry import ALGORITHMS
from analysis.metrics import summarise
from testbed.cli.main import main
from testbed.experiments.studies.open import open_results
from testbed.look.page import ASSETS
from testbed.look.report.timeline import BINS, Steps, grid_of, rates, round_width, shares_up_to
from testbed.look.report.values import finite
from testbed.look.report.verdicts import Moment
from tests.testbed.cli.swept import swept
from tests.testbed.tiny import Unsafe, is_one_line, only_run, write_tiny

Invoke = Callable[..., tuple[int, str, str]]
CHANGING = "{kind: random, connectivity: 0.4, link_change_rate: 0.5}"
CRASHES = "faults:\n  - {at: 30, kind: crash, node: 3}\n"


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call `testbed` in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def made(
    folder: Path, more: str = "trace: events\nrepeat: 3\nwarmup: 10\n", code: int = 0, **changes: str | None
) -> Path:
    """The directory of a run."""
    scenario = write_tiny(folder, more, **changes)
    assert main(["run", str(scenario), "--out", str(folder / "runs")]) == code
    return only_run(folder / "runs")


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("run"), topology=CHANGING, nodes="8", duration="200")


@pytest.fixture
def run(run_once: Path, tmp_path: Path) -> Path:
    """A copy of it, for tests that change it."""
    return Path(shutil.copytree(run_once, tmp_path / "run"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("study"))


def refused(invoke: Invoke, *arguments: object) -> str:
    """The only line of a report that is not made."""
    code, out, err = invoke("report", *arguments)
    assert (code, out) == (2, "")
    assert is_one_line(err), err
    return err


def reported(invoke: Invoke, *arguments: object) -> Page:
    code, out, err = invoke("report", *arguments)
    assert (code, err) == (0, "")
    return Page(Path(out.rstrip("\n")).read_text(encoding="utf-8"))


class Page(HTMLParser):
    """A report, as a browser would read it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, Any] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self._rows: list[list[str]] = []
        self._block: str | None = None
        self._is_hidden = self._in_caption = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self._is_hidden = tag in ("script", "style")
        self._block = attributes.get("id") if attributes.get("type") == "application/json" else None
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")
        self._in_caption = tag == "caption"

    def handle_endtag(self, tag: str) -> None:
        self._is_hidden = self._in_caption = False
        self._block = None
        if tag == "table":
            self._rows = []
        if tag not in ("b", "bdi", "span", "strong"):
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        if self._block is not None:
            self.data[self._block] = json.loads(data)
        elif self._in_caption:
            self.tables[data] = self._rows
        elif not self._is_hidden:
            self.text += data
            if self._rows and self._rows[-1]:
                self._rows[-1][-1] += data.strip()

    def chart(self, title: str) -> dict[str, Any]:
        (found,) = [one for one in self.data["charts"] if one["title"] == title]
        return dict(found)

    def table(self, beginning: str) -> list[list[str]]:
        (found,) = [rows for caption, rows in self.tables.items() if caption.startswith(beginning)]
        return found


# -- a run -------------------------------------------------------------------------------------------------------------


def test_the_numbers_of_the_run(run: Path, invoke: Invoke) -> None:
    """Tables and charts agree with the summary of the run, which was measured on line."""
    page = reported(invoke, run)
    summary = json.loads((run / "summary.json").read_text())
    header, *rows = page.table("Metrics over 3 repetitions")
    assert header == ["metric", "unit", "mean", "± 95 %", "p50", "p95", "p99", "max"]
    waiting = next(row for row in rows if row[0] == "waiting time")
    assert float(waiting[2]) == pytest.approx(summary["metrics"]["waiting_time"]["mean"], rel=1e-3)
    first = summary["repetitions"][0]["metrics"]
    header, *nodes = page.table("Nodes of repetition 0")
    assert sum(float(row[1]) for row in nodes) == first["entries"]
    assert sum(float(row[header.index("messages sent")]) for row in nodes) == sum(first["messages"].values())
    assert sum(page.chart("Entries by node")["series"][0]["values"]) == first["entries"]
    waits = page.chart("Waiting times")
    together = waits["series"][0]
    assert [one["label"] for one in waits["series"]] == ["all repetitions", *(f"repetition {n}" for n in range(3))]
    assert (together["values"][-1], waits["x"][-1]) == (1, pytest.approx(summary["metrics"]["waiting_time"]["max"]))
    assert len(page.table("Every repetition")) == 1 + 3


def test_charts_over_time_add_up(run: Path, invoke: Invoke) -> None:
    """Every message of the log is counted once, and the time inside is that of the log."""
    page = reported(invoke, run, "--repetition", 2)
    events = [json.loads(line) for line in (run / "rep-002/events.jsonl").read_text().splitlines()]
    end = events[-1]["t"] / 1e9
    messages = page.chart("Messages by type")
    middles = messages["x"]
    width = 2 * middles[0]
    lengths = [width] * (len(middles) - 1) + [end - width * (len(middles) - 1)]
    for series in messages["series"]:
        sent = sum(event["kind"] == "send" and event["type"] == series["label"] for event in events)
        assert sum(a * b for a, b in zip(series["values"], lengths, strict=True)) == pytest.approx(sent, rel=1e-4)
    mean, most, capacity = page.chart("Units in use")["series"]
    inside = sum(
        event["t"] * {"enter": -1, "exit": 1}[event["kind"]] for event in events if event["kind"] in ("enter", "exit")
    )
    assert sum(a * b for a, b in zip(mean["values"], lengths, strict=True)) == pytest.approx(inside / 1e9, rel=1e-3)
    assert max(most["values"]) <= capacity["values"][0] == 1
    assert page.chart("Units in use")["marks"] == [{"x": 10, "label": "the warmup ends"}]
    assert "Nodes of repetition 2" in next(caption for caption in page.tables if caption.startswith("Nodes"))


def test_verdicts_scenario_and_provenance(run: Path, invoke: Invoke) -> None:
    page = reported(invoke, run)
    for word in ("safety", "conservation", "starvation", "✓", "never more nodes inside than there are tokens"):
        assert word in page.text
    assert "link_change_rate: 0.5" in page.text
    meta = json.loads((run / "meta.json").read_text())
    for text in (meta["host"]["system"], meta["started"], meta["versions"]["python"]):
        assert text in page.text


def test_a_failed_check_can_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    """With its offences, and the commands that show it; they name where the log is now, and the replay works."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    run = made(tmp_path, "repeat: 2\n", 1, algorithm="unsafe").rename(tmp_path / "it was moved")
    page = reported(invoke, run)
    check = json.loads((run / "summary.json").read_text())["checks"]["safety"]
    assert check["offenders"][0] in page.text
    log = run / "failed/unsafe-rep-000"
    replays, views = (re.findall(rf"testbed {word} .*", page.text) for word in ("replay", "view"))
    assert replays
    assert all(shlex.split(one)[2] == str(log) for one in [*replays, *views])
    assert shlex.split(views[0])[3:6] == ["--repetition", "0", "--at"]
    assert not [tag for tag, attributes in page.tags if "view.html" in str(attributes.get("href"))]
    ticks = check["first"]["t"]
    (log / "view.html").write_text("")
    links = [attributes["href"] for tag, attributes in reported(invoke, run).tags if tag == "a"]
    assert f"./failed/unsafe-rep-000/view.html#t={ticks}&node={check['first']['node']}" in links
    links = [
        attributes["href"]
        for tag, attributes in reported(invoke, run, "--file", tmp_path / "r.html").tags
        if tag == "a"
    ]
    assert any(link and link.startswith("./it%20was%20moved/failed/") for link in links)
    assert invoke(*shlex.split(replays[0])[1:])[0] == 0


@pytest.mark.parametrize(
    ("trace", "missing"),
    [
        ("cs", {"Messages by type": "events", "Mean degree": "events"}),
        (
            "metrics",
            {"Messages by type": "events", "Units in use": "cs", "Waiting times": "cs", "Entries by node": "cs"},
        ),
    ],
)
def test_what_the_log_lacks(tmp_path: Path, invoke: Invoke, trace: str, missing: dict[str, str]) -> None:
    page = reported(invoke, made(tmp_path, f"trace: {trace}\n"))
    for title, wanted in missing.items():
        assert re.search(
            rf"{title}: the log has no \w+ \(trace: {trace}\); run it with --set trace={wanted}", page.text
        )
    drawn = {chart["title"] for chart in page.data["charts"]}
    assert not drawn & set(missing)
    assert ("Units in use" in drawn) is (trace == "cs")


def test_crashes_are_marked(tmp_path: Path, invoke: Invoke) -> None:
    page = reported(invoke, made(tmp_path, f"trace: events\n{CRASHES}expect: {{}}\n", nodes="6"))
    marks = page.chart("Units in use")["marks"]
    assert [mark["label"] for mark in marks if mark["x"] == 30] == ["node 3 crashes"], "once"


def test_a_run_that_was_killed(run: Path, invoke: Invoke) -> None:
    """It has no summary and half a last line: it is judged and measured from its logs."""
    (run / "summary.json").unlink()
    meta = json.loads((run / "meta.json").read_text())
    (run / "meta.json").write_text(json.dumps({**meta, "status": "running"}))
    shutil.rmtree(run / "rep-002")
    log = run / "rep-001/events.jsonl"
    log.write_bytes(log.read_bytes()[:-30])
    page = reported(invoke, run)
    assert "did not come to its end as it should (status: running)" in page.text
    assert len(page.table("Every repetition")) == 1 + 2


def test_a_usual_run_is_small(run: Path, invoke: Invoke) -> None:
    page = reported(invoke, run)
    assert len(page.html.encode()) < 5_000_000
    assert all(len(chart["x"]) <= BINS for chart in page.data["charts"])


# -- where it goes, and what is refused --------------------------------------------------------------------------------


def test_where_the_file_goes(run: Path, study: Path, tmp_path: Path, invoke: Invoke) -> None:
    assert invoke("report", run) == (0, f"{run / 'report.html'}\n", "")
    assert invoke("report", study) == (0, f"{study.with_suffix('.store') / 'report.html'}\n", "")
    assert invoke("report", run, "--file", tmp_path / "new/page.html") == (0, f"{tmp_path / 'new/page.html'}\n", "")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["page.html"]


def test_it_is_opened(run: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    for works in (True, False):
        monkeypatch.setattr("webbrowser.open", lambda address, works=works: bool(opened.append(address)) or works)
        code, out, err = invoke("report", run, "--open")
        assert (code, out) == (0, f"{run / 'report.html'}\n")
        assert ("found no browser" in err) is not works
    assert opened == [(run / "report.html").resolve().as_uri()] * 2


def test_wrong_input(run: Path, study: Path, tmp_path: Path, invoke: Invoke) -> None:
    assert "allowed: 0, 1, 2" in refused(invoke, run, "--repetition", 3)
    assert "is not a run directory" in refused(invoke, study, "--repetition", 0)
    assert "found a folder" in refused(invoke, run, "--file", tmp_path)
    assert "nothing.yaml" in refused(invoke, tmp_path / "nothing.yaml")
    (tmp_path / "empty").mkdir()
    assert "neither a run directory, nor a comparison, nor the store" in refused(invoke, tmp_path / "empty")


def rewrite(file: Path, change: Callable[[Any], Any]) -> None:
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("meta.json", "{"),
        ("meta.json", "[1]"),
        ("summary.json", '{"metrics": {}'),
        ("summary.json", '{"metrics": 1, "checks": {}}'),
        ("summary.json", '{"metrics": {}, "checks": {}, "repetitions": [1]}'),
        ("rep-001/events.jsonl", '{"t":0,"kind":"enter"}\n'),
        ("rep-001/events.jsonl", "\x00\n\n"),
    ],
)
def test_a_directory_that_makes_no_sense(run: Path, invoke: Invoke, file: str, content: str) -> None:
    (run / file).write_text(content)
    assert file in refused(invoke, run)
    assert not (run / "report.html").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"rows": 1}', '{"rows": []}', '{"rows": [1], "scenario": "x"}'])
def test_a_comparison_that_makes_no_sense(tmp_path: Path, invoke: Invoke, content: str) -> None:
    (tmp_path / "rows.json").write_text(content)
    assert "rows.json" in refused(invoke, tmp_path)


def test_a_repetition_is_gone(run: Path, invoke: Invoke) -> None:
    shutil.rmtree(run / "rep-001")
    assert "it has 2 of its 3 repetitions" in refused(invoke, run)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written(run: Path, invoke: Invoke) -> None:
    run.chmod(0o555)
    code, out, err = invoke("report", run)
    run.chmod(0o755)
    assert (code, out) == (3, "")
    assert is_one_line(err)


# -- hostile texts -----------------------------------------------------------------------------------------------------

HOSTILE = "</script><img src=x onerror=alert(1)>\u202egnp.exe<b>"
LONG = "A" * 10_000_000


def test_hostile_texts_are_text(run: Path, invoke: Invoke) -> None:
    """In the scenario, the summary, what is known of the run, and the types of messages."""
    text = (run / "scenario.yaml").read_text()
    name, description = json.dumps(HOSTILE), json.dumps(f"{HOSTILE} described")
    text = re.sub(r"(?m)^description:.*\n", "", re.sub(r"(?m)^name:.*$", lambda _: f"name: {name}", text, count=1))
    (run / "scenario.yaml").write_text(f"description: {description}\n{text}")

    def change(summary: Any) -> Any:
        checks = summary["checks"]
        checks["safety"].update(verdict="failed", detail=HOSTILE, offenders=[HOSTILE, LONG], replay=HOSTILE)
        checks[HOSTILE] = {"verdict": HOSTILE}
        checks["odd"] = 7
        summary["metrics"]["messages"][HOSTILE] = {"mean": 1, "ci95": float("inf")}
        summary["metrics"]["fairness"] = {"mean": float("nan"), "ci95": None}
        return {**summary, "unmet": [HOSTILE], "lost": [LONG], "inconclusive": 5}

    rewrite(run / "summary.json", change)
    rewrite(run / "meta.json", lambda meta: {**meta, "commit": HOSTILE, "host": {HOSTILE: LONG}, "versions": 3})
    for log in run.glob("rep-*/events.jsonl"):
        log.write_text(log.read_text().replace('"type":"Request"', f'"type":{json.dumps(HOSTILE)}'))
    page = reported(invoke, run)
    assert len(page.html) < 1_000_000
    assert not [tag for tag, _ in page.tags if tag in ("img", "b", "iframe", "object", "link")]
    assert not [
        attributes
        for _, attributes in page.tags
        if any(name.startswith("on") or name == "style" for name in attributes)
    ]
    assert "\u202e" not in page.html
    assert page.text.count("</script><img src=x onerror=alert(1)>\\u202egnp.exe<b>") >= 7
    assert "… (10,000,000 characters)" in page.text
    assert any("<img" in series["label"] for series in page.chart("Messages by type")["series"])


def test_a_huge_scenario(run: Path, invoke: Invoke) -> None:
    with (run / "scenario.yaml").open("a") as file:
        file.write(f"description: {LONG}\n")
    page = reported(invoke, run)
    assert len(page.html) < 1_000_000
    assert re.search(r"\(10,\d\d\d,\d\d\d bytes\)", page.text)


def test_many_message_types(run: Path, invoke: Invoke) -> None:
    """The six most frequent types have lines, and all others one."""
    log = run / "rep-000/events.jsonl"
    lines, new = log.read_text().splitlines(), []
    types: dict[tuple[int, int, int], str] = {}
    for line in lines:
        event = json.loads(line)
        if event["kind"] in ("send", "recv"):
            ends = (event["node"], event["peer"]) if event["kind"] == "send" else (event["peer"], event["node"])
            event["type"] = types.setdefault((*ends, event["id"]), f"T{len(types) % 50}")
        new.append(json.dumps(event))
    log.write_text("\n".join(new) + "\n")
    series = reported(invoke, run).chart("Messages by type")["series"]
    assert len(series) == 7
    assert series[-1]["label"] == "44 other types"


# -- comparisons and studies -------------------------------------------------------------------------------------------


def test_a_comparison(tmp_path: Path, invoke: Invoke) -> None:
    scenario = write_tiny(tmp_path, "repeat: 3\n")
    assert main(["compare", str(scenario), "--algorithms", "rl,krl,krlf", "--out", str(tmp_path / "out")]) == 0
    (folder,) = (tmp_path / "out").glob("compare-*")
    page = reported(invoke, folder)
    rows = json.loads((folder / "rows.json").read_text())["rows"]
    header, *verdicts = page.table("The verdict of every check")
    assert [row[0] for row in verdicts] == ["rl", "krl", "krlf"]
    assert set(header[1:]) == set(rows[0]["checks"])
    _, *side = page.table("Mean ± 95 %; differences are from rl")
    assert side[0][3] == "baseline"
    difference = rows[1]["difference"]["waiting_time"]
    assert float(side[1][3].split(" ± ")[0]) == pytest.approx(difference["mean"], rel=1e-3)
    (bars, _) = page.data["charts"]
    assert bars["x"] == ["krl", "krlf"]
    assert bars["series"][0]["values"][0] == pytest.approx(difference["mean"], rel=1e-5)
    assert bars["series"][0]["halves"][0] == pytest.approx(difference["ci95"], rel=1e-5)
    assert [point["at"] for point in page.data["explorer"]["points"]] == [["rl"], ["krl"], ["krlf"]]
    assert "Differences are from rl" in page.text, "report.md"


def test_a_reproduction(tmp_path: Path, invoke: Invoke) -> None:
    claim = {"claim": "it is fast", "paper": "fast", "measured": "1 to 2", "verdict": "DOES NOT HOLD", "holds": False}
    row = {"algorithm": "rl", "measured": 1.5, "ci95": 0.25, "points": [{"a": HOSTILE}], "agrees": True}
    document = {"paper": "rl", "claims": [claim], "rows": [row], "failures": [HOSTILE], "directory": "x"}
    (tmp_path / "rows.json").write_text(json.dumps(document))
    page = reported(invoke, tmp_path)
    assert page.table("Every claim")[1] == ["it is fast", "fast", "1 to 2", "✗ DOES NOT HOLD"]
    assert page.table("rows: 1 rows")[1][:2] == ["rl", "1.5 ± 0.25"]
    assert not [tag for tag, _ in page.tags if tag == "img"]


def test_a_study(study: Path, invoke: Invoke) -> None:
    """By its file and by its store; every point has the mean and the interval of its repetitions."""
    page = reported(invoke, study)
    assert page.html == reported(invoke, study.with_suffix(".store")).html
    found = list(open_results(study).points())
    data = page.data["explorer"]
    assert len(data["points"]) == len(found) == 8
    measure = [one["key"] for one in data["measures"]].index("messages_per_cs")
    for point, (axes, rows) in zip(data["points"], found, strict=True):
        expected = summarise([row.metrics for row in rows])["messages_per_cs"]
        assert point["at"] == list(axes.values())
        assert point["values"][measure] == pytest.approx([expected["mean"], expected["ci95"]], rel=1e-5)
    header, *rows_shown = page.table("Every point")
    assert len(rows_shown) == 8
    assert header[:3] == [
        "algorithm",
        "request rate of a node (requests per time unit)",
        "connectivity (share of all links)",
    ]
    assert {row[4] for row in rows_shown} == {"✓ ok"}


# -- parts -------------------------------------------------------------------------------------------------------------


def test_the_library_is_the_one_that_was_published() -> None:
    """The files of the npm package, unchanged, with their licence."""
    folder = Path(str(ASSETS)) / "vendor/uplot"
    sums = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {"LICENSE", "uPlot.iife.min.js", "uPlot.min.css"}
    for name, expected in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected, name
    assert "MIT License" in (folder / "LICENSE").read_text()


def test_the_page_carries_the_licence_of_the_library(run: Path, invoke: Invoke) -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in reported(invoke, run).text


@given(st.integers(1, 10**18))
def test_stretches_are_round(end: int) -> None:
    width = round_width(end)
    assert -(-end // width) <= BINS
    assert str(width).rstrip("0") in ("1", "2", "5")
    assert width == 1 or -(-end // (width // 2)) > BINS // 2


@given(
    st.lists(st.tuples(st.integers(1, 99), st.integers(0, 5)), max_size=30), st.lists(st.integers(1, 99), max_size=5)
)
def test_levels_over_stretches(changes: list[tuple[int, int]], inner: Sequence[int]) -> None:
    """The mean and the greatest value of every stretch, compared with a sum over single ticks."""
    steps, edges = Steps(2), [0, *sorted(set(inner)), 100]
    level, now = [], 2
    ordered = sorted(changes, key=lambda change: change[0])
    for t in range(100):
        for _, value in (change for change in ordered if change[0] == t):
            steps.change(t, value)
            now = value
        level.append(now)
    means, peaks = steps.over(edges)
    for begin, end, mean, peak in zip(edges, edges[1:], means, peaks, strict=False):
        assert mean == pytest.approx(sum(level[begin:end]) / (end - begin))
        assert peak == max(level[begin:end])


@given(st.lists(st.integers(0, 100), max_size=50))
def test_rates_count_everything_once(times: list[int]) -> None:
    """In the stretch in which it is; what is at the very end is in the last one."""
    edges = [0, 30, 60, 90, 100]
    for begin, end, rate in zip(edges, edges[1:], rates(times, edges), strict=False):
        inside = sum(begin <= t < end or t == end == 100 for t in times)
        assert rate == pytest.approx(inside * 1e9 / (end - begin))


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 10**400, True, "1", None, [1]])
def test_what_is_no_number_is_not_measured(odd: Any, tmp_path: Path, invoke: Invoke) -> None:
    assert finite(odd) is None
    row = {"algorithm": "rl", "waiting_time": {"mean": 1, "ci95": odd}, "fairness": {"mean": odd}, "checks": {}}
    (tmp_path / "rows.json").write_text(json.dumps({"scenario": "x", "rows": [row]}))
    data = reported(invoke, tmp_path).data["explorer"]
    assert [one["key"] for one in data["measures"]] == ["waiting_time"]
    assert data["points"][0]["values"] == [[1, None]]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_the_distribution_is_exact_where_it_is_drawn(values: list[float]) -> None:
    ordered = sorted(values)
    places = grid_of(ordered, 20)
    assert (places[0], places[-1]) == (ordered[0], ordered[-1])
    assert len(places) <= 20 or len(ordered) <= 20
    for place, share in zip(places, shares_up_to(ordered, places), strict=True):
        assert share == pytest.approx(sum(value <= place for value in values) / len(values))


def test_a_moment_is_read_from_its_command(tmp_path: Path) -> None:
    """What a comparison keeps of a failed check is the command; it comes back as it was, wherever the log is now."""
    moment = Moment(tmp_path / "it's here", 3, 12, 9311053406)
    assert Moment.of_command(moment.replay(), tmp_path) == moment
    (tmp_path / "failed/it's here").mkdir(parents=True)
    assert Moment.of_command(moment.replay(), tmp_path) == replace(moment, log=tmp_path / "failed/it's here")
    for odd in (
        None,
        "testbed replay x",
        moment.replay() + "; rm x",
        moment.replay().replace("12", "x"),
        "testbed replay 'x",
    ):
        assert Moment.of_command(odd, tmp_path) is None


def test_requests_that_are_pending_at_the_end(tmp_path: Path, invoke: Invoke) -> None:
    """They have a column of their own in the table of nodes."""
    run = made(tmp_path, "trace: events\ndrain: 0\n", 1, nodes="8", workload="{rate: 5}")
    header, *rows = reported(invoke, run).table("Nodes of repetition 0")
    pending = [float(row[header.index("pending at the end")]) for row in rows]
    assert sum(pending) == json.loads((run / "summary.json").read_text())["repetitions"][0]["metrics"]["pending"] > 0


def test_the_log_of_a_failed_repetition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    """It is a run directory without a summary, with one repetition, which keeps its number."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    log = made(tmp_path, "repeat: 2\n", 1, algorithm="unsafe") / "failed/unsafe-rep-001"
    page = reported(invoke, log)
    assert [row[0] for row in page.table("Every repetition")[1:]] == ["1"]
    assert "Nodes of repetition 1, after the warmup; times in time units" in page.tables
    (command,) = re.findall(r"testbed replay .*", page.text)
    assert shlex.split(command)[2:5] == [str(log), "--repetition", "1"]
    assert invoke(*shlex.split(command)[1:])[0] == 0
    (log / "rep-0001x").mkdir()
    assert "rep-0001x: not the folder of a repetition" in refused(invoke, log)
