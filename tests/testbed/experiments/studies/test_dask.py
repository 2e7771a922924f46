"""Studies on a Dask cluster of real processes: the results are those of this machine, and nothing is lost.

The cluster's processes run in folders of their own, so a file that is not sent is not found.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.store import Store
from testbed.checkout import PROJECT
from testbed.errors import BackendError, InputError
from testbed.experiments.failed import MAX_KEPT
from testbed.experiments.studies.dask_cluster import cluster
from testbed.experiments.studies.open import open_study, opened_store
from testbed.experiments.studies.sweep import Sweep
from tests.testbed.experiments.studies.dask_cluster import MARK, DaskCluster, marked, until
from tests.testbed.tiny import command, command_line, interruptible, is_one_line

pytest.importorskip("distributed", reason="the extra distributed is not installed")
pytestmark = pytest.mark.xdist_group("dask")  # they share a cluster

BASE = "scenario: {algorithm: rl, nodes: 5, topology: complete, workload: {rate: 0.1}, duration: 20}\n"
FORTY = BASE + "algorithms: [rl, krl]\nvary: {workload.rate: [0.1, 0.2, 0.3, 0.5, 1], nodes: [4, 5, 6, 7]}\nrepeat: 1\n"

SLOW = """
import os, time
from agents.rl import ReverseLink

class Slow(ReverseLink):
    @classmethod
    def start(cls, node, initial, parameters, rng):
        if node == 0:
            open(os.environ.get("BEGAN", os.devnull), "w").close()
            time.sleep({seconds})
        return super().start(node, initial, parameters, rng)
"""
UNSAFE = """
from agents.rl import ReverseLink

class Unsafe(ReverseLink):
    def on_request(self, demand):
        self.enter()

    def on_release(self):
        pass
"""
KILLED = """
import os, signal
from agents.rl import ReverseLink

class Killed(ReverseLink):
    @classmethod
    def start(cls, node, initial, parameters, rng):
        if node == 5:  # there is one only in the larger networks
            os.kill(os.getpid(), signal.SIGKILL)
        return super().start(node, initial, parameters, rng)
"""
RAISES = """
from agents.rl import ReverseLink

