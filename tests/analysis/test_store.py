"""The store: a result is there as a whole or not at all, a job belongs to one process, no other folder is touched."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from analysis.store import FILE, VERSION, Store, StoreError

OUTCOME = {"repetition": 0, "metrics": {"entries": 3, "waiting_time": {"mean": 0.1}}, "checks": {}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some" / "store"


# -- results ----------------------------------------------------------------------------------------------------------


def test_results_outlive_the_process(path: Path) -> None:
    """Outcomes, errors and times, as they were."""
    with Store(path) as store:
        store.put([("a-00000", OUTCOME, None, 0.25), ("a-00001", None, "it broke", None)])
    with Store(path, create=False) as store:
        found = store.get(["a-00000", "a-00001", "a-00002"])
        assert store.states(["a-00000", "a-00001", "a-00002"]) == {"a-00000": True, "a-00001": False}
        assert store.typical_seconds(["a-00000", "a-00001"]) == 0.25
        assert store.typical_seconds(["a-00001"]) is None
    assert found.keys() == {"a-00000", "a-00001"}
    assert (found["a-00000"].outcome, found["a-00000"].error, found["a-00000"].seconds) == (OUTCOME, None, 0.25)
    assert (found["a-00001"].outcome, found["a-00001"].error) == (None, "it broke")


def test_results_of_one_put_are_there_together_or_not_at_all(path: Path) -> None:
    with Store(path) as store:
        with pytest.raises(StoreError):
            store.put([("a", OUTCOME, None, 0.1), (None, OUTCOME, None, 0.1)])  # type: ignore[list-item]
        assert store.states(["a"]) == {}
        store.put([("a", OUTCOME, None, 0.1)])  # the store can be used after that
        assert store.states(["a"]) == {"a": True}


def test_more_names_than_one_question_may_have() -> None:
    names = [f"job-{number}" for number in range(1_234)]
    with Store(None) as store:
        store.put((name, {"number": number}, None, None) for number, name in enumerate(names))
        assert {name: one.outcome for name, one in store.get(names).items()} == {
            name: {"number": number} for number, name in enumerate(names)
        }
        assert len(store.states(names)) == 1_234
        store.remove(names[:1_000])
        assert store.states(names).keys() == set(names[1_000:])


def test_plans_by_name_and_the_last(path: Path) -> None:
    """A plan that is written again is the last one again."""
    with Store(path) as store:
        with pytest.raises(StoreError, match=r"has no study$"):
            store.plan()
        store.write_plan("z", {"is": 1})
        store.write_plan("a", {"is": 2})
        assert (store.plan(), store.plan("z")) == ({"is": 2}, {"is": 1})
        store.write_plan("z", {"is": 3})
        assert (store.plan(), store.plan("a")) == ({"is": 3}, {"is": 2})
        with pytest.raises(StoreError, match=r"has no study b$"):
            store.plan("b")


def test_contents_with_results() -> None:
    """A point that was entered has no results for that; one of which there is any, has."""
    with Store(None) as store:
        store.add_points([("p", "same", "{}"), ("q", "same", "{}"), ("r", "other", "{}"), ("pp", "third", "{}")])
        assert store.with_results(["same", "other", "third"]) == set()
        store.put([("q-00003", OUTCOME, None, None)])
        assert store.with_results(["same", "other", "third"]) == {"same"}
        store.put([("p-00000", OUTCOME, None, None)])  # is none of pp
        assert store.with_results(["same", "other", "third"]) == {"same"}


# -- claims -----------------------------------------------------------------------------------------------------------


HOLDER = """
import sys
from pathlib import Path
from analysis.store import Store
store = Store(Path(sys.argv[1]))
print([store.claim(job) for job in sys.argv[2:]], flush=True)
sys.stdin.read()
store.close()
"""


def holder(path: Path, *jobs: str) -> subprocess.Popen[str]:
    """Another process that claims jobs, and prints which it got, and waits until its standard input is closed."""
    command = [sys.executable, "-c", HOLDER, str(path), *jobs]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_claim_ends_with_its_process(is_killed: bool, path: Path) -> None:
    """While another process holds a job, it is refused; when that is killed or ends, it is to be had."""
    with Store(path) as store, holder(path, "a", "b") as other:
        assert said(other) == "[True, True]"
        assert (store.claim("a"), store.claim("c"), store.claim("c")) == (False, True, False)
        assert store.claimed_elsewhere(["a", "b", "c"]) == 2
        if is_killed:
            os.kill(other.pid, signal.SIGKILL)
        other.communicate(timeout=30)
        assert store.claimed_elsewhere(["a", "b", "c"]) == 0
        assert (store.claim("a"), store.claim("a")) == (True, False)
    assert list((path / "owners").iterdir()) == []


def test_a_job_that_has_ended_cannot_be_claimed(path: Path) -> None:
    """Nor one with an error, until it is removed. A released job can."""
    with Store(path) as store:
        store.put([("a", OUTCOME, None, None), ("b", None, "it broke", None)])
        assert (store.claim("a"), store.claim("b"), store.claim("c")) == (False, False, True)
        store.release("c")
        store.remove(["b"])
        with holder(path, "a", "b", "c") as other:
            assert said(other) == "[False, True, True]"
            store.release("b")  # is not this one's to release
            assert not store.claim("b")
            other.communicate(timeout=30)


def test_a_result_ends_the_claim(path: Path) -> None:
    with Store(path) as store:
        assert store.claim("a")
        store.put([("a", OUTCOME, None, None)])
        store.remove(["a"])
        with holder(path, "a") as other:
            assert said(other) == "[True]"
            other.communicate(timeout=30)


def _fill(path: Path, start: object, mine: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    with Store(path) as store:
        for number in range(20):
            if store.claim(f"job-{number}"):
                store.put([(f"job-{number}", OUTCOME, None, None)])
                mine.put(number)  # type: ignore[attr-defined]


def test_processes_that_make_a_store_at_the_same_time(path: Path) -> None:
    """All can use it, and every job is run by one of them."""
    context = multiprocessing.get_context("fork")
    for number in range(8):
        start, numbers = context.Barrier(4), context.Queue()
        processes = [context.Process(target=_fill, args=(path / str(number), start, numbers)) for _ in range(4)]
        for process in processes:
            process.start()
        found = sorted(numbers.get(timeout=60) for _ in range(20))
        for process in processes:
            process.join(60)
        assert (found, numbers.empty()) == (list(range(20)), True)
        assert [process.exitcode for process in processes] == [0] * 4


# -- folders that are no store ----------------------------------------------------------------------------------------


def content(path: Path) -> dict[str, bytes]:
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}


def another_version(path: Path) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path / FILE)) as store:
        store.execute(f"PRAGMA user_version = {VERSION + 1}")


def another_database(path: Path) -> None:
    with closing(sqlite3.connect(path / FILE)) as store:
        store.execute("CREATE TABLE theirs (a)")


CASES = {
    "another version": (another_version, f"a store of version {VERSION + 1}; this testbed has stores of version "),
    "another database": (another_database, "not a store; this testbed has stores of version"),
    "no database": (lambda path: (path / FILE).write_bytes(b"no database" * 100), "file is not a database"),
    "other files": (lambda path: (path / "thesis.tex").write_text("dear"), f"not a store (it has no {FILE})"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_store_stays_as_it_is(case: str, tmp_path: Path) -> None:
    """The error names it, and says what it is; it is the user's, not the machine's."""
    make, says = CASES[case]
    make(tmp_path)  # type: ignore[no-untyped-call]
    before = content(tmp_path)
    with pytest.raises(StoreError) as raised:
        Store(tmp_path)
    assert says in str(raised.value)
    assert str(tmp_path) in str(raised.value)
    assert not raised.value.is_of_machine
    assert content(tmp_path) == before


def test_nothing_is_made_to_look_at_it(tmp_path: Path) -> None:
    """Nor where there is a file instead of a folder; an empty folder can become a store."""
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path / "nothing", create=False)
    (tmp_path / "file").write_text("mine")
    for create in (True, False):
        with pytest.raises(StoreError, match="file: "):
            Store(tmp_path / "file", create=create)
    assert content(tmp_path) == {"file": b"mine"}
    (tmp_path / "empty").mkdir()
    Store(tmp_path / "empty").close()
    assert (tmp_path / "empty" / FILE).is_file()


def test_a_damaged_store_is_an_error(path: Path) -> None:
    """Not a crash, and no wrong result."""
    with Store(path) as store:
        store.put((f"job-{number}", {"text": "x" * 500}, None, None) for number in range(100))
    whole = (path / FILE).read_bytes()
    (path / FILE).write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(StoreError, match=r"results\.sqlite: .*malformed"), Store(path) as store:
        store.get([f"job-{number}" for number in range(100)])


def test_a_store_is_plain_sqlite(path: Path) -> None:
    """Other programs can read it."""
    with Store(path) as store:
        store.put([("a-00000", OUTCOME, None, 0.25)])
    with closing(sqlite3.connect(path / FILE)) as store:
        ((outcome, seconds),) = store.execute("SELECT outcome, seconds FROM results")
    assert (json.loads(outcome), seconds) == (OUTCOME, 0.25)
