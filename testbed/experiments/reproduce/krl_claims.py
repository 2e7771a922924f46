"""Every sentence of the KRL paper that makes a claim about performance, compared with what we measured.

Where the paper gives no number ("comparable", "not sensitive"), the claim here contains the number that we use for it.
What the paper says of mobility is judged under every reading of link changes, and its main claim in runs of several
lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise

from analysis import stats
from testbed.experiments.reproduce.cells import NODES
from testbed.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Bounds,
    Claim,
    ClaimList,
    Interval,
    all_of,
    never,
)
from testbed.experiments.reproduce.krl_cells import (
    CHOICES,
    CUT_LENGTH,
    CUT_RATE,
    CUTS,
    DETECTS,
    FIXED_CONNECTIVITIES,
    FIXED_RATE,
    FORWARDING_RATES,
    HIGH,
    KRL,
    KRLF,
    LOW,
    NAMES,
    READINGS,
    RUN_LENGTHS,
    WATCHED_CONNECTIVITIES,
    ZERO,
    Measured,
    Place,
    Reading,
    Values,
    combined,
    interval,
    pending_nodes,
    pending_share,
)

COMPARABLE = 2.0  # "comparable": within this factor of each other
INSENSITIVE = 0.15  # "not sensitive": the extremes differ by less than this share of the mean
NEARLY_HALF = 0.6  # "nearly half": at most this share
GOES_ON = 0.9  # "can continue": at least this share of the entries
WAITING, MESSAGES = "waiting_time", "messages_per_cs"
BELOW_ONE, BELOW_HALF, NO_LESS = Bounds(high=1.0), Bounds(high=0.5), Bounds(low=0.0)

CLAIMS = ClaimList[Measured]()


def claims_of(found: Measured) -> list[Claim]:
    """All claims, in the order of the paper."""
    return CLAIMS.judged(found)


def _spread(intervals: Iterable[Interval]) -> str:
    means = [one.mean for one in intervals]
    return f"{min(means):.2f} to {max(means):.2f}"


def _every(what: str, intervals: Sequence[Interval], bounds: Bounds) -> tuple[str, str]:
    """A claim on every one of some points: their spread, at how many of them it holds, and the verdict."""
    verdicts = [bounds.verdict(one) for one in intervals]
    return f"{what} {_spread(intervals)}; {_counted(verdicts, 'points')}", all_of(verdicts)


def _counted(verdicts: Sequence[str], what: str) -> str:
    """At how many points a claim holds, and at how many others it does not or is undecided."""
    others = ((FAILS, "does not at"), (UNDECIDED, "undecided at"))
    rest = "".join(f", {words} {verdicts.count(one)}" for one, words in others if one in verdicts)
    return f"holds at {verdicts.count(HOLDS)} of {len(verdicts)} {what}{rest}"


def _ratios(found: Measured, metric: str, places: Iterable[Place]) -> list[Interval]:
    """KRLF over KRL."""
    return [found.ratio(metric, place) for place in places]


def _differences(found: Measured, metric: str, places: Iterable[Place]) -> list[Interval]:
    """KRLF minus KRL."""
    return [found.difference(metric, place) for place in places]


# -- the abstract and the introduction ---------------------------------------------------------------------------------

EVENLY = "allow the tokens to circulate more evenly among participating processors (abstract)"


@CLAIMS.add(
    "tokens arrive at nodes more evenly with KRLF (Jain's index), at every load, mobility and connectivity", EVENLY
)
def _even_arrivals(found: Measured) -> tuple[str, str]:
    return _every("KRLF's index minus KRL's:", _differences(found, "token_fairness", found.figure_6()), NO_LESS)


FAIRER = "a token forwarding technique to improve the fairness of the algorithm (section 7)"


@CLAIMS.add(
    "nodes enter more evenly with KRLF (Jain's index) at loads from 0.1 to 1, at every mobility and connectivity",
    FAIRER,
)
def _even_entries(found: Measured) -> tuple[str, str]:
    places = found.figure_6(lambda rate: rate >= FIXED_RATE)
    return _every("KRLF's index minus KRL's:", _differences(found, "fairness", places), NO_LESS)


@CLAIMS.add(
    "nodes enter more evenly with KRLF (Jain's index) at each load below 0.1, as a mean over mobilities and "
    "connectivities",
    FAIRER,
)
def _even_entries_at_low_load(found: Measured) -> tuple[str, str]:
    words, verdicts = [], []
    for rate in [one for one in found.rates if one < FIXED_RATE]:
        places = [place for place in found.figure_6() if place.rate == rate]
        differences = [found.difference_values("fairness", place) for place in places]
        mean = interval(combined(lambda *every: sum(every) / len(every), *differences), f"fairness at load {rate:g}")
        words.append(f"{mean.mean:+.3f} ± {mean.ci95:.2g} at {rate:g}")
        verdicts.append(NO_LESS.verdict(mean))
    return f"KRLF's index minus KRL's: {', '.join(words)}", all_of(verdicts)


@CLAIMS.add(
    f"at some load KRLF's waiting time is at most {NEARLY_HALF:g} of KRL's at each node, static, at 20 % and 80 %",
    "decrease the time per CS entry at each node to nearly half of the time taken in the basic algorithm under "
    "particular loads on the system (introduction)",
)
def _at_each_node(found: Measured) -> tuple[str, str]:
    verdicts, words = [], []
    for rate in found.watched_rates():
        shares = [_nodes_that_gain(found, rate, connectivity) for connectivity in FIXED_CONNECTIVITIES]
        verdicts.append(all_of(Bounds(low=1.0).verdict(share) for share in shares))
        words.append(f"{'/'.join(f'{share.mean:.0%}' for share in shares)} at {rate:g}")
    decided = HOLDS if HOLDS in verdicts else FAILS if set(verdicts) == {FAILS} else UNDECIDED
    return f"share of nodes, 20 %/80 %: {', '.join(words)}", decided


def _nodes_that_gain(found: Measured, rate: float, connectivity: float) -> Interval:
    """The share of the nodes that wait with KRLF at most so long, of those that enter with both."""

    def share(mine: list[float | None], base: list[float | None]) -> float:
        pairs = [(a, b) for a, b in zip(mine, base, strict=True) if a is not None and b is not None]
        return sum(a <= NEARLY_HALF * b for a, b in pairs) / len(pairs)

    both = [found.watched_values("waiting_by_node", one, rate, connectivity) for one in (KRLF, KRL)]
    values: Values = [None if None in one else share(*one) for one in zip(*both, strict=True)]
    return interval(values, f"waiting by node at {rate:g}")


# -- section 3: partitions ---------------------------------------------------------------------------------------------

PORTION = (
    "the portion of the network that includes at least one token holder can continue running the algorithm with the "
    "subset of tokens that partition holds (section 3)"
)


def _cut(found: Measured, algorithm: str, cut: str, share: float) -> tuple[str, str]:
    """The entries of a network that is cut in two, over those of the same network whole, and all checks passed."""
    place = Place(ZERO, FIXED_CONNECTIVITIES[-1], CUT_RATE, length=CUT_LENGTH)
    whole = found.values("entries", algorithm, place)
    verdicts, words = [], []
    for parameters, name in (((), "as printed"), (DETECTS, "with partition detection")):
        more = {"cut": CUTS[cut], "parameters": parameters}
        point = found.point(algorithm, place, **more)
        ratio = interval(combined(lambda a, b: a / b, found.values("entries", algorithm, place, **more), whole), cut)
        checks = {one["verdict"] for one in point.result.checks().values()}
        verdicts.append(FAILS if "failed" in checks else Bounds(low=share).verdict(ratio))
        silent = found.values("messages_cut_off", algorithm, place, **more)
        wasted = interval(combined(lambda sent: sent / CUT_LENGTH, silent), cut)
        words.append(f"{name} {ratio} of the entries, {wasted} messages a time unit where there is no token")
    return "; ".join(words), all_of(verdicts)


for _algorithm in (KRL, KRLF):

    def _one_half_goes_on(found: Measured, algorithm: str = _algorithm) -> tuple[str, str]:
        return _cut(found, algorithm, "three tokens and none", GOES_ON / 2)

    CLAIMS.add(
        f"{NAMES[_algorithm]}: of a network cut into halves with all three tokens and with none, the first goes on: it "
        f"makes at least {GOES_ON / 2:.0%} of the entries of the whole network, at a load of {CUT_RATE:g}",
        PORTION,
    )(_one_half_goes_on)

    def _both_halves_go_on(found: Measured, algorithm: str = _algorithm) -> tuple[str, str]:
        return _cut(found, algorithm, "one token and two", GOES_ON)

    CLAIMS.add(
        f"{NAMES[_algorithm]}: of a network cut into halves with one token and with two, both go on: they make at "
        f"least {GOES_ON:.0%} of the entries of the whole network, at a load of {CUT_RATE:g}",
        PORTION,
    )(_both_halves_go_on)


# -- section 4 ---------------------------------------------------------------------------------------------------------

for _algorithm in (KRL, KRLF):

    def _never_raises(found: Measured, algorithm: str = _algorithm) -> tuple[str, str]:
        raises, lowerings = (_watched(found, what, algorithm) for what in ("raises", "lowerings"))
        words = f"{raises} raises and {lowerings} lowerings in a run of {found.lengths[FIXED_RATE]:g} time units"
        every = [found.watched_values("raises", algorithm, FIXED_RATE, one) for one in WATCHED_CONNECTIVITIES]
        return f"{words} at a load of {FIXED_RATE:g}", never(count for counts in every for count in counts)

    CLAIMS.add(
        f"{NAMES[_algorithm]}: no node raises its height in a static network, at 10 %, 20 % and 80 %",
        "In a static network, no node will have to raise its height (section 4.2)",
    )(_never_raises)


def _watched(found: Measured, what: str, algorithm: str) -> Interval:
    """Of a watched run, the mean over the connectivities."""
    every = [found.watched_values(what, algorithm, FIXED_RATE, one) for one in WATCHED_CONNECTIVITIES]
    return interval(combined(lambda *counts: sum(counts) / len(counts), *every), f"{what} of {NAMES[algorithm]}")


@CLAIMS.add(
    "at a load of 0.1 KRLF has an idle token while a request is pending for a smaller share of the time than KRL",
    "shows why tokens are frequently idle in the KRL algorithm; we try to alleviate the idle token problem "
    "(section 4.4)",
)
def _idle_tokens(found: Measured) -> tuple[str, str]:
    places = found.figure_6(lambda rate: rate == FIXED_RATE)
    shares = {
        one: [interval(found.values("tokens_idle", one, place), "idle tokens") for place in places]
        for one in (KRL, KRLF)
    }
    _, verdict = _every("", _differences(found, "tokens_idle", places), Bounds(high=0.0))
    return f"share of the time: KRL {_spread(shares[KRL])}, KRLF {_spread(shares[KRLF])}", verdict


FEWEST = "Choosing the lowest height neighbor results in the lowest number of link reversals (section 4.4)"


def _reversals(found: Measured, choice: str, place: Place) -> Values:
    """LinkInfo messages per token message of KRLF: each token is acknowledged by one, the others tell of reversals."""
    more = {} if choice == CHOICES[0] else {"parameters": (("forward_to", choice),)}
    told, tokens = (found.sent(kind, KRLF, place, **more) for kind in ("LinkInfo", "Token"))
    return combined(lambda a, b: a / b - 1, told, tokens)


for _other in ("random", "highest"):

    def _fewest_reversals(found: Measured, other: str = _other) -> tuple[str, str]:
        words, ratios = [], []
        for rate in FORWARDING_RATES:
            for connectivity in FIXED_CONNECTIVITIES:
                place = Place(ZERO, connectivity, rate)
                mine, others = (_reversals(found, one, place) for one in (CHOICES[0], other))
                ratios.append(interval(combined(lambda a, b: a / b, mine, others), "reversals"))
                both = " and ".join(str(interval(one, "reversals")) for one in (mine, others))
                words.append(f"{both} at load {rate:g}, {connectivity:.0%}")
        return f"lowest and {other}: {', '.join(words)}", all_of(BELOW_ONE.verdict(ratio) for ratio in ratios)

    CLAIMS.add(
        "forwarding to the lowest neighbour takes fewer LinkInfo messages per token hop, acknowledgements left out, "
        f"than forwarding to {'a random' if _other == 'random' else 'the highest'} one",
        FEWEST,
    )(_fewest_reversals)


# -- section 6: load ---------------------------------------------------------------------------------------------------


@CLAIMS.add(
    "at a load of 1 a node has a request pending at least 90 % of its time",
    "at this rate each node would have a request pending almost all the time",
)
def _always_pending(found: Measured) -> tuple[str, str]:
    places = found.figure_6(lambda rate: rate == 1.0)
    waits = [found.values(WAITING, KRL, place) for place in places]
    shares = [interval(combined(pending_share, values), "KRL at a load of 1") for values in waits]
    words = f"KRL: {min(one.mean for one in shares):.0%} to {max(one.mean for one in shares):.0%} of a node's time"
    return words, all_of(Bounds(low=0.9).verdict(one) for one in shares)


@CLAIMS.add(
    "at a load of 0.001 at most 3 of 30 requests are pending on average",
    "requests rarely pending at all nodes at the same time",
)
def _rarely_pending(found: Measured) -> tuple[str, str]:
    rate = found.rates[0]
    waits = [found.values(WAITING, KRL, place) for place in found.figure_6(lambda one: one == rate)]
    nodes = [interval(combined(lambda wait: pending_nodes(wait, rate), values), "KRL") for values in waits]
    return f"KRL: {_spread(nodes)} of {NODES}", all_of(Bounds(high=3.0).verdict(one) for one in nodes)


@CLAIMS.add(
    "KRLF waits less than KRL, at every load, mobility and connectivity",
    "KRLF results in executions with lower average time per CS entry",
)
def _lower_time(found: Measured) -> tuple[str, str]:
    return _every("ratio", _ratios(found, WAITING, found.figure_6()), BELOW_ONE)


HEADLINE = "less than half the time per CS entry as KRL uses when the mean time between requests is 10 time units"

for _length in RUN_LENGTHS:

    def _half_in_runs_of(found: Measured, length: float = _length) -> tuple[str, str]:
        places = [Place(ZERO, one, FIXED_RATE, length=length) for one in FIXED_CONNECTIVITIES]
        ratios = _ratios(found, WAITING, places)
        words = ", ".join(
            f"{ratio} ± {ratio.ci95:.2g} at {place.connectivity:.0%}"
            for ratio, place in zip(ratios, places, strict=True)
        )
        return f"ratio {words}", all_of(BELOW_HALF.verdict(ratio) for ratio in ratios)

    CLAIMS.add(
        "at a load of 0.1 KRLF waits less than half as long as KRL, at 20 % and 80 %, static, in runs of "
        f"{_length:g} time units",
        HEADLINE,
    )(_half_in_runs_of)

_JudgeReading = Callable[[Measured, Reading], tuple[str, str]]


def _under_every_reading(
    claim: str, paper: str, readings: Iterable[Reading] = READINGS
) -> Callable[[_JudgeReading], _JudgeReading]:
    """Adds a claim on mobility once for each reading of link changes."""

    def put(judge: _JudgeReading) -> _JudgeReading:
        for reading in readings:

            def judge_reading(found: Measured, reading: Reading = reading) -> tuple[str, str]:
                return judge(found, reading)

            CLAIMS.add(f"[{reading.name}] {claim}", paper)(judge_reading)
        return judge

    return put


def _mobile(found: Measured, reading: Reading) -> list[Place]:
    return [place for place in found.figure_6(lambda rate: rate == FIXED_RATE, reading) if place.mobility != ZERO]


@_under_every_reading(
    "at a load of 0.1 KRLF waits less than half as long as KRL when nodes are mobile, at 20 % and 80 %", HEADLINE
)
def _half_the_time(found: Measured, reading: Reading) -> tuple[str, str]:
    return _every("ratio", _ratios(found, WAITING, _mobile(found, reading)), BELOW_HALF)


@_under_every_reading(
    "at a load of 0.1 KRLF uses fewer messages than KRL when nodes are mobile, at 20 % and 80 %",
    "actually uses fewer messages per CS entry when nodes are mobile",
)
def _fewer_messages_when_mobile(found: Measured, reading: Reading) -> tuple[str, str]:
    return _every("ratio", _ratios(found, MESSAGES, _mobile(found, reading)), BELOW_ONE)


@CLAIMS.add(
    f"at loads from 0.1 to 1 KRLF's and KRL's messages are within a factor of {COMPARABLE:g} of each other: the factor "
    "is ours",
    "comparable, in terms of number of message per CS entry, to the KRL algorithm",
)
def _comparable_messages(found: Measured) -> tuple[str, str]:
    ratios = _ratios(found, MESSAGES, found.figure_6(lambda rate: rate >= FIXED_RATE))
    words, verdict = _every("ratio", ratios, Bounds(1 / COMPARABLE, COMPARABLE))
    farthest = max(ratios, key=lambda one: max(one.mean, 1 / one.mean))
    return f"{words}; farthest {farthest} ± {farthest.ci95:.2g}", verdict


@CLAIMS.add(
    "at the lowest load KRLF uses more messages than KRL",
    "at the lowest loads, KRLF uses more messages due to the continuous circulation of tokens",
)
def _more_messages_at_low_load(found: Measured) -> tuple[str, str]:
    ratios = _ratios(found, MESSAGES, found.figure_6(lambda rate: rate == found.rates[0]))
    return _every("ratio", ratios, Bounds(low=1.0))


def _savings(found: Measured, rate: float) -> Values:
    """The mean share of KRL's waiting time that KRLF saves at a load, in every repetition."""
    ratios = [found.ratio_values(WAITING, place) for place in found.figure_6(lambda one: one == rate)]
    return combined(lambda *every: 1 - sum(every) / len(every), *ratios)