class Raises(ReverseLink):
    def on_request(self, demand):
        raise ValueError("no")
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers, one of them for real time."""
    one = DaskCluster(tmp_path_factory.mktemp("cluster"))
    one.worker()
    one.worker("--resources", "realtime=1")
    yield one
    one.close()
    assert not one.scratch()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    (tmp_path / "cluster").mkdir()
    one = DaskCluster(tmp_path / "cluster")
    yield one
    one.close()


def study(folder: Path, text: str) -> Path:
    file = folder / "study.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def slow_study(folder: Path, seconds: float, points: int = 12) -> Path:
    (folder / "slow.py").write_text(SLOW.format(seconds=seconds))
    rates = ", ".join(f"0.{number}" for number in range(100, 100 + points))
    base = BASE.replace("algorithm: rl", "algorithm: {name: slow, file: slow.py}")
    return study(folder, f"{base}vary: {{workload.rate: [{rates}]}}\nrepeat: 1\n")


def swept(file: Path, store: Path, address: str) -> None:
    with opened_store(store) as kept, cluster(address, None) as pool:
        Sweep(open_study(file), kept, pool).run(lambda share, words: None)


def rows(store: Path) -> dict[str, Any]:
    """What a store has: outcomes by the names of jobs, and errors."""
    with Store(store, create=False) as kept:
        jobs = [job for point in kept.plan()["points"] for job in point["jobs"]]
        return {job: json.loads(one.error)["text"] if one.error else one.outcome for job, one in kept.get(jobs).items()}


def count(store: Path) -> int:
    return len(rows(store)) if (store / "results.sqlite").is_file() and _has_plan(store) else 0


def _has_plan(store: Path) -> bool:
    try:
        rows(store)
    except Exception:  # noqa: BLE001  (it is being made)
        return False
    return True


def started(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    line = command_line("sweep", *arguments)
    return subprocess.Popen(
        line, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=interruptible,
    )  # fmt: skip


def last_line(text: str) -> str:
    assert "Traceback" not in text, text
    return text.splitlines()[-1]


# -- results ----------------------------------------------------------------------------------------------------------


def test_results_are_those_of_this_machine(shared: DaskCluster, tmp_path: Path):
    """Forty points: the same jobs with the same outcomes, to the last digit. Each worker thread has one job server."""
    file = study(tmp_path, FORTY)
    swept(file, tmp_path / "there", shared.address)
    assert command("sweep", file, "--store", tmp_path / "here").returncode == 0
    here = rows(tmp_path / "here")
    assert len(here) == 40
    assert rows(tmp_path / "there") == here
    assert len(shared.job_servers()) == 2


def test_files_go_with_the_job_and_logs_come_back(shared: DaskCluster, tmp_path: Path):
    """A trace, and an algorithm that fails: its logs are in the store here, and can be replayed."""
    (tmp_path / "unsafe.py").write_text(UNSAFE)
    (tmp_path / "walk.csv").write_text(
        "node,t,x,y\n" + "".join(f"{n},{t},{n * 9 + t},0\n" for n in range(3) for t in (0, 9))
    )
    base = (
        "scenario: {algorithm: {name: unsafe, file: unsafe.py}, nodes: 3, topology: geometric, radio: {range: 50}, "
        "mobility: {kind: trace, file: walk.csv}, workload: {rate: 1}, delays: {hop: 0.1}, duration: 9}\n"
    )
    file = study(tmp_path, base + "vary: {workload.rate: [1, 2]}\nrepeat: 2\n")
    swept(file, tmp_path / "there", shared.address)
    there = rows(tmp_path / "there")
    assert len(there) == 4
    for outcome in there.values():
        log = Path(outcome["log"])
        assert log.parent == tmp_path / "there" / "failed"
        assert (log / "unsafe.py").read_text() == UNSAFE
    replayed = command("replay", log, "--repetition", outcome["repetition"], "--node", 0)
    assert replayed.returncode == 0, replayed.stderr
    command("sweep", file, "--store", tmp_path / "here")
    places = [str(tmp_path / "there"), str(tmp_path / "here")]
    assert json.dumps(there).replace(*places) == json.dumps(rows(tmp_path / "here"))


def test_errors_name_the_files_of_this_machine(shared: DaskCluster, tmp_path: Path):
    """The worker has its own copy of an algorithm, which is of no use to the reader of a traceback."""
    (tmp_path / "raises.py").write_text(RAISES)
    base = BASE.replace("algorithm: rl", "algorithm: {name: raises, file: raises.py}")
    swept(study(tmp_path, f"{base}repeat: {MAX_KEPT + 3}\n"), tmp_path / "store", shared.address)
    found = rows(tmp_path / "store").values()
    assert len(found) == MAX_KEPT + 3
    for outcome in found:
        assert outcome["checks"]["contract"]["verdict"] == "failed"
        assert f'File "{tmp_path / "raises.py"}"' in outcome["error"]
    logs = {outcome["log"] for outcome in found if "log" in outcome}  # of the first few, as on this machine
    assert logs == {str(path) for path in (tmp_path / "store" / "failed").iterdir()}
    assert len(logs) == MAX_KEPT


def test_a_job_that_kills_its_process_is_the_only_one_lost(shared: DaskCluster, tmp_path: Path):
    """The worker goes on, with a new process for jobs."""
    (tmp_path / "killed.py").write_text(KILLED)
    base = BASE.replace("algorithm: rl", "algorithm: {name: killed, file: killed.py}")
    swept(study(tmp_path, f"{base}vary: {{nodes: [3, 4, 6, 5]}}\nrepeat: 2\n"), tmp_path / "store", shared.address)
    found = list(rows(tmp_path / "store").values())
    lost = [one for one in found if isinstance(one, str)]
    why = "its worker process was killed by signal 9; is there enough memory?"
    assert lost == [f"nodes=6, repetition {number}: {why}" for number in (0, 1)]
    assert len(found) == 8


# -- what ends in the middle ------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_loses_nothing(own: DaskCluster, tmp_path: Path):
    """Its jobs run on the other worker; its processes have ended with it."""
    first, _ = own.worker(), own.worker()
    store = tmp_path / "store"
    with started(slow_study(tmp_path, 0.2, 20), "--store", store, "--scheduler", own.address) as sweep:
        until(lambda: count(store) >= 2, "nothing has ended")
        first.kill()
        first.wait()
        assert sweep.poll() is None, "it was not in the middle"
        _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 0, errors
    assert len(rows(store)) == 20
    assert all(isinstance(one, dict) for one in rows(store).values())
    until(lambda: len(own.job_servers()) == 1, "the job server of a killed worker goes on")


def test_without_the_scheduler_the_study_ends_with_one_line_and_goes_on_here(own: DaskCluster, tmp_path: Path):
    """What has ended is kept, and nothing of it is run again."""
    own.worker()
    store, file = tmp_path / "store", slow_study(tmp_path, 0.2)
    with started(file, "--store", store, "--scheduler", own.address) as sweep:
        until(lambda: count(store) >= 3, "nothing has ended")
        own.scheduler.kill()
        _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 3
    assert last_line(errors) == f"testbed: {own.address}: the scheduler has gone; what has ended is in the store"
    kept = rows(store)
    assert 3 <= len(kept) < 12
    done = command("sweep", file, "--store", store)
    assert done.returncode == 0, done.stderr
    assert f"12 runs, {len(kept)} there" in done.stderr
    assert len(rows(store)) == 12


def test_an_interrupted_study_leaves_no_job_behind(own: DaskCluster, tmp_path: Path):
    """Dask lets a task that runs come to its end; the worker sees that this one is not wanted, and ends it."""
    began = tmp_path / "began"
    own.worker(BEGAN=str(began))
    with started(slow_study(tmp_path, 300), "--store", tmp_path / "store", "--scheduler", own.address) as sweep:
        until(began.exists, "no job has begun")
        os.killpg(sweep.pid, signal.SIGINT)
        _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    assert last_line(errors) == "testbed: interrupted"
    until(lambda: not own.job_servers(), "the job goes on")


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGKILL]], ids=["Ctrl-C", "kill -9"])
def test_a_cluster_on_this_machine_ends_with_the_command(tmp_path: Path, signals: list[signal.Signals]):
    """Ctrl-C reaches all its processes, a kill only the command."""
    mark, began = os.urandom(8).hex(), tmp_path / "began"
    more = {MARK: mark, "BEGAN": str(began), "TMPDIR": str(tmp_path)}
    with started(slow_study(tmp_path, 300), "--store", tmp_path / "store", "--workers", 2, **more) as sweep:
        until(began.exists, "no job has begun")
        if signals == [signal.SIGINT]:
            os.killpg(sweep.pid, signal.SIGINT)
        else:
            sweep.kill()
        _, errors = sweep.communicate(timeout=60)
    if signals == [signal.SIGINT]:
        assert sweep.returncode == 130
        assert last_line(errors) == "testbed: interrupted"
        assert not list(tmp_path.glob("*dask*"))
    until(lambda: not marked(mark), "its processes go on")


def test_a_cluster_on_this_machine_gives_the_same_results(tmp_path: Path):
    """And leaves nothing in the folder for temporary files."""
    file, place = study(tmp_path, BASE + "vary: {nodes: [3, 4, 5, 6]}\nrepeat: 2\n"), tmp_path / "temporary"
    place.mkdir()
    done = command(
        "sweep", file, "--store", tmp_path / "there", "--workers", 2, env={**os.environ, "TMPDIR": str(place)}
    )
    assert done.returncode == 0, done.stderr
    assert command("sweep", file, "--store", tmp_path / "here").returncode == 0
    assert rows(tmp_path / "there") == rows(tmp_path / "here")
    assert not list(place.iterdir())


# -- other code, and what workers lack --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def other_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages in which one algorithm is another."""
    folder = tmp_path_factory.mktemp("other")
    for package in ("agents", "analysis", "testbed"):
        shutil.copytree(PROJECT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "agents" / "rl.py").open("a") as file:
        file.write("\nCHANGED = True\n")
    return folder


