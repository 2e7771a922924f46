"""Checks that were made weaker on purpose: for each, the zoo has a member that it lets pass.

So the zoo needs these parts of the checks. If a mutant survives, a mistake in that part of a check would go unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from analysis import audit
from analysis.batched import ENTERED, REQUESTED, Step
from analysis.check import FAILED, Check
from analysis.conservation import Conservation
from analysis.contract import Contract
from analysis.events import Start
from analysis.order import OrderOnLine
from analysis.progress import Progress
from analysis.safety import Safety
from analysis.starvation import Starvation, Unserved
from testbed.experiments.measure import measure
from testbed.runtime import breach
from testbed.runtime.channel import Post
from testbed.runtime.driver import Driver
from tests.zoo.members import MEMBERS
from tests.zoo.runs import scenario_of

# -- mutants of the checks --------------------------------------------------------------------------------------------


class OnlyCounts(Safety):
    """Does not mind an entry without a request."""

    def offend(self, t: int, node: int | None, what: str) -> None:
        if "without a request" not in what:
            super().offend(t, node, what)


class CountsNodes(Safety):
    """Counts the nodes that are inside, not the units that they use."""

    def take_steps(self, steps: Iterable[Step]) -> None:
        super().take_steps([(kind, t, node, 1, priority, deadline) for kind, t, node, _, priority, deadline in steps])


class OneMore(Safety):
    """Lets one more in than there may be."""

    def begin(self, start: Start) -> None:
        super().begin(start._replace(capacity=start.capacity + 1))


class AsksAtTheEnd(Conservation):
    """Asks nodes what they hold at the end only."""

    def miscount(self, *fields: Any) -> None:
        pass


class IgnoresTokens(Conservation):
    """Counts units only."""

    def begin(self, start: Start) -> None:
        super().begin(start._replace(tokens=start.units))

    def take_moves(self, moves: Iterable[Any]) -> None:
        super().take_moves([(*move[:-1], move[-2]) for move in moves])

    def miscount(
        self, t: int, node: int, units: int, tokens: int, said_units: int, said_tokens: int, event: str
    ) -> None:
        if units != said_units:
            super().miscount(t, node, units, units, said_units, said_units, event)

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        super().end(t, units, units)


class BelievesTheStart(Conservation):
    """Takes what nodes hold at the start for all there is."""

    def begin(self, start: Start) -> None:
        super().begin(start._replace(capacity=sum(start.units)))


class EndlessPatience(Starvation):
    """Does not mind how long a request waits as long as there is load."""

    def close(self, t: int, node: None, patience: int) -> None:
        pass


class ExcusedByAnyCrash(Starvation):
    """Takes any crash for an excuse."""

    def _excuse_of(self, one: Unserved) -> str | None:
        return "a node crashed" if self.crashed_at else super()._excuse_of(one)


class ForgetsCalmTimes(Starvation):
    """Looks at the network at the end only: what a node waited before something went wrong does not count."""

    def calm_ends(self, t: int) -> None:
        pass


class NeverAtTheEnd(Progress):
    """Does not mind what waits at the end."""

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        pass


class SilentUntilTheEnd(Progress):
    """Does not judge a calm time that ends."""

    def calm_ends(self, t: int) -> None:
        for wait in self.waits.values():
            wait.since = t


class WaitsForTheFirst(Progress):
    """Judges nothing before the first entry."""

    has_seen_entry = False

    def take_steps(self, steps: Iterable[Step]) -> None:
        steps = list(steps)
        self.has_seen_entry |= any(kind is ENTERED for kind, *_ in steps)
        super().take_steps(steps)

    def offend(self, t: int, node: int | None, what: str) -> None:
        if self.has_seen_entry:
            super().offend(t, node, what)


class RequestsAreProgress(Progress):
    """Takes a request for progress."""

    def take_steps(self, steps: Iterable[Step]) -> None:
        steps = list(steps)
        super().take_steps(steps)
        for kind, t, node, *_ in steps:
            if kind is REQUESTED:
                self._of(node).since = t

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        pass


class SeesNoBreach(Contract):
    """Is told of a breach and says nothing."""

    def breach(self, *fields: Any) -> None:
        pass


CHECKS: tuple[tuple[type[Check], str], ...] = (
    (OnlyCounts, "enters-unasked"),
    (CountsNodes, "takes-more"),
    (OneMore, "forges-grant"),
    (AsksAtTheEnd, "hides-in-use"),
    (IgnoresTokens, "claims-two-tokens"),
    (BelievesTheStart, "defers-always-as-tokens"),
    (EndlessPatience, "lowest-first"),
    (ExcusedByAnyCrash, "ignores-the-restarted"),
    (ForgetsCalmTimes, "starves-one-that-is-cut-off"),
    (NeverAtTheEnd, "never-asks"),
    (SilentUntilTheEnd, "deadlock-before-a-cut"),
    (WaitsForTheFirst, "defers-always"),
    (RequestsAreProgress, "never-releases"),
    (SeesNoBreach, "raises-on-request"),
)


def verdict(name: str, check: str) -> str:
    """What a check says of a member."""
    return str(measure(scenario_of(MEMBERS[name], "sim ideal"), 0)["checks"][check]["verdict"])


@pytest.mark.parametrize(("mutant", "name"), CHECKS, ids=lambda one: getattr(one, "__name__", one))
def test_a_check_that_was_made_weaker(mutant: type[Check], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check catches the member, and its mutant does not."""
    assert MEMBERS[name].check == mutant.name
    assert verdict(name, mutant.name) == FAILED
    weakened = tuple(mutant if check.name == mutant.name else check for check in audit.BATCHED_CHECKS)
    monkeypatch.setattr(audit, "BATCHED_CHECKS", weakened)
    assert verdict(name, mutant.name) != FAILED