def _saves_more(found: Measured, pairs: Iterable[tuple[float, float]]) -> tuple[str, str]:
    """Whether forwarding saves a greater share at the first load of each pair than at the second."""
    saved = {rate: _savings(found, rate) for rate in (found.rates[0], FIXED_RATE, 1.0)}
    words = ", ".join(f"{interval(values, 'KRLF').mean:.0%} at {rate:g}" for rate, values in saved.items())
    more = [interval(combined(lambda a, b: a - b, saved[one], saved[other]), "KRLF") for one, other in pairs]
    return f"saved: {words}", all_of(NO_LESS.verdict(one) for one in more)


@CLAIMS.add(
    "forwarding saves a greater share of the waiting time at loads of 0.1 and 1 than at 0.001",
    "performance benefits, particularly at medium to high loads",
)
def _benefits_at_medium_to_high_load(found: Measured) -> tuple[str, str]:
    return _saves_more(found, ((FIXED_RATE, found.rates[0]), (1.0, found.rates[0])))


# -- section 6: connectivity and mobility ------------------------------------------------------------------------------


def _with_mobility(found: Measured, reading: Reading, metric: str, bounds: Bounds) -> tuple[str, str]:
    """How KRL's metric changes from each mobility to the next, at every connectivity."""
    verdicts, means = [], []
    for connectivity in found.connectivities:
        places = [Place(one, connectivity, FIXED_RATE, reading.rule) for one in reading.mobilities()]
        values = [found.values(metric, KRL, place) for place in places]
        steps = [combined(lambda a, b: b / a, *pair) for pair in pairwise(values)]
        verdicts.append(all_of(bounds.verdict(interval(step, f"KRL at {connectivity:.0%}")) for step in steps))
        means.append("/".join(f"{interval(one, 'KRL').mean:.3g}" for one in values))
    return f"{_counted(verdicts, 'connectivities')}; zero/low/high: {', '.join(means)}", all_of(verdicts)