def test_a_worker_with_other_code_is_refused_before_anything_runs(own: DaskCluster, tmp_path: Path, other_code: Path):
    """Of an algorithm that the study has; what it does not have does not count."""
    own.worker()
    own.worker(PYTHONPATH=str(other_code))
    store = tmp_path / "store"
    done = command("sweep", study(tmp_path, BASE), "--store", store, "--scheduler", own.address)
    assert done.returncode == 3
    line = last_line(done.stderr)
    assert line.startswith("testbed: worker tcp://127.0.0.1:")
    assert ": has other code than this machine (testbed " in line
    assert line.endswith("; update it")
    assert not rows(store)
    other = study(tmp_path, BASE.replace("algorithm: rl", "algorithm: raymond-tree"))
    swept(other, tmp_path / "other", own.address)
    assert len(rows(tmp_path / "other")) == 1


def test_a_worker_with_other_code_that_comes_later_is_refused(own: DaskCluster, tmp_path: Path, other_code: Path):
    """None of its results gets into the store."""
    own.worker()
    store = tmp_path / "store"
    base = slow_study(tmp_path, 0.3, 60)  # its file imports agents.rl
    with started(base, "--store", store, "--scheduler", own.address) as sweep:
        until(lambda: count(store) >= 1, "nothing has ended")
        own.worker(PYTHONPATH=str(other_code))
        _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 3
    assert ": has other code than this machine" in last_line(errors)
    assert 1 <= len(rows(store)) < 60


