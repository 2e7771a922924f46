"""`testbed run --live`: the log is served as it grows, viewers hold up nothing, and nothing is left."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from testbed.experiments.runner import run
from testbed.look.live.process import GRACE_S, Live
from testbed.look.live.run_source import RunSource
from testbed.scenario.loader import load
from tests.testbed.tiny import command, command_line, interruptible, is_one_line, only_run, write_tiny

MOBILE = {"topology": "geometric", "workload": "{rate: 0.5, cs_time: 0.1}"}
PLACES = "area: [100, 100]\nplacement: uniform\nradio: {range: 80}\nmobility: {kind: random-waypoint, speed: [1, 2]}\n"


class Running:
    """A command that serves a run."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            command_line(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=interruptible,
        )
        assert self.process.stderr is not None
        self.notes: list[str] = []
        for line in self.process.stderr:
            self.notes.append(line)
            if found := re.search(r"live: (http://\S+/) \(while the run goes on\)", line):
                self.address = found[1]
                break

    def page(self) -> str:
        """The page, when the run has begun."""
        while True:
            with urllib.request.urlopen(self.address, timeout=60) as answer:
                text: str = answer.read().decode()
            if 'id="ground"' in text:
                return text
            assert answer.headers["Refresh"] == "1"
            time.sleep(0.1)

    def log(self, repetition: int = 0, begun: threading.Event | None = None) -> bytes:
        """All that a viewer gets, until the stream ends; `begun` is set when it gets something."""
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}log?repetition={repetition}", timeout=120) as answer:
                    first = answer.read(1)
                    if begun is not None:
                        begun.set()
                    return bytes(first + answer.read())
            except urllib.error.HTTPError as error:  # not begun
                if error.code != 404:
                    raise
                time.sleep(0.1)

    def server(self) -> int:
        """The process that serves."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        port = urlsplit(self.address).port
        inodes = {
            row.split()[9] for row in Path("/proc/net/tcp").read_text().splitlines() if f":{port:04X} 0000" in row
        }
        for child in map(int, children):
            for link in Path(f"/proc/{child}/fd").iterdir():
                with suppress(OSError):
                    if os.readlink(link) in {f"socket:[{inode}]" for inode in inodes}:
                        return child
        raise AssertionError("no process listens")

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, "".join(self.notes) + err


@contextmanager
def live(*arguments: object) -> Iterator[Running]:
    running = Running("run", *arguments, "--live")
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()


def is_listening(address: str) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", urlsplit(address).port)) == 0


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def until(condition) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def split(streamed: bytes) -> tuple[list[bytes], list[dict]]:
    """What is of the log, and what the command said."""
    lines = streamed.splitlines(keepends=True)
    said = [json.loads(line)["live"] for line in lines if line.startswith(b'{"live"')]
    return [line for line in lines if not line.startswith(b'{"live"')], said


@pytest.mark.parametrize("backend", ["sim", "loopback"])
def test_a_run_is_served_while_it_goes_on(backend: str, tmp_path: Path) -> None:
    """Two viewers get the same log as is in the file; one that leaves and one that never reads change nothing."""
    more = PLACES + ("time_unit: 0.1\nlinks: radio\nwarmup: 5\n" if backend == "loopback" else "")
    scenario = write_tiny(tmp_path, more, **MOBILE, backend=backend, duration="40")
    pace = ["--pace", "10"] if backend == "sim" else []
    streamed: list[bytes] = []
    with live(scenario, "--out", tmp_path / "runs", *pace) as running:
        page = running.page()
        viewers = [threading.Thread(target=lambda: streamed.append(running.log())) for _ in range(2)]
        for viewer in viewers:
            viewer.start()
        address = urlsplit(running.address)
        request = f"GET {address.path}log?repetition=0 HTTP/1.0\r\nHost: localhost\r\n\r\n".encode()
        leaves, never_reads = (socket.create_connection(("127.0.0.1", address.port)) for _ in range(2))
        for one in (leaves, never_reads):
            one.sendall(request)
        leaves.recv(100)
        leaves.close()
        server = running.server()
        for viewer in viewers:
            viewer.join()
        code, out, err = running.end()
        never_reads.close()
    assert code in (0, 4), err  # a busy machine may be too late for its timers
    assert not is_listening(running.address)
    assert not is_running(server)
    path = only_run(tmp_path / "runs")
    log = (path / "rep-000" / "events.jsonl").read_bytes()
    for one in streamed:
        lines, said = split(one)
        assert b"".join(lines) == log
        assert said[-1] == {
            **said[-1],
            "ended": True,
            "status": "finished",
            "directory": str(path),
            "begun": [0],
            "of": 1,
        }
        assert len({entry["words"] for entry in said}) > 1
        assert any(entry["words"] and not entry["ended"] for entry in said)
        assert [entry["share"] for entry in said] == sorted(entry["share"] for entry in said)
    assert '"live":true' in page
    assert "connect-src &#x27;self&#x27;" in page
    assert "every event is logged (trace: events" in err
    assert f"run directory: {path}" in out


def test_repetitions(tmp_path: Path) -> None:
    """Each has its log; the page shows the first that goes on, and a stream ends when another one has begun."""
    scenario = write_tiny(tmp_path, "repeat: 3\n", duration="10", backend="loopback", time_unit="0.1", links="radio")
    with live(scenario, "--out", tmp_path / "runs") as running:
        _, said = split(running.log(0))
        assert said[-1]["begun"] == [0, 1]
        assert not said[-1]["ended"]
        assert re.search('"repetition":[12],', running.page()), "the first one has ended"
        running.log(1)
        assert split(running.log(2))[1][-1]["ended"]
        for name in (
            "?repetition=7",
            "log?repetition=7",
            "log?repetition=x",
            "log",
            "log/../../..",
            "rep-000/events.jsonl",
        ):
            with pytest.raises((urllib.error.HTTPError, ConnectionError, urllib.error.URLError)):
                urllib.request.urlopen(running.address + name)
        assert running.end()[0] in (0, 4)


def test_other_names_while_it_runs(tmp_path: Path) -> None:
    with live(write_tiny(tmp_path), "--out", tmp_path / "runs", "--pace", "5") as running:
        running.page()
        names = (
            "?repetition=7",
            "log?repetition=7",
            "log?repetition=x",
            "log",
            "rep-000/events.jsonl",
            "../etc/passwd",
        )
        for name in names:
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(running.address + name)


UNSAFE = """from agents.rl import ReverseLink

