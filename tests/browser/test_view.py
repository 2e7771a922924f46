"""The page that plays a run, in a browser."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from agents.contract import TICKS
from agents.registry import ALGORITHMS
from testbed.cli.main import main
from testbed.cli.replay_text import as_dict
from testbed.experiments.runner import run
from testbed.look.view import make
from testbed.scenario.loader import loads
from tests.browser.real_time import REAL_TIME, Runs
from tests.conftest import PROJECT
from tests.testbed.tiny import Unsafe, tiny

pytestmark = pytest.mark.xdist_group("browser")

Open = Callable[..., Any]
MORE = "trace: events\ndrain: 60\n"
FAULTS = """\
faults:
  - {at: 20, kind: cut, group: [1, 2]}
  - {at: 35, kind: heal}
  - {at: 40, kind: crash, node: 3}
  - {at: 55, kind: restart, node: 3}
"""
CHANGING = "{kind: random, connectivity: 0.4, link_change_rate: 0.5}"
MOVING = """\
area: [400, 400]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
radio: {range: 200}
links: radio
"""
CASES = {
    "faulty": tiny(MORE + FAULTS, nodes="8", duration="100", topology=CHANGING),
    "tokens": tiny(MORE, nodes="8", algorithm="{name: krl, k: 3}", workload="{rate: 0.5}", topology=CHANGING),
    "radio": tiny(MORE + MOVING, nodes="6", topology="geometric", time_unit="0.5"),
    "lists": tiny(MORE, nodes="9", algorithm="suzuki-kasami", workload="{rate: 0.3}"),
    "places": tiny(
        MORE
        + MOVING.replace("200", "900").replace(
            "links: radio\n", "neighbourhoods: [{centre: [200, 200], range: 150, k: 2}]\nnotice: 3\n"
        ),
        nodes="6",
        algorithm="klme",
        topology="geometric",
    ),
    "clusters": tiny(MORE + "clusters: 2\n", nodes="8", topology="{kind: random, connectivity: 0.7}"),
}


over_backends = pytest.mark.parametrize("name", ["faulty", *REAL_TIME])
"""For tests of what must work with the log of any backend."""


def make_page(path: Path) -> Path:
    file = path / "view.html"
    file.write_text(make.view(path, as_dict), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, real_time_runs: Runs) -> Runs:
    """A run of every case and of every backend in real time; not to be changed."""

    def make(name: str) -> Path:
        if name in REAL_TIME:
            return real_time_runs[name]
        return run(loads(CASES[name]), tmp_path_factory.mktemp(name)).path

    return Runs(make)


@pytest.fixture
def shown(runs: Runs, opened: Open) -> Open:
    """Opens the page of a case, and waits for its first frame."""

    def show(name: str, fragment: str = "", **options: Any) -> Any:
        return begun(opened(make_page(runs[name]), fragment, **options))

    return show


def begun(opened_page: Any) -> Any:
    wait_until(opened_page.page, "window.testbedView?.timing?.openedMs != null")
    return opened_page


def wait_until(page: Any, expression: str) -> None:
    """Wait for an expression to be true. Playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "rep-000/events.jsonl").read_text().splitlines()]