def test_a_scheduler_without_workers_and_one_that_is_not_there(own: DaskCluster, tmp_path: Path):
    """One line that says how to start what is missing."""
    file = study(tmp_path, BASE)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections and says nothing
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with started(file, "--scheduler", address) as unanswered, started(file, "--scheduler", own.address) as alone:
            errors, lonely = unanswered.communicate(timeout=60)[1], alone.communicate(timeout=60)[1]
    assert (unanswered.returncode, alone.returncode) == (3, 3)
    assert is_one_line(errors)
    assert errors.startswith(f"testbed: {address}: no Dask scheduler answers there; start one with: dask scheduler")
    assert last_line(lonely).endswith(f"the scheduler has no worker; start one with: dask worker {own.address}")


@pytest.mark.parametrize("address", ["", "here", "tcp://here", "http://here:80", "tcp://here:port"])
def test_addresses_that_are_none(address: str):
    """Refused before anything is tried."""
    words = f"--scheduler: found {address!r}; allowed: the address of a Dask scheduler, such as tcp://HOST:8786"
    with pytest.raises(InputError, match=f"^{re.escape(words)}$"), cluster(address, None):
        pass


# -- real time --------------------------------------------------------------------------------------------------------

REAL = BASE.replace("duration: 20", "duration: 1, time_unit: 0.1, backend: loopback") + "repeat: 2\n"


def test_real_time_runs_on_a_worker_that_is_for_it(shared: DaskCluster, tmp_path: Path):
    """Its run directory comes back into the store, as a run like any other."""
    swept(study(tmp_path, REAL), tmp_path / "store", shared.address)
    found = rows(tmp_path / "store")
    (run,) = (tmp_path / "store" / "runs").iterdir()
    assert [one["run_dir"] for one in found.values()] == [str(run)] * 2
    assert [one["repetition"] for one in found.values()] == [0, 1]
    assert sorted(path.name for path in run.glob("rep-*")) == ["rep-000", "rep-001"]
    assert command("analyze", run).returncode in (0, 4)  # a busy machine may be too late, which says nothing here
    until(lambda: not [one for one in shared.scratch() if one.name.startswith("run-")], "a temporary folder is left")


def test_real_time_needs_a_worker_that_is_for_it(own: DaskCluster, tmp_path: Path):
    """One line that says how to start it, and exit code 3."""
    own.worker()
    with pytest.raises(BackendError) as raised:
        swept(study(tmp_path, REAL), tmp_path / "store", own.address)
    how = f'dask worker {own.address} --nthreads 1 --resources "realtime=1"'
    words = f"{own.address}: backend loopback needs a worker for real time; start one with: {how}"
    assert (str(raised.value), raised.value.exit_code) == (words, 3)
