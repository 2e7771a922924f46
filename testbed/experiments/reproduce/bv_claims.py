"""Every sentence of the BV paper that makes a claim about performance, compared with what we measured.

Where the paper gives no number ("close to", "most values", "a small amount"), the claim here contains the number that
we use for it. "BV" alone is BV with the last-seen token, the better of the paper's two variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from testbed.experiments.reproduce.bv_cells import (
    BOTH,
    COMPARED,
    LAST_SEEN,
    LESS_PROCESSING,
    LONG_CS,
    MAKKI,
    NAIMI_TREHEL,
    NO_PROCESSING,
    NODES,
    OTHERS,
    RANDOM,
    RAYMOND,
    SRIMANI,
    BVCell,
    K,
    Measured,
    Setting,
    V,
)
from testbed.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Bounds,
    Claim,
    ClaimList,
    Interval,
    all_of,
    most_of,
)

WAITING, MESSAGES, WORDS = "waiting_time", "messages_per_cs", "words_per_message"
LOW, HIGH = 0.01, 1.0
CLOSE = 0.10  # "close to", "about", "approximately": within this share
SAME = 0.05  # "same", "practically the same", "equally well", "converged": within this share

CLAIMS = ClaimList[Measured]()


def claims_of(found: Measured) -> list[Claim]:
    """All claims, in the order of the paper."""
    return CLAIMS.judged(found)


class At(NamedTuple):
    """A quantity and the load at which it was measured."""

    rate: float
    quantity: Interval


def _ratios(found: Measured, metric: str, cell: BVCell, other: BVCell, rates: Iterable[float] = ()) -> list[At]:
    """A cell over another, at some loads or at all."""
    chosen = list(rates) or found.rates(cell)
    return [At(rate, found.ratio(metric, replace(cell, rate=rate), replace(other, rate=rate))) for rate in chosen]


def _listed(points: Sequence[At]) -> str:
    """The quantities by load."""
    return ", ".join(f"{point.quantity} at {point.rate:g}" for point in points)


def _every(points: Sequence[At], bounds: Bounds) -> str:
    return all_of(bounds.verdict(point.quantity) for point in points)


BELOW_ONE = Bounds(high=1.0)


def _near(value: float, share: float) -> Bounds:
    return Bounds(value * (1 - share), value * (1 + share))


def _better_than_all(found: Measured, metric: str) -> tuple[list[str], str]:
    """At every load, whether BV has less than each of the others; and how often it has."""
    verdicts, lost = [], []
    bv = BVCell(LAST_SEEN, LOW)
    for rate in found.rates(bv):
        against = {other: _ratios(found, metric, bv, BVCell(other, LOW), [rate])[0].quantity for other in OTHERS}
        verdicts.append(all_of(BELOW_ONE.verdict(ratio) for ratio in against.values()))
        lost += [f"{ratio} of {other} at {rate:g}" for other, ratio in against.items() if ratio.mean >= 1]
    words = f"at {verdicts.count(HOLDS)} of {len(verdicts)} loads"
    return verdicts, f"{words}; not: {', '.join(lost)}" if lost else words


# -- section 3 ---------------------------------------------------------------------------------------------------------


def _empty_queues(found: Measured, rate: float) -> list[Interval]:
    """The share of exits that find the token's queue empty: each sends v INFORMs then, and none otherwise."""
    return [
        Interval.of([None if value is None else value / V for value in found.values("Inform", BVCell(series, rate))])
        for series in BOTH
    ]


@CLAIMS.add(
    "at a load of 0.01 more than half of all exits find the queue of the token empty",
    "Under light load [...] there is a good chance that the token-queue will be empty",
)
def _empty_at_light_load(found: Measured) -> tuple[str, str]:
    shares = _empty_queues(found, LOW)
    return f"{shares[0].mean:.0%} ({BOTH[0]}), {shares[1].mean:.0%} ({BOTH[1]})", all_of(
        Bounds(low=0.5).verdict(share) for share in shares
    )


@CLAIMS.add(
    "at a load of 1 fewer than half of them do",
    "Under high load, there is a good chance that the token-queue is not empty",
)
def _full_at_high_load(found: Measured) -> tuple[str, str]:
    shares = _empty_queues(found, HIGH)
    return f"{shares[0].mean:.1%} ({BOTH[0]}), {shares[1].mean:.1%} ({BOTH[1]})", all_of(
        Bounds(high=0.5).verdict(share) for share in shares
    )