def settled(page: Any) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def replayed(path: Path, node: int, ticks: int, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `testbed replay` says of a node's state."""
    capsys.readouterr()
    whole, rest = divmod(ticks, TICKS)
    assert main(["replay", str(path), "--node", str(node), "--until", f"{whole}.{rest:09d}", "--json"]) == 0
    state: dict[str, Any] = json.loads(capsys.readouterr().out)["state"]
    return state


@pytest.mark.parametrize("name", [*CASES, *REAL_TIME])
def test_a_state_is_what_a_replay_says(name: str, runs: Runs, shown: Open, capsys: pytest.CaptureFixture[str]) -> None:
    """At times between inputs, at the very time of inputs and just before them, forwards and backwards."""
    events = events_of(runs[name])
    opened_page, rng = shown(name), random.Random(1)
    nodes, end = len(events[0]["units"]), events[-1]["t"]
    inputs = [(event["node"], event["t"]) for event in events if event["node"] is not None and event["kind"] == "recv"]
    moments = [(3, 0), (0, end), *((rng.randrange(nodes), rng.randrange(end)) for _ in range(6))]
    moments += rng.sample(inputs, min(6, len(inputs)))
    moments += [(node, max(0, t - 1)) for node, t in rng.sample(inputs, min(3, len(inputs)))]
    ups_and_downs = [event["t"] for event in events if event["kind"] in ("crash", "restart")]
    moments += [(3, t + more) for t in ups_and_downs for more in (-TICKS, 0, TICKS) if t + more <= end]
    for node, t in moments:
        state = opened_page.page.evaluate("([node, t]) => testbedView.stateAt(node, t)", [node, t])
        assert state == replayed(runs[name], node, t, capsys), (node, t)
        assert state
    opened_page.assert_well_behaved()


def test_the_panel_shows_the_state_and_the_last_inputs(
    runs: Runs, shown: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    opened_page = shown("faulty", f"#t={30 * TICKS}&node=2")
    page = opened_page.page
    state = replayed(runs["faulty"], 2, 30 * TICKS, capsys)
    rows = page.locator("#node-panel table.state tr").all()
    texts = dict(row.locator("th, td").all_text_contents() for row in rows)
    assert set(texts) == set(state)
    assert texts["status"] == state["status"]
    assert texts["my_height"] == str(state["my_height"])
    events = events_of(runs["faulty"])
    last = [event for event in events if event["node"] == 2 and event["t"] <= 30 * TICKS][-1]
    assert page.locator("#node-panel table.recent tr").first.text_content().find(last["kind"]) >= 0
    opened_page.assert_well_behaved()


@over_backends
def test_a_link_leads_to_a_moment_and_follows_it(name: str, shown: Open) -> None:
    opened_page = shown(name, f"#t={2_345_678_901}&node=4")
    page = opened_page.page
    assert page.evaluate("testbedView.time()") == 2_345_678_901
    assert page.input_value("#time") == "2.345678901"
    assert page.input_value("#node") == "4"
    page.fill("#time", "5")
    page.press("#time", "Enter")
    wait_until(page, f"location.hash === '#t={5 * TICKS}&node=4'")
    assert page.get_attribute("#link", "href") == f"#t={5 * TICKS}&node=4"
    page.evaluate(f"location.hash = '#t={3 * TICKS}&node=1'")
    wait_until(page, f"testbedView.time() === {3 * TICKS}")
    assert page.input_value("#node") == "1"
    for nonsense in ("#t=x", "#t=-5", "#t=99999999999999999999", "#node=77", "#t=1e3&node=%3Cb%3E"):
        page.evaluate("(hash) => { location.hash = hash; }", nonsense)
    settled(page)
    assert page.evaluate("testbedView.time()") == 3 * TICKS
    opened_page.assert_well_behaved()


def test_it_begins_where_the_command_says(runs: Runs, tmp_path: Path, opened: Open) -> None:
    file = tmp_path / "at.html"
    assert main(["view", str(runs["tokens"]), "--file", str(file), "--at", "7.5"]) == 0
    opened_page = begun(opened(file))
    assert opened_page.page.evaluate("testbedView.time()") == 7_500_000_000


@over_backends
def test_playing_moves_time_and_pausing_remembers_it(name: str, shown: Open) -> None:
    opened_page = shown(name)
    page = opened_page.page
    page.focus("#map")
    page.keyboard.press("Space")
    wait_until(page, "testbedView.time() > testbedView.model.end / 1000")
    page.keyboard.press("Space")
    assert not page.evaluate("testbedView.isPlaying()")
    stopped = page.evaluate("testbedView.time()")
    settled(page)
    assert page.evaluate("testbedView.time()") == stopped
    assert page.evaluate("location.hash") == f"#t={stopped}"
    opened_page.assert_well_behaved()


@over_backends
def test_steps_go_to_events_entries_and_faults(name: str, runs: Runs, shown: Open) -> None:
    events = events_of(runs[name])
    opened_page = shown(name)
    page = opened_page.page

    def after(*kinds: str) -> list[int]:
        return sorted({event["t"] for event in events[1:] if (not kinds or event["kind"] in kinds) and event["t"] > 0})

    page.focus("#map")
    faults = after("fault", "crash", "restart")
    for key, back, times in (("e", "E", after("enter")), (".", ",", after()), ("f", "F", faults)):
        page.evaluate("testbedView.seek(0)")
        reached = []
        for _ in times[:4]:
            page.keyboard.press(key)
            reached.append(page.evaluate("testbedView.time()"))
        assert reached == times[:4]
        if len(reached) > 1:
            page.keyboard.press(back)
            assert page.evaluate("testbedView.time()") == reached[-2]
    page.evaluate("testbedView.seek(0)")
    page.click("#next-fault")
    assert page.evaluate("testbedView.time()") == faults[0]
    settled(page)
    assert ("cut" if name == "faulty" else "crash") in page.text_content("#said")
    opened_page.assert_well_behaved()


def test_a_violation_can_be_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, opened: Open) -> None:
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    path = run(loads(tiny(MORE, algorithm="unsafe", workload="{rate: 1}")), tmp_path).path
    first = json.loads((path / "summary.json").read_text())["checks"]["safety"]["first"]
    opened_page = begun(opened(make_page(path)))
    page = opened_page.page
    page.click("#next-violation")
    settled(page)
    assert page.evaluate("testbedView.time()") == first["t"]
    assert page.input_value("#node") == str(first["node"])
    assert "violation: safety" in page.text_content("#said")
    assert "✗ safety: failed" in page.text_content("#verdicts")
    opened_page.assert_well_behaved()


def test_without_a_violation_there_is_no_step_to_one(shown: Open) -> None:
    opened_page = shown("faulty")
    assert opened_page.page.is_disabled("#next-violation")
    opened_page.assert_well_behaved()


@pytest.mark.parametrize("name", ["radio", *REAL_TIME])
def test_a_click_selects_a_node_and_scrubbing_moves_time(name: str, shown: Open) -> None:
    opened_page = shown(name)
    page = opened_page.page
    box = page.locator("#map").bounding_box()
    place = page.evaluate("""() => {
        const canvas = document.getElementById("map");
        const drawn = testbedView.drawMap(canvas.getContext("2d"), canvas.clientWidth, canvas.clientHeight);
        return drawn[4];
    }""")
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    assert page.input_value("#node") == "4"
    page.evaluate("""() => {
        const scrub = document.getElementById("scrub");
        scrub.value = scrub.max / 2;
        scrub.dispatchEvent(new Event("input"));
    }""")
    assert page.evaluate("Math.abs(testbedView.time() / testbedView.model.end - 0.5) < 1e-4")
    opened_page.assert_well_behaved()


def test_components_without_positions_do_not_fly_apart(shown: Open) -> None:
    """The nodes of a cluster stand apart, however many clusters there are."""
    opened_page = shown("clusters")
    nearest = opened_page.page.evaluate("""() => {
        const canvas = document.getElementById("map");
        const places = testbedView.drawMap(canvas.getContext("2d"), canvas.clientWidth, canvas.clientHeight);
        const apart = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
        return Math.min(...places.flatMap((one, i) => places.slice(0, i).map((other) => apart(one, other))));
    }""")
    assert nearest > 40, "pixels, of which a node takes 26 or more"
    opened_page.assert_well_behaved()


def test_routed_messages_over_radio_come_without_links(opened: Open, tmp_path: Path) -> None:
    """Who is in range is drawn all the same, and follows the nodes."""
    text = tiny(MORE + MOVING, algorithm="raymond-k", nodes="6", topology="geometric", time_unit="0.5")
    opened_page = begun(opened(make_page(run(loads(text), tmp_path).path)))
    page = opened_page.page
    assert page.evaluate("testbedView.model.links.from.length") == 0
    dotted = """(t) => {
        testbedView.seek(t);
        const drawing = new DOMParser().parseFromString(testbedView.exports.svg(), "image/svg+xml");
        return [...drawing.querySelectorAll("[stroke-dasharray='2 3']")].map((one) => one.getAttribute("d")).join();
    }"""
    assert page.evaluate(dotted, 5 * TICKS) != page.evaluate(dotted, 30 * TICKS)
    opened_page.assert_well_behaved()


def test_the_map_is_enlarged_around_the_pointer(shown: Open) -> None:
    """What is under the pointer stays there, and can still be clicked."""
    opened_page = shown("radio")
    page = opened_page.page
    box = page.locator("#map").bounding_box()
    where = """() => {
        const canvas = document.getElementById("map");
        return testbedView.drawMap(canvas.getContext("2d"), canvas.clientWidth, canvas.clientHeight);
    }"""
    before = page.evaluate(where)
    page.mouse.move(box["x"] + round(before[2]["x"]), box["y"] + round(before[2]["y"]))
    for _ in range(4):
        page.mouse.wheel(0, -100)
    wait_until(page, "testbedView.look.zoom.factor > 2")
    after = page.evaluate(where)
    assert abs(after[2]["x"] - before[2]["x"]) < 5
    assert abs(after[2]["y"] - before[2]["y"]) < 5
    apart = [abs(places[4]["x"] - places[2]["x"]) for places in (before, after)]
    assert apart[1] > 2 * apart[0]
    page.mouse.click(box["x"] + after[2]["x"], box["y"] + after[2]["y"])
    assert page.input_value("#node") == "2"
    page.mouse.down()
    page.mouse.move(box["x"] + after[2]["x"] + 50, box["y"] + after[2]["y"] + 20)
    page.mouse.up()
    moved = page.evaluate(where)
    assert moved[2]["x"] - after[2]["x"] == pytest.approx(50, abs=2)
    page.focus("#map")
    for _ in range(5):
        page.keyboard.press("Shift+Z")
    assert page.evaluate(where) == before
    opened_page.assert_well_behaved()


@over_backends
def test_filters_leave_messages_out(name: str, shown: Open) -> None:
    opened_page = shown(name, f"#t={5 * TICKS}")
    page = opened_page.page

    def seen() -> list[int]:
        """The messages that the filters let through, by their numbers."""
        found: list[int] = page.evaluate(
            "[...testbedView.model.messages.t.keys()].filter((i) => testbedView.shows(i, testbedView.look))"
        )
        return found

    everything = seen()
    page.fill("#filter-nodes", "1, 3-4")
    page.press("#filter-nodes", "Enter")
    ends = page.evaluate("Array.from(testbedView.model.messages.from, (a, i) => [a, testbedView.model.messages.to[i]])")
    assert seen() == [i for i in everything if {1, 3, 4} & {*ends[i]}]
    page.fill("#filter-nodes", "")
    page.press("#filter-nodes", "Enter")
    assert seen() == everything
    page.get_by_label("only messages with a token").check()
    tokens = page.evaluate("Array.from(testbedView.model.messages.tokens)")
    assert seen() == [i for i in everything if tokens[i]]
    page.get_by_label("only messages with a token").uncheck()
    types = page.evaluate("Array.from(testbedView.model.messages.type, (type) => testbedView.model.names[type])")
    page.get_by_label(f"{types[0]} (").uncheck()
    assert seen() == [i for i in everything if types[i] != types[0]]
    assert everything
    assert name in REAL_TIME or seen()  # a busy machine may have sent nothing else
    opened_page.assert_well_behaved()


def test_a_frame_is_saved_as_svg_and_png(shown: Open, tmp_path: Path) -> None:
    opened_page = shown("faulty", f"#t={45 * TICKS}&node=3")
    page = opened_page.page
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            page.click(f"#save-{kind}")
        file = tmp_path / f"frame.{kind}"
        download.value.save_as(file)
        assert download.value.suggested_filename == f"tiny-t45.{kind}"
    drawing = ElementTree.parse(tmp_path / "frame.svg").getroot()
    texts = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {*map(str, range(8))} <= texts
    assert "tiny: rl, 8 nodes, t = 45" in texts
    assert (tmp_path / "frame.png").read_bytes().startswith(b"\x89PNG")
    opened_page.assert_well_behaved()


def test_a_stretch_is_recorded_as_webm(shown: Open, tmp_path: Path) -> None:
    opened_page = shown("faulty")
    page = opened_page.page
    with page.expect_download(timeout=60_000) as download:
        page.click("#record")
        wait_until(page, "testbedView.time() > 1e9")
        page.wait_for_timeout(700)
        page.click("#record")
    file = tmp_path / "stretch.webm"
    download.value.save_as(file)
    assert file.read_bytes().startswith(b"\x1a\x45\xdf\xa3")  # EBML, the container
    assert file.stat().st_size > 5_000
    opened_page.assert_well_behaved()


def test_a_browser_that_cannot_record_says_so(runs: Runs, browser: Any) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.MediaRecorder")
    page.goto(make_page(runs["tokens"]).as_uri())
    assert page.is_disabled("#record")
    assert page.text_content("#record") == "no WebM in this browser"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_and_the_button(scheme: str, shown: Open) -> None:
    opened_page = shown("radio", color_scheme=scheme)
    page = opened_page.page
    corner = """() => {
        const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        copy.drawImage(document.getElementById("map"), 0, 0);
        return [...copy.getImageData(5, 5, 1, 1).data];
    }"""
    before = page.evaluate(corner)
    page.click("#theme")
    settled(page)
    after = page.evaluate(corner)
    light, dark = (before, after) if scheme == "light" else (after, before)
    assert min(light[:3]) > 200
    assert max(dark[:3]) < 60
    opened_page.assert_well_behaved()


@pytest.mark.parametrize("trace", ["cs", "metrics"])
def test_a_log_with_less_is_shown_and_said(trace: str, tmp_path: Path, opened: Open) -> None:
    path = run(loads(tiny(f"trace: {trace}\n" + MOVING, topology="geometric")), tmp_path).path
    opened_page = begun(opened(make_page(path), f"#t={20 * TICKS}&node=1"))
    page = opened_page.page
    assert f"trace level {trace}" in page.text_content("#notes")
    assert "no states" in page.text_content("#node-panel")
    assert page.is_disabled("#next-entry") == (trace == "metrics")
    assert page.evaluate("testbedView.stateAt(1, 5)") is None
    opened_page.assert_well_behaved()


HOSTILE = "<img src=http://x.invalid/ onerror=document.title='bad'></script><script>document.title='bad'</script>\u202e"


def test_what_a_log_says_is_text(tmp_path: Path, opened: Open) -> None:
    """Names of message types and timers, fields and descriptions are never HTML, and ask for nothing."""
    path = run(loads(tiny(MORE, topology=CHANGING) + f"description: {json.dumps(HOSTILE)}\n"), tmp_path).path
    log = path / "rep-000/events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    for event in events:
        if event.get("type") == "Request":
            event["type"] = HOSTILE
            if event["kind"] == "send":
                event["fields"] = [HOSTILE, "x" * 1_000_000 if event["id"] == 1 else 1]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    opened_page = begun(opened(make_page(path)))
    page = opened_page.page
    for node in range(5):
        page.evaluate("(node) => { testbedView.select(node); testbedView.seek(testbedView.model.end); }", node)
        settled(page)
    assert page.title() == "tiny, repetition 0"
    assert "<img src=http" in page.text_content("#legend")
    assert "<img src=http" in page.text_content("#node-panel")
    assert page.locator("img").count() == 0
    drawing = page.evaluate("""() => {
        const { messages, names } = testbedView.model;
        const i = messages.type.findIndex((type) => names[type].startsWith("<img"));
        testbedView.seek((messages.t[i] + messages.until[i]) / 2);
        return testbedView.exports.svg();
    }""")
    assert ">&#60;</text>" in drawing  # the letter of the type, beside the message
    assert not re.search(r"<(img|script)", drawing)
    ElementTree.fromstring(drawing)
    assert path.joinpath("view.html").stat().st_size < 1_000_000
    opened_page.assert_well_behaved()


def test_more_messages_than_pixels_are_thinned_and_said(shown: Open) -> None:
    opened_page = shown("tokens")
    page = opened_page.page
    page.evaluate("testbedView.setSpan(1000)")
    settled(page)
    assert page.text_content("#thinned") == ""
    facts = """() => {
        const { messages } = testbedView.model;
        const canvas = document.createElement("canvas").getContext("2d");
        const { drawn, others, tokens } = testbedView.drawDiagram(canvas, 900, 300);
        const last = (list) => Math.max(...list.map((i) => messages.t[i]));
        const carries = (i) => messages.tokens[i] > 0;
        const all = [...messages.t.keys()];
        return {
            others, tokens, tokensDrawn: drawn.filter(carries).length, tokensThere: all.filter(carries).length,
            othersDrawn: drawn.filter((i) => !carries(i)).length, share: last(drawn) / last(all),
        };
    }"""
    tokens = page.evaluate("testbedView.model.messages.tokens.filter((count) => count > 0).length")
    page.evaluate("(limit) => { testbedView.spacetime.limits.messages = limit; testbedView.seek(1); }", tokens)
    settled(page)
    found = page.evaluate(facts)
    assert found["tokensDrawn"] == found["tokensThere"] == tokens
    assert found["othersDrawn"] <= tokens
    assert f"drawn: all with tokens, one in {found['others']} of the others" in page.text_content("#thinned")
    page.evaluate("(limit) => { testbedView.spacetime.limits.messages = limit; testbedView.seek(2); }", tokens // 3)
    settled(page)
    found = page.evaluate(facts)
    assert found["tokensDrawn"] <= tokens // 3
    assert f"drawn: one in {found['tokens']} with tokens" in page.text_content("#thinned")
    assert found["share"] > 0.9  # not only the beginning of the stretch
    opened_page.assert_well_behaved()


def test_the_benchmark_measures_what_it_says(browser: Any) -> None:
    """In a process of its own, because Playwright runs once in a process."""
    command = [sys.executable, "-m", "benchmarks.view", "--quick", "--json", "--nodes", "20"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=True)
    result = json.loads(done.stdout)
    assert result["nodes"] == 20
    assert result["events"] >= 4_000
    measured = ("file_mb", "make_s", "opened_s", "frames_per_second", "draw_all_ms", "renderer_mb")
    assert all(result[name] > 0 for name in measured)
