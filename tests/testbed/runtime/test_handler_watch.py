"""Handlers that compute for ever, and virtual time that stands still: the run ends with one line."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

import pytest

from agents.contract import Agent, Demand, Graph
from agents.rl import LinkInfo, ReverseLink
from testbed.experiments.measure import measure
from testbed.runtime.breach import AgentError, HandlerTimeout
from testbed.runtime.handler_watch import STANDSTILL, TICKS_PER_LIMIT, HandlerWatch
from testbed.scenario.schema import Scenario
from tests.agents.rl_variants import registered
from tests.testbed.others import file_of
from tests.testbed.tiny import command, is_one_line, only_run, write_tiny

LIMIT = 0.2
"""Seconds of processor time, which a busy machine does not shorten."""


def loop() -> None:
    """Compute for ever."""
    while True:
        pass


class InRequest(ReverseLink):
    """Loops when its application asks."""

    def on_request(self, demand: Demand) -> None:
        loop()


class InRelease(ReverseLink):
    """Loops at its exit."""

    def on_release(self) -> None:
        loop()


class InReceive(ReverseLink):
    """Loops at a message."""

    def on_request_message(self, j: int, message: Any) -> None:
        loop()


class InLinkUp(ReverseLink):
    """Loops when a link forms."""

    def on_link_up(self, peer: int) -> None:
        loop()


class InStart(ReverseLink):
    """Loops before it is there."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Self:
        loop()
        raise AssertionError


class InInitial(ReverseLink):
    """Loops when the network is laid out."""

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        loop()
        return []


class CatchesExceptions(ReverseLink):
    """Loops, and goes on after every exception that is one."""

    def on_request(self, demand: Demand) -> None:
        while True:
            with suppress(Exception):
                loop()


class Echoing(ReverseLink):
    """Answers every message about heights, so that without delays no time passes."""

    never_rests: ClassVar[bool] = False

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        super().on_link_info(j, message)
        self.send(j, LinkInfo(self.my_height))

    def on_request(self, demand: Demand) -> None:
        super().on_request(demand)
        for peer in self.height:
            self.send(peer, LinkInfo(self.my_height))


def contract_of(agent: type[Agent], **keys: Any) -> str:
    """The offence of a run with an agent in RL's place."""
    topology = {"kind": "random", "connectivity": 0.5, "link_change_rate": 0.5}
    data = {"name": "loops", "algorithm": "rl", "nodes": 6, "topology": topology, "workload": {"rate": 1.0},
            "duration": 20.0, "handler_limit": LIMIT, **keys}  # fmt: skip
    with registered(agent):
        result = measure(Scenario.model_validate(data), 0)
    (offence,) = result["checks"]["contract"]["offenders"]
    assert "Traceback" in result["error"]
    return str(offence)


@pytest.mark.parametrize(
    ("agent", "where"),
    [
        (InRequest, "on_request(Demand("),
        (InRelease, "on_release(): "),
        (InReceive, "on_receive("),
        (InLinkUp, "on_link_up("),
        (InStart, "start: "),
        (InInitial, ""),
        (CatchesExceptions, "on_request(Demand("),
    ],
)
def test_a_loop_in_a_handler(agent: type[Agent], where: str) -> None:
    """The line names the node, the event and the place in the file."""
    offence = contract_of(agent)
    assert where in offence
    assert "it has taken more than 0.2 s of processor time (at test_handler_watch.py:" in offence
    assert agent is InInitial or ": rl: node " in offence


def test_virtual_time_that_stands_still() -> None:
    """No single handler takes long, and the run would never end all the same."""
    offence = contract_of(Echoing, topology="complete", delays={"hop": 0})
    still = f"virtual time has stood still for {STANDSTILL * LIMIT:g} s of processor time"
    assert offence.endswith(f"{still}: nodes act without end at once")


class Busy(ReverseLink):
    """Takes its time in every step, less than it may."""

    def on_request(self, demand: Demand) -> None:
        until = time.process_time() + LIMIT / 2
        while time.process_time() < until:
            pass
        super().on_request(demand)


def test_many_short_handlers_are_no_loop() -> None:
    """The limit is one for each of them: together they take much longer."""
    data = {"name": "busy", "algorithm": "rl", "nodes": 6, "topology": "complete", "workload": {"rate": 1.0},
            "duration": 6.0, "handler_limit": LIMIT}  # fmt: skip
    with registered(Busy):
        result = measure(Scenario.model_validate(data), 0)
    assert result["checks"]["contract"]["verdict"] == "ok"
    assert result["metrics"]["entries"] > 5


def test_the_watch_ends_with_its_context() -> None:
    """What runs afterwards has no limit; any exception but a timeout is passed on."""
    before = signal.getsignal(signal.SIGPROF)
    with HandlerWatch(LIMIT):
        assert signal.getitimer(signal.ITIMER_PROF)[1] == pytest.approx(LIMIT / TICKS_PER_LIMIT, abs=0.01)
    assert (signal.getitimer(signal.ITIMER_PROF), signal.getsignal(signal.SIGPROF)) == ((0, 0), before)
    with pytest.raises(KeyboardInterrupt), HandlerWatch(LIMIT):
        raise KeyboardInterrupt
    with pytest.raises(AgentError, match=r"^node 3 in on_timer: why"), HandlerWatch(LIMIT):
        raise HandlerTimeout(3, "on_timer", "why")


STUBBORN = '''

class Stubborn(Mine):
    """Cannot be interrupted."""

    def on_request(self, demand):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
'''


def test_a_loop_that_catches_everything_ends_the_process(tmp_path: Path) -> None:
    """There is no other way: one line, exit code 1, and the run directory says that the run did not finish."""
    file_of(tmp_path / "mine.py", STUBBORN)
    algorithm = f"{{name: Stubborn, file: {tmp_path / 'mine.py'}}}"
    path = write_tiny(tmp_path, f"handler_limit: {LIMIT}\n", algorithm=algorithm)
    done = command("run", path, "--out", tmp_path / "runs")
    assert done.returncode == 1
    assert is_one_line(done.stderr), done.stderr
    assert "in on_request(Demand(" in done.stderr
    assert "it has taken more than 0.2 s of processor time, and does not let go" in done.stderr
    assert only_run(tmp_path / "runs")