class Unsafe(ReverseLink):
    def on_request(self, demand):
        self.enter()

    def on_release(self):
        pass
"""


def test_an_offence_is_said_while_the_run_goes_on(tmp_path: Path) -> None:
    """With its time, so that a viewer can go there."""
    (tmp_path / "unsafe.py").write_text(UNSAFE)
    scenario = write_tiny(tmp_path, algorithm="{name: unsafe, file: unsafe.py}", workload="{rate: 1, cs_time: 5}")
    with live(scenario, "--out", tmp_path / "runs", "--pace", "25") as running:
        _, said = split(running.log())
        code, out, _ = running.end()
    assert code == 1
    (first,) = re.findall(r"--until (\S+)", next(line for line in out.splitlines() if "replay" in line))
    words = [one["words"] for one in said if not one["ended"] and "safety FAILED" in one["words"]]
    assert words
    assert all(f"safety FAILED at t={float(first):g}" in one for one in words)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_run_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    """While a viewer reads."""
    with live(write_tiny(tmp_path), "--out", tmp_path / "runs", "--pace", "0.01") as running:
        running.page()
        streamed: list[bytes] = []
        reads = threading.Event()

        def watch() -> None:
            with suppress(OSError):
                streamed.append(running.log(begun=reads))

        viewer = threading.Thread(target=watch)
        viewer.start()
        server = running.server()
        assert reads.wait(60)
        running.process.send_signal(number)
        code, _, err = running.end()
        until(lambda: not is_running(server))
        viewer.join()
    assert code == (-9 if number == signal.SIGKILL else 128 + number), err
    assert not is_listening(running.address)
    if number != signal.SIGKILL:
        assert split(streamed[0])[1][-1]["status"] == "interrupted"
        assert json.loads((only_run(tmp_path / "runs") / "meta.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_run_goes_on_without_its_server(number: signal.Signals, tmp_path: Path) -> None:
    """Killed, or stopped for good: the run ends as it would, and the server is not left."""
    with live(write_tiny(tmp_path), "--out", tmp_path / "runs", "--pace", "25") as running:
        running.page()
        server = running.server()
        os.kill(server, number)
        code, _, err = running.end()
    assert code == 0, err
    assert not is_running(server)


def test_a_server_that_reads_nothing_does_not_block_the_command() -> None:
    """However much is said: more than a pipe holds."""
    with Live(RunSource()) as live:
        os.kill(live._process.pid or 0, signal.SIGSTOP)
        for _ in range(1000):
            live.tell(share=0.5, words="x" * 1000)
        began = time.monotonic()
    assert time.monotonic() - began >= GRACE_S
    assert not live._process.is_alive()


def test_a_paced_run_is_the_same_run(tmp_path: Path) -> None:
    """Only slower: it takes at least as long as the pace says."""
    changes = {"topology": "geometric", "trace": "events", "duration": "20", "repeat": "2"}
    path = write_tiny(tmp_path, PLACES, **changes)
    began = time.monotonic()
    done = command("run", path, "--pace", "10", "--out", tmp_path / "paced")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began >= 2.0
    free = run(load(path), tmp_path / "free")
    for repetition in ("rep-000", "rep-001"):
        logs = [one / repetition / "events.jsonl" for one in (only_run(tmp_path / "paced"), free.path)]
        assert logs[0].read_bytes() == logs[1].read_bytes()
        assert logs[0].read_bytes().count(b"\n") > 50


def test_a_paced_run_in_which_nothing_happens_any_more_ends(tmp_path: Path) -> None:
    """The pace does not keep an empty queue going."""
    more = "entries: 3\n"
    path = write_tiny(tmp_path, more, duration=None, workload="{requests: [{node: 1, at: 1}]}")
    free, paced = (
        command("run", path, "--out", tmp_path / name, *more) for name, more in (("a", []), ("b", ["--pace", "1000"]))
    )
    assert (paced.returncode, paced.stderr) == (free.returncode, free.stderr)


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan", "inf", "1e99", ""])
def test_no_such_pace(text: str, tmp_path: Path) -> None:
    done = command("run", write_tiny(tmp_path), "--pace", text)
    assert (done.returncode, done.stdout) == (2, "")
    assert "time units a second, from 1e-6 to 1e9" in done.stderr


def test_a_pace_where_time_is_real(tmp_path: Path) -> None:
    path = write_tiny(tmp_path, "time_unit: 0.1\nlinks: radio\n", backend="loopback")
    done = command("run", path, "--pace", "3", "--out", tmp_path)
    assert done.returncode == 2
    assert is_one_line(done.stderr)
    assert "--pace: in backend loopback time is real" in done.stderr


def test_a_trace_that_the_user_asks_for(tmp_path: Path) -> None:
    """Stays as it is; otherwise every event is logged. Without a pace the run would take a minute."""
    with live(write_tiny(tmp_path), "--out", tmp_path / "runs", "--pace", "100", "--set", "trace=cs") as running:
        page = running.page()
        assert running.end()[0] == 0
    assert "trace level cs: no messages" in page
    assert "logged" not in "".join(running.notes)


def test_the_usual_pace(tmp_path: Path) -> None:
    with live(write_tiny(tmp_path, duration="120"), "--out", tmp_path / "runs") as running:
        assert "testbed: --live: 2 time units a second (--pace)\n" in running.notes
