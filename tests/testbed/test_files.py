"""Results that cannot be written: one line with the path, exit code 3, and nothing half-written left behind."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import MachineError
from testbed.experiments.workers import cores
from testbed.files import open_output, results_in, write_json
from tests.testbed.tiny import command, command_line, is_one_line, only_run, write_tiny

LONG = {"topology": "{kind: random, connectivity: 0.6, link_change_rate: 1}", "duration": "1e7"}


def limited(size: int) -> Callable[[], None]:
    """For a child process: no file can become longer, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_refused(done: Any, file: str) -> None:
    """The line names a file of the run, and the exit code is not that of a check that failed."""
    assert done.returncode == 3, done.stderr
    assert is_one_line(done.stderr), done.stderr
    assert "Traceback" not in done.stderr
    assert file in done.stderr


@pytest.mark.parametrize("repeat", [1, 3], ids=["alone", "with workers"])
@pytest.mark.parametrize(
    ("size", "file"),
    [(100, "scenario.yaml|tiny-"), (100_000, "events.jsonl")],
    ids=["from the start", "in the middle"],
)
def test_a_full_disk_in_a_run(size: int, file: str, repeat: int, tmp_path: Path) -> None:
    """Whichever file is the first that finds no space; the status says so if that can be written."""
    scenario, out = write_tiny(tmp_path, f"repeat: {repeat}\n", **LONG), tmp_path / "runs"
    done = command("run", scenario, "--out", out, preexec_fn=limited(size))
    path = only_run(out)
    check_refused(done, str(path))
    assert any(name in done.stderr for name in file.split("|"))
    assert done.stderr.endswith(f": {os.strerror(errno.EFBIG)}\n")
    assert not list(out.rglob(".*.partial"))
    if size > 10_000:
        meta = json.loads((path / "meta.json").read_text())
        assert (meta["status"], meta["exit"]) == ("failed", 3)
        assert meta["error"] in done.stderr


def test_a_full_disk_under_the_summary(tmp_path: Path) -> None:
    """The log fits, the summary does not: it is not left in part, and the run is not called finished."""
    out = tmp_path / "runs"
    scenario = write_tiny(tmp_path, "trace: metrics\nrepeat: 5\n")
    done = command("run", scenario, "--out", out, preexec_fn=limited(8_000))
    path = only_run(out)
    check_refused(done, f"{path / 'summary.json'}: ")
    assert {file.name for file in path.iterdir() if file.is_file()} == {"scenario.yaml", "meta.json"}
    assert json.loads((path / "meta.json").read_text())["status"] == "failed"


@pytest.mark.parametrize("command_name", ["compare", "reproduce"])
def test_a_full_disk_under_a_report(command_name: str, tmp_path: Path) -> None:
    """Comparisons and reproductions write at their end."""
    out = tmp_path / "runs"
    arguments: dict[str, list[object]] = {
        "compare": [write_tiny(tmp_path), "--algorithms", "rl,raymond-tree"],
        "reproduce": ["hk", "--quick"],
    }
    line = command_line(command_name, *arguments[command_name], "--out", out)
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, preexec_fn=limited(200))
    check_refused(done, str(only_run(out)))


def test_a_full_disk_under_a_station(tmp_path: Path) -> None:
    """Stations write logs of their own; one that cannot ends the run."""
    more = "backend: loopback\ntrace: metrics\n"
    workload = "{rate: 50, cs_time: 0.001}"
    scenario, out = write_tiny(tmp_path, more, workload=workload, duration="1000"), tmp_path / "runs"
    done = command("run", scenario, "--out", out, preexec_fn=limited(20_000))
    check_refused(done, str(only_run(out) / "rep-000" / "nodes"))
    assert json.loads((only_run(out) / "meta.json").read_text())["status"] == "failed"


def test_positions_on_a_full_disk(tmp_path: Path) -> None:
    """They are written before the log."""
    more = "area: [100, 100]\nplacement: uniform\nmobility: random-waypoint\n"
    scenario, out = write_tiny(tmp_path, more, topology="geometric", duration="20000"), tmp_path / "runs"
    done = command("run", scenario, "--out", out, preexec_fn=limited(10_000))
    check_refused(done, "positions.csv")
    assert not list(out.rglob(".*.partial"))


@pytest.mark.parametrize("repeat", [1, 3], ids=["alone", "with workers"])
def test_a_directory_that_vanishes(repeat: int, tmp_path: Path) -> None:
    """In the middle of a run; the line names the first file that cannot be written."""
    scenario, out = write_tiny(tmp_path, f"repeat: {repeat}\n", duration="20000"), tmp_path / "runs"
    line = command_line("run", scenario, "--out", out)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 60
        while len(list(out.glob("*/rep-*/events.jsonl"))) < min(repeat, cores()) and time.monotonic() < deadline:
            time.sleep(0.005)
        running.send_signal(signal.SIGSTOP)  # so that it is still running when the directory is gone
        shutil.rmtree(out)
        running.send_signal(signal.SIGCONT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 3, said
    assert is_one_line(said), said
    assert said.startswith(f"testbed: {out}")
    assert said.endswith(f": {os.strerror(errno.ENOENT)}\n")


# -- the parts ---------------------------------------------------------------------------------------------------------


def test_a_document_is_whole_or_as_it_was(tmp_path: Path) -> None:
    """A file that cannot be written stays as it was, and no other is left."""
    path = tmp_path / "meta.json"
    write_json(path, {"a": 1})
    circle: dict[str, Any] = {}
    circle["a"] = circle
    with pytest.raises(ValueError, match="Circular"):
        write_json(path, circle)
    (tmp_path / "folder").mkdir()
    with pytest.raises(MachineError, match=r"folder: Is a directory"):
        write_json(tmp_path / "folder", {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert {file.name for file in tmp_path.iterdir()} == {"meta.json", "folder"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_open_file_names_itself(tmp_path: Path) -> None:
    """Python's own error of a write names no file."""
    log = open_output(Path("/dev/full"), 1 << 16)
    log.write("an event\n")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        log.close()
    with pytest.raises(MachineError, match=r"^folder: No space left on device$"), results_in(Path("folder")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
