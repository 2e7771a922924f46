"""Processes that end in the middle of a run: a clear report, no process left, and logs that can be read."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.backends.stations.control import Control
from testbed.backends.stations.launch import fork, spawn
from testbed.checkout import PROJECT
from testbed.cli.main import main
from tests.testbed.backends.stations.stage import (
    LINE,
    has_begun,
    kill,
    processes,
    run_directory,
    start,
    wait_for,
    write,
)

pytestmark = pytest.mark.xdist_group("stations")

LONG = {**LINE, "duration": 4000.0, "trace": "events"}


@pytest.fixture
def run(tmp_path: Path):
    """A run in which critical sections are being entered, with the processes that we expect.

    If `processes` did not find them, the tests that none is left would prove nothing.
    """
    started = start(tmp_path, LONG)
    try:
        wait_for(lambda: has_begun(tmp_path), 60)
        assert set(processes(tmp_path)) == {"medium", "fork-server", *(f"station-{node}" for node in range(4))}
        yield started
    finally:
        started.kill()
        started.wait()


def ends(run: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was printed for the user."""
    _, stderr = run.communicate(timeout=60)
    return run.returncode, stderr.strip()


def check_left_behind(folder: Path) -> None:
    """No process, and logs that can be read up to the end."""
    wait_for(lambda: not processes(folder))
    path = run_directory(folder)
    assert main(["analyze", str(path), "--json"]) in (0, 1)
    lines = (path / "rep-000" / "events.jsonl").read_text().splitlines()
    assert any(json.loads(line)["kind"] == "enter" for line in lines[:-1])


def test_a_station_is_killed(run, tmp_path, capsys):
    """The run ends and reports which station died, and how."""
    kill(processes(tmp_path)["station-2"])
    code, said = ends(run)
    assert code == 1
    assert said.startswith("testbed: station 2 died by signal 9 at t=")
    assert "\n" not in said
    check_left_behind(tmp_path)
    analysis = json.loads(capsys.readouterr().out)["runs"][0]
    assert (analysis["status"], analysis["finished"]) == ("failed", False)
    assert analysis["checks"]["safety"]["verdict"] == "ok"


def test_the_medium_is_killed(run, tmp_path):
    """The run ends and reports it."""
    kill(processes(tmp_path)["medium"])
    code, said = ends(run)
    assert code == 1
    assert said.startswith("testbed: the medium died at t=")
    check_left_behind(tmp_path)


def test_the_fork_server_is_killed(run, tmp_path):
    """The stations end with it, and the run ends."""
    kill(processes(tmp_path)["fork-server"])
    code, said = ends(run)
    assert code == 1
    assert "the fork server died" in said or "died by signal" in said
    check_left_behind(tmp_path)


def test_the_orchestrator_is_killed(run, tmp_path, capsys):
    """All other processes end by themselves; what was logged can be read."""
    kill(run.pid)
    run.wait()
    check_left_behind(tmp_path)
    analysis = json.loads(capsys.readouterr().out)["runs"][0]
    assert analysis["status"] == "running"
    assert not analysis["finished"]


@pytest.mark.parametrize("to_group", [False, True], ids=["to the run", "to all, as a terminal does"])
@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGINT, 130, "testbed: interrupted"),
        (signal.SIGTERM, 143, "testbed: interrupted by SIGTERM"),
        (signal.SIGHUP, 129, "testbed: interrupted by SIGHUP"),
    ],
)
def test_an_interrupt(run, tmp_path, number, code, line, to_group):
    """128 and the number of the signal, no process left, and the status in the run directory."""
    (os.killpg if to_group else os.kill)(run.pid, number)
    assert ends(run) == (code, line)
    check_left_behind(tmp_path)
    meta = json.loads((run_directory(tmp_path) / "meta.json").read_text())
    assert (meta["status"], meta["exit"]) == ("interrupted", code)
    outputs = list(run_directory(tmp_path).glob("rep-000/nodes/*.log"))
    assert outputs
    assert not any(output.read_text() for output in outputs), "only the run itself takes note of the signal"


