"""Every property that the h-out of-k paper claims, compared with what we measured."""

from __future__ import annotations

from testbed.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    Bounds,
    Claim,
    ClaimList,
    Interval,
    all_of,
    checked,
    never,
)
from testbed.experiments.reproduce.hk_cells import FIFO, HK, MOBILE, NO_AGING, STATIC, USUAL_THINK, HKCell, Measured

CLAIMS = ClaimList[Measured]()
BY_ARRIVAL = f"{NO_AGING}, ties by arrival"
NO_MORE, NO_FEWER = Bounds(high=0.0), Bounds(low=0.0)
SERVED_WITHIN = 500.0
"""Time units within which every leaf of the star must be served again and again, of 5,000."""


def claims_of(found: Measured) -> list[Claim]:
    """All claims, in the order of the paper."""
    return CLAIMS.judged(found)


def _exactly(found: Measured, name: str, longest: float, mean: float) -> tuple[str, str]:
    """The example has no random draw, so one repetition decides."""
    values = {metric: found.interval(metric, "introduction", name).mean for metric in ("longest_wait", "waiting_time")}
    agrees = abs(values["longest_wait"] - longest) < 1e-9 and abs(values["waiting_time"] - mean) < 1e-9
    words = f"longest wait {values['longest_wait']:g}, mean {values['waiting_time']:g}"
    return words, HOLDS if agrees else FAILS


@CLAIMS.add(
    "in the example hk lets b and c in at 12 and 14, and a at 103: the waits are 2, 98, 2 and 4",
    "The degree of concurrency will be increased if we allow nodes b and c to enter the CS without waiting for node a",
)
def _introduction(found: Measured) -> tuple[str, str]:
    return _exactly(found, HK, 98.0, (2 + 98 + 2 + 4) / 4)


@CLAIMS.add(
    "in the example hk-fifo lets a in at 103, and then b and c at 114 and 116: the waits are 2, 98, 104 and 106",
    "node b and node c cannot enter the CS although the available resources can fulfill the requests",
)
def _introduction_of_fifo(found: Measured) -> tuple[str, str]:
    return _exactly(found, FIFO, 106.0, (2 + 98 + 104 + 106) / 4)


@CLAIMS.add(
    "no run has more than k units in use, and none loses a unit",
    "No more than k resources can be accessed concurrently (Theorem 1)",
)
def _safe(found: Measured) -> tuple[str, str]:
    return _all_ok(found, found.cells, ("safety", "conservation"))


def _all_ok(found: Measured, cells: list[HKCell], names: tuple[str, ...]) -> tuple[str, str]:
    """Whether some checks are ok at some points. A point without results decides nothing."""
    verdicts = []
    for cell in cells:
        checks = found.result(cell.experiment, cell.series, cell.x).checks()
        verdicts.append(checked(checks[name]["verdict"] for name in names if checks))
    return f"{verdicts.count(HOLDS)} of {len(cells)} points", all_of(verdicts)


@CLAIMS.add(
    "a burst of requests that are all known before the first entry is served in order of priority, every time",
    "the token will first be passed to the node with the highest priority (Theorem 2)",
)
def _bursts(found: Measured) -> tuple[str, str]:
    values = found.result("bursts", NO_AGING, 0.0).measured("inversions_per_cs")
    fifo = found.result("bursts", FIFO, 0.0).measured("inversions_per_cs")
    ordered, by_chance = values.count(0.0), fifo.count(0.0)
    words = f"{ordered} of {len(values)} bursts in order; hk-fifo: {by_chance} of {len(fifo)}"
    return words, never(values)


@CLAIMS.add(
    "under load no node enters while a request of higher priority is pending",
    "the node with the highest priority will proceed first",
)
def _no_inversions(found: Measured) -> tuple[str, str]:
    own, fifo = (found.interval("inversions_per_cs", f"load, {STATIC}", one, USUAL_THINK) for one in (BY_ARRIVAL, FIFO))
    counts = found.result(f"load, {STATIC}", BY_ARRIVAL, USUAL_THINK).values("inversions_per_cs")
    return f"{own} inversions per entry without aging; hk-fifo: {fifo}", never(counts)


def _star(found: Measured, aging: str) -> tuple[str, str]:
    longest = found.interval("longest_wait", "star", aging)
    words = f"longest wait {longest} in 5000 time units and the drain"
    return words, Bounds(high=SERVED_WITHIN).verdict(longest)


for _aging, _what in (("exit", "as printed"), ("entry", "the default"), ("stamp", "by stamps")):

    def _bounded(found: Measured, aging: str = _aging) -> tuple[str, str]:
        return _star(found, aging)

    CLAIMS.add(
        f"aging {_aging} ({_what}): no leaf of a star waits for more than {SERVED_WITHIN:g} time units, whatever its "
        "priority",
        "If a node enters the ES, then it eventually enters the CS (Theorem 3)",
    )(_bounded)


