"""`testbed sweep`: what it prints, its exit codes, and that no mistake of a user and no full disk costs results."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.registry import ALGORITHMS
from analysis.store import FILE
from testbed.cli.main import main
from testbed.experiments.studies import code
from tests.testbed.tiny import Unsafe, command, command_line, is_one_line, write_tiny

Invoke = Callable[..., tuple[int, str, str]]
STUDY = """\
scenario:
  algorithm: rl
  nodes: 4
  topology: complete
  workload: {rate: 1}
  duration: 10
vary: {workload.rate: [0.5, 1], nodes: [3, 4]}
repeat: 2
"""


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call the command line in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["sweep", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return path


def content(folder: Path) -> dict[str, bytes]:
    """What is in a folder, without what SQLite makes and removes while a database is open."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# -- what is printed --------------------------------------------------------------------------------------------------


def test_a_sweep_tells_of_points_and_where_results_are(invoke: Invoke, study: Path) -> None:
    """On stderr what there is to do and a line for every point; on stdout the result."""
    code, out, err = invoke(study)
    assert (code, out) == (0, f"study: 4 points, 8 repetitions\nstore: {study.with_suffix('.store')}\n")
    first, *lines = err.splitlines()
    assert first == "testbed: study: 4 points, 8 runs, 0 there, 8 missing"
    assert len(lines) == 4
    for line in lines:
        pattern = r"testbed: workload\.rate=[\d.]+, nodes=[34]: 2 repetitions, waiting time [\d.]+ ± [\d.]+"
        assert re.fullmatch(pattern, line), line
    assert invoke(study) == (0, out, "testbed: study: 4 points, 8 runs, 8 there\n")


def test_json_is_one_document(invoke: Invoke, study: Path, tmp_path: Path) -> None:
    code, out, err = invoke(study, "--json", "--store", tmp_path / "mine")
    assert (code, len(err.splitlines())) == (0, 4)
    assert json.loads(out) == {
        "study": "study", "axes": ["workload.rate", "nodes"], "points": 4, "runs": 8, "done": 8, "missing": 0,
        "failed": [], "stale_points": 0, "running_elsewhere": 0, "store": str(tmp_path / "mine"), "exit": 0,
    }  # fmt: skip


