"""What is kept of repetitions that failed: a log of every event, and a command that shows what happened."""

from __future__ import annotations

import json
import re
import shlex
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agents.contract import Demand, Graph
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink, Token
from analysis.load import load_run
from testbed.cli.main import main
from testbed.experiments import runner
from testbed.experiments.failed import MAX_KEPT, add_replays
from testbed.experiments.grid import Point, run_points
from testbed.experiments.runner import Result, run
from testbed.experiments.studies.job import StoredPoint
from testbed.scenario.loader import loads
from tests.testbed.tiny import Unsafe, tiny

LOADED = "{rate: 0.5}"


class Drops(ReverseLink):
    """Node 3 loses the token when it leaves its critical section."""

    def on_release(self) -> None:
        super().on_release()
        if self.node == 3:
            self.token_holder = False
            self.outbox = [output for output in self.outbox if not isinstance(output[2], Token)]


class Raises(ReverseLink):
    """Raises an exception."""

    def on_release(self) -> None:
        raise LookupError("broken on purpose")


_STARTS = count()


class Moody(Unsafe):
    """Unsafe only in the first of two runs: it depends on something that is no input."""

    is_good = False

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        starts, is_good = super().initial(graph, parameters), bool(next(_STARTS) % 2)
        return [(start, is_good) for start in starts]

    def __init__(self, node: int, initial: Any, parameters: Any) -> None:
        super().__init__(node, initial[0], parameters)
        self.is_good = initial[1]

    def on_request(self, demand: Demand) -> None:
        (ReverseLink if self.is_good else Unsafe).on_request(self, demand)

    def on_release(self) -> None:
        (ReverseLink if self.is_good else Unsafe).on_release(self)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algorithms above, by name; and one core, so that repetitions come one after the other."""
    for name, agent in {"drops": Drops, "raises": Raises, "unsafe": Unsafe, "moody": Moody}.items():
        monkeypatch.setitem(ALGORITHMS, name, agent)
    monkeypatch.setattr(runner, "cores", lambda: 1)


def result_of(algorithm: str, out: Path, more: str = "") -> Result:
    """A run of the small scenario."""
    return run(loads(tiny(more, algorithm=algorithm, workload=LOADED)), out)


def kept(result: Result) -> list[str]:
    """The folders of failed repetitions."""
    return sorted(path.name for path in (result.path / "failed").glob("*"))


# -- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trace", ["metrics", "cs"])
def test_a_failed_repetition_is_logged_as_a_whole(trace: str, tmp_path: Path) -> None:
    """In a run directory of its own, which can be analysed; the run itself logs as little as it was told to."""
    result = result_of("unsafe", tmp_path, f"trace: {trace}\n")
    assert kept(result) == ["unsafe-rep-000"]
    log = load_run(result.path / "failed" / "unsafe-rep-000")
    assert log.meta["status"] == "repeated"
    found, own = log.verdicts()["safety"], result.summary["checks"]["safety"]
    assert (found["verdict"], found["offenders"]) == ("failed", own["offenders"])
    events = (result.path / "rep-000" / "events.jsonl").read_text()
    assert '"send"' not in events
    assert ('"enter"' in events) is (trace == "cs")


def test_the_command_replays_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The node of the first offence, up to its time."""
    safety = result_of("unsafe", tmp_path).summary["checks"]["safety"]
    node, until = safety["first"]["node"], safety["first"]["t"] / 10**9
    assert safety["replay"].endswith(f"/failed/unsafe-rep-000 --repetition 0 --node {node} --until {until:.9g}")
    assert main(shlex.split(safety["replay"])[1:]) == 0
    assert re.search(r"^as recorded: every output of [1-9]\d* inputs", capsys.readouterr().out, re.MULTILINE)