# -- mutants of what the driver reports -------------------------------------------------------------------------------

Weakness = Callable[[pytest.MonkeyPatch], None]


def no_peers_are_bad(patch: pytest.MonkeyPatch) -> None:
    """Messages may go to anything that can be counted."""
    patch.setattr(breach.OutboxRules, "bad_peer", lambda *arguments: None)


def no_messages_are_bad(patch: pytest.MonkeyPatch) -> None:
    """Messages may hold anything."""
    patch.setattr(breach.OutboxRules, "bad_message", lambda *arguments: None)


def no_timers_are_bad(patch: pytest.MonkeyPatch) -> None:
    """Timers may run for any time."""
    patch.setattr("testbed.runtime.driver.bad_timer", lambda *arguments: None)
    patch.setattr(breach, "bad_timer", lambda *arguments: None)


def no_questions(patch: pytest.MonkeyPatch) -> None:
    """Nodes are not asked now and then what they hold."""
    patch.setattr(audit.BatchedAudit, "compare", lambda *arguments: None)


REPORTS: tuple[tuple[Weakness, str], ...] = (
    (no_peers_are_bad, "sends-to-true"),
    (no_messages_are_bad, "field-of-text"),
    (no_timers_are_bad, "timer-of-true"),
    (no_questions, "hides-in-use"),
)


@pytest.mark.parametrize(("weaken", "name"), REPORTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_driver_that_looks_less_closely(weaken: Weakness, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver does not report, no check can find."""
    check = str(MEMBERS[name].check)
    assert verdict(name, check) == FAILED
    weaken(monkeypatch)
    assert verdict(name, check) != FAILED


# -- order ------------------------------------------------------------------------------------------------------------
# No algorithm can put its messages out of order. So for this check the wrong ones are links.

Receive = Callable[[Driver, list[Post]], None]


def twice(receive: Receive) -> Receive:
    """Every message arrives twice."""

    def receive_twice(driver: Driver, posts: list[Post]) -> None:
        receive(driver, [post for post in posts for _ in range(2)])

    return receive_twice


def overtaking(receive: Receive) -> Receive:
    """On every channel, the third message overtakes the second."""
    held: dict[tuple[int, int], Post] = {}

    def receive_late(driver: Driver, posts: list[Post]) -> None:
        for post in posts:
            ends, number = (post[0].source, post[0].target), post[2]
            if number == 2:
                held[ends] = post
            else:
                receive(driver, [post, *([held.pop(ends)] if ends in held else [])])

    return receive_late


class AllowsTwice(OrderOnLine):
    """Does not mind a message that arrives once more."""

    def disorder(self, t: int, node: int, peer: int, id: int, type: str, last: int) -> None:
        if id != last:
            super().disorder(t, node, peer, id, type, last)


class AllowsOvertaking(OrderOnLine):
    """Does not mind a message that arrives late."""

    def disorder(self, t: int, node: int, peer: int, id: int, type: str, last: int) -> None:
        if id == last:
            super().disorder(t, node, peer, id, type, last)


ORDERS = (
    ("textbook", twice, AllowsTwice),
    ("walking-token", overtaking, AllowsOvertaking),
    ("textbook", twice, None),
)


@pytest.mark.parametrize(("name", "link", "mutant"), ORDERS, ids=lambda one: getattr(one, "__name__", str(one)))
def test_links_out_of_order(
    name: str, link: Callable[[Receive], Receive], mutant: type[Check] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check catches the links; its mutant does not, nor does a driver that reports nothing."""
    monkeypatch.setattr(Driver, "receive", link(Driver.receive))
    assert verdict(name, "order") == FAILED
    if mutant is None:
        monkeypatch.setattr(Driver, "_report_disorder", lambda *arguments: None)
    else:
        weakened = tuple(mutant if check.name == mutant.name else check for check in audit.BATCHED_CHECKS)
        monkeypatch.setattr(audit, "BATCHED_CHECKS", weakened)
    assert verdict(name, "order") != FAILED
