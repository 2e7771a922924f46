"""The page of `testbed sweep --live` in a browser: it fills, what a reader has chosen stays, and it says the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.look.report.writing import write_report
from tests.browser.conftest import Opened
from tests.browser.test_report import painted
from tests.testbed.look.gated import FATAL, NAME, UNSAFE, Gated, Swept

pytestmark = pytest.mark.xdist_group("browser")
CANVAS = "#explore .uplot canvas"
WAITING = 4
"""The column of the table with the waiting times."""
SCROLL = """() => {
    const table = document.querySelector("#points table"), box = table.parentElement, head = table.tHead.offsetHeight;
    window.kept = table.tBodies[0].rows[2];
    box.style.maxHeight = `${head + 50}px`;
    box.scrollTop = window.kept.offsetTop - head;
}"""
"""Has a reader see the third row first."""
PLACE = "window.kept.getBoundingClientRect().top - window.kept.closest('.scroll').getBoundingClientRect().top"


def open_live(browser: Any, swept: Swept) -> Opened:
    """The page; what it asks for beside its own server is refused."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    result = Opened(page)

    def refuse(route: Any) -> None:
        result.requests.append(route.request.url)
        route.abort()

    page.route(lambda url: not url.startswith(swept.address), refuse)
    page.on("pageerror", lambda error: result.errors.append(str(error)))
    page.on("console", lambda line: result.errors.append(line.text) if line.type == "error" else None)
    page.on("dialog", lambda dialog: result.errors.append(f"dialog: {dialog.message}"))
    page.goto(swept.address)
    return result


def wait_for_rows(page: Any, count: int) -> None:
    wait_for_count(page.locator("#points tbody tr"), count)


def wait_for_count(found: Any, count: int) -> None:
    for _ in range(1_000):
        if found.count() == count:
            return
        found.page.wait_for_timeout(20)
    raise AssertionError(f"found {found.count()}, not {count}")


def column(page: Any, index: int) -> list[str]:
    """The cells of a column of the table of points."""
    texts: list[str] = page.locator("#points tbody tr").evaluate_all(
        f"rows => rows.map(row => row.cells[{index}].textContent)"
    )
    return texts


def means(page: Any) -> list[float]:
    return [float(text.partition(" ")[0]) for text in column(page, WAITING)]


def test_a_page_fills_and_keeps_what_is_chosen(browser: Any, opened: Callable[..., Opened], tmp_path: Path) -> None:
    study = Gated(tmp_path, FATAL + 1)
    with study.sweep() as swept:
        one = open_live(browser, swept)
        page = one.page
        line = page.locator(".live-line")
        assert page.locator("h1").inner_text() == NAME
        assert "no results yet" in page.locator("header").inner_text()
        assert page.locator("#chart").count() == 0
        assert line.inner_text().startswith(f"0 of {study.runs} runs")
        assert page.title().startswith("0 % – ")

        study.allow(2)
        wait_for_rows(page, 4)
        page.locator(CANVAS).wait_for()
        explore = page.locator("#explore")
        explore.get_by_label("metric", exact=True).select_option(label="messages per CS (messages)")
        explore.get_by_label("x axis", exact=True).select_option(label="algorithm.number")
        explore.get_by_label("told apart", exact=True).select_option(label="nothing")
        filtered = explore.get_by_label("request rate of a node (requests per time unit)", exact=True)
        filtered.select_option(label="2")
        explore.locator("summary").click()
        button = page.locator("#points thead button").nth(WAITING)
        button.click()
        button.click()
        assert means(page) == sorted(means(page), reverse=True)
        page.evaluate(SCROLL)
        place = page.evaluate(PLACE)
        filtered.focus()
        page.evaluate("window.focused = document.activeElement")
        before = painted(page, CANVAS)

        study.allow(UNSAFE[0] + 1)
        wait_for_rows(page, 8)
        wait_for_count(explore.locator("details.numbers tbody tr"), 4)
        assert painted(page, CANVAS) != before
        assert (
            explore.get_by_label("metric", exact=True)
            .locator("option:checked")
            .inner_text()
            .startswith("messages per CS")
        )
        assert explore.get_by_label("told apart", exact=True).locator("option:checked").inner_text() == "nothing"
        assert filtered.locator("option:checked").inner_text() == "2"
        assert "request rate of a node (requests per time unit) 2" in explore.locator("figcaption").inner_text()
        assert page.evaluate("window.focused === document.activeElement && window.focused.tagName === 'SELECT'")
        assert means(page) == sorted(means(page), reverse=True)
        assert page.locator("#points thead th").nth(WAITING).get_attribute("aria-sort") == "descending"
        assert page.evaluate("window.kept.isConnected"), "a row that is the same stays"
        assert column(page, 0)[:4] == ["0", "1", "2", "0"], "there is one more row above it"
        assert abs(page.evaluate(PLACE) - place) <= 1
        assert "checks failed at 2 of 8 points" in page.locator("header").inner_text()
        assert page.locator("#failed h3").count() == 2

        button.focus()
        study.allow(FATAL + 1)
        swept.end()
        page.locator(".live-command").filter(has_text="testbed report").wait_for()
    assert line.inner_text().startswith("The sweep has finished: 20 of 24 runs, 4 ended with an error.")
    assert page.locator(".live-said").inner_text().startswith("The sweep has finished")
    assert not page.locator(".live progress").is_visible()
    assert "%" not in page.title()
    assert "checks failed at 4 of 10 points" in page.locator("header").inner_text()
    assert page.locator("nav li").all_inner_texts() == ["Failed checks", "Chart", "Points"]
    assert page.locator("#failed h3").count() == 4
    assert page.evaluate("document.activeElement.closest('th')?.getAttribute('aria-sort')") == "descending"
    one.assert_well_behaved()
    file = opened(write_report(study.study))
    for _ in range(2):
        file.page.locator("#points thead button").nth(WAITING).click()
    for part in ("header", "#points", "#failed"):
        assert page.locator(part).inner_text() == file.page.locator(part).inner_text(), part
    file.assert_well_behaved()


