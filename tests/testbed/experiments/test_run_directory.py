"""What a run leaves behind: the same for the same seed, readable after a kill, with a record of what it was."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import testbed
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from analysis.load import load_run
from testbed.cli.main import main
from testbed.experiments import runner, workers
from testbed.experiments.run_directory import fresh_directory
from testbed.experiments.runner import run
from testbed.experiments.studies import pool
from testbed.experiments.workers import cores
from testbed.scenario.loader import load, loads
from tests.testbed.tiny import (
    Unsafe,
    command,
    command_line,
    interruptible,
    is_one_line,
    killed,
    only_run,
    tiny,
    write_tiny,
)

MOVING = "{kind: random, connectivity: 0.7, link_change_rate: 0.2}"
EVENTFUL = """\
trace: events
warmup: 10
repeat: 2
delays: {hop: {uniform: [0.5, 1.5]}, send: 0.01, receive: 0.02}
"""
FAULTY = """\
faults:
  - {at: 20, kind: cut, group: [1, 2]}
  - {at: 40, kind: heal}
  - {at: 60, kind: crash, holder: true}
drain: 50
"""
KINDS_OF_RUN = {
    "static": tiny("trace: events\n"),
    "moving": tiny(EVENTFUL, topology=MOVING, duration="100"),
    "faulty": tiny(EVENTFUL + FAULTY, topology=MOVING, duration="100"),
    "partitioned": tiny(EVENTFUL + "drain: 20\n", topology="{kind: explicit, links: [[0, 1], [2, 3]]}", duration="100"),
    "entries": tiny("trace: events\nentries: 15\n", workload="{rate: 1, cs_time: {exponential: 1}}", duration=None),
}


def logs(path: Path) -> list[bytes]:
    """The logs of a run's repetitions."""
    return [log.read_bytes() for log in sorted(path.glob("rep-*/events.jsonl"))]


