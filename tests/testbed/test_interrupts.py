"""SIGTERM, SIGHUP and Ctrl-C: a run is marked as interrupted, and no process is left."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.experiments.workers import cores
from testbed.interrupts import Terminated, exit_code, interrupts_held, terminations_raised
from tests.testbed.tiny import command_line, only_run, write_tiny

LONG = {"topology": "{kind: random, connectivity: 0.6, link_change_rate: 1}", "duration": "1e7"}
SIGNALS = [(signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def processes_of(session: int) -> list[int]:
    """The processes of a session, zombies left out."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry))
    return found


def with_signals(*ignored: signal.Signals) -> Callable[[], None]:
    """For a child process: these signals are ignored, and the other interrupts are not."""

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    return prepare


@contextmanager
def running(*arguments: object, ignored: tuple[signal.Signals, ...] = (), **options: Any) -> Iterator[Any]:
    """A command in a session of its own."""
    given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    process = subprocess.Popen(
        command_line(*arguments), start_new_session=True, text=True, preexec_fn=with_signals(*ignored), **given
    )
    try:
        yield process
    finally:
        for left in processes_of(process.pid):
            os.kill(left, signal.SIGKILL)
        process.communicate()


def has_logged(out: Path) -> bool:
    return any(log.stat().st_size for log in out.glob("*/rep-*/events.jsonl"))


def check_marked(out: Path, code: int) -> None:
    meta = json.loads((only_run(out) / "meta.json").read_text())
    assert (meta["status"], meta["exit"]) == ("interrupted", code)
    assert not list(out.rglob(".*.partial"))


@pytest.mark.parametrize("ignored", [(), (signal.SIGINT,)], ids=["foreground", "background"])
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to it", "to all"])
@pytest.mark.parametrize(("number", "code", "name"), SIGNALS)
@pytest.mark.parametrize("repeat", [1, 3], ids=["alone", "with workers"])
def test_a_run_is_marked(
    number: signal.Signals,
    code: int,
    name: str,
    repeat: int,
    send: Callable[[int, int], None],
    ignored: tuple[signal.Signals, ...],
    tmp_path: Path,
) -> None:
    """One line, 128 and the number of the signal, and no process left; also where a shell has SIGINT ignored."""
    scenario, out = write_tiny(tmp_path, f"repeat: {repeat}\n", **LONG), tmp_path / "runs"
    with running("run", scenario, "--out", out, ignored=ignored) as process:
        wait_until(lambda: has_logged(out), "the run has begun")
        assert len(processes_of(process.pid)) == (1 if repeat == 1 else 1 + min(repeat, cores()))
        send(process.pid, number)
        printed, said = process.communicate(timeout=60)
        assert (process.returncode, printed, said) == (code, "", f"testbed: interrupted by {name}\n")
        wait_until(lambda: not processes_of(process.pid), "no process is left")
    check_marked(out, code)


@pytest.mark.parametrize(("number", "code", "name"), SIGNALS)
def test_smoke_is_marked(number: signal.Signals, code: int, name: str, tmp_path: Path) -> None:
    """It ends at once, instead of going on with the next scenario."""
    folder, out = tmp_path / "scenarios", tmp_path / "runs"
    folder.mkdir()
    for file in ("a.yaml", "b.yaml"):
        write_tiny(folder, "repeat: 2\n", **LONG).rename(folder / file)
    with running("smoke", folder, "--out", out) as process:
        wait_until(lambda: has_logged(out), "the first run has begun")
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (code, f"testbed: interrupted by {name}\n")
        wait_until(lambda: not processes_of(process.pid), "no process is left")
    check_marked(out, code)


@pytest.mark.parametrize(("number", "code", "name"), SIGNALS)
def test_compare_leaves_nothing(number: signal.Signals, code: int, name: str, tmp_path: Path) -> None:
    """No process and no directory without results; the store has what had ended, and claims nothing."""
    scenario, out = write_tiny(tmp_path, "repeat: 2\n", **LONG), tmp_path / "runs"
    with running("compare", scenario, "--algorithms", "rl,raymond-tree", "--out", out) as process:
        wait_until(lambda: len(processes_of(process.pid)) > 1, "workers have started")
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (code, f"testbed: interrupted by {name}\n")
        wait_until(lambda: not processes_of(process.pid), "no process is left")
    assert list(out.iterdir()) == [out / "store"]
    assert list((out / "store" / "owners").iterdir()) == []