def test_a_page_says_that_its_sweep_was_killed(browser: Any, tmp_path: Path) -> None:
    study = Gated(tmp_path, 2)
    study.allow(1)
    with study.sweep() as swept:
        page = open_live(browser, swept).page
        wait_for_rows(page, 2)
        swept.process.kill()
        page.locator(".live-command").filter(has_text=f"testbed report {study.study}").wait_for()
    said = page.locator(".live-line").inner_text()
    assert said.startswith(("The sweep no longer answers", "The sweep was killed")), "the server may have had the time"
    assert len(column(page, 0)) == 2


def test_what_is_chosen_is_kept_where_it_was_not_usual(browser: Any, tmp_path: Path) -> None:
    """A table may get a column: its order is that of the same column then. A chart keeps its axes and hidden lines."""
    study = Gated(tmp_path, 2)
    study.allow(2)
    with study.sweep() as swept:
        swept.end()
    page = browser.new_context().new_page()
    page.goto(write_report(study.study).resolve().as_uri())
    page.locator("#points thead button").nth(WAITING).click()
    page.locator("#points thead button").nth(WAITING).click()
    page.evaluate(
        """() => {
            const table = document.querySelector("#points table"), wanted = table.cloneNode(true);
            for (const row of wanted.rows) row.cells[2].after(row.cells[2].cloneNode(true));
            for (const head of wanted.tHead.rows[0].cells) head.setAttribute("aria-sort", "none");
            wanted.tHead.rows[0].cells[3].querySelector("button").textContent = "new";
            reportTables.update(table, wanted);
        }"""
    )
    sorts = page.locator("#points thead th").evaluate_all("heads => heads.map(head => head.getAttribute('aria-sort'))")
    assert [index for index, sort in enumerate(sorts) if sort != "none"] == [WAITING + 1]
    assert sorts[WAITING + 1] == "descending"
    assert page.evaluate("document.activeElement.closest('th').cellIndex") == WAITING + 1
    values = [float(text.partition(" ")[0]) for text in column(page, WAITING + 1)]
    assert len(values) == 4
    assert values == sorted(values, reverse=True)
    explore, rate = page.locator("#explore"), "request rate of a node (requests per time unit)"
    assert explore.get_by_label("x axis", exact=True).locator("option:checked").inner_text() == "algorithm.number"
    explore.get_by_label("x axis", exact=True).select_option(label=rate)
    explore.get_by_label("told apart", exact=True).select_option(label="algorithm.number")
    explore.locator(".legend button").nth(1).click()
    page.evaluate(
        """() => {
            const data = JSON.parse(document.getElementById("explorer").textContent);
            data.points.push({ ...data.points[0], at: [2, 0.5] });
            reportExplorer.update(data);
        }"""
    )
    assert explore.get_by_label("x axis", exact=True).locator("option:checked").inner_text() == rate
    pressed = [one.get_attribute("aria-pressed") for one in explore.locator(".legend button").all()]
    assert pressed == ["true", "false", "true"]
    assert page.evaluate("document.activeElement.textContent") == "1", "the focus is on the same line of the legend"
