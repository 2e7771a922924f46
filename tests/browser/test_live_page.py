"""The page of a run that goes on, in a browser: a small server passes it the lines of a log as a test says."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agents.contract import TICKS
from analysis.events import KINDS
from analysis.listener import method_name
from testbed.cli.replay_text import as_dict
from testbed.experiments.runner import run
from testbed.look.live.run_source import RunSource
from testbed.look.view import make
from testbed.look.view.happenings import KIND_NUMBERS, Happenings
from testbed.scenario.loader import loads
from tests.browser.test_view import HOSTILE, begun, settled, wait_until
from tests.testbed.tiny import tiny

pytestmark = pytest.mark.xdist_group("browser")

Json = dict[str, Any]
MORE = "trace: events\ndrain: 60\n"
WALKING = """\
area: [400, 400]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
"""
FAULTS = """\
faults:
  - {at: 20, kind: cut, group: [1, 2]}
  - {at: 35, kind: heal}
  - {at: 40, kind: crash, node: 3}
  - {at: 55, kind: restart, node: 3}
"""
LOSES = "  - {at: 60, kind: lose, node: 0}\n"
HOLDER = "faults: [{at: 45, kind: crash, holder: true}]\n"
PLACES = """\
neighbourhoods: [{centre: [100, 200], range: 95, k: 2}, {centre: [300, 200], range: 95, k: 1}]
notice: 3
"""
CASES = {
    "moving": tiny(
        MORE + WALKING + "radio: {range: 250}\n" + FAULTS + LOSES, nodes="8", duration="100", topology="geometric"
    ),
    "places": tiny(
        MORE + WALKING + "radio: {range: 900}\n" + PLACES,
        nodes="8",
        algorithm="klme",
        topology="geometric",
        workload="{rate: 0.3}",
        duration="150",
    ),
    "priorities": tiny(MORE + HOLDER, nodes="6", algorithm="{name: hk, k: 4}", workload="{rate: 0.3}"),
    "routed": tiny(
        MORE, nodes="9", algorithm="bv", topology="{kind: random, connectivity: 0.3, link_change_rate: 0.3}"
    ),
    "permissions": tiny(MORE, algorithm="ricart-agrawala", workload="{rate: 0.3}"),
    "radio": tiny(
        MORE + WALKING + "radio: {range: 200}\nlinks: radio\n" + FAULTS,
        nodes="6",
        topology="geometric",
        time_unit="0.5",
        duration="70",
    ),
    "entries": tiny("trace: cs\n" + FAULTS, nodes="5", duration="70"),
}
KINDS_OF_CASES = {
    "moving": {"link_down", "crash", "restart", "fault", "partition", "lost", "return"},
    "places": {"join", "left", "deposit", "evict", "timer", "regenerate"},
    "routed": {"relay"},
    "radio": {"lost", "crash"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of every case; not to be changed. One more was killed: its log has no stop, and half a line at its end."""
    made = {name: run(loads(text), tmp_path_factory.mktemp(name)).path for name, text in CASES.items()}
    made["killed"] = tmp_path_factory.mktemp("killed") / "run"
    shutil.copytree(made["moving"], made["killed"])
    log = log_of(made["moving"])
    log_of(made["killed"]).parent.joinpath("events.jsonl").write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    return made


def log_of(path: Path) -> Path:
    return path / "rep-000/events.jsonl"


