"""Claims of a paper, judged by intervals: what a sentence says of some points, and what was measured there.

A claim says that quantities are within bounds: a ratio below 1, say, at every load. Each quantity was measured in
several repetitions and has a 95 % confidence interval. The claim holds if every interval is within the bounds, it does
not hold if one is wholly outside, and otherwise it is undecided: more repetitions would be needed. What must be so in
every run, such as a check or a count, is judged run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from analysis import stats
from analysis.check import FAILED, OK
from analysis.tables import Table, number

HOLDS, FAILS, UNDECIDED, NOT_JUDGED = "holds", "DOES NOT HOLD", "undecided", "not judged"


@dataclass(frozen=True)
class ClaimPoint:
    """One point of a claim: a quantity, what the claim says of it, and whether that is so."""

    place: str
    """Where it was measured, in words."""
    mean: float
    ci95: float | None
    """None for a single repetition, which decides nothing."""
    low: float | None
    """The bounds with which the claim holds; None for no bound."""
    high: float | None
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, what we measured, and the verdict."""

    claim: str
    """In our words, with the numbers that we take for words such as "close to"."""
    paper: str
    """In the paper's words."""
    measured: str
    verdict: str
    points: tuple[ClaimPoint, ...] = ()
    """What the verdict follows from, for a claim that lists it."""

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None if that is not decided."""
        return {HOLDS: True, FAILS: False}.get(self.verdict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        document = {**asdict(self), "holds": self.holds}
        return document if self.points else {key: value for key, value in document.items() if key != "points"}


class NotMeasured(Exception):
    """A point has no value, because all its repetitions were lost."""


Found = TypeVar("Found")
"""What a reproduction has measured."""
Judge = Callable[[Found], tuple[str, str] | tuple[str, str, tuple[ClaimPoint, ...]]]
"""Takes what was found; returns what was measured, in words, the verdict, and the points of a claim that lists them."""


class ClaimList(Generic[Found]):
    """The claims of a paper: each in our words, in the paper's, and with what judges it, in the order of the paper."""

    def __init__(self) -> None:
        self._claims: list[tuple[str, str, Judge[Found]]] = []

    def __len__(self) -> int:
        return len(self._claims)

    def add(self, claim: str, paper: str) -> Callable[[Judge[Found]], Judge[Found]]:
        """Decorates the function that judges a claim."""

        def put(judge: Judge[Found]) -> Judge[Found]:
            self._claims.append((claim, paper, judge))
            return judge

        return put

    def judged(self, found: Found) -> list[Claim]:
        """All claims with their verdicts; one whose points have no value is not judged."""
        return [self._judged(found, *claim) for claim in self._claims]

    def _judged(self, found: Found, claim: str, paper: str, judge: Judge[Found]) -> Claim:
        try:
            return Claim(claim, paper, *judge(found))
        except NotMeasured as error:
            return Claim(claim, paper, str(error), NOT_JUDGED)


class Bounds(NamedTuple):
    """The values of a quantity with which a claim holds."""

    low: float = float("-inf")
    high: float = float("inf")

    def verdict(self, interval: Interval) -> str:
        """Whether the quantity is within the bounds."""
        low, high = interval.mean - interval.ci95, interval.mean + interval.ci95
        if self.low <= low and high <= self.high:
            return HOLDS
        return FAILS if high < self.low or low > self.high else UNDECIDED


class Interval(NamedTuple):
    """A measured quantity: the mean over the repetitions, and half the width of its 95 % confidence interval."""

    mean: float
    ci95: float
    """Infinite for a single repetition, which decides nothing."""

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Interval:
        """Over the repetitions that have a value; raises `NotMeasured` if none has."""
        known = [value for value in values if value is not None]
        mean, ci95 = stats.mean(known), stats.ci95(known)
        if mean is None:
            raise NotMeasured("no repetition has a value")
        return cls(mean, float("inf") if ci95 is None else ci95)

    def __str__(self) -> str:
        """For the report."""
        return number(self.mean)


def all_of(verdicts: Iterable[str]) -> str:
    """The verdict on a claim that speaks of every point."""
    found = set(verdicts)
    return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found else HOLDS


def some_of(verdicts: Iterable[str]) -> str:
    """The verdict on a claim that speaks of some point: it fails only where it fails at every point."""
    found = set(verdicts)
    return HOLDS if HOLDS in found else UNDECIDED if UNDECIDED in found else FAILS


def most_of(verdicts: Sequence[str]) -> str:
    """The verdict on a claim that speaks of most points: of more than half of them."""
    hold, fail, half = verdicts.count(HOLDS), verdicts.count(FAILS), len(verdicts) / 2
    return HOLDS if hold > half else FAILS if fail >= half else UNDECIDED


def never(counts: Iterable[float | None]) -> str:
    """The verdict on a claim that something never happens: one run in which it happened is enough against it."""
    known = [count for count in counts if count is not None]
    return UNDECIDED if not known else FAILS if any(known) else HOLDS


def checked(verdicts: Iterable[str]) -> str:
    """The verdict on a claim that some checks pass in every run. A check that was not made decides nothing."""
    found = set(verdicts)
    return FAILS if FAILED in found else HOLDS if found == {OK} else UNDECIDED


def claims_table(claims: Sequence[Claim]) -> Table:
    """Every claim with its verdict."""
    lines = [(claim.claim, claim.paper, claim.measured, claim.verdict) for claim in claims]
    return Table(("claim", "paper", "measured", "verdict"), lines)
