"""Every claim of the KLME paper on what it costs and what it guarantees, compared with what we measured.

Where the paper gives no number ("significantly", "negligible", "very low"), the claim here contains the number that we
use for it. A claim on messages is judged twice: a broadcast counts once for each receiver, or as one transmission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from analysis.tables import number
from testbed.experiments.reproduce import klme_costs as costs
from testbed.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Bounds,
    Claim,
    ClaimList,
    Interval,
    all_of,
    checked,
)
from testbed.experiments.reproduce.klme_cells import (
    CHURN_K,
    CHURN_LOAD,
    FIGURE_2,
    FIGURE_2_CHURN,
    FIGURE_3,
    FOUR,
    HEAVY,
    HELD,
    HELD_FOR,
    LIGHT,
    LOADS,
    MEDIUM,
    MESSAGES,
    ONE,
    TRANSMISSIONS,
    UNANNOUNCED,
    WAITING,
    KLMECell,
    Measured,
)
from testbed.experiments.reproduce.klme_table import COLUMNS, Illustration

SIGNIFICANT = 0.20  # "decreases significantly": by at least this share
NEGLIGIBLE = 0.10  # "not significant", "negligible", "stabilizes": within this share
ABOUT = 0.20  # "n/4 to n/2", read as an approximation: within this share of the ends
MANY_NODES = 60  # from here on for the approximation
HIGH_NODES = 80  # "when the total number of nodes in the system is high"
CLOSE = 0.10  # of the saturated reference
WORST_SIZES = (3, 5, 10, 20)
SEARCHED = 1000
"""How many critical sections the search for a dearest request takes."""
COUNTED = {MESSAGES: "per receiver", TRANSMISSIONS: "as transmissions"}
PLACES = {ONE: "in one neighbourhood", FOUR: "in four neighbourhoods"}


@dataclass(frozen=True)
class Found:
    """All that claims are judged by."""

    measured: Measured
    table: Illustration


CLAIMS = ClaimList[Found]()


def claims_of(found: Found) -> list[Claim]:
    """All claims, in the order of the paper."""
    return CLAIMS.judged(found)


class At(NamedTuple):
    """A quantity and the point at which it was measured."""

    place: str
    quantity: Interval

    def __str__(self) -> str:
        """For the report."""
        return f"{_shown(self.quantity)} ({self.place})"


def _shown(interval: Interval) -> str:
    return f"{number(interval.mean)} ± {number(interval.ci95)}"


def _every(points: Iterable[At], judge: Callable[[Interval], str]) -> tuple[str, str]:
    """The lowest and the highest point, at how many the claim holds, and the verdict on all."""
    known = sorted(points, key=lambda at: at.quantity.mean)
    verdicts = [judge(at.quantity) for at in known]
    counts = ", ".join(
        f"{one.lower()} at {verdicts.count(one)}" for one in (HOLDS, FAILS, UNDECIDED) if one in verdicts
    )
    return f"{known[0]} to {known[-1]}; of {len(known)} points it {counts}", all_of(verdicts)


def _positive(difference: Interval) -> str:
    """Whether a quantity grows. One that is the same in all repetitions does not, as far as they can tell."""
    low, high = difference.mean - difference.ci95, difference.mean + difference.ci95
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED


def _exactly(measured: float, expected: float, unit: str) -> tuple[str, str]:
    """Nothing in it is random, so one run decides."""
    return f"{measured:g} {unit}", HOLDS if measured == expected else FAILS


# -- section 3: the illustration ---------------------------------------------------------------------------------------


def _columns(found: Found, columns: Sequence[str]) -> tuple[str, str]:
    cells = [cell for cell in found.table.cells if cell.column in columns]
    same = sum(cell.matches for cell in cells)
    return f"{same} of {len(cells)} cells", HOLDS if same == len(cells) else FAILS


LIST = "Node_Req_List"


@CLAIMS.add(
    f"all cells of Table 1 come out but those of {LIST}",
    "The table 1 shows the static execution of the algorithm and changes in data structure after the execution of "
    "events",
)
def _table(found: Found) -> tuple[str, str]:
    return _columns(found, [column for column in COLUMNS if column != LIST])


@CLAIMS.add(f"all cells of the column {LIST} of Table 1 come out", "Node_Req_List_i (r.Pi)")
def _request_lists(found: Found) -> tuple[str, str]:
    return _columns(found, [LIST])


# -- section 4: correctness --------------------------------------------------------------------------------------------


def _checked(found: Found, cells: Iterable[KLMECell], names: tuple[str, ...]) -> tuple[str, str]:
    """Whether checks are ok in all runs of some cells."""
    runs = [one["checks"] for cell in cells for one in found.measured.result(cell).repetitions]
    verdicts = [checked(checks[name]["verdict"] for name in names) for checks in runs]
    return f"{verdicts.count(HOLDS)} of {len(runs)} runs", all_of(verdicts) if runs else UNDECIDED


@CLAIMS.add(
    "in no run more than k nodes of a neighbourhood are inside, and no unit is lost",
    "At any point of time at most k nodes may be in CS (Theorem 1)",
)
def _safe(found: Found) -> tuple[str, str]:
    return _checked(found, found.measured.cells, ("safety", "conservation"))


@CLAIMS.add(
    "in every run that ends with a drain, every request of a node that stays is served",
    "Every request will eventually be served (Theorem 2)",
)
def _served(found: Found) -> tuple[str, str]:
    return _checked(found, [cell for cell in found.measured.cells if "drain" not in cell.changes], ("starvation",))


@CLAIMS.add(
    f"with k - 1 units in use for {HELD_FOR:g} s, no other node waits for the last one for more than half of that",
    "If there are less than k-nodes in CS and there are some pending requests then at least one of the requesting "
    "nodes will eventually enter CS without waiting for any node to come out of CS (Theorem 3)",
)
def _no_l_deadlock(found: Found) -> tuple[str, str]:
    cells = [cell for cell in found.measured.cells if cell.experiment == HELD]
    points = [At(f"k = {cell.k}, {cell.variant}", found.measured.interval("longest_wait", cell)) for cell in cells]
    words, verdict = _every(points, Bounds(high=HELD_FOR / 2).verdict)
    return f"longest wait {words}", verdict


# -- section 5: costs --------------------------------------------------------------------------------------------------


@CLAIMS.add(
    "a token holder enters and leaves without a message",
    "the requesting token holder node can directly enter CS without any message(s) exchanged",
)
def _holder(found: Found) -> tuple[str, str]:
    return _exactly(costs.holder_messages(), 0, "messages")


for _ack, _what in (("queued", "only if the request is queued (section 3.1)"), ("always", "always, as event C has it")):

    def _best(found: Found, ack: str = _ack) -> tuple[str, str]:
        return _exactly(costs.best_messages(ack), 3, "messages")

    CLAIMS.add(
        f"in the best case a critical section takes three messages, with Req_ack {_what} (`ack: {_ack}`)",
        "the first message is request message followed by one permission grant and one release message. Therefore, the "
        "total number of messages required in this case is three",
    )(_best)


@CLAIMS.add(
    "a request that comes to every other node after the token has left that takes n + 2 messages",
    "the number of messages required in this case will be n+2 ((n-1) request message followed by one Req_ack, one "
    "Per_grant and one Release message)",
)
def _worst(found: Found) -> tuple[str, str]:
    measured = {nodes: costs.worst_messages(nodes) for nodes in WORST_SIZES}
    words = ", ".join(f"{messages} (n = {nodes})" for nodes, messages in measured.items())
    return words, HOLDS if all(messages == nodes + 2 for nodes, messages in measured.items()) else FAILS


@CLAIMS.add(
    "no request takes more than n + 2 messages",
    "The proposed algorithm ensures that this situation can be repeated atmost n-1 times",
)
def _no_worse(found: Found) -> tuple[str, str]:
    words, verdicts = [], []
    for nodes in WORST_SIZES[1:]:
        dearest = costs.dearest_request(nodes, SEARCHED)
        parts = " + ".join(f"{count} {name}" for name, count in sorted(dearest.items()))
        words.append(f"{dearest.total()} = {parts} (n = {nodes})")
        verdicts.append(HOLDS if dearest.total() <= nodes + 2 else FAILS)
    return f"of {SEARCHED} critical sections, k = {costs.K}: {', '.join(words)}", all_of(verdicts)


@CLAIMS.add(
    "a request to an idle token holder is served after 2 T",
    "the requesting node will receive token and enter CS in 2T time after sending its request message",
)
def _response(found: Found) -> tuple[str, str]:
    return _exactly(costs.response_time(), 2, "T")


@CLAIMS.add(
    "when the token holder leaves its CS, the next node enters T later",
    "The best case synchronization delay of KLME is T",
)
def _synchronization(found: Found) -> tuple[str, str]:
    return _exactly(costs.synchronization_delay(costs.FIRST), 1, "T")


@CLAIMS.add(
    "when another node leaves its CS, the next node enters 2 T later",
    "if a non-token holder node comes out of CS [...] the synchronization delay in this case will be 2T",
)
def _other_synchronization(found: Found) -> tuple[str, str]:
    return _exactly(costs.synchronization_delay(1), 2, "T")


# -- section 6, Figure 2: messages -------------------------------------------------------------------------------------


def _figure_2(network: str, nodes: int, k: int, load: str) -> KLMECell:
    return KLMECell(FIGURE_2, network, nodes, k, load, FIGURE_2_CHURN[network])


def _grid(found: Found, network: str, loads: Iterable[str] = LOADS) -> list[KLMECell]:
    """All points of Figure 2 in a network."""
    measured = found.measured
    return [
        _figure_2(network, nodes, k, load)
        for load in loads
        for k in measured.ks()
        for nodes in measured.nodes(FIGURE_2)
    ]


def _named(cell: KLMECell) -> str:
    return f"n = {cell.nodes}, k = {cell.k}, {cell.load}"


def _per_node(found: Found, metric: str, cells: Iterable[KLMECell]) -> list[At]:
    """A metric as a share of n."""
    measured = found.measured
    return [
        At(_named(cell), Interval.of([None if v is None else v / cell.nodes for v in measured.values(metric, cell)]))
        for cell in cells
    ]


QUARTER_TO_HALF = "the message complexity of the proposed algorithm varies between n/4 to n/2"

for _network in (ONE, FOUR):
    for _metric, _how in COUNTED.items():

        def _range(found: Found, network: str = _network, metric: str = _metric) -> tuple[str, str]:
            words, verdict = _every(_per_node(found, metric, _grid(found, network)), Bounds(0.25, 0.5).verdict)
            return f"in units of n: {words}", verdict

        CLAIMS.add(
            f"messages per CS, {_how}, are between n/4 and n/2 at every point of Figure 2, {PLACES[_network]}",
            QUARTER_TO_HALF,
        )(_range)


for _metric, _how in COUNTED.items():

    def _about(found: Found, metric: str = _metric) -> tuple[str, str]:
        cells = [cell for cell in _grid(found, ONE, (MEDIUM, HEAVY)) if cell.nodes >= MANY_NODES]
        bounds = Bounds(0.25 * (1 - ABOUT), 0.5 * (1 + ABOUT))
        words, verdict = _every(_per_node(found, metric, cells), bounds.verdict)
        return f"in units of n: {words}", verdict

    CLAIMS.add(
        f"the same as an approximation: between {0.25 * (1 - ABOUT):g} n and {0.5 * (1 + ABOUT):g} n {_how}, for n of "
        f"{MANY_NODES} or more under medium and heavy load, {PLACES[ONE]}",
        QUARTER_TO_HALF,
    )(_about)


def _more_units(found: Found, network: str, metric: str, loads: Iterable[str], bounds: Bounds) -> tuple[str, str]:
    """The most units over the fewest."""
    measured, ks = found.measured, found.measured.ks()
    points = [
        At(
            f"n = {nodes}, {load}",
            measured.ratio(
                metric,
                _figure_2(network, nodes, ks[-1], load),
                _figure_2(network, nodes, ks[0], load),
            ),
        )
        for load in loads
        for nodes in measured.nodes(FIGURE_2)
    ]
    words, verdict = _every(points, bounds.verdict)
    return f"ratio of k = {ks[-1]} to k = {ks[0]}: {words}", verdict


for _network in (ONE, FOUR):
    for _metric, _how in COUNTED.items():

        def _fewer(found: Found, network: str = _network, metric: str = _metric) -> tuple[str, str]:
            return _more_units(found, network, metric, (MEDIUM, HEAVY), Bounds(high=1 - SIGNIFICANT))

        CLAIMS.add(
            f"under medium and heavy load k = 5 takes at least {SIGNIFICANT:.0%} fewer messages per CS than k = 2, "
            f"{_how}, at every n, {PLACES[_network]}",
            "The number of messages per CS under heavy load and medium load decreases significantly",
        )(_fewer)


for _network in (ONE, FOUR):

    def _same_at_light_load(found: Found, network: str = _network) -> tuple[str, str]:
        return _more_units(found, network, MESSAGES, (LIGHT,), Bounds(1 - NEGLIGIBLE, 1 + NEGLIGIBLE))

    CLAIMS.add(
        f"under light load k = 5 takes as many messages per CS as k = 2, per receiver, within {NEGLIGIBLE:.0%}, at "
        f"every n, {PLACES[_network]}",
        "however, under light load this difference is not significant",
    )(_same_at_light_load)


def _gradient(found: Found, network: str, k: int, load: str) -> Interval:
    """How many messages per CS a further node costs, from the fewest nodes to the most."""
    few, *_, many = found.measured.nodes(FIGURE_2)
    last, first = (_figure_2(network, nodes, k, load) for nodes in (many, few))
    more = found.measured.difference(MESSAGES, last, first)
    return Interval(more.mean / (many - few), more.ci95 / (many - few))


for _network in (ONE, FOUR):

    def _low_gradient(found: Found, network: str = _network) -> tuple[str, str]:
        points = [
            At(f"k = {k}, {load}", _gradient(found, network, k, load)) for k in found.measured.ks() for load in LOADS
        ]
        return _every(points, Bounds(high=1.0).verdict)

    CLAIMS.add(
        "a further node costs less than one message per CS (that of the worst case, n + 2), per receiver, "
        f"{PLACES[_network]}",
        "number of messages versus number of nodes graph the gradient of plot is very low",
    )(_low_gradient)


@CLAIMS.add(
    "what a further node costs under light and heavy load is between half and twice of what it costs under medium "
    f"load, per receiver, {PLACES[ONE]}",
    "Despite varying load the gradients of slope does not show abrupt changes",
)
def _steady_gradient(found: Found) -> tuple[str, str]:
    measured = found.measured
    few, *_, many = measured.nodes(FIGURE_2)

    def slopes(k: int, load: str) -> list[float | None]:
        last, first = (measured.values(MESSAGES, _figure_2(ONE, nodes, k, load)) for nodes in (many, few))
        return [None if a is None or b is None else b - a for a, b in zip(first, last, strict=True)]

    points = []
    for k in measured.ks():
        base = slopes(k, MEDIUM)
        for load in (LIGHT, HEAVY):
            pairs = zip(slopes(k, load), base, strict=True)
            ratio = Interval.of(None if mine is None or not usual else mine / usual for mine, usual in pairs)
            points.append(At(f"k = {k}, {load}", ratio))
    return _every(points, Bounds(0.5, 2.0).verdict)


@CLAIMS.add(
    f"under heavy load messages per CS are n/k + 4 - 2/k, and 1/k for Token_ack, per receiver, within {CLOSE:.0%}, "
    f"{PLACES[ONE]}",
    "(not in the paper: computed from events B, C, F and G for a neighbourhood in which all nodes always ask)",
)
def _reference(found: Found) -> tuple[str, str]:
    points = []
    for cell in _grid(found, ONE, (HEAVY,)):
        expected = cell.nodes / cell.k + 4 - 2 / cell.k + 1 / cell.k
        values = found.measured.values(MESSAGES, cell)
        points.append(At(_named(cell), Interval.of(None if one is None else one / expected for one in values)))
    words, verdict = _every(points, Bounds(1 - CLOSE, 1 + CLOSE).verdict)
    return f"measured over computed: {words}", verdict


# -- section 6, Figure 2: waiting --------------------------------------------------------------------------------------


def _steps_in_nodes(found: Found, network: str, loads: Iterable[str]) -> list[At]:
    """By how much the waiting time grows from a number of nodes to the next."""
    measured = found.measured
    return [
        At(
            f"n = {few} to {many}, k = {k}, {load}",
            measured.difference(WAITING, *(_figure_2(network, nodes, k, load) for nodes in (many, few))),
        )
        for load in loads
        for k in measured.ks()
        for few, many in pairwise(measured.nodes(FIGURE_2))
    ]


for _network in (ONE, FOUR):

    def _waits_longer(found: Found, network: str = _network) -> tuple[str, str]:
        words, verdict = _every(_steps_in_nodes(found, network, (HEAVY,)), _positive)
        return f"longer by {words}", verdict

    CLAIMS.add(
        f"under heavy load more nodes wait longer, at every k and step in n, {PLACES[_network]}",
        "When the number of nodes is increased the waiting time also increases under heavy load",
    )(_waits_longer)


for _network in (ONE, FOUR):

    def _waits_less_somewhere(found: Found, network: str = _network) -> tuple[str, str]:
        points = _steps_in_nodes(found, network, (LIGHT, MEDIUM))
        falls = [at for at in points if _positive(at.quantity) == FAILS]
        grows = [at for at in points if _positive(at.quantity) == HOLDS]
        verdict = HOLDS if falls else FAILS if len(grows) == len(points) else UNDECIDED
        least = min(points, key=lambda at: at.quantity.mean)
        return f"it grows in {len(grows)} of {len(points)} steps and falls in {len(falls)}; least: {least}", verdict

    CLAIMS.add(
        f"under light or medium load more nodes wait less somewhere, {PLACES[_network]}",
        "under medium and light load waiting time is reducing in certain cases on increasing the number of nodes",
    )(_waits_less_somewhere)


for _network in (ONE, FOUR):

    def _units_save_time(found: Found, network: str = _network) -> tuple[str, str]:
        measured = found.measured
        points = [
            At(
                f"k = {more} to {fewer}, n = {nodes}, {load}",
                measured.difference(WAITING, *(_figure_2(network, nodes, k, load) for k in (fewer, more))),
            )
            for load in LOADS
            for nodes in measured.nodes(FIGURE_2)
            for fewer, more in pairwise(measured.ks())
        ]
        words, verdict = _every(points, _positive)
        return f"longer by {words}", verdict

    CLAIMS.add(
        f"with fewer units nodes wait longer, at every load, n and step in k, {PLACES[_network]}",
        "When the number of resources is reduced average waiting time is also increases",
    )(_units_save_time)


for _network in (ONE, FOUR):

    def _within_axis(found: Found, network: str = _network) -> tuple[str, str]:
        cells = _grid(found, network, (LIGHT, MEDIUM))
        points = [At(_named(cell), found.measured.interval(WAITING, cell)) for cell in cells]
        return _every(points, Bounds(0.0, 5.0).verdict)

    CLAIMS.add(
        f"waiting times are between 0 and 5 s at every point of Figures 2 (a) and (b), {PLACES[_network]}",
        "(their axes: 0 1 2 3 4 5)",
    )(_within_axis)


# -- section 6, Figure 3 -----------------------------------------------------------------------------------------------


def _figure_3(network: str, nodes: int, churn: str) -> KLMECell:
    return KLMECell(FIGURE_3, network, nodes, CHURN_K, CHURN_LOAD, churn)


def _against_light_churn(found: Found, network: str, metric: str, least: int = 0) -> list[At]:
    """Medium and heavy churn over light churn, from a number of nodes on."""
    measured = found.measured
    return [
        At(
            f"n = {nodes}, {churn} churn",
            measured.ratio(metric, _figure_3(network, nodes, churn), _figure_3(network, nodes, LIGHT)),
        )
        for churn in (MEDIUM, HEAVY)
        for nodes in measured.nodes(FIGURE_3)
        if nodes >= least
    ]


for _network in (ONE, FOUR):
    for _metric, _how in (*COUNTED.items(), (UNANNOUNCED, "per receiver, I_am_here and I_am_leaving not counted")):

        def _negligible(found: Found, network: str = _network, metric: str = _metric) -> tuple[str, str]:
            points = _against_light_churn(found, network, metric)
            words, verdict = _every(points, Bounds(1 - NEGLIGIBLE, 1 + NEGLIGIBLE).verdict)
            return f"ratio to light churn: {words}", verdict

        CLAIMS.add(
            f"medium and heavy churn take as many messages per CS as light churn within {NEGLIGIBLE:.0%}, {_how}, "
            f"{PLACES[_network]}",
            "there is negligible effect of the churn rate on the number of messages/CS even if total number of nodes "
            "in the system is increased",
        )(_negligible)


for _network in (ONE, FOUR):

    def _churn_saves_time(found: Found, network: str = _network) -> tuple[str, str]:
        words, verdict = _every(_against_light_churn(found, network, WAITING, HIGH_NODES), Bounds(high=1.0).verdict)
        return f"ratio to light churn: {words}", verdict

    CLAIMS.add(
        f"with {HIGH_NODES} nodes or more, nodes wait less under medium and heavy churn than under light churn, "
        f"{PLACES[_network]}",
        "under light churn rate average waiting time is significantly higher than the average waiting time under "
        "medium/high churn rate, specially, when the total number of nodes in the system is high",
    )(_churn_saves_time)


for _network in (ONE, FOUR):

    def _stabilizes(found: Found, network: str = _network) -> tuple[str, str]:
        *_, few, many = found.measured.nodes(FIGURE_3)
        points = [
            At(
                f"{churn} churn",
                found.measured.ratio(WAITING, *(_figure_3(network, nodes, churn) for nodes in (many, few))),
            )
            for churn in (LIGHT, MEDIUM, HEAVY)
        ]
        words, verdict = _every(points, Bounds(high=1 + NEGLIGIBLE).verdict)
        return f"ratio of n = {many} to n = {few}: {words}", verdict

    CLAIMS.add(
        f"under churn the waiting time grows by no more than {NEGLIGIBLE:.0%} between the two greatest numbers of "
        f"nodes, {PLACES[_network]}",
        "the waiting time stabilizes and does not increase on increasing the number of nodes beyond a limit",
    )(_stabilizes)
