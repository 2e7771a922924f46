"""Lives that follow each other so fast that what is heard of one comes in during the next."""

import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.loopback.backend import Loopback
from testbed.scenario.schema import Scenario
from testbed.backends.stations.processes import MEDIUM, NURSERY
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.orchestrator import Orchestrator
from testbed.backends.stations.timeline import FOR_EVER
from tests.testbed.simulate import Diary
from tests.testbed.backends.stations.stage import LINE


class Told:
    """Children that do nothing, and say what the test has them say."""

    def __init__(self) -> None:
        self.to_hear: deque[tuple[Any, dict[str, Any] | None]] = deque()
        self.orders: list[tuple[Any, Any]] = []
        self.patience_s: list[float | None] = []  # of whoever wanted to hear something

    def hear(self, timeout_s: float | None) -> list[tuple[Any, dict[str, Any] | None]]:
        self.patience_s.append(timeout_s)
        return [self.to_hear.popleft()] if self.to_hear else []

    def tell(self, who: Any, order: dict[str, Any]) -> None:
        self.orders.append((who, order["do"]))

    def bear(self, node: int, life: int, transport: object, descriptors: object) -> None:
        self.orders.append((node, f"life {life}"))

    def kill(self, node: int) -> None:
        self.orders.append((node, "die"))

    def of(self, node: int) -> list[str]:
        """What a station was told, since the test looked last."""
        told = [order for who, order in self.orders if who == node]
        self.orders.clear()
        return told


class Stage:
    """An orchestrator in the middle of a run, whose stations are only told of."""

    def __init__(self, folder: Path, **keys: Any) -> None:
        (folder / "nodes").mkdir()
        self.folder = folder
        settings = {**LINE, "trace": "events", **keys}
        scenario = Scenario.model_validate({key: value for key, value in settings.items() if value is not None})
        self.diary, self.children = Diary(), Told()
        self.run = Orchestrator(scenario, 0, Loopback(), self.diary, lambda done: None, folder)
        self.run._children = self.children
        for node in range(scenario.nodes):
            self.run._bear(node)
        self.run._clock = RunClock(time.monotonic_ns(), scenario.time_unit)
        self.children.orders.clear()

    def hear(self, who: Any, message: dict[str, Any]) -> None:
        self.children.to_hear.append((who, message))
        self.run._listen(0.0)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_new_life_begins_after_the_old_one(stage):
    """Though its death is heard of late: or it would never be accounted for, and its log would hold up all others."""
    old = stage.run._tails[1]
    stage.run.crash(1)
    stage.run.at(0, stage.run.look_at_parts)  # overdue, but not to be done before the restart
    stage.children.to_hear += [
        (2, {"clock": 7, "idle": False}),
        (NURSERY, {"died": 1, "life": 1, "code": -9}),
    ]
    stage.run.restart(1)
    assert not stage.children.to_hear, "it has waited for the death"
    assert all(stage.children.patience_s), "and not asked for it without end"
    assert stage.children.of(1) == ["die", "life 2"]
    assert old.is_closed
    stage.run._put_together(FOR_EVER)
    assert [event["kind"] for event in stage.diary.of("crash", "restart")] == ["crash", "restart"]


def test_a_report_that_is_heard_after_the_death(stage):
    """Does not open the log again."""
    (stage.folder / "nodes" / "001-1.jsonl").touch()
    stage.run.crash(1)
    stage.hear(NURSERY, {"died": 1, "life": 1, "code": -9})
    stage.hear(1, {"clock": 7, "idle": False})
    assert stage.run._tails[1].is_closed
    stage.run._put_together(stage.run.now)


def test_a_new_life_is_told_what_the_others_were_told(tmp_path):
    """That the run has begun, that there are enough entries, that it is over: each as soon as it can obey."""
    stage = Stage(tmp_path, duration=None, entries=40)
    stage.hear(1, {"ready": 4711})
    assert stage.children.of(1) == ["start"]
    stage.run._stop()
    stage.children.orders.clear()
    stage.hear(1, {"ready": 4711})
    assert stage.children.of(1) == ["start", "stop"]
    stage.run._is_finishing = True
    stage.hear(1, {"ready": 4711})
    assert stage.children.of(1) == ["start", "stop", "finish"]


def test_a_new_life_knows_the_duration(stage):
    """It is not told to stop, as nobody is."""
    stage.run._stop()
    assert stage.children.of(1) == []
    stage.hear(1, {"ready": 4711})
    assert stage.children.of(1) == ["start"]


def test_a_death_at_the_very_end(stage):
    """Is accounted for like any other."""
    stage.run.crash(1)
    stage.children.to_hear.append((NURSERY, {"died": 1, "life": 1, "code": -9}))
    stage.children.to_hear += [(who, {"end": {}}) for who in (0, 2, 3, MEDIUM)]
    stage.run._finish()
    stage.run._put_together(FOR_EVER)
    assert [event["node"] for event in stage.diary.of("crash")] == [1]