@_under_every_reading(
    "at a load of 0.1 KRL waits less at low mobility than at zero, and less still at high, at every connectivity",
    "the KRL algorithm performs better in terms of time per CS entry as mobility increases",
)
def _better_with_mobility(found: Measured, reading: Reading) -> tuple[str, str]:
    return _with_mobility(found, reading, WAITING, BELOW_ONE)


@_under_every_reading(
    "at a load of 0.1 KRL sends more messages at low mobility than at zero, and more still at high, at every "
    "connectivity",
    "more messages are sent as mobility increases in KRL",
)
def _more_messages_with_mobility(found: Measured, reading: Reading) -> tuple[str, str]:
    return _with_mobility(found, reading, MESSAGES, Bounds(low=1.0))


@_under_every_reading(
    "at a load of 0.1 KRLF waits less than half as long as KRL, at every connectivity and mobility",
    "the KRLF version takes less than half the time used by the KRL algorithm per CS entry",
)
def _half_the_time_at_every_connectivity(found: Measured, reading: Reading) -> tuple[str, str]:
    places = [place for one in reading.mobilities() for place in found.figure_8(one, reading)]
    return _every("ratio", _ratios(found, WAITING, places), BELOW_HALF)


@_under_every_reading(
    f"at a load of 0.1 KRLF's waiting time varies with connectivity by less than {INSENSITIVE:.0%}, at every mobility",
    "the KRLF algorithm is not sensitive to network connectivity at this load",
)
def _insensitive(found: Measured, reading: Reading) -> tuple[str, str]:
    words, verdicts = [], []
    for mobility in reading.mobilities():
        every = [found.values(WAITING, KRLF, place) for place in found.figure_8(mobility, reading)]
        differences = _differences_between(every)
        words.append(f"{mobility} mobility: {max(abs(one.mean) for one in differences):.0%}")
        verdicts += [Bounds(-INSENSITIVE, INSENSITIVE).verdict(one) for one in differences]
    return ", ".join(words), all_of(verdicts)