def lines_of(path: Path) -> list[bytes]:
    """The whole lines of a log."""
    return [line for line in log_of(path).read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


# -- a server ----------------------------------------------------------------------------------------------------------


class Stream:
    """The log of a repetition, as far as a test lets it be seen."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._closed = False
        self._changed = threading.Condition()

    def write(self, *pieces: bytes) -> None:
        with self._changed:
            self._pieces += pieces
            self._changed.notify_all()

    def say(self, **said: Any) -> None:
        """What the command says."""
        self.write(json.dumps({"live": said}).encode() + b"\n")

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        for place in itertools.count():
            with self._changed:
                while len(self._pieces) <= place and not self._closed:
                    self._changed.wait()
                if len(self._pieces) <= place:
                    return
            yield self._pieces[place]


class Server(ThreadingHTTPServer):
    """Serves the live pages of a run and streams."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.source = RunSource()
        self.source.hear({"directory": str(path)})
        self.streams = {0: Stream(), 1: Stream()}
        self.address = f"http://127.0.0.1:{self.server_port}/secret/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page was closed while it was being served."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        number = int(parse_qs(address.query).get("repetition", ["0"])[0])
        pieces: Iterable[bytes] | None = None
        if address.path == "/secret/log":
            pieces = self.server.streams[number]
        elif address.path == "/secret/":
            reply = self.server.source.reply("", {"repetition": str(number)})
            pieces = None if reply is None else reply.pieces
        self.send_response(404 if pieces is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        for piece in pieces or ():
            self.wfile.write(piece)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


STANDS_STILL = """
const frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) =>
    frame((clock) => (window.isHidden ? window.requestAnimationFrame(draw) : draw(clock)));
"""
"""With `isHidden`, a page has no frames, as in a tab that is not shown."""


class Watched:
    """A live page in the browser, and what it did that it must not do."""

    def __init__(self, browser: Any, server: Server, fragment: str, **options: Any) -> None:
        self.server, self.stream = server, server.streams[0]
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.add_init_script(STANDS_STILL)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(server.address + fragment, wait_until="domcontentloaded")

    def has(self, events: int) -> None:
        """Wait until it has read so many events."""
        wait_until(self.page, f"testbedView.model.events.t.length >= {events}")

    def assert_well_behaved(self) -> None:
        """It asked for itself and its log only, and made no error."""
        assert self.errors == []
        assert {url.partition("?")[0] for url in self.requests} <= {self.server.address, self.server.address + "log"}


Watch = Callable[..., Watched]


@pytest.fixture
def watch(browser: Any, runs: dict[str, Path]) -> Iterator[Watch]:
    """Opens the live page of a run: `watch("moving", "#t=5")`; what it is to show, its `stream` is given."""
    opened: list[Watched] = []

    def open_page(name: str | Path, fragment: str = "", **options: Any) -> Watched:
        server = Server(name if isinstance(name, Path) else runs[name])
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        opened.append(Watched(browser, server, fragment, **options))
        return begun(opened[-1])  # type: ignore[no-any-return]

    yield open_page
    for one in opened:
        for stream in one.server.streams.values():
            stream.close()
        one.context.close()
        one.server.shutdown()
        one.server.server_close()


# -- the same as a file ------------------------------------------------------------------------------------------------

TABLES = """(tables) => {
    const { end, names, values, kinds } = tables;
    const rows = (table, ...columns) => Array.from(table[columns[0]], (_, i) => columns.map((name) => table[name][i]));
    const flat = (lists, ...columns) => lists.flatMap((list, at) => rows(list, ...columns).map((row) => [at, ...row]));
    const spans = (list) => list.map((row) => row.map((value) => (value === Infinity ? end : value)));
    const { messages, events } = tables;
    return {
        end,
        events: rows(events, "t", "node", "kind", "about").map(([t, node, kind, about]) =>
            [t, node, kinds[kind], kinds[kind] === "timer" ? names[about] : about]),
        entries: Array.from(tables.entries),
        messages: rows(messages, "t", "until", "from", "to", "type", "units", "tokens", "fate", "fields").map((row) => [
            row[0], row[7] === 3 ? -1 : row[1], row[2], row[3], names[row[4]], row[5], row[6], row[7],
            values[row[8]] ?? null]),
        relays: Array.from(messages.t.keys()).flatMap((i) =>
            rows(tables.relaysOf(i), "t", "node").map((row) => [i, ...row])),
        intervals: spans(tables.intervals.flatMap((whats, node) =>
            flat(whats, "from", "to").map((row) => [node, ...row]))),
        links: spans(rows(tables.links, "a", "b", "from", "to", "ends")).filter((row) => row[2] < row[3]),
        held: flat(tables.held, "t", "units", "tokens"),
        stays: spans(flat(tables.stays, "from", "to", "group")),
        kept: flat(tables.kept, "t", "units"),
        parts: rows(tables.parts, "t", "count"),
        marks: tables.marks.filter((mark) => mark[2] === "fault"),
    };
}"""
"""All tables, with names and values instead of their numbers; what goes on ends at the end, as in `Happenings`."""

COLLECT = """({ run, lines }) => {
    const { tables, Collector, parseLine } = testbedView;
    const made = tables.empty({ ...run, marks: [] });
    const collector = new Collector(made);
    for (const line of lines) collector.take(parseLine(line));
    collector.finish();
    return (TABLES)(made);
}""".replace("TABLES", TABLES)

UNORDERED = ("relays", "intervals", "links", "stays", "marks", "held", "kept")
"""Rows of these have no order among those of the same time; per node and place they are compared in order elsewhere."""


def in_python(lines: list[bytes]) -> Json:
    """The tables that Python makes of the lines."""
    happened = Happenings()
    for line in lines:
        event = json.loads(line)
        if event["kind"] in KINDS:
            fields = [event[name] for name in KINDS[event["kind"]][1]]
            getattr(happened, method_name(event["kind"]))(event["t"], event["node"], *fields)
    happened.finish()
    kinds, names, values = list(KIND_NUMBERS), happened.names.values, happened.values.values
    return {
        "end": happened.end,
        "events": [
            [t, node, kinds[kind], names[about] if kinds[kind] == "timer" else about]
            for t, node, kind, about in happened.events
        ],
        "entries": [t for t, _, kind, _ in happened.events if kinds[kind] == "enter"],
        "messages": [
            [*message[:4], names[message[4]], *message[5:8], values[message[8]] if message[8] >= 0 else None]
            for message in happened.messages
        ],
        "relays": happened.relays,
        "intervals": happened.intervals,
        "links": [link for link in happened.links if link[2] < link[3]],
        "held": [(node, t, units, tokens) for t, node, units, tokens in happened.held],
        "stays": [(node, since, to, group) for node, group, since, to in happened.stays],
        "kept": [(group, t, units) for t, group, units in happened.kept],
        "parts": happened.parts,
        "marks": happened.marks,
    }


def comparable(tables: Json) -> Json:
    plain: Json = json.loads(json.dumps(tables))
    return {name: sorted(rows) if name in UNORDERED else rows for name, rows in plain.items()}


def assert_same(found: Json, wanted: Json) -> None:
    found, wanted = comparable(found), comparable(wanted)
    for name in wanted:  # one after the other: a difference of all tables at once takes minutes to print
        assert found[name] == wanted[name], name


@pytest.mark.parametrize("name", [*CASES, "killed"])
def test_lines_give_the_tables_of_a_file(name: str, runs: dict[str, Path], watch: Watch) -> None:
    """After every line of the log, and not only of the whole: after some that are drawn."""
    lines, rng = lines_of(runs[name]), random.Random(name)
    assert KINDS_OF_CASES.get(name, set()) <= {json.loads(line)["kind"] for line in lines}
    watched = watch(name)
    first = json.loads(lines[0])
    facts = {"nodes": len(first["units"]), "places": first["places"]}
    for count in [*rng.sample(range(1, len(lines)), 6), len(lines)]:
        texts = [line.decode() for line in lines[:count]]
        assert_same(watched.page.evaluate(COLLECT, {"run": facts, "lines": texts}), in_python(lines[:count]))
    watched.assert_well_behaved()


def test_lines_are_put_together_from_pieces(watch: Watch) -> None:
    rng = random.Random(1)
    lines = ["", "a", "{}", "ä" * 30, "😀" * 9, "x" * 5_000, "", "", '"\\u2028\u2028\x0b\x85"', "end"]
    text = "".join(f"{line}\n" for line in lines) + "not whole"
    places = [sorted(rng.sample(range(len(text)), rng.randrange(1, 200))) for _ in range(50)]
    places.append(list(range(len(text))))
    pieces = [[text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])] for cuts in places]
    found = watch("permissions").page.evaluate(
        """(cuts) => cuts.map((pieces) => {
            const lines = new testbedView.live.Lines(), found = [];
            const take = () => { for (let line = lines.next(); line !== null; line = lines.next()) found.push(line); };
            pieces.forEach((piece, i) => {
                lines.push(piece);
                if (i % 3) take();
            });
            take();
            return [found, lines.isEmpty()];
        })""",
        pieces,
    )
    assert found == [[lines, True]] * len(pieces)


