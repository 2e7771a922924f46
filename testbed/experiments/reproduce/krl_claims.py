"""Every sentence of the KRL paper's section 6 that makes a claim, compared with what we measured.

Where the paper gives no number ("comparable", "not sensitive"), the claim here contains the number that we use for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from testbed.experiments.reproduce.cells import NODES, CellResult
from testbed.experiments.reproduce.claims import FAILS, HOLDS, NOT_JUDGED, Claim, NotMeasured

COMPARABLE = 2.0  # "comparable": within this factor of each other
INSENSITIVE = 0.15  # "not sensitive": the extremes differ by less than this share of the mean


class Measured:
    """Looks up means: of a metric, for an algorithm, at a mobility, connectivity and rate."""

    def __init__(self, points: list[CellResult]) -> None:
        self._points = {
            (p.cell.algorithm, p.cell.mobility, round(p.cell.connectivity, 3), p.cell.rate): p for p in points
        }
        self.rates = sorted({p.cell.rate for p in points})
        self.mobilities = list(dict.fromkeys(p.cell.mobility for p in points))
        self.connectivities = sorted({p.cell.connectivity for p in points})

    def mean(self, metric: str, algorithm: str, mobility: str, connectivity: float, rate: float) -> float:
        """Over the repetitions of the point; raises `NotMeasured` if it has no value."""
        value = self._points[algorithm, mobility, round(connectivity, 3), rate].mean(metric)
        if value is None:
            raise NotMeasured(f"no value of {algorithm} at {mobility} mobility, {connectivity:.0%}, load {rate:g}")
        return value

    def ratios(self, metric: str, places: Iterator[tuple[str, float, float]]) -> list[float]:
        """KRLF over KRL, at every (mobility, connectivity, rate)."""
        return [self.mean(metric, "krlf", *place) / self.mean(metric, "krl", *place) for place in places]

    def figure_6(self, rates: Callable[[float], bool] = lambda rate: True) -> Iterator[tuple[str, float, float]]:
        """The places of Figures 6 and 7 at some of the loads."""
        return ((m, c, r) for m in self.mobilities for c in (0.2, 0.8) for r in self.rates if rates(r))

    def figure_8(self, mobilities: tuple[str, ...] = ("zero", "low", "high")) -> Iterator[tuple[str, float, float]]:
        """The places of Figures 8 and 9 at some of the mobilities."""
        return ((m, c, 0.1) for m in mobilities for c in self.connectivities)


Judge = Callable[[Measured], tuple[str, bool]]
"""Takes what was found; returns what was measured, in words, and whether the claim holds."""
CLAIMS: list[tuple[str, str, Judge]] = []
"""Each claim in our words, the paper's sentence, and what judges it, in the order of the paper."""


def claims_of(found: Measured) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [_judged(found, *claim) for claim in CLAIMS]


def _judged(found: Measured, claim: str, paper: str, judge: Judge) -> Claim:
    try:
        measured, holds = judge(found)
        return Claim(claim, paper, measured, HOLDS if holds else FAILS)
    except NotMeasured as error:
        return Claim(claim, paper, str(error), NOT_JUDGED)


def _claim(claim: str, paper: str) -> Callable[[Judge], Judge]:
    """Add a claim to the list."""

    def add(judge: Judge) -> Judge:
        CLAIMS.append((claim, paper, judge))
        return judge

    return add