def _against_fifo(found: Measured, metric: str, experiment: str, series: str, bounds: Bounds) -> tuple[str, str]:
    """A line against hk-fifo at every load of an experiment."""
    words, verdicts = [], []
    for x in found.places(experiment):
        mine, base = (found.interval(metric, experiment, one, x) for one in (series, FIFO))
        verdicts.append(bounds.verdict(found.difference(metric, experiment, series, FIFO, x)))
        words.append(f"{mine} against {base}" + (f" at {x:g}" if x else ""))
    return ", ".join(words), all_of(verdicts)


@CLAIMS.add(
    "in a burst no fewer nodes are inside at a time than with hk-fifo",
    "the node requesting the fewest resources, the second fewest resources [...] will be in the CS one by one. Thus, "
    "the degree of the concurrency is maximized (Theorem 4)",
)
def _concurrent_in_a_burst(found: Measured) -> tuple[str, str]:
    return _against_fifo(found, "nodes_inside", "burst, units", NO_AGING, NO_FEWER)


@CLAIMS.add(
    "on average over time no fewer nodes are inside than with hk-fifo, at every load",
    "there should always be a maximum number of nodes in the CS concurrently (Theorem 4)",
)
def _concurrent_on_average(found: Measured) -> tuple[str, str]:
    return _against_fifo(found, "nodes_inside", f"load, {STATIC}", BY_ARRIVAL, NO_FEWER)


@CLAIMS.add(
    "no more of the time than with hk-fifo a waiting demand would fit the units that are not in use, at every load",
    "the algorithm in [11] has the drawback of low concurrency",
)
def _fits(found: Measured) -> tuple[str, str]:
    return _against_fifo(found, "idle_though_fitting", f"load, {STATIC}", BY_ARRIVAL, NO_MORE)


@CLAIMS.add(
    "it costs no more messages than hk-fifo, at every load",
    "(the paper does not say what it costs)",
)
def _costs(found: Measured) -> tuple[str, str]:
    return _against_fifo(found, "messages_per_cs", f"load, {STATIC}", BY_ARRIVAL, NO_MORE)


for _network in (STATIC, MOBILE):

    def _deadlines(found: Measured, network: str = _network) -> tuple[str, str]:
        experiment, words, verdicts = f"deadlines, {network}", [], []
        for x in found.places(experiment):
            mine, base = (found.interval("deadlines_missed", experiment, one, x) for one in (NO_AGING, FIFO))
            verdicts.append(NO_MORE.verdict(found.difference("deadlines_missed", experiment, NO_AGING, FIFO, x)))
            words.append(f"{mine.mean:.0%} against {base.mean:.0%} at {x:g}")
        return ", ".join(words), all_of(verdicts)

    CLAIMS.add(
        f"with the earliest deadline first, hk misses no more deadlines than hk-fifo, at every load ({_network})",
        "The HPFS criterion arises in real time systems where the tasks have to meet deadlines",
    )(_deadlines)


@CLAIMS.add(
    "with link changes, and links that break under messages, the checks of safety, conservation and order pass",
    "The proposed algorithm is sensitive to link forming and link breaking and thus is suitable for a MANET",
)
def _mobile(found: Measured) -> tuple[str, str]:
    # Without a drain the runs leave requests pending, so that starvation is not judged here.
    mobile = [cell for cell in found.cells if cell.experiment.endswith(MOBILE)]
    return _all_ok(found, mobile, ("safety", "conservation", "order"))


def _generalises(found: Measured, experiment: str, other: str) -> tuple[str, str]:
    words, verdicts = [], []
    for x in found.places(experiment):
        mine, base = (found.interval("waiting_time", experiment, one, x) for one in (HK, other))
        pairs = zip(
            found.result(experiment, HK, x).values("waiting_time"),
            found.result(experiment, other, x).values("waiting_time"),
            strict=True,
        )
        ratio = Interval.of([None if a is None or b is None else a / b for a, b in pairs])
        verdicts.append(Bounds(0.8, 1.25).verdict(ratio))
        words.append(f"{mine} against {base} at {x:g}")
    return ", ".join(words), all_of(verdicts)


@CLAIMS.add(
    "with h = k = 1 hk waits as long as RL, within 25 %",
    "If we choose both h and k to be 1, then the [...] algorithm becomes a mutual exclusion algorithm",
)
def _one(found: Measured) -> tuple[str, str]:
    return _generalises(found, "k = 1, h = 1", "rl")


@CLAIMS.add(
    "with h = 1 and k = 3 hk waits as long as KRL, within 25 %",
    "If we choose h to be 1, then the h-out of-k mutual exclusion algorithm is a k-mutual exclusion one",
)
def _k(found: Measured) -> tuple[str, str]:
    return _generalises(found, "k = 3, h = 1", "krl")