def _informs(found: Measured, metric: str) -> tuple[str, str]:
    points = [
        (series, v, at)
        for series in BOTH
        for v in (1, 2, 4)
        for at in _ratios(found, metric, BVCell(series, LOW, v=v), BVCell(series, LOW, v=0))
    ]
    verdicts = [BELOW_ONE.verdict(at.quantity) for _, _, at in points]
    series, v, best = min(points, key=lambda point: point[2].quantity.mean)
    words = f"less at {verdicts.count(HOLDS)} of {len(points)} points; at best {best.quantity} times as much"
    some = HOLDS if HOLDS in verdicts else FAILS if set(verdicts) == {FAILS} else UNDECIDED
    return f"{words} ({series}, v = {v}, load {best.rate:g})", some


@CLAIMS.add(
    "with v = 1, 2 or 4 BV sends fewer messages than with v = 0 at some load, INFORMs included",
    "The net effect could be a reduction in the average number of messages required per CS entry",
)
def _informs_save_messages(found: Measured) -> tuple[str, str]:
    return _informs(found, MESSAGES)


@CLAIMS.add(
    "with v = 1, 2 or 4 BV waits less than with v = 0 at some load",
    "we believe that INFORM messages may be useful to reduce [...] possibly, synchronization delay",
)
def _informs_save_time(found: Measured) -> tuple[str, str]:
    return _informs(found, WAITING)


def _queueing(found: Measured, metric: str) -> list[At]:
    """BV with one token and no INFORMs over Naimi and Trehel's algorithm: what remains are the queues."""
    return _ratios(found, metric, BVCell(LAST_SEEN, LOW, v=0, k=1), BVCell(NAIMI_TREHEL, LOW, k=1))


@CLAIMS.add(
    "with one token and v = 0 BV sends fewer messages than Naimi and Trehel's algorithm, at every load",
    "Hence, unnecessary message transmission is avoided. This reduces the average number of message",
)
def _queues_save_messages(found: Measured) -> tuple[str, str]:
    ratios = _queueing(found, MESSAGES)
    return f"ratio {_listed(ratios)}", _every(ratios, BELOW_ONE)


@CLAIMS.add("and its messages are larger", "at the cost of an increase in the message size")
def _queues_cost_words(found: Measured) -> tuple[str, str]:
    ratios = _queueing(found, WORDS)
    return f"ratio {_listed(ratios)}", _every(ratios, Bounds(low=1.0))


# -- section 4: time to enter ------------------------------------------------------------------------------------------


@CLAIMS.add(
    "BV waits less than each of the three others, at more than half of the loads",
    "Our algorithm performed better than other algorithms for most values of λ",
)
def _waits_less(found: Measured) -> tuple[str, str]:
    verdicts, words = _better_than_all(found, WAITING)
    return words, most_of(verdicts)


@CLAIMS.add(
    "the last-seen token saves at most 15 % of the waiting time of a random one, and never costs any",
    "The heuristic has improved the performance by only a small amount",
)
def _heuristic_is_small(found: Measured) -> tuple[str, str]:
    ratios = _ratios(found, WAITING, BVCell(LAST_SEEN, LOW), BVCell(RANDOM, LOW))
    return f"ratio {_listed(ratios)}", _every(ratios, Bounds(0.85, 1.0))


@CLAIMS.add(
    "every algorithm waits longer at a load of 0.3 than at 0.01",
    "As λ increases [...] the curves show a steady rise initially",
)
def _rises(found: Measured) -> tuple[str, str]:
    middle = min(found.rates(BVCell(LAST_SEEN, LOW)), key=lambda rate: abs(rate - 0.3))
    ratios = {series: found.ratio(WAITING, BVCell(series, middle), BVCell(series, LOW)) for series in COMPARED}
    words = ", ".join(f"{series} {ratio}" for series, ratio in ratios.items())
    return f"ratio: {words}", all_of(Bounds(low=1.0).verdict(ratio) for ratio in ratios.values())