ANSWERS = """(times) => {
    const { model } = testbedView;
    const nodes = Array.from({ length: model.nodes }, (_, node) => node);
    const at = (spans, t, take) => {
        const found = [];
        spans.each(t, t, (i) => found.push(take(i)));
        return found.map((one) => JSON.stringify(one)).sort();
    };
    const { links, messages } = model;
    const known = Array.from(model.events.t.keys());
    return {
        times: times.map((t) => ({
            nodes: nodes.map((node) => [model.is(node, 0, t), model.is(node, 1, t), model.is(node, 2, t),
                model.is(node, 3, t), model.heldBy(node, t), model.groupOf(node, t), model.placeAt(node, t)]),
            kept: model.run.places.map((_, group) => model.keptAt(group, t)),
            parts: model.partsAt(t),
            links: at(links.spans, t, (i) => [links.a[i], links.b[i], links.ends[i]]),
            messages: at(messages.spans, t, (i) => [i, model.hopAt(i, t)]),
        })),
        until: Array.from(messages.until),
        events: known.map((i) => [model.describe(i), model.isOutput(i)]),
        ofNodes: nodes.map((node) => Array.from(model.eventsOf(node))),
        moments: ["event", "entry", "fault"].map((kind) => Array.from(model.moments[kind])),
        end: model.end, delay: model.typicalDelay,
        types: Array.from(testbedView.marks.types.values(), (type) => [type.name, type.letters, type.carries]),
    };
}"""