def test_an_exception_is_replayed_with_its_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is also in error.txt, of the run and of the log that was kept."""
    result = result_of("raises", tmp_path)
    contract = result.summary["checks"]["contract"]
    for folder in (result.path, result.path / "failed" / "raises-rep-000"):
        assert "LookupError: broken on purpose" in (folder / "error.txt").read_text()
    assert "error" not in json.loads((result.path / "summary.json").read_text())["repetitions"][0]
    assert main(shlex.split(contract["replay"])[1:]) == 1
    assert "the agent failed as it does now: LookupError: broken on purpose" in capsys.readouterr().out


def test_the_second_run_tells_the_step(tmp_path: Path) -> None:
    """A dropped token is found by asking now and then; where every message is looked at, in its step."""
    (offence, *_) = result_of("drops", tmp_path).summary["checks"]["conservation"]["offenders"]
    assert offence.endswith(": node 3 loses 1 unit in on_release(): it now holds 0 units")


def test_a_run_with_a_whole_log_is_not_repeated(tmp_path: Path) -> None:
    """The command names the run itself."""
    result = result_of("unsafe", tmp_path, "trace: events\n")
    assert kept(result) == []
    assert result.summary["checks"]["safety"]["replay"].startswith(f"testbed replay {result.path} --repetition 0 ")


def test_a_run_that_is_well_leaves_nothing(tmp_path: Path) -> None:
    result = result_of("rl", tmp_path)
    assert not (result.path / "failed").exists()
    assert "replay" not in result.summary["checks"]["safety"]


def test_only_some_are_kept(tmp_path: Path) -> None:
    """Their logs are long, and the first show what is wrong; all of them have failed."""
    result = result_of("unsafe", tmp_path, f"repeat: {MAX_KEPT + 2}\n")
    assert kept(result) == [f"unsafe-rep-{number:03d}" for number in range(MAX_KEPT)]
    failed = [one["checks"]["safety"]["verdict"] for one in result.summary["repetitions"]]
    assert failed == ["failed"] * (MAX_KEPT + 2)


def test_a_name_with_a_blank_is_quoted(tmp_path: Path) -> None:
    """So that the command can be copied."""
    safety = result_of("unsafe", tmp_path / "my runs").summary["checks"]["safety"]
    assert Path(shlex.split(safety["replay"])[2]).is_dir()


# -- runs that differ -------------------------------------------------------------------------------------------------


def test_an_algorithm_that_cannot_be_repeated(tmp_path: Path) -> None:
    """What it did in the first run counts, and a line says that it did something else in the second."""
    result = result_of("moody", tmp_path)
    assert result.summary["checks"]["safety"]["verdict"] == "failed"
    assert result.summary["unmet"] == [
        "safety is failed, expected ok",
        "repetition 0 did not fail in the same way when it was run again: the algorithm depends on something that is "
        "no input",
    ]
    assert result.exit_code == 1


# -- grids ------------------------------------------------------------------------------------------------------------


def test_points_keep_logs_apart(tmp_path: Path) -> None:
    """Two points of one name, which is no good name for a folder. A third is the same as the first, and is run once."""
    seeds = (1, 2, 1)
    points = [
        Point("k=2 / fast", loads(tiny(f"seed: {seed}\n", algorithm="unsafe", workload=LOADED))) for seed in seeds
    ]
    results = run_points(points, "test", tmp_path)
    names = [f"k=2---fast-{StoredPoint(point.scenario).name[:8]}-rep-000" for point in points]
    assert sorted(path.name for path in (tmp_path / "failed").iterdir()) == sorted(set(names))
    assert len(set(names)) == 2
    for result, folder in zip(results, names, strict=True):
        replay = f"  replay: testbed replay {tmp_path}/failed/{folder} --repetition 0 "
        assert any(line.startswith(replay) for line in result.failures())


def test_without_a_log_there_is_no_command() -> None:
    """Of repetitions whose logs were not kept."""
    checks: dict[str, Any] = {"safety": {"verdict": "failed"}, "order": {"verdict": "ok"}}
    add_replays(checks, [{"repetition": 0, "checks": {"safety": {"verdict": "failed", "first": None}}}])
    assert checks == {"safety": {"verdict": "failed", "replay": None}, "order": {"verdict": "ok"}}