@CLAIMS.add(
    "from a load of 0.5 to 1 no waiting time changes by more than 15 %",
    "The curves gradually flatten out for greater values of λ",
)
def _flattens(found: Measured) -> tuple[str, str]:
    middle = min(found.rates(BVCell(LAST_SEEN, LOW)), key=lambda rate: abs(rate - 0.5))
    ratios = {series: found.ratio(WAITING, BVCell(series, HIGH), BVCell(series, middle)) for series in COMPARED}
    words = ", ".join(f"{series} {ratio}" for series, ratio in ratios.items())
    verdict = all_of(Bounds(0.85, 1.15).verdict(ratio) for ratio in ratios.values())
    return f"load 1 over {middle:g}: {words}", verdict


def _raymond_without(found: Measured, rate: float) -> Interval:
    return found.ratio(WAITING, BVCell(RAYMOND, rate, NO_PROCESSING), BVCell(LAST_SEEN, rate, NO_PROCESSING))


@CLAIMS.add(
    "with T_s = 0, Raymond waits less than BV at a load of 0.01",
    "here Raymond's algorithm performs better than us for small λ",
)
def _raymond_is_better_at_low_load(found: Measured) -> tuple[str, str]:
    ratio = _raymond_without(found, LOW)
    return f"{ratio} of BV's waiting time", BELOW_ONE.verdict(ratio)


@CLAIMS.add(
    f"with T_s = 0, Raymond waits as long as BV at a load of 1, within {SAME:.0%}", "and equally well for large λ"
)
def _raymond_is_equal_at_high_load(found: Measured) -> tuple[str, str]:
    ratio = _raymond_without(found, HIGH)
    return f"{ratio} of BV's waiting time", _near(1.0, SAME).verdict(ratio)


@CLAIMS.add(
    "with T_s = 0.1, Raymond waits longer than BV, at every load",
    "Raymond's algorithm performs well when T_s = 0, but performs poorly with the realistic assumption that T_s ≠ 0",
)
def _raymond_is_poor(found: Measured) -> tuple[str, str]:
    ratios = _ratios(found, WAITING, BVCell(RAYMOND, LOW), BVCell(LAST_SEEN, LOW))
    return f"ratio {_listed(ratios)}", _every(ratios, Bounds(low=1.0))


@CLAIMS.add(
    "Makki's algorithm waits longest, at every load, with and without processing costs",
    "The time to enter the critical section is maximum for Makki's algorithm",
)
def _makki_waits_longest(found: Measured) -> tuple[str, str]:
    verdicts, shorter = [], []
    for setting in (BVCell(MAKKI, LOW).setting, NO_PROCESSING):
        for other in COMPARED[:-1]:
            makki, cell = BVCell(MAKKI, LOW, setting), BVCell(other, LOW, setting)
            for at in _ratios(found, WAITING, makki, cell):
                verdicts.append(Bounds(low=1.0).verdict(at.quantity))
                if at.quantity.mean < 1:
                    shorter.append(f"{at.quantity} of {other} at {at.rate:g}")
    return f"shorter: {', '.join(shorter)}" if shorter else f"longest at {len(verdicts)} points", all_of(verdicts)


@CLAIMS.add(
    f"at a load of 1 and T_t = 1, Makki's waiting time is that of one token that visits all {NODES} nodes, "
    f"within {CLOSE:.0%}",
    "This causes the system to behave similar to a system with a single token",
)
def _makki_is_one_token(found: Measured) -> tuple[str, str]:
    waiting = found.interval(WAITING, BVCell(MAKKI, HIGH, NO_PROCESSING))
    return f"{waiting} time units", _near(NODES, CLOSE).verdict(waiting)


# -- section 4: messages -----------------------------------------------------------------------------------------------


@CLAIMS.add(
    "BV sends fewer messages than each of the three others, at more than half of the loads",
    "Our algorithm requires smaller number of messages compared to the other algorithms, for most values of λ",
)
def _sends_less(found: Measured) -> tuple[str, str]:
    verdicts, words = _better_than_all(found, MESSAGES)
    return words, most_of(verdicts)


@CLAIMS.add(
    "at a load of 1 the last-seen token takes fewer messages than a random one",
    "Applying the heuristics for choosing a token has reduced the number of messages at high load",
)
def _heuristic_saves_messages(found: Measured) -> tuple[str, str]:
    ratio = found.ratio(MESSAGES, BVCell(LAST_SEEN, HIGH), BVCell(RANDOM, HIGH))
    return f"{ratio} of the messages", BELOW_ONE.verdict(ratio)


def _messages(found: Measured, series: str) -> list[At]:
    rates = found.rates(BVCell(series, LOW))
    return [At(rate, found.interval(MESSAGES, BVCell(series, rate))) for rate in rates]