def _spread(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _below(values: list[float], bound: float) -> str:
    return f"ratio {_spread(values)}; {sum(value < bound for value in values)} of {len(values)} points below {bound:g}"


@_claim(
    "at a load of 1 a node has a request pending at least 90 % of its time",
    "at this rate each node would have a request pending almost all the time",
)
def _always_pending(found: Measured) -> tuple[str, bool]:
    waits = [found.mean("waiting_time", "krl", m, c, 1.0) for m, c, _ in found.figure_6(lambda rate: rate == 1.0)]
    shares = [wait / (wait + 2) for wait in waits]  # then one unit inside and one, on average, of thinking
    measured = f"KRL: {min(shares):.0%} to {max(shares):.0%} of a node's time"
    return measured, min(shares) >= 0.9


@_claim(
    "at a load of 0.001 at most 3 of 30 requests are pending on average",
    "requests rarely pending at all nodes at the same time",
)
def _rarely_pending(found: Measured) -> tuple[str, bool]:
    rate = found.rates[0]
    waits = [found.mean("waiting_time", "krl", m, c, rate) for m, c, _ in found.figure_6(lambda one: one == rate)]
    pending = [NODES * wait / (wait + 1 + 1 / rate) for wait in waits]
    return f"KRL: {min(pending):.2f} to {max(pending):.2f} of {NODES}", max(pending) <= 3


@_claim(
    "KRLF waits less than KRL, at every load, mobility and connectivity",
    "KRLF results in executions with lower average time per CS entry",
)
def _lower_time(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("waiting_time", found.figure_6())
    return _below(ratios, 1.0), max(ratios) < 1


@_claim(
    "at a load of 0.1 KRLF waits less than half as long as KRL, at 20 % and 80 %",
    "less than half the time per CS entry as KRL uses when the mean time between requests is 10 time units",
)
def _half_the_time(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("waiting_time", found.figure_6(lambda rate: rate == 0.1))
    return _below(ratios, 0.5), max(ratios) < 0.5


@_claim(
    "at a load of 0.1 KRLF uses fewer messages than KRL when nodes are mobile",
    "actually uses fewer messages per CS entry when nodes are mobile",
)
def _fewer_messages_when_mobile(found: Measured) -> tuple[str, bool]:
    places = [place for place in found.figure_6(lambda rate: rate == 0.1) if place[0] != "zero"]
    ratios = found.ratios("messages_per_cs", iter(places))
    return _below(ratios, 1.0), max(ratios) < 1


@_claim(
    f"at loads from 0.1 to 1 KRLF's and KRL's messages are within a factor of {COMPARABLE:g}",
    "comparable, in terms of number of message per CS entry, to the KRL algorithm",
)
def _comparable_messages(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("messages_per_cs", found.figure_6(lambda rate: rate >= 0.1))
    return f"ratio {_spread(ratios)}", min(ratios) >= 1 / COMPARABLE and max(ratios) <= COMPARABLE


@_claim(
    "at the lowest load KRLF uses more messages than KRL",
    "at the lowest loads, KRLF uses more messages due to the continuous circulation of tokens",
)
def _more_messages_at_low_load(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("messages_per_cs", found.figure_6(lambda rate: rate == found.rates[0]))
    return f"ratio {_spread(ratios)}", min(ratios) > 1


def _savings(found: Measured, rate: float) -> float:
    """The mean share of KRL's waiting time that KRLF saves at a load."""
    ratios = found.ratios("waiting_time", found.figure_6(lambda one: one == rate))
    return 1 - sum(ratios) / len(ratios)


@_claim(
    "forwarding saves a greater share of the waiting time at loads of 0.1 and 1 than at 0.001",
    "performance benefits, particularly at medium to high loads",
)
def _benefits_at_medium_to_high_load(found: Measured) -> tuple[str, bool]:
    low, medium, high = (_savings(found, rate) for rate in (found.rates[0], 0.1, 1.0))
    return f"saved: {low:.0%} at 0.001, {medium:.0%} at 0.1, {high:.0%} at 1", medium > low and high > low


@_claim(
    "at a load of 0.1 KRL waits less at low mobility than at zero, and less still at high, at every connectivity",
    "the KRL algorithm performs better in terms of time per CS entry as mobility increases",
)
def _better_with_mobility(found: Measured) -> tuple[str, bool]:
    falling, shown = 0, []
    for connectivity in found.connectivities:
        times = [found.mean("waiting_time", "krl", mobility, connectivity, 0.1) for mobility in found.mobilities]
        falling += times[0] > times[1] > times[2]
        shown.append("/".join(f"{time:.0f}" for time in times))
    return f"{falling} of {len(shown)} connectivities; zero/low/high: {', '.join(shown)}", falling == len(shown)


@_claim(
    "at a load of 0.1 KRL sends more messages at low mobility than at zero, and more still at high",
    "more messages are sent as mobility increases in KRL",
)
def _more_messages_with_mobility(found: Measured) -> tuple[str, bool]:
    rising, shown = 0, []
    for connectivity in found.connectivities:
        sent = [found.mean("messages_per_cs", "krl", mobility, connectivity, 0.1) for mobility in found.mobilities]
        rising += sent[0] < sent[1] < sent[2]
        shown.append("/".join(f"{messages:.1f}" for messages in sent))
    return f"{rising} of {len(shown)} connectivities; zero/low/high: {', '.join(shown)}", rising == len(shown)


@_claim(
    "at a load of 0.1 KRLF waits less than half as long as KRL, at every connectivity and mobility",
    "the KRLF version takes less than half the time used by the KRL algorithm per CS entry",
)
def _half_the_time_at_every_connectivity(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("waiting_time", found.figure_8())
    return _below(ratios, 0.5), max(ratios) < 0.5


@_claim(
    f"at a load of 0.1 KRLF's waiting time varies with connectivity by less than {INSENSITIVE:.0%}",
    "the KRLF algorithm is not sensitive to network connectivity at this load",
)
def _insensitive(found: Measured) -> tuple[str, bool]:
    spreads = []
    for mobility in found.mobilities:
        times = [found.mean("waiting_time", "krlf", mobility, c, 0.1) for c in found.connectivities]
        spreads.append((max(times) - min(times)) / (sum(times) / len(times)))
    measured = ", ".join(f"{m} mobility: {spread:.0%}" for m, spread in zip(found.mobilities, spreads, strict=True))
    return measured, max(spreads) < INSENSITIVE


@_claim(
    "at a load of 0.1 and high mobility KRLF uses fewer messages than KRL, at every connectivity",
    "uses fewer messages per CS entry than the KRL algorithm at the highest mobility and at a load of 0.1",
)
def _fewer_messages_at_high_mobility(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("messages_per_cs", found.figure_8(("high",)))
    return _below(ratios, 1.0), max(ratios) < 1


@_claim(
    "forwarding saves a greater share of the waiting time at a load of 0.1 than at 0.001 and at 1",
    "advantages over the KRL algorithm, particularly at mid-range system loads",
)
def _best_at_mid_range(found: Measured) -> tuple[str, bool]:
    low, medium, high = (_savings(found, rate) for rate in (found.rates[0], 0.1, 1.0))
    return f"saved: {low:.0%} at 0.001, {medium:.0%} at 0.1, {high:.0%} at 1", medium > low and medium > high


@_claim(
    "at loads from 0.1 to 1 KRLF uses no more messages than KRL",
    "more costly, in terms of number of messages sent, only at the lowest system loads",
)
def _costly_only_at_low_load(found: Measured) -> tuple[str, bool]:
    ratios = found.ratios("messages_per_cs", found.figure_6(lambda rate: rate >= 0.1))
    return _below(ratios, 1.0), max(ratios) <= 1