def test_an_agent_that_fails(tmp_path):
    """The check `contract` says which and why; the station's traceback is in a file, and no process is left."""
    (tmp_path / "sitecustomize.py").write_text(
        "import agents.krl\n"
        "def fail(self, peer):\n    raise RuntimeError('broken on purpose')\n"
        "agents.krl.KReverseLink.on_link_up = fail\n"
    )
    code, said = ends(start(tmp_path, LINE, PYTHONPATH=f"{tmp_path}:{PROJECT}"))
    assert code == 1
    assert said == ""
    contract = json.loads((run_directory(tmp_path) / "summary.json").read_text())["checks"]["contract"]
    assert contract["verdict"] == "failed"
    assert re.search(r": krl: node \d in on_link_up\(\d\): RuntimeError: broken on purpose$", contract["offenders"][0])
    trace = (run_directory(tmp_path) / "error.txt").read_text()
    assert "sitecustomize.py" in trace
    assert "RuntimeError: broken on purpose" in trace
    assert not processes(tmp_path)


@pytest.mark.parametrize("launch", [fork, spawn])
def test_a_process_that_fails_to_start(tmp_path, launch):
    """It prints the reason, and ends."""
    ours, theirs = Control.pair()
    process = launch("testbed.backends.loopback.medium", theirs, tmp_path / "printed")
    theirs.close()
    ours.send({"scenario": "nonsense", "repetition": 0})
    assert ours.receive() == (None, [])
    process.wait()
    process.kill()  # too late does no harm
    assert "allowed: a mapping of keys" in (tmp_path / "printed").read_text()
    ours.close()


@pytest.mark.parametrize("launch", [fork, spawn])
def test_a_process_sees_that_the_orchestrator_has_ended(tmp_path, launch):
    """It has not kept our end open itself, nor that of another process of the run."""
    ours, theirs = Control.pair()
    others, another = Control.pair()
    process = launch("testbed.backends.loopback.medium", theirs, tmp_path / "printed", ours, others)
    try:
        theirs.close()
        others.close()
        another.socket.settimeout(30)
        wait_for(lambda: processes(tmp_path))  # it has got as far as to close what is not its own
        assert another.receive() == (None, [])
        ours.close()
        wait_for(lambda: not processes(tmp_path))
    finally:
        process.kill()
        process.wait()
        another.close()


ORPHAN = """
import os, signal, sys, time
from pathlib import Path
from testbed.backends.stations.control import Control
from testbed.backends.stations.launch import fork

really_fork = os.fork

def fork_and_be_killed():
    # The child goes on when its parent has ended.
    parent = os.getpid()
    if really_fork():
        time.sleep(60)
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        time.sleep(0.001)
    return 0

ours, theirs = Control.pair()
os.fork = fork_and_be_killed
fork("testbed.backends.loopback.medium", theirs, Path(sys.argv[1]))
"""


def test_the_orchestrator_is_killed_just_after_a_fork(tmp_path):
    """The new process has not asked yet to end with it. A pipe that it inherited shows when it has ended."""
    read, write = os.pipe()
    command = [sys.executable, "-c", ORPHAN, str(tmp_path / "printed")]
    killed = subprocess.Popen(command, cwd=PROJECT, pass_fds=(write,))
    os.close(write)
    assert killed.wait(30) == -signal.SIGKILL
    try:
        assert select.select([read], [], [], 30)[0], "the orphan still runs"
    finally:
        os.close(read)
        for pid in processes(tmp_path).values():
            kill(pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace needs root")
def test_a_run_that_is_the_first_process(tmp_path):
    """As in a container: that its processes' parent has the number 1 does not mean that they are orphans."""
    command = [sys.executable, "-m", "testbed.cli", "run", str(write(tmp_path, {**LINE, "duration": 12.0}))]
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    done = subprocess.run(
        [*apart, *command, "--out", str(tmp_path / "runs")], cwd=PROJECT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 4), done.stderr  # 4 on a machine that is too busy
    assert not processes(tmp_path)