@CLAIMS.add(
    f"Raymond's messages are between 2N - K - 1 = {2 * NODES - K - 1} and 2(N - 1) = {2 * (NODES - 1)}, with 0.3 more "
    "allowed for requests that are unanswered at the end",
    "a lower bound of 2N - K - 1 [...] and an upper bound of 2 (N - 1) [...] Our simulation results agree",
)
def _raymond_bounds(found: Measured) -> tuple[str, str]:
    points = _messages(found, RAYMOND)
    return _listed(points), _every(points, Bounds(2 * NODES - K - 1, 2 * (NODES - 1) + 0.3))


@CLAIMS.add(
    f"Srimani and Reddy's messages are within {CLOSE:.0%} of N - 1 = {NODES - 1}",
    "the average number of messages per critical section entry is close to (N - 1)",
)
def _srimani_messages(found: Measured) -> tuple[str, str]:
    points = _messages(found, SRIMANI)
    return _listed(points), _every(points, _near(NODES - 1, CLOSE))


@CLAIMS.add(
    "at a load of 0.01 Makki's algorithm sends at least three times as many messages as at 1",
    "For Makki's algorithm at low load, the number of messages required is quite large",
)
def _makki_is_costly(found: Measured) -> tuple[str, str]:
    ratio = found.ratio(MESSAGES, BVCell(MAKKI, LOW), BVCell(MAKKI, HIGH))
    return f"{ratio} times as many", Bounds(low=3.0).verdict(ratio)


@CLAIMS.add("from load to load it sends fewer", "The number of messages required becomes smaller with increasing λ")
def _makki_falls(found: Measured) -> tuple[str, str]:
    rates = found.rates(BVCell(MAKKI, LOW))
    steps = [found.ratio(MESSAGES, BVCell(MAKKI, higher), BVCell(MAKKI, lower)) for lower, higher in pairwise(rates)]
    return _listed(_messages(found, MAKKI)), all_of(BELOW_ONE.verdict(step) for step in steps)


@CLAIMS.add(
    f"at a load of 1 it sends three, within {SAME:.0%}", "with only three messages being required at heavy load"
)
def _makki_sends_three(found: Measured) -> tuple[str, str]:
    messages = found.interval(MESSAGES, BVCell(MAKKI, HIGH))
    return f"{messages} messages", _near(3, SAME).verdict(messages)


def _same_messages(found: Measured, setting: Setting) -> tuple[str, str]:
    verdicts, worst = [], (0.0, "")
    for series in COMPARED:
        for at in _ratios(found, MESSAGES, BVCell(series, LOW, setting), BVCell(series, LOW)):
            verdicts.append(_near(1.0, SAME).verdict(at.quantity))
            worst = max(worst, (abs(at.quantity.mean - 1), f"{at.quantity} ({series}, load {at.rate:g})"))
    return f"{verdicts.count(HOLDS)} of {len(verdicts)} points; farthest: {worst[1]}", all_of(verdicts)


for _setting in (LONG_CS, LESS_PROCESSING, NO_PROCESSING):

    def _as_many_messages(found: Measured, setting: Setting = _setting) -> tuple[str, str]:
        return _same_messages(found, setting)

    CLAIMS.add(
        f"with {_setting} every algorithm sends as many messages, within {SAME:.0%}",
        "the number of messages is practically the same for all the cases",
    )(_as_many_messages)


# -- section 4: words --------------------------------------------------------------------------------------------------


@CLAIMS.add(
    f"BV's words per message with both choices of the token are the same, within {SAME:.0%}",
    "The average information for our algorithm is same with and without the heuristic",
)
def _same_words(found: Measured) -> tuple[str, str]:
    ratios = _ratios(found, WORDS, BVCell(LAST_SEEN, LOW), BVCell(RANDOM, LOW))
    return f"last seen over random: {_listed(ratios)}", _every(ratios, _near(1.0, SAME))