@pytest.mark.parametrize("name", [*CASES, "killed"])
def test_a_live_page_answers_as_a_file_does(
    name: str, runs: dict[str, Path], watch: Watch, opened: Callable[..., Any], tmp_path: Path
) -> None:
    """The log comes in pieces that are cut anywhere, and is all there at the end."""
    file = tmp_path / "view.html"
    file.write_text(make.view(runs[name], as_dict), encoding="utf-8")
    in_file, rng = begun(opened(file)), random.Random(name)
    watched, log = watch(name), log_of(runs[name]).read_bytes()
    assert in_file.page.locator(".live-only:visible").count() == 0
    assert watched.page.locator(".live-only:visible").count() == 3
    place = 0
    while place < len(log):
        length = rng.choice((1, 7, 200, 3_000, 20_000))
        watched.stream.write(log[place : place + length])
        place += length
        if rng.random() < 0.2:
            time.sleep(0.005)  # else the browser puts the pieces together again
    if name == "killed":
        watched.stream.write(b"\n")
        watched.stream.say(ended=True, status="failed", share=0.5)
    watched.stream.close()
    wait_until(watched.page, "testbedView.live.isOver()")
    events = [json.loads(line)["t"] for line in lines_of(runs[name])]
    times = sorted(
        {*rng.sample(range(events[-1]), 30), *(max(0, t - rng.randrange(2)) for t in rng.sample(events, 40))}
    )
    times = [t for t in times if t < max(events)]
    live, wanted = watched.page.evaluate(ANSWERS, times), in_file.page.evaluate(ANSWERS, times)
    for part in wanted:
        assert live[part] == wanted[part], part
    assert_same(watched.page.evaluate(f"({TABLES})(testbedView.model.tables)"), in_python(lines_of(runs[name])))
    watched.assert_well_behaved()


# -- following ---------------------------------------------------------------------------------------------------------


def until(lines: list[bytes], t: float) -> list[bytes]:
    return [line for line in lines if json.loads(line)["t"] <= t * TICKS]


