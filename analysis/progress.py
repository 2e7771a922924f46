"""Progress: while requests are pending and the network allows it, some node enters before long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agents.contract import TICKS
from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.check import INCONCLUSIVE, OK, Verdict
from analysis.events import Start
from analysis.neighbourhoods import Whereabouts
from analysis.world import WorldCheck


class Wait:
    """Nodes that share units: which of them wait and are inside, and since when nothing has happened among them."""

    def __init__(self) -> None:
        self.waiting: dict[int, None] = {}
        self.inside: set[int] = set()
        self.since = 0
        """The last entry or exit; or, if no node waited then, the first request after it."""
        self.has_asked = self.has_entered = False

    def take(self, steps: Iterable[Step], patience: int) -> list[tuple[int, int]]:
        """Requests, entries and exits; returns the node and time of every entry that came after a long standstill."""
        waiting, inside, since, late = self.waiting, self.inside, self.since, []
        for kind, t, node, _, _, _ in steps:
            if kind is REQUESTED:
                if not waiting and not inside:
                    since = t
                    self.has_asked = True
                waiting[node] = None
            else:
                if kind is ENTERED:
                    if not inside:
                        self.has_entered = True
                        if t - since > patience:
                            late.append((node, t))
                    waiting.pop(node, None)
                    inside.add(node)
                else:
                    inside.discard(node)
                since = t
        self.since = since
        return late

    def forget(self, t: int, node: int) -> None:
        """A node is neither inside nor waiting any more."""
        self.waiting.pop(node, None)
        if node in self.inside:
            self.inside.discard(node)
            self.since = t

    def stuck_for(self, t: int) -> int:
        """For how long no node has entered although one waits and none is inside."""
        return t - self.since if self.waiting and not self.inside else 0


class Progress(StepListener, WorldCheck):
    """If requests are pending and no node is inside, one enters within the scenario's `patience`, and by the end.

    By the end: in the time that the run goes on after requests have stopped, no node entered for half of it or more.
    Judged among the nodes that share units: the whole network, a cluster or a neighbourhood. Not judged while the
    network is partitioned, and not after a crash or after a fault has taken units: what is pending at the end of such
    a run is judged by `starvation`. Nor are requests of nodes that are not there all the time. A run without any
    request, or in which no node entered though the network may be to blame, shows nothing and is inconclusive.
    """

    name = "progress"
    needs_kind = "request"
    needs_stop = True

    def __init__(self) -> None:
        super().__init__()
        self.waits: dict[int | None, Wait] = {None: Wait()}  # by cluster or neighbourhood
        self.clusters: Sequence[int] = ()
        self.whereabouts = Whereabouts(Start())
        self.absent: frozenset[int] = frozenset()
        self.closed_at: int | None = None  # when requests stopped
        self.has_crashed = False
        self.robbed = False

    def begin(self, start: Start) -> None:
        super().begin(start)
        self.clusters, self.whereabouts = start.clusters, Whereabouts(start)
        self.absent = frozenset(start.absent)
        sections: Sequence[int] = sorted(set(start.clusters)) if start.clusters else range(len(start.places))
        self.waits = {section: Wait() for section in (None, *sections)}

    @property
    def is_disturbed(self) -> bool:
        return super().is_disturbed or self.has_crashed or self.robbed

    def _of(self, node: int) -> Wait:
        section = self.clusters[node] if self.clusters else self.whereabouts.of(node)
        return self.waits[section]

    def take_steps(self, steps: Iterable[Step]) -> None:
        patience = self.patience if self.calm_since is not None and self.patience else 1 << 62
        if self.absent:
            every = list(steps)
            steps = [step for step in every if step[0] is not REQUESTED or step[2] not in self.absent]
            self.waits[None].has_asked |= len(steps) < len(every)
        if len(self.waits) == 1:
            late = self.waits[None].take(steps, patience)
        else:
            late = [one for step in steps for one in self._of(step[2]).take((step,), patience)]
        for node, t in late:
            self.offend(t, node, f"node {node} is the first to enter for more than {self.patience / TICKS:g}")

    def calm_ends(self, t: int) -> None:
        if self.calm_since is not None:
            for wait in self.waits.values():
                self._judge(t, wait, self.patience)
        for wait in self.waits.values():
            wait.since = t  # if calm begins, standing still begins again

    def _judge(self, t: int, wait: Wait, patience: int) -> None:
        """Whether no node has entered for longer than that."""
        if patience and wait.stuck_for(t) > patience:
            self._offend(t, wait)

    def _offend(self, t: int, wait: Wait) -> None:
        nodes = sorted(wait.waiting)
        waits = f"node {nodes[0]} waits" if len(nodes) == 1 else f"{len(nodes)} nodes wait"
        unit = f"; a unit was {self.dropped_at}" if self.dropped else ""
        self.offend(t, nodes[0], f"{waits} and no node has entered since t={wait.since / TICKS:g}{unit}")
        wait.since = t

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._of(node).forget(t, node)
        super().crash(t, node, units, tokens)
        self.has_crashed = True
        self.calm_since = None
        self.whereabouts.move(node, None)

    def evict(self, t: int, node: int) -> None:
        self._of(node).forget(t, node)

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        wait = self._of(node)
        is_waiting = node in wait.waiting  # the application asks just before its node has joined
        wait.forget(t, node)
        self.whereabouts.move(node, group)
        wait = self._of(node)
        if is_waiting:
            if not wait.waiting and not wait.inside:
                wait.since = t
            wait.waiting[node] = None

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._of(node).forget(t, node)
        self.robbed |= not ready  # it may have taken along what it used
        super().left(t, node, group, ready, abandoned, units, tokens)
        if self.robbed:
            self.calm_since = None
        self.whereabouts.move(node, None)

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        if self.calm_since is None:
            return
        drained = 0 if self.closed_at is None else t - self.closed_at
        if self.closed_at is not None and not drained:
            return  # the run ended as soon as requests stopped, with what was pending then
        for wait in self.waits.values():
            if wait.stuck_for(t) > min(drained / 2, self.patience or drained):
                self._offend(t, wait)

    def close(self, t: int, node: None, patience: int) -> None:
        self.closed_at = t

    def verdict(self) -> Verdict:
        """What the check says of the events so far; a run without requests shows nothing."""
        verdict, waits = super().verdict(), self.waits.values()
        if verdict.verdict == OK and not any(wait.has_asked for wait in waits):
            return Verdict(INCONCLUSIVE, "no request was made")
        if verdict.verdict == OK and not any(wait.has_entered for wait in waits):
            return Verdict(INCONCLUSIVE, f"no node entered; {verdict.detail}")
        return verdict

    def remark(self) -> str:
        return "" if not self.is_disturbed else "not judged to the end: nodes were kept from each other or from units"