def test_a_failed_check_is_exit_code_1(invoke: Invoke, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for every point names the check and the first offence; so it is when nothing is run any more."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    study.write_text(STUDY.replace("algorithm: rl", "algorithm: unsafe").replace("[0.5, 1], nodes: [3, 4]", "[5]"))
    code, out, _ = invoke(study)
    assert code == 1
    assert re.match(r"workload\.rate=5: safety failed: repetition 0: t=\S+: node \d enters with", out)
    assert invoke(study)[:2] == (1, out)


def test_one_point_is_called_by_its_scenario(invoke: Invoke, tmp_path: Path) -> None:
    code, _, err = invoke(write_tiny(tmp_path))
    assert code == 0
    assert err.splitlines()[1].startswith("testbed: tiny: 1 repetitions, ")


def test_on_a_terminal_there_is_a_bar_and_no_lines(study: Path) -> None:
    study.write_text(STUDY.replace("duration: 10", "duration: 2000"))
    ours, theirs = pty.openpty()
    with subprocess.Popen(command_line("sweep", study), stdout=subprocess.DEVNULL, stderr=theirs) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += (part := os.read(ours, 1000))
            except OSError:
                break
            if not part:
                break
        assert running.wait(60) == 0
    os.close(ours)
    assert re.search(rb"\[[#.]{20}\] +\d+% study", shown)
    assert b"waiting time" not in shown


# -- looking only -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--status", "--dry-run"])
def test_looking_makes_no_store(option: str, invoke: Invoke, study: Path) -> None:
    code, out, err = invoke(study, option)
    assert (code, err) == (0, "")
    assert out.startswith("study: 4 points, 8 runs, 0 there, 8 missing\n")
    assert list(study.parent.iterdir()) == [study]


@pytest.mark.parametrize("option", ["--status", "--dry-run"])
def test_an_empty_folder_stays_empty(option: str, invoke: Invoke, study: Path, tmp_path: Path) -> None:
    """It is no store, and does not become one by looking at it."""
    (tmp_path / "empty").mkdir()
    code, out, err = invoke(study, option, "--store", tmp_path / "empty")
    assert (code, out, err) == (2, "", f"testbed: {tmp_path / 'empty'}: not a store (it has no {FILE})\n")
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_dry_run_tells_the_axes_and_about_how_long(invoke: Invoke, study: Path) -> None:
    code, out, _ = invoke(study, "--dry-run", "--vary", "seed=1,2,3")
    lines = out.splitlines()
    assert code == 0
    assert lines[:4] == [
        "study: 12 points, 24 runs, 0 there, 24 missing",
        "  workload.rate: 0.5, 1",
        "  nodes: 3, 4",
        "  seed: 1, 2, 3",
    ]
    assert re.fullmatch(r"about \d+ s on this machine", lines[4])
    document = json.loads(invoke(study, "--dry-run", "--json")[1])
    assert (document["runs"], document["missing"]) == (8, 8)
    assert document["seconds_left"] > 0


def test_status_changes_nothing(invoke: Invoke, study: Path) -> None:
    """And tells what is there of a study that has grown."""
    assert invoke(study)[0] == 0
    before = content(study.parent)
    assert invoke(study, "--status", "--vary", "seed=1,2")[1].splitlines() == [
        "study: 8 points, 16 runs, 8 there, 8 missing",
        f"store: {study.with_suffix('.store')}",
    ]
    assert json.loads(invoke(study, "--status", "--json")[1])["done"] == 8
    assert content(study.parent) == before


def test_a_dry_run_of_what_is_there_runs_nothing(invoke: Invoke, study: Path) -> None:
    assert invoke(study)[0] == 0
    before = content(study.parent)
    code, out, _ = invoke(study, "--dry-run")
    assert (code, out.splitlines()[0], out.splitlines()[-1]) == (
        0, "study: 4 points, 8 runs, 8 there", "about 0 s on this machine",
    )  # fmt: skip
    assert content(study.parent) == before


def test_stale_points_are_told(invoke: Invoke, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke(study)[0] == 0
    monkeypatch.setattr(code, "_digest", lambda file: b"changed")
    code._fingerprint.cache_clear()
    try:
        out = invoke(study, "--status")[1]
    finally:
        code._fingerprint.cache_clear()
    assert out.startswith("study: 4 points, 8 runs, 0 there, 8 missing, 4 points stale, for the code has changed\n")


# -- mistakes ---------------------------------------------------------------------------------------------------------


def damage(store: Path) -> None:
    whole = (store / FILE).read_bytes()
    (store / FILE).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


def make_newer(store: Path) -> None:
    with closing(sqlite3.connect(store / FILE)) as database:
        database.execute("PRAGMA user_version = 7")


def replace_by_a_file(store: Path) -> None:
    shutil.rmtree(store)
    store.write_text("mine")


def replace_by_a_folder(store: Path) -> None:
    shutil.rmtree(store)
    store.mkdir()
    (store / "thesis.tex").write_text("mine")


@pytest.mark.parametrize("option", ["--json", "--status", "--dry-run", "--retry"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (damage, "malformed"),
        (make_newer, "a store of version 7; this testbed has stores of version 1"),
        (lambda store: (store / FILE).write_bytes(b"what" * 999), "file is not a database"),
        (replace_by_a_file, ""),
        (replace_by_a_folder, "not a store"),
    ],
    ids=["damaged", "newer", "no database", "a file", "a folder"],
)
def test_what_is_no_store(
    change: Callable[[Path], Any], says: str, option: str, invoke: Invoke, study: Path, finished_store: Path
) -> None:
    """One line, exit code 2, and it stays as it is."""
    store = shutil.copytree(finished_store, study.with_suffix(".store"))
    change(store)
    before = content(study.parent)
    code, out, err = invoke(study, option)
    assert (code, out, is_one_line(err.removeprefix("testbed: study: 4 points, 8 runs"))) == (2, "", True), err
    assert says in err
    assert str(store) in err
    assert content(study.parent) == before


@pytest.fixture(scope="module")
def finished_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the study after all has run."""
    path = tmp_path_factory.mktemp("finished") / "study.yaml"
    path.write_text(STUDY)
    assert main(["sweep", str(path)]) == 0
    return path.with_suffix(".store")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--vary", "noddes=3"], "--vary noddes=3: noddes: found unknown key"),
        (["--vary", "seed="], "--vary seed=: seed: found an empty list"),
        (["--vary", "nodes=3"], "--vary nodes=3: nodes: found an axis of the study already"),
        (["--vary", "seed=-1"], "--vary seed=-1: seed: found -1; allowed: at least 0"),
        (["--workers", "0"], "found '0'; allowed: 1 to 1000"),
        (["--workers", "2", "--scheduler", "tcp://x:1"], "found both --scheduler and --workers"),
    ],
)
def test_wrong_options_lose_nothing(arguments: list[str], says: str, study: Path, finished_store: Path) -> None:
    """One line on stderr, exit code 2, and the store is as it was."""
    store = shutil.copytree(finished_store, study.with_suffix(".store"))
    before = content(store)
    done = command("sweep", study, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_line(done.stderr) or "usage" in done.stderr
    assert says in done.stderr
    assert content(store) == before


@pytest.mark.parametrize("name", ["nowhere.yaml", "", "study.txt"])
def test_no_study(name: str, invoke: Invoke, study: Path, tmp_path: Path) -> None:
    """A file that is not there, a folder, a file that is not called .yaml."""
    shutil.copy(study, tmp_path / "study.txt")
    code, out, err = invoke(tmp_path / name)
    assert (code, out) == (2, "")
    assert is_one_line(err)


# -- a machine that lacks something -----------------------------------------------------------------------------------


SEEDS = "seed=" + ",".join(map(str, range(25)))


def small_files() -> None:
    """Let no file of this process grow beyond 600 kB, which is as if the disk were full then."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))


def test_no_room_for_results(study: Path) -> None:
    """One line, exit code 3; what was there is there, and the rest is run when there is room."""
    line = command_line("sweep", study, "--vary", SEEDS)
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, preexec_fn=small_files)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"testbed: {study.with_suffix('.store')}/{FILE}: ")
    assert "Traceback" not in done.stderr
    document = json.loads(command("sweep", study, "--status", "--json", "--vary", SEEDS).stdout)
    assert 0 < document["done"] < document["runs"] == 200
    assert (document["failed"], document["running_elsewhere"]) == ([], 0)
    done = command("sweep", study, "--vary", SEEDS)
    assert done.returncode == 0
    assert f"200 runs, {document['done']} there" in done.stderr