def use_cores(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make runs use so many cores."""
    for module in (runner, workers):
        monkeypatch.setattr(module, "cores", lambda: number)


# -- the same run again -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", KINDS_OF_RUN.values(), ids=KINDS_OF_RUN.keys())
def test_same_seed_same_events(text: str, tmp_path: Path) -> None:
    """The same scenario and seed give the same bytes; another seed, and another repetition, give others."""
    scenario = loads(text)
    first, second = logs(run(scenario, tmp_path).path), logs(run(scenario, tmp_path).path)
    assert first == second
    assert len(first) == scenario.repeat == len(set(first))
    assert all(log.count(b"\n") > 20 for log in first)
    other = logs(run(loads(text, ["seed=2"]), tmp_path).path)
    assert not set(first) & set(other)


def test_processes_agree(tmp_path: Path) -> None:
    """The events do not depend on how this process hashes strings."""
    path = write_tiny(tmp_path, EVENTFUL + FAULTY, topology=MOVING, duration="100")
    found = []
    for hash_seed in ("1", "2"):
        out = tmp_path / hash_seed
        done = command("run", path, "--out", out, env={**os.environ, "PYTHONHASHSEED": hash_seed})
        assert done.stderr == ""
        found.append(logs(only_run(out)))
    assert found[0] == found[1] != []


@pytest.mark.parametrize("text", KINDS_OF_RUN.values(), ids=KINDS_OF_RUN.keys())
def test_resolved_scenario_gives_the_same_run(text: str, tmp_path: Path) -> None:
    """Running a run directory's scenario.yaml again repeats the run, overrides included."""
    first = run(loads(text, ["seed=7"]), tmp_path).path
    again = run(load(first / "scenario.yaml"), tmp_path).path
    assert logs(first) == logs(again) != []
    assert (first / "scenario.yaml").read_bytes() == (again / "scenario.yaml").read_bytes()
    assert json.loads((first / "summary.json").read_text()) == json.loads((again / "summary.json").read_text())


def test_trace_level_changes_the_log_alone(tmp_path: Path) -> None:
    """Metrics and verdicts are the same however much is logged, and each level's log is contained in the next one's.

    Only changes of heights are measured where every message is looked at anyway.
    """
    summaries, lines = [], []
    for level in ("metrics", "cs", "events"):
        result = run(loads(KINDS_OF_RUN["faulty"], [f"trace={level}"]), tmp_path)
        for measured in (result.summary, *result.summary["repetitions"]):
            del measured["metrics"]["height_changes_per_cs"]
        summaries.append(result.summary)
        lines.append(logs(result.path)[0].splitlines()[1:])  # the first names the level
    assert summaries[0] == summaries[1] == summaries[2]
    assert set(lines[0]) < set(lines[1]) < set(lines[2])


def test_all_cores_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cores run three repetitions at the same time: each waits until the others have started."""
    started = multiprocessing.get_context("fork").Barrier(3)

    class Waiting(ReverseLink):
        """Starts when the algorithm has started three times."""

        @classmethod
        def initial(cls, graph: Any, parameters: Any) -> list[Any]:
            started.wait(timeout=20)
            return super().initial(graph, parameters)

    monkeypatch.setitem(ALGORITHMS, "waiting", Waiting)
    use_cores(3, monkeypatch)
    assert run(loads(tiny("repeat: 6\n", algorithm="waiting")), tmp_path).passed


def test_cores_do_not_change_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repetitions one after the other in this process and on three cores give the same logs and the same summary."""
    scenario = loads(KINDS_OF_RUN["faulty"], ["repeat=4"])
    found = []
    for number in (1, 3):
        use_cores(number, monkeypatch)
        result = run(scenario, tmp_path)
        found.append((logs(result.path), result.summary))
    assert found[0] == found[1]
    assert [one["repetition"] for one in found[0][1]["repetitions"]] == [0, 1, 2, 3]


# -- what was measured on line and what the log says ------------------------------------------------------------------


@pytest.mark.parametrize("text", KINDS_OF_RUN.values(), ids=KINDS_OF_RUN.keys())
def test_log_gives_the_metrics_and_verdicts_of_the_run(text: str, tmp_path: Path) -> None:
    """What was measured and judged while the run went on is exactly what its full log gives afterwards."""
    path = run(loads(text), tmp_path).path
    said = json.loads((path / "summary.json").read_text())["repetitions"]
    audits = load_run(path).audits
    assert len(said) == len(audits) > 0
    for one, audit in zip(said, audits, strict=True):
        assert one["metrics"] == json.loads(json.dumps(audit.metrics()))
        assert one["checks"] == audit.verdicts()
        assert one["metrics"]["entries"] > 0


def test_log_gives_the_offenders_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed check names the same first offending events on line and from the log."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    path = run(loads(tiny("trace: events\n", algorithm="unsafe", workload="{rate: 1}")), tmp_path).path
    (said,) = json.loads((path / "summary.json").read_text())["repetitions"]
    (audit,) = load_run(path).audits
    assert said["checks"]["safety"]["verdict"] == "failed"
    assert len(said["checks"]["safety"]["offenders"]) == 5
    assert said["checks"] == audit.verdicts()


def test_metrics_that_the_log_does_not_hold_are_not_zero(tmp_path: Path) -> None:
    """A log without messages cannot say how many there were: nothing, rather than none."""
    path = run(loads(tiny("trace: cs\n")), tmp_path).path
    (path / "summary.json").unlink()
    metrics = load_run(path).metrics()
    assert metrics["waiting_time"]["mean"] > 0
    assert metrics["messages_per_cs"]["mean"] is None
    assert metrics["token_hops_per_cs"]["mean"] is None


# -- meta.json --------------------------------------------------------------------------------------------------------


def test_meta_tells_what_the_run_was(tmp_path: Path) -> None:
    """Versions, seed, backend, host, times and the end of the run are all there."""
    path = run(loads(tiny("repeat: 2\n"), ["seed=5"]), tmp_path).path
    meta = json.loads((path / "meta.json").read_text())
    assert meta["versions"] == {"testbed": testbed.__version__, "python": platform.python_version()}
    assert (meta["seed"], meta["backend"], meta["repeat"]) == (5, "sim", 2)
    assert meta["host"] == {
        "system": platform.platform(), "machine": platform.machine(), "cores": os.cpu_count(),
    }  # fmt: skip
    assert (meta["status"], meta["exit"], meta["pid"]) == ("finished", 0, os.getpid())
    assert 0 <= meta["wall_time_s"] < 60
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00", meta["started"])
    assert meta["commit"] is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", meta["commit"])


def test_layout_of_the_directory(tmp_path: Path) -> None:
    """The directory is named after the scenario and the time, and has exactly these files."""
    path = run(loads(tiny("repeat: 2\n")), tmp_path / "deep/down").path
    assert re.fullmatch(r"tiny-\d{8}T\d{6}Z-[0-9a-f]{6}", path.name)
    assert path.parent == tmp_path / "deep/down"
    files = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    assert files == ["meta.json", "rep-000/events.jsonl", "rep-001/events.jsonl", "scenario.yaml", "summary.json"]


@pytest.mark.parametrize("out", ["tiny.yaml", "tiny.yaml/below"])
def test_unwritable_out_is_one_line(out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A place where no directory can be made is the user's mistake; this one is a file, which stops root as well."""
    path = write_tiny(tmp_path)
    code = main(["run", str(path), "--out", str(tmp_path / out)])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert is_one_line(captured.err)
    assert captured.err.startswith(f"testbed: {tmp_path / out}")
    assert path.read_text() == tiny()


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "tiny.yaml", "--algorithms", "rl,krl"),
        ("compare", "tiny.yaml", "--backends", "sim"),
        ("reproduce", "rl", "--quick"),
        ("mobility", "moving.yaml", "--plot"),
    ],
    ids=" ".join,
)
def test_nothing_runs_if_the_out_cannot_be_made(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes before the work, not after it."""
    monkeypatch.chdir(tmp_path)
    write_tiny(tmp_path, "area: [100, 100]\nplacement: grid\n", topology="geometric").rename("moving.yaml")
    write_tiny(tmp_path)
    monkeypatch.setattr(pool, "spread", lambda *_: pytest.fail("something ran"))
    code = main([*command, "--out", "tiny.yaml"])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert is_one_line(captured.err)
    assert captured.err.startswith("testbed: tiny.yaml")


def test_directories_of_the_same_second(tmp_path: Path) -> None:
    """Two comparisons do not write over each other, and one without results leaves no directory."""
    with fresh_directory(tmp_path, "compare") as one, fresh_directory(tmp_path, "compare") as other:
        (one / "report.md").write_text("a table")
        assert one != other
    assert list(tmp_path.iterdir()) == [one]


# -- runs that do not come to their end -------------------------------------------------------------------------------


@pytest.fixture
def long_run(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process in the middle of its first repetitions, as many as there are cores, and its run directory."""
    scenario = write_tiny(tmp_path, "repeat: 3\n", topology=MOVING, duration="1e7")
    process = subprocess.Popen(
        command_line("run", scenario, "--out", tmp_path / "runs"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    try:
        deadline = time.monotonic() + 20
        running = min(3, cores())
        while sum(log.stat().st_size > 20_000 for log in tmp_path.glob("runs/*/rep-*/events.jsonl")) < running:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        yield process, only_run(tmp_path / "runs")
    finally:
        process.kill()
        process.communicate()


def analysed(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    """What `testbed analyze` says of a run, as text and as JSON; the run has failed no check."""
    assert main(["analyze", str(path)]) == 0
    text = capsys.readouterr().out
    assert main(["analyze", str(path), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    return text, one


def test_killed_run_can_be_read(
    long_run: tuple[subprocess.Popen[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The status of a killed run stays `running`; analysis reads what it logged and says that it did not finish."""
    process, path = long_run
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    meta = json.loads((path / "meta.json").read_text())
    assert (meta["status"], meta["exit"], meta["pid"]) == ("running", None, process.pid)
    assert not (path / "summary.json").exists()
    text, one = analysed(path, capsys)
    assert text.startswith(f"{path} (did not finish: running)\n")
    assert (one["status"], one["finished"]) == ("running", False)
    verdicts = {name: check["verdict"] for name, check in one["checks"].items()}
    assert verdicts["safety"] == "ok"
    assert verdicts["starvation"] == verdicts["conservation"] == "not checked"
    assert one["metrics"]["entries"]["mean"] > 0


def test_interrupted_run_says_so(
    long_run: tuple[subprocess.Popen[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is exit code 130, one line, and a directory that says `interrupted`."""
    process, path = long_run
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "testbed: interrupted\n")
    meta = json.loads((path / "meta.json").read_text())
    assert (meta["status"], meta["exit"]) == ("interrupted", 130)
    assert meta["wall_time_s"] > 0
    text, one = analysed(path, capsys)
    assert text.startswith(f"{path} (did not finish: interrupted)\n")
    assert one["finished"] is False


@pytest.mark.parametrize("repetition", [0, 2])
def test_a_killed_worker_costs_its_repetition(
    repetition: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line names the repetition, exit code 1; the others have their results, and the directory says `failed`."""
    use_cores(2, monkeypatch)
    monkeypatch.setitem(ALGORITHMS, "killed", killed(ReverseLink, repetition))
    scenario = write_tiny(tmp_path, "repeat: 3\n", algorithm="killed")
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 1
    line = f"tiny, repetition {repetition}: its worker process was killed by signal 9; is there enough memory?"
    out, err = capsys.readouterr()
    assert err == f"testbed: {line}\n"
    assert "2 of 3 repetitions, backend sim" in out
    path = only_run(tmp_path / "runs")
    meta = json.loads((path / "meta.json").read_text())
    assert (meta["status"], meta["exit"], meta["error"]) == ("failed", 1, line)
    summary = json.loads((path / "summary.json").read_text())
    assert summary["lost"] == [line]
    assert [one["repetition"] for one in summary["repetitions"]] == [one for one in range(3) if one != repetition]
    assert not (path / "error.txt").exists()
    assert not multiprocessing.active_children()
    assert analysed(path, capsys)[0].startswith(f"{path} (did not finish: failed)\n")


def test_a_run_whose_workers_are_all_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to show: one line, exit code 1, no summary."""
    use_cores(2, monkeypatch)
    monkeypatch.setitem(ALGORITHMS, "killed", killed(ReverseLink, 0, 1, 2))
    scenario = write_tiny(tmp_path, "repeat: 3\n", algorithm="killed")
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 1
    why = "tiny, repetition 0: its worker process was killed by signal 9; is there enough memory?"
    assert capsys.readouterr() == ("", f"testbed: all repetitions were lost; {why}\n")
    path = only_run(tmp_path / "runs")
    assert json.loads((path / "meta.json").read_text())["status"] == "failed"
    assert not (path / "summary.json").exists()


def test_log_is_written_while_the_run_goes_on(tmp_path: Path) -> None:
    """At every report, the events so far have been written to the file, however few they are."""
    sizes = []

    def watch(share: float, what: str) -> None:
        sizes.append(sum(log.stat().st_size for log in tmp_path.rglob("events.jsonl")))

    run(loads(tiny("trace: metrics\n", duration="10000")), tmp_path, watch)
    assert sizes[-1] > 0


@pytest.mark.parametrize("keep", [0, 1, 40, -2, -30])
def test_log_cut_anywhere_can_be_read(keep: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log cut in the middle of a line, or of its first line, is read up to there."""
    path = run(loads(tiny("trace: events\n")), tmp_path).path
    (path / "summary.json").unlink()
    (path / "meta.json").write_text('{"status": "running"}')
    log = path / "rep-000/events.jsonl"
    log.write_bytes(log.read_bytes()[:keep])
    text, one = analysed(path, capsys)
    assert "(did not finish: running)" in text
    assert one["checks"]["starvation"]["verdict"] == "not checked"


def test_run_killed_before_its_first_repetition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory with nothing but its meta.json is still a run that did not finish."""
    path = tmp_path / "early"
    path.mkdir()
    (path / "meta.json").write_text('{"status": "running"}')
    text, one = analysed(path, capsys)
    assert "(did not finish: running)" in text
    assert (one["checks"], one["metrics"]) == ({}, None)