@pytest.mark.parametrize("repeat", [1, 3], ids=["alone", "with workers"])
def test_nohup(repeat: int, tmp_path: Path) -> None:
    """A run that ignores SIGHUP goes on: the SIGTERM that comes later ends it."""
    scenario, out = write_tiny(tmp_path, f"repeat: {repeat}\n", **LONG), tmp_path / "runs"
    with running("run", scenario, "--out", out, ignored=(signal.SIGHUP,)) as process:
        wait_until(lambda: has_logged(out), "the run has begun")
        os.killpg(process.pid, signal.SIGHUP)
        logged = sum(log.stat().st_size for log in out.rglob("events.jsonl"))
        wait_until(lambda: sum(log.stat().st_size for log in out.rglob("events.jsonl")) > logged, "it goes on")
        process.terminate()
        assert process.wait(timeout=60) == 143
    check_marked(out, 143)


def test_a_terminal_that_closes(tmp_path: Path) -> None:
    """The kernel sends SIGHUP, and nothing can be printed any more."""
    ours, theirs = pty.openpty()
    scenario, out = write_tiny(tmp_path, "repeat: 3\n", **LONG), tmp_path / "runs"
    line = ["setsid", "--ctty", "--wait", *command_line("run", scenario, "--out", out)]
    with subprocess.Popen(
        line, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=with_signals(), start_new_session=True
    ) as process:
        os.close(theirs)
        shown = threading.Thread(target=_read_all, args=(ours,), daemon=True)
        shown.start()
        wait_until(lambda: has_logged(out), "the run has begun")
        meta = json.loads((only_run(out) / "meta.json").read_text())
        os.close(ours)
        assert process.wait(timeout=60) == 129
        wait_until(lambda: not processes_of(meta["pid"]), "no process is left")
    check_marked(out, 129)


def _read_all(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except OSError:
        pass  # it was closed


# -- the parts ---------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """All three signals have a handler, even if the suite is a background job; afterwards it is as before."""
    before = {
        number: signal.signal(number, signal.default_int_handler)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code", "name"), SIGNALS)
def test_raised_like_ctrl_c(number: signal.Signals, code: int, name: str) -> None:
    """Whatever handles Ctrl-C handles it; the handlers are restored."""
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as caught, terminations_raised():
        signal.raise_signal(number)
    assert isinstance(caught.value, Terminated)
    assert (exit_code(caught.value), str(caught.value)) == (code, name)
    assert signal.getsignal(number) is before
    assert exit_code(KeyboardInterrupt()) == 130


def test_further_terminations_do_not_stop_the_clean_up() -> None:
    """A terminal that closes sends SIGHUP more than once."""
    cleaned = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGHUP)
        finally:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
            cleaned.append("all")

    with pytest.raises(Terminated) as caught, terminations_raised():
        work()
    assert cleaned == ["all"]
    assert caught.value.signal is signal.SIGHUP


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_held_until_the_block_has_ended(number: signal.Signals) -> None:
    """The block is carried out as a whole, and the interrupt is not lost, even if the block fails."""
    done = []

    def work(*, fails: bool) -> None:
        with interrupts_held():
            signal.raise_signal(number)
            done.append("whole")
            if fails:
                raise ValueError

    for fails in (False, True):
        with pytest.raises(KeyboardInterrupt), terminations_raised():
            work(fails=fails)
    assert done == ["whole", "whole"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(number: signal.Signals) -> None:
    """In both contexts and after them."""
    signal.signal(number, signal.SIG_IGN)
    with terminations_raised(), interrupts_held():
        assert signal.getsignal(number) is signal.SIG_IGN
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_IGN


def test_in_another_thread_nothing_changes() -> None:
    """Only the main thread can handle signals."""
    seen: list[Any] = []

    def work() -> None:
        with terminations_raised(), interrupts_held():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