def _differences_between(every: Sequence[Values]) -> list[Interval]:
    """The difference of every two over the mean of all. Which two are the extremes differs from run to run."""
    overall = stats.mean([interval(values, "KRLF").mean for values in every])
    assert overall is not None, "there is a connectivity"
    return [interval(combined(lambda a, b: (a - b) / overall, *two), "KRLF") for two in combinations(every, 2)]


@_under_every_reading(
    "at a load of 0.1 and high mobility KRLF uses fewer messages than KRL, at every connectivity",
    "uses fewer messages per CS entry than the KRL algorithm at the highest mobility and at a load of 0.1",
    [reading for reading in READINGS if reading.low == LOW],  # low mobility makes no difference here
)
def _fewer_messages_at_high_mobility(found: Measured, reading: Reading) -> tuple[str, str]:
    return _every("ratio", _ratios(found, MESSAGES, found.figure_8(HIGH, reading)), BELOW_ONE)


@CLAIMS.add(
    "forwarding saves a greater share of the waiting time at a load of 0.1 than at 0.001 and at 1",
    "advantages over the KRL algorithm, particularly at mid-range system loads",
)
def _best_at_mid_range(found: Measured) -> tuple[str, str]:
    return _saves_more(found, ((FIXED_RATE, found.rates[0]), (FIXED_RATE, 1.0)))


@CLAIMS.add(
    "at loads from 0.1 to 1 KRLF uses no more messages than KRL",
    "more costly, in terms of number of messages sent, only at the lowest system loads",
)
def _costly_only_at_low_load(found: Measured) -> tuple[str, str]:
    places = found.figure_6(lambda rate: rate >= FIXED_RATE)
    return _every("ratio", _ratios(found, MESSAGES, places), BELOW_ONE)


# -- section 7 ---------------------------------------------------------------------------------------------------------


@_under_every_reading(
    "at a load of 0.1, with mobile nodes, KRLF waits less than KRL and uses no more messages, at every connectivity",
    "at mid-range loads, the token forwarding technique does improve the time per CS entry without using more messages "
    "than the basic KRL algorithm when nodes are mobile",
)
def _better_at_no_cost(found: Measured, reading: Reading) -> tuple[str, str]:
    places = [place for one in reading.mobilities()[1:] for place in found.figure_8(one, reading)]
    waiting, first = _every("waiting", _ratios(found, WAITING, places), BELOW_ONE)
    messages, second = _every("messages", _ratios(found, MESSAGES, places), BELOW_ONE)
    return f"{waiting}; {messages}", all_of((first, second))