for _series, _words in ((LAST_SEEN, 9.0), (RANDOM, 9.0), (RAYMOND, 4.0), (SRIMANI, 6.5), (MAKKI, 8.0)):

    def _words_at_high_load(found: Measured, series: str = _series, words: float = _words) -> tuple[str, str]:
        measured = found.interval(WORDS, BVCell(series, HIGH))
        return f"{measured} words", _near(words, CLOSE).verdict(measured)

    CLAIMS.add(
        f"at a load of 1 the messages of {_series} have {_words:g} words, within {CLOSE:.0%}",
        "When λ = 1, the average information is about 9 words for our algorithm, 4 words for Raymond's algorithm, "
        "6.5 words for Srimani's algorithm, and 8 words for Makki's algorithm",
    )(_words_at_high_load)


@CLAIMS.add(
    "at a load of 1 BV's messages are 1.5 to 2 times as large as those of each of the others",
    "For our algorithms the average message size is about 1.5 to 2 times larger than the other algorithms",
)
def _larger_messages(found: Measured) -> tuple[str, str]:
    ratios = {other: found.ratio(WORDS, BVCell(LAST_SEEN, HIGH), BVCell(other, HIGH)) for other in OTHERS}
    words = ", ".join(f"{ratio} times {other}" for other, ratio in ratios.items())
    return words, all_of(Bounds(1.5, 2.0).verdict(ratio) for ratio in ratios.values())


@CLAIMS.add(
    f"with four times as many entries BV's waiting time and messages change by less than {SAME:.0%}",
    "we observed that the results of the simulation converged by 5000 entries",
)
def _converges(found: Measured) -> tuple[str, str]:
    ratios = {
        metric: found.ratio(metric, BVCell(LAST_SEEN, 0.1, times_as_long=4), BVCell(LAST_SEEN, 0.1))
        for metric in (WAITING, MESSAGES)
    }
    words = f"waiting {ratios[WAITING]}, messages {ratios[MESSAGES]} times as much (load 0.1)"
    return words, all_of(_near(1.0, SAME).verdict(ratio) for ratio in ratios.values())


# -- section 5 ---------------------------------------------------------------------------------------------------------


def _clustered(found: Measured, metric: str, series: str) -> list[At]:
    """K clusters over the whole system."""
    return _ratios(found, metric, BVCell(series, LOW, clusters=K), BVCell(series, LOW))


for _series in OTHERS:
    for _metric, _what in ((MESSAGES, "sends fewer messages"), (WAITING, "waits less")):

        def _clusters_do_well(found: Measured, series: str = _series, metric: str = _metric) -> tuple[str, str]:
            ratios = _clustered(found, metric, series)
            return f"ratio {_listed(ratios)}", _every(ratios, BELOW_ONE)

        CLAIMS.add(
            f"in {K} clusters {_series} {_what} than in one system, at every load",
            "surprisingly, the partioning approach performs quite well for the three previous algorithms",
        )(_clusters_do_well)

for _series in BOTH:
    for _metric, _what in ((MESSAGES, "sends no fewer messages"), (WAITING, "waits no less")):

        def _clusters_do_no_better(found: Measured, series: str = _series, metric: str = _metric) -> tuple[str, str]:
            ratios = _clustered(found, metric, series)
            return f"ratio {_listed(ratios)}", _every(ratios, Bounds(low=1.0))

        CLAIMS.add(
            f"in {K} clusters {_series} {_what} than in one system, at any load",
            "For our algorithm, partitioning approach does not perform better than the K-mutual exclusion algorithm",
        )(_clusters_do_no_better)


@CLAIMS.add(
    f"in {K} clusters Srimani and Reddy's messages are within {CLOSE:.0%} of N/K - 1 = {NODES // K - 1}",
    "the number of messages per CS entry will reduce to approximately (N/K) - 1",
)
def _srimani_in_clusters(found: Measured) -> tuple[str, str]:
    return _messages_in_clusters(found, SRIMANI, NODES / K - 1)


@CLAIMS.add(
    f"in {K} clusters Raymond's messages are within {CLOSE:.0%} of 2(N/K - 1) = {2 * (NODES // K - 1)}",
    "the average number can be reduced to approximately 2(N/K - 1) by using the partitioning scheme",
)
def _raymond_in_clusters(found: Measured) -> tuple[str, str]:
    return _messages_in_clusters(found, RAYMOND, 2 * (NODES / K - 1))


def _messages_in_clusters(found: Measured, series: str, expected: float) -> tuple[str, str]:
    like = BVCell(series, LOW, clusters=K)
    points = [At(rate, found.interval(MESSAGES, replace(like, rate=rate))) for rate in found.rates(like)]
    return _listed(points), _every(points, _near(expected, CLOSE))