def test_it_follows_the_last_event_evenly(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("moving"), lines_of(runs["moving"])
    page = watched.page
    assert page.get_attribute("#follow", "aria-pressed") == "true"
    watched.stream.write(*until(lines, 10))
    wait_until(page, "testbedView.model.end > 9e9 && testbedView.time() === testbedView.model.end")
    page.evaluate("""() => {
        const { time, model } = testbedView;
        window.seen = [];
        const note = () => { window.seen.push([time(), model.end]); requestAnimationFrame(note); };
        note();
    }""")
    first = page.evaluate("testbedView.model.end")
    watched.stream.write(*until(lines, 20)[len(until(lines, 10)) :])
    wait_until(page, "testbedView.model.end > 19e9 && testbedView.time() === testbedView.model.end")
    seen = page.evaluate("window.seen")
    times = [t for t, _ in seen]
    assert times == sorted(times)
    assert all(t <= end for t, end in seen)
    between = {t for t in times if first < t < seen[-1][1]}
    assert len(between) >= 2  # it did not jump
    assert page.evaluate("location.hash") == ""
    watched.assert_well_behaved()


LEAVE: dict[str, Callable[[Any], object]] = {
    "scrubbing": lambda page: page.evaluate("""() => {
        const scrub = document.getElementById("scrub");
        scrub.value = scrub.max / 2;
        scrub.dispatchEvent(new Event("input"));
    }"""),
    "stepping": lambda page: page.click("#prev-entry"),
    "pausing": lambda page: page.click("#play"),
    "a key": lambda page: page.keyboard.press("ArrowLeft"),
    "a time": lambda page: (page.fill("#time", "5"), page.press("#time", "Enter")),
    "a link": lambda page: page.evaluate("location.hash = '#t=5000000000'"),
    "the diagram": lambda page: page.click("#spacetime", position={"x": 300, "y": 100}),
}
RETURN: list[Callable[[Any], object]] = [
    lambda page: page.click("#follow"),
    lambda page: (page.focus("#map"), page.keyboard.press("l")),
    lambda page: (page.focus("#map"), page.keyboard.press("End")),
]


def test_whoever_looks_back_stays_there_until_live_is_pressed(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("moving"), lines_of(runs["moving"])
    page, told = watched.page, until(lines, 30)
    watched.stream.write(*told)
    wait_until(page, "testbedView.time() === testbedView.model.end && testbedView.model.end > 29e9")
    for number, (name, leave) in enumerate(LEAVE.items()):
        page.focus("#map")
        leave(page)
        wait_until(page, "!testbedView.isFollowing()")
        assert page.get_attribute("#follow", "aria-pressed") == "false", name
        stands = page.evaluate("testbedView.time()")
        more = until(lines, 31 + number)[len(told) :]
        told += more
        watched.stream.write(*more)
        wait_until(page, f"testbedView.model.end > {(30 + number) * TICKS}")
        settled(page)
        assert page.evaluate("testbedView.time()") == stands, name
        assert page.evaluate("location.hash") != ""
        RETURN[number % 3](page)
        wait_until(page, "testbedView.time() === testbedView.model.end")
        assert page.get_attribute("#follow", "aria-pressed") == "true"
        assert page.evaluate("location.hash") == ""
    watched.assert_well_behaved()


def test_a_link_to_a_moment_waits_for_it(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("moving", f"#t={12_345_678_901}&node=2"), lines_of(runs["moving"])
    page = watched.page
    assert page.evaluate("location.hash") == "#t=12345678901&node=2"
    watched.stream.write(*until(lines, 5))
    watched.has(len(until(lines, 5)) - 1)
    assert not page.evaluate("testbedView.isFollowing()")
    watched.stream.write(*until(lines, 30)[len(until(lines, 5)) :])
    wait_until(page, "testbedView.time() === 12345678901")
    assert page.input_value("#node") == "2"
    settled(page)
    assert page.evaluate("testbedView.time()") == 12_345_678_901
    assert "has no states" in page.text_content("#node-panel")
    assert page.locator("#node-panel table.recent tr").count() > 0
    watched.assert_well_behaved()


def test_playing_up_to_the_last_event_goes_on_with_it(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("moving"), lines_of(runs["moving"])
    page = watched.page
    watched.stream.write(*until(lines, 30))
    wait_until(page, "testbedView.model.end > 29e9")
    page.evaluate("testbedView.seek(testbedView.model.end - 1e8)")
    assert not page.evaluate("testbedView.isFollowing()")
    page.click("#play")
    wait_until(page, "testbedView.isFollowing()")
    watched.assert_well_behaved()


def test_what_is_followed_is_recorded_until_the_button_is_pressed_again(
    runs: dict[str, Path], watch: Watch, tmp_path: Path
) -> None:
    watched, lines = watch("moving"), lines_of(runs["moving"])
    page = watched.page
    watched.stream.write(*until(lines, 30))
    wait_until(page, "testbedView.model.end > 29e9")
    with page.expect_download(timeout=60_000) as download:
        page.click("#record")
        watched.stream.write(*until(lines, 40)[len(until(lines, 30)) :])
        wait_until(page, "testbedView.time() > 39e9")
        assert page.text_content("#record") == "Stop recording"
        page.click("#record")
    download.value.save_as(tmp_path / "live.webm")
    assert (tmp_path / "live.webm").read_bytes().startswith(b"\x1a\x45\xdf\xa3")  # EBML, the container
    assert page.evaluate("testbedView.isFollowing()")
    watched.assert_well_behaved()


def test_a_hidden_page_reads_on_when_it_is_shown(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("moving"), lines_of(runs["moving"])
    page = watched.page
    watched.stream.write(*until(lines, 10))
    wait_until(page, "testbedView.time() > 9e9")
    page.evaluate("window.isHidden = true")
    end = page.evaluate("testbedView.model.end")
    watched.stream.write(*until(lines, 90)[len(until(lines, 10)) :])
    wait_until(page, "testbedView.live.isBehind()")
    assert page.evaluate("testbedView.model.end") == end
    page.evaluate("window.isHidden = false")
    wait_until(page, "testbedView.time() > 89e9")
    assert page.evaluate("testbedView.isFollowing()")
    watched.assert_well_behaved()


def test_what_is_offered_grows_with_the_run(runs: dict[str, Path], watch: Watch) -> None:
    """Types of messages, moments to step to, speeds and stretches; what the user has chosen stays."""
    watched, lines = watch("moving"), lines_of(runs["moving"])
    page = watched.page
    watched.stream.write(lines[0])
    wait_until(page, "testbedView.model.tables.held[0].t.length > 0")
    assert page.is_disabled("#next-entry")
    assert page.is_disabled("#next-fault")
    assert page.locator("#filter-types").is_hidden()
    watched.stream.write(*until(lines[1:], 5))
    watched.has(len(until(lines[1:], 5)))
    settled(page)
    first = page.locator("#filter-types input").first
    first.uncheck()
    hidden = page.evaluate("[...testbedView.look.hiddenTypes]")
    page.select_option("#span", index=2)
    chosen = page.input_value("#span")
    longest = page.evaluate("Number(document.querySelector('#span').lastElementChild.value)")
    page.focus("#map")
    watched.stream.write(*until(lines, 120)[len(until(lines, 5)) :])
    wait_until(page, "testbedView.model.end >= 100e9")
    settled(page)
    types = {json.loads(line)["type"] for line in lines if json.loads(line)["kind"] == "send"}
    assert page.locator("#filter-types input").count() == len(types)
    for name in types:
        assert name in page.text_content("#legend")
    assert not first.is_checked()
    assert page.evaluate("[...testbedView.look.hiddenTypes]") == hidden
    assert page.input_value("#span") == chosen
    assert page.evaluate("Number(document.querySelector('#span').lastElementChild.value)") > 5 * longest
    assert page.is_enabled("#next-entry")
    page.evaluate("testbedView.seek(testbedView.model.end)")
    page.click("#prev-fault")
    assert page.evaluate("testbedView.time()") == in_python(lines)["marks"][-1][0]
    watched.assert_well_behaved()


def test_what_goes_on_is_drawn_up_to_the_last_event(runs: dict[str, Path], watch: Watch) -> None:
    """A node that is inside, a link, a message on its way: at the last event, and in what is saved."""
    lines = lines_of(runs["moving"])
    watched = watch("moving")
    page = watched.page
    kinds = [json.loads(line)["kind"] for line in lines]
    node = json.loads(lines[kinds.index("enter")])["node"]
    last = max(i for i in range(kinds.index("exit")) if kinds[i] == "send")  # it has just left, and arrives later
    watched.stream.write(*lines[: last + 1])
    watched.has(last)
    wait_until(page, "testbedView.time() === testbedView.model.end")
    assert page.evaluate("(node) => testbedView.model.is(node, 1, testbedView.model.end)", node)
    page.evaluate("testbedView.setSpan(2)")
    settled(page)
    assert "1 message" in page.text_content("#now") or "messages" in page.text_content("#now")
    assert page.evaluate("""() => {
        const { model } = testbedView;
        let open = 0;
        model.messages.spans.each(model.end, model.end, (i) => { if (model.isOpen(i)) open++; });
        return open;
    }""")
    drawing = page.evaluate("testbedView.exports.svg()")
    assert "Infinity" not in drawing
    assert "NaN" not in drawing
    assert ">CS</text>" in drawing or page.evaluate("testbedView.model.end") < 1e9
    watched.assert_well_behaved()


# -- ends --------------------------------------------------------------------------------------------------------------


def test_the_end_is_said_and_the_page_stays(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("permissions"), lines_of(runs["permissions"])
    page = watched.page
    watched.stream.write(*lines[:-1])
    watched.stream.say(
        share=0.41, words="12 entries, 3 waiting, no offence", begun=[0], of=1, ended=False, status="running"
    )
    wait_until(page, "document.getElementById('live-words').textContent.includes('12 entries, 3 waiting, no offence')")
    assert "41 %" in page.text_content("#live-words")
    assert page.text_content("#live-said") == ""
    assert page.locator("#live-repetitions").is_hidden()
    watched.stream.write(lines[-1])
    watched.stream.say(share=1.0, begun=[0], of=1, ended=True, status="finished", directory="/runs/<i>mine")
    watched.stream.close()
    wait_until(page, "testbedView.live.isOver() && !testbedView.isPlaying()")
    said = page.text_content("#live-said")
    assert said.startswith("The run has ended: finished. This page keeps what it has")
    assert "testbed view /runs/<i>mine" in said
    assert page.evaluate("testbedView.time() === testbedView.model.end")
    assert page.is_disabled("#follow")
    page.keyboard.press("l")
    assert not page.evaluate("testbedView.isFollowing()")
    page.evaluate("testbedView.seek(5e9)")
    page.click("#play")
    wait_until(page, "testbedView.time() > 5e9")
    watched.assert_well_behaved()


def test_a_broken_connection_is_said_and_not_tried_again(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("permissions"), lines_of(runs["permissions"])
    page = watched.page
    watched.stream.write(*until(lines, 10))
    watched.stream.say(share=0.2, words="", begun=[0], ended=False, status="running")
    wait_until(page, "document.getElementById('live-words').textContent === 'running · 20 %'")
    watched.stream.close()
    wait_until(page, "document.getElementById('live-said').textContent.includes('no longer served')")
    assert page.is_disabled("#follow")
    page.wait_for_timeout(300)
    assert [url for url in watched.requests if "log" in url] == [f"{watched.server.address}log?repetition=0"]
    page.evaluate("testbedView.seek(5e9)")
    settled(page)
    assert page.evaluate("testbedView.time()") == 5 * TICKS
    watched.assert_well_behaved()


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two repetitions."""
    return run(loads(tiny(MORE + "repeat: 2\n")), tmp_path_factory.mktemp("repeated")).path


def test_the_next_repetition_follows_only_for_who_follows(repeated: Path, watch: Watch) -> None:
    following, looking_back = watch(repeated), watch(repeated)
    for watched in (following, looking_back):
        watched.stream.write(*lines_of(repeated))
        watched.stream.say(share=0.4, words="", begun=[0], of=2, ended=False, status="running")
        wait_until(watched.page, "document.getElementById('live-said').textContent === 'This repetition has ended.'")
    looking_back.page.evaluate("testbedView.seek(5e9)")
    for watched in (following, looking_back):
        watched.stream.say(share=0.5, words="", begun=[0, 1], of=2, ended=False, status="running")
        watched.stream.close()
        wait_until(watched.page, "document.querySelectorAll('#live-choice a').length === 2")
        assert watched.page.text_content("#live-begun") == "Repetitions begun: 2 of 2"
    assert "repetition 1 follows" in following.page.text_content("#live-said")
    following.page.evaluate("testbedView.seek(5e9)")
    assert "repetition 1 has begun" in following.page.text_content("#live-said")
    following.page.click("#follow")
    assert "repetition 1 follows" in following.page.text_content("#live-said")
    following.page.wait_for_url(f"{following.server.address}?repetition=1", wait_until="domcontentloaded")
    begun(following)
    following.server.streams[1].write((repeated / "rep-001/events.jsonl").read_bytes())
    wait_until(following.page, "testbedView.model.events.t.length > 10")
    assert "repetition 1" in following.page.title()
    assert following.page.evaluate("testbedView.isFollowing()")
    following.assert_well_behaved()

    assert looking_back.page.url.startswith(f"{looking_back.server.address}#t=5000000000")
    assert "repetition 1 has begun" in looking_back.page.text_content("#live-said")
    looking_back.page.click("#live-choice a >> text=1")
    looking_back.page.wait_for_url(f"{looking_back.server.address}?repetition=1", wait_until="domcontentloaded")
    looking_back.assert_well_behaved()


# -- lines that no run of this testbed writes --------------------------------------------------------------------------


def test_lines_that_make_no_sense_are_left_out_and_said_once(runs: dict[str, Path], watch: Watch) -> None:
    watched, lines = watch("permissions"), lines_of(runs["permissions"])
    page = watched.page
    template = next(json.loads(line) for line in lines if json.loads(line)["kind"] == "send")
    nonsense = [
        b"",
        b"{",
        b"no JSON </script><script>document.title='bad'</script>",
        b"[1, 2]",
        b"null",
        b"\xff\xfe\x00",
        b'{"t":1,"node":0,"kind":"constructor"}',
        b'{"t":1,"node":77,"kind":"request"}',
        b'{"t":1,"node":0.5,"kind":"request"}',
        b'{"t":-1,"node":0,"kind":"request"}',
        b'{"t":900000000000000,"node":0,"kind":"send"}',
        lines[0].strip(),
        *(json.dumps({**template, **change}).encode() for change in ({"peer": 99}, {"type": 7}, {"node": "__proto__"})),
    ]
    backwards = b'{"t":1,"node":0,"kind":"timer","name":"x"}\n'
    watched.stream.write(lines[0], *(line + b"\n" for line in nonsense), *lines[1:50], backwards, *lines[50:])
    watched.stream.close()
    wait_until(page, "testbedView.live.isOver()")
    assert_same(page.evaluate(f"({TABLES})(testbedView.model.tables)"), in_python(lines))
    assert page.locator("#notes li").all_text_contents() == [
        "Line 2 makes no sense; it is left out, and so are others like it."
    ]
    assert page.title() == "tiny, repetition 0"
    watched.assert_well_behaved()


def test_what_a_line_says_is_text_and_cut_as_in_a_file(runs: dict[str, Path], watch: Watch) -> None:
    lines = lines_of(runs["moving"])
    events = [json.loads(line) for line in lines]
    sends = [event for event in events if event["kind"] == "send"]
    long = "x" * 10_000_000
    odd: list[Any] = [
        [HOSTILE, long],
        [2**53, 2**53 + 1, -(2**60), 10**30, 0.1234567890123456789, 1e300],
        [float("nan"), float("inf"), -float("inf"), "NaN and Infinity, 12345678901234567890"],
        ["é" * 3_000, "😀" * 3_000, "\ud800", {"2": "é", "1": [None, True]}],
        [["é" * 1_999] * 20],
        [list(range(2_000))],
        [1.5, {"a": "y" * 30_000}],
    ]
    for event, fields in zip(sends, odd, strict=False):
        event["fields"] = fields
    for event in events:
        if event.get("type") == "Request":
            event["type"] = HOSTILE + "😀" * 100
        if event["kind"] == "fault":
            event["detail"] = {"node": 3, "holder": True, "group": [1, 2], "message": "<img src=x>"}
    changed = [json.dumps(event).encode() + b"\n" for event in events]
    watched = watch("moving")
    page = watched.page
    watched.stream.write(*changed)
    watched.stream.close()
    wait_until(page, "testbedView.live.isOver()")
    assert_same(page.evaluate(f"({TABLES})(testbedView.model.tables)"), in_python(changed))
    for node in range(8):
        page.evaluate("(node) => { testbedView.select(node); testbedView.seek(testbedView.model.end); }", node)
        settled(page)
    page.click("#prev-fault")
    settled(page)
    assert page.title() == "tiny, repetition 0"
    assert "<img src=http" in page.text_content("#legend")
    assert page.locator("img").count() == 0
    assert page.locator("#notes li").count() == 0
    watched.assert_well_behaved()