def in_mounts(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount: its mounts are its own, and end with it."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root may mount")
    line = ["unshare", "--mount", "sh", "-c", script, "sh", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    return done


SMALL_DISK = """
mount -t tmpfs -o size=900k tmpfs "$1" || exit 77
shift
"$@"
code=$?
"$@" --status --json
exit $code
"""


def test_a_full_disk(study: Path, tmp_path: Path) -> None:
    """The same with a disk that is really full."""
    place = tmp_path / "disk"
    place.mkdir()
    done = in_mounts(SMALL_DISK, place, *command_line("sweep", study, "--store", place / "store", "--vary", SEEDS))
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"testbed: {place}/store/{FILE}: database or disk is full"
    document = json.loads(done.stdout)
    assert 0 < document["done"] < document["runs"] == 200
    assert document["failed"] == []


READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77
shift
exec "$@"
"""


@pytest.mark.parametrize("arguments", [["--vary", "seed=1,2"], ["--store", "new"], ["--status"]])
def test_a_folder_that_cannot_be_written(arguments: list[str], study: Path, finished_store: Path) -> None:
    """One line and exit code 2, whether the store is there or would have to be made."""
    shutil.copytree(finished_store, study.with_suffix(".store"))
    before = content(study.parent)
    named = [str(study.parent / one) if one == "new" else one for one in arguments]
    done = in_mounts(READ_ONLY, study.parent, *command_line("sweep", study, *named))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert is_one_line(done.stderr), done.stderr
    assert re.search(r"read-?only|unable to open", done.stderr, re.IGNORECASE)
    assert content(study.parent) == before


def test_the_command_is_found() -> None:
    """With its options in the help."""
    done = command("sweep", "--help")
    assert done.returncode == 0
    for option in ("--vary", "--store", "--dry-run", "--status", "--retry", "--fresh", "--scheduler", "--workers"):
        assert option in done.stdout
