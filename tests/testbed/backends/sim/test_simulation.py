"""The papers' model on the simulator: delays, FIFO links, link changes, load, and when a run ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from agents.contract import TICKS, WAITING
from agents.message import Message
from agents.rl import ReverseLink
from testbed.network.graph import Graph
from testbed.runtime.message_counts import MessageClass
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, prepare, simulate
from tests.testbed.token_ring import Pass, TokenRing

MOBILE = {"kind": "random", "connectivity": 0.3, "link_change_rate": 0.2}
PAIR = {"nodes": 2, "topology": "complete"}


def flights(diary) -> list[float]:
    """How long every message was in transit."""
    sent = {(event["node"], event["peer"], event["id"]): event["t"] for event in diary.of("send")}
    return [event["t"] - sent[event["peer"], event["node"], event["id"]] for event in diary.of("recv")]


def test_a_message_takes_one_time_unit():
    """Section 6: "each message delay was one time unit"."""
    run = simulate()
    assert {round(flight, 9) for flight in flights(run.diary)} == {1.0}
    assert run.verdicts == ALL_OK


def test_a_critical_section_takes_one_time_unit():
    """Section 6: "each CS execution took one time unit"."""
    events = simulate().diary.of("enter", "exit")
    stays = [out["t"] - into["t"] for into, out in zip(events[::2], events[1::2], strict=True)]
    assert {round(stay, 9) for stay in stays} == {1.0}


@pytest.mark.parametrize("hop", [{"exponential": 2.0}, {"uniform": [0.0, 5.0]}])
def test_links_are_fifo_whatever_the_delays(hop):
    """Section 3, assumption 3: later messages wait for those before them."""
    run = simulate(delays={"hop": hop}, topology=MOBILE)
    assert run.verdicts == ALL_OK
    assert len({round(flight, 6) for flight in flights(run.diary)}) > 50


def test_thinking_is_exponential():
    """Section 6: the time from leaving the CS to the next request has mean 1/rate and as large a deviation."""
    diary = simulate(nodes=5, workload={"rate": 0.5}, duration=4000.0, topology="complete").diary
    left: dict[int, float] = {}
    thoughts = []
    for event in diary.of("exit", "request"):
        if event["kind"] == "exit":
            left[event["node"]] = event["t"]
        elif event["node"] in left:
            thoughts.append(event["t"] - left[event["node"]])
    mean = sum(thoughts) / len(thoughts)
    deviation = math.sqrt(sum((thought - mean) ** 2 for thought in thoughts) / len(thoughts))
    margin = 4 * 2 / math.sqrt(len(thoughts))  # four standard errors
    assert abs(mean - 2) < margin
    assert abs(deviation - 2) < 2 * margin


def test_link_changes_are_poisson_and_in_pairs():
    """Section 6: each change deletes a link and forms one, at the rate asked for."""
    run = simulate(topology=MOBILE, duration=3000.0, workload={"rate": 0.01})
    downs, ups = run.diary.of("link_down"), run.diary.of("link_up")
    expected = 0.2 * 3000
    assert abs(len(ups) / 2 - expected) < 4 * math.sqrt(expected)
    assert len(downs) == len(ups)
    assert run.verdicts == ALL_OK


def test_the_graph_is_always_connected_and_as_dense():
    """Section 3: a LinkDown never disconnects the graph; connectivity stays near the initial one."""
    run = simulate(topology={"kind": "random", "connectivity": 0.25, "link_change_rate": 0.5}, duration=800.0)
    start = run.diary.of("start")[0]
    graph = Graph(10, map(tuple, start["links"]))
    planned, instant = len(graph), None
    for event in run.diary.of("link_up", "link_down"):
        if event["t"] != instant:  # a link that falls and forms again does both at one instant
            assert len(graph.component(0)) == 10, f"disconnected at {instant}"
            assert planned <= len(graph) <= planned + 4, "a few links may still wait to fall"
            instant = event["t"]
        if event["node"] < event["peer"]:
            (graph.add if event["kind"] == "link_up" else graph.remove)(event["node"], event["peer"])


def test_both_ends_learn_of_a_link_at_the_same_instant():
    """Section 3: LinkUp_i(l) occurs at time t if and only if LinkUp_j(l) does; the same for LinkDown."""
    events = simulate(topology=MOBILE).diary.of("link_up", "link_down")
    for one, other in zip(events[::2], events[1::2], strict=True):
        assert (one["t"], one["kind"], one["node"], one["peer"]) == (
            other["t"], other["kind"], other["peer"], other["node"],
        )  # fmt: skip


def test_a_busy_link_falls_when_it_is_empty_and_says_how_late():
    """Section 3: no LinkDown with messages in transit. The lag is logged; nothing is lost."""
    run = simulate(topology=MOBILE, workload={"rate": 1.0}, duration=2000.0, delays={"hop": 3})
    lags = [event["lag"] for event in run.diary.of("link_down")]
    assert any(lag > 0 for lag in lags)
    assert any(lag == 0 for lag in lags)
    assert not run.diary.of("lost")
    assert run.verdicts["order"] == "ok", "which fails if a link falls with messages on it"


def test_with_a_greatest_lag_messages_come_back():
    """A link falls when it has been kept for `max_lag`, and what is still in transit comes back to its sender."""
    mobile = {**MOBILE, "max_lag": 0.5}
    run = simulate(topology=mobile, workload={"rate": 1.0}, duration=500.0, delays={"hop": 3}, algorithm="krl")
    lags = {event["lag"] for event in run.diary.of("link_down")}
    assert max(lags) == TICKS // 2
    returned = run.diary.of("return")
    assert {event["units"] for event in returned} == {0, 1}, "tokens among them"
    falls = {(event["t"], event["node"], event["peer"]) for event in run.diary.of("link_down")}
    assert {(event["t"], event["node"], event["peer"]) for event in returned} <= falls
    assert not run.diary.of("lost")
    assert run.verdicts == ALL_OK


def test_without_a_lag_a_link_falls_at_once():
    """With `max_lag: 0`, as where nodes move."""
    run = simulate(topology={**MOBILE, "max_lag": 0}, workload={"rate": 1.0}, delays={"hop": 3}, algorithm="krl")
    assert {event["lag"] for event in run.diary.of("link_down")} == {0}
    assert run.diary.of("return")
    assert run.verdicts == ALL_OK


def test_the_greatest_lag_does_not_change_the_link_changes():
    """The same links are to fall and form at the same times."""
    assert planned_changes(topology={**MOBILE, "max_lag": 0}, algorithm="krl") == planned_changes(algorithm="krl")


def planned_changes(**keys) -> list[tuple]:
    """Every link change as it is drawn, with its time."""
    run = prepare(**{"topology": MOBILE, **keys})
    links, drawn = run.simulation.links, []
    up, down = links.up, links.down
    links.up = lambda a, b: (drawn.append((run.simulation.now, "up", a, b)), up(a, b))
    links.down = lambda a, b: (drawn.append((run.simulation.now, "down", a, b)), down(a, b))
    run.simulation.run_all(lambda share: None)
    return drawn


def test_link_changes_do_not_depend_on_traffic():
    """The same changes at the same times, whatever the load and the delays: algorithms meet the same network."""
    quiet = planned_changes(workload={"rate": 0.01})
    assert quiet == planned_changes(workload={"rate": 1.0}, delays={"hop": {"exponential": 2.0}})
    assert len(quiet) > 80


def test_repetitions_differ():
    """Every repetition has streams of its own."""
    graphs = [prepare(repetition=number).simulation.graph.links() for number in (0, 0, 1)]
    assert graphs[0] == graphs[1] != graphs[2]


# -- overheads ---------------------------------------------------------------------------------------------------------


def test_overheads_keep_the_node_busy():
    """0.1 to send, 0.8 in transit, 0.1 to receive: asking for the token and getting it takes 2, as with a hop of 1."""
    run = simulate(**PAIR, delays={"send": 0.1, "hop": 0.8, "receive": 0.1}, workload={"rate": 0.01}, duration=500.0)
    waits = [event["t"] for event in run.diary.of("request", "enter")]
    asked = [round(b - a, 9) for a, b in zip(waits[::2], waits[1::2], strict=True)]
    assert set(asked) == {0.0, 2.0}


class Recipient:
    """Takes what arrives in the driver's place."""

    def __init__(self, simulation) -> None:
        self.simulation, self.arrivals = simulation, []

    def receive(self, posts) -> None:
        self.arrivals += [(self.simulation.now / TICKS, channel.target, number) for channel, _, number, _ in posts]


@pytest.mark.parametrize("processor", ["fifo", "send-first", "none"])
@pytest.mark.parametrize("algorithm", ["krlf", "hk"])
def test_messages_come_back_in_the_order_in_which_they_were_sent(processor, algorithm):
    """Also where some wait for the receiver's processor and later ones are still in transit."""
    delays = {"hop": {"uniform": [0.1, 2.0]}, "send": 0.1, "receive": 0.3, "processor": processor}
    mobile = {**MOBILE, "link_change_rate": 1.0, "max_lag": 0.2}
    run = simulate(topology=mobile, delays=delays, workload={"rate": 1.0}, algorithm={"name": algorithm, "k": 2})
    latest = {}
    returned = run.diary.of("return")
    for event in returned:
        key = (event["t"], event["node"], event["peer"])
        assert event["id"] > latest.get(key, 0)
        latest[key] = event["id"]
    assert len(returned) > 20


def arrivals(processor: str, *sent: tuple[int, int, int], later: Sequence[tuple[float, int, int, int]] = ()):
    """When messages reach their agents: each is sent by a node to another, with a number, at 0 or later."""
    run = prepare(
        nodes=4,
        topology="complete",
        delays={"send": 0.5, "hop": 1, "receive": 0.25, "processor": processor},
        workload={"rate": 1e-9},
    )
    simulation, channels = run.simulation, run.simulation.driver.channels
    recipient = Recipient(simulation)
    if processor == "none":
        simulation.deliver = recipient.receive
    else:
        simulation.links._processors._deliver = recipient.receive

    def send(source: int, target: int, number: int) -> None:
        simulation.move([(channels[source][target], Message(), number, None)])

    for source, target, number in sent:
        send(source, target, number)
    for t, *message in later:
        simulation.at(round(t * TICKS), send, *message)
    simulation.run(lambda: None)
    return recipient.arrivals


COPIES = [(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 1, 4), (2, 1, 9)]


@pytest.mark.parametrize("processor", ["fifo", "send-first"])
def test_copies_cost_one_after_the_other(processor):
    """The same message to several nodes is sent one copy at a time, and received one after the other."""
    expected = [(1.75, 1, 1), (2.0, 1, 9), (2.25, 2, 2), (2.75, 3, 3), (3.25, 1, 4)]
    assert arrivals(processor, *COPIES) == expected


def test_without_a_processor_messages_do_not_wait():
    """Each takes the time to send, to travel and to receive, whatever else the nodes do."""
    assert arrivals("none", *COPIES) == [(1.75, target, number) for _, target, number in COPIES]


@pytest.mark.parametrize("processor", ["fifo", "send-first"])
def test_a_processor_may_send_first(processor):
    """Two messages arrive at node 1 at 1.5, and while it receives the first it is given one to send.

    The first is received at 1.75. First in, first out: the second at 2, and the message has left at 2.5. Sending first:
    the message has left at 2.25, and the second is received at 2.5.
    """
    found = arrivals(processor, (0, 1, 1), (2, 1, 2), later=[(1.6, 1, 3, 3)])
    wanted = {"fifo": [(1.75, 1, 1), (2.0, 1, 2), (3.75, 3, 3)], "send-first": [(1.75, 1, 1), (2.5, 1, 2), (3.5, 3, 3)]}
    assert found == wanted[processor]


# -- when a run ends ---------------------------------------------------------------------------------------------------


def test_requests_and_link_changes_stop_at_duration():
    """And the run goes on until every request is served."""
    run = simulate(topology=MOBILE, workload={"rate": 1.0}, duration=100.0)
    assert max(event["t"] for event in run.diary.of("request")) <= 100
    assert max(event["t"] for event in run.diary.of("link_up")) <= 105, "only links that were busy come later"
    assert max(event["t"] for event in run.diary.of("enter")) > 100
    assert run.diary.events[-1]["reason"] == "every request served"
    assert not run.diary.of("pending")
    assert run.verdicts == ALL_OK


def test_requests_stop_after_enough_entries():
    """`entries` counts critical sections; those already asked for are still served."""
    run = simulate(entries=50)
    enters = run.diary.of("enter")
    assert 50 <= len(enters) <= 60
    assert max(event["t"] for event in run.diary.of("request")) <= enters[49]["t"]
    assert run.verdicts == ALL_OK


def test_drain_ends_a_run_that_does_not():
    """A node stays in its critical section for longer than `drain` allows the others to wait."""
    run = simulate(workload={"rate": 1.0, "cs_time": 500.0}, drain=77.0)
    assert run.diary.events[-1]["reason"] == "drain expired"
    assert run.diary.events[-1]["t"] == 377


def test_a_run_whose_token_is_lost_ends_at_once():
    """A component without a token sends without end; no node in it can be served, and all are excused."""
    faults = [{"at": 50.0, "kind": "lose", "holder": True}]
    run = simulate(faults=faults, drain=77.0)
    assert run.diary.events[-1]["reason"] == "no pending request can be served"
    assert run.diary.events[-1]["t"] == 300
    cut_off = run.diary.of("partition")[-1]
    assert cut_off["cut_off"] == list(range(10))
    assert run.audit.metrics()["messages_cut_off"] > 0
    assert {event["component_units"] for event in run.diary.of("pending")} == {0}
    assert run.details["starvation"] == "excused: 10 (component holds no unit)"


class DoubledToken(TokenRing):
    """Passes a token that carries no unit on to both of its neighbours in the ring."""

    def on_timer(self, name: str) -> None:
        if self.free == 0:
            self.send((self.node - 1) % 4, Pass(0))
        super().on_timer(name)


ALL_TAKEN = {"cs_time": 100.0, "requests": [{"node": 0, "at": 1.0, "units": 2}, {"node": 2, "at": 2.0}]}
"""Node 0 takes both units for 100 time units, so the token goes round without any; node 2 waits."""


def ring(fault: dict | None = None, agent: type[TokenRing] = TokenRing):
    """Four nodes in a ring share two units by a token; node 0 has taken both when there is a fault."""
    with registered(agent, "raymond-k"):
        return simulate(
            algorithm={"name": "raymond-k", "k": 2},
            nodes=4,
            topology="complete",
            workload=ALL_TAKEN,
            duration=60.0,
            faults=[fault] if fault else [],
        )


@dataclass(frozen=True, slots=True)
class Perhaps(Message):
    """Carries a token or none, and never a unit."""

    is_token: bool

    @property
    def tokens(self) -> int:
        return int(self.is_token)


def test_messages_that_differ_in_tokens_are_looked_at_one_by_one():
    """They are not only counted, though all have the same size and carry no unit."""
    kind = MessageClass(Perhaps, TokenRing)
    assert (kind.plain, kind.watched) == (False, True)
    assert (kind.units, kind.tokens) == (0, None)


def test_a_token_goes_round_without_units():
    """It is neither more nor fewer than one at any time, whatever it carries."""
    run = ring()
    assert run.verdicts == ALL_OK
    carried = [(event["units"], event["tokens"]) for event in run.diary.of("send")]
    assert set(carried) == {(0, 1), (2, 1), (1, 1)}, "none, then what node 0 gives back, then what node 2 leaves"
    assert "1 of 1 token" in run.details["conservation"]


def test_a_doubled_token_that_carries_nothing_fails_conservation():
    """No unit is made, but two nodes may take units at the same time."""
    run = ring(agent=DoubledToken)
    assert run.verdicts["conservation"] == "failed"
    assert "sends 0 units and 1 token" in run.audit.verdicts()["conservation"]["offenders"][0]


def test_a_token_without_units_can_be_lost():
    """`lose: holder` takes the next message that carries a token; the units are kept, and no node can enter."""
    run = ring({"at": 20.0, "kind": "lose", "holder": True})
    (lost,) = run.diary.of("lost")
    assert (lost["units"], lost["tokens"], lost["why"]) == (0, 1, "fault")
    assert run.details["conservation"].startswith("2 of 2 units kept, 0 of 1 token, 0 units and 1 token lost")
    assert run.diary.of("partition")[-1]["cut_off"] == [0, 1, 2, 3]
    assert run.details["starvation"] == "excused: 1 (component holds no unit)"


def test_a_token_in_transit_without_units_is_in_reach():
    """Node 3 crashes while the token is on its way from node 0 to node 1: no node is cut off from it then."""
    departs = next(event["t"] for event in ring().diary.of("send") if event["node"] == 0 and event["t"] > 10)
    run = ring({"at": departs + 0.5, "kind": "crash", "node": 3})
    assert run.diary.of("crash")[0]["t"] == pytest.approx(departs + 0.5)
    assert not [event for event in run.diary.of("partition") if event["t"] <= departs + 1]


def test_the_holder_of_a_token_without_units_can_crash():
    """`crash: holder` finds it by its token; node 0, which uses all units, goes on."""
    run = ring({"at": 20.0, "kind": "crash", "holder": True})
    (crash,) = run.diary.of("crash")
    assert crash["node"] != 0
    assert (crash["units"], crash["tokens"]) == (0, 1)
    assert run.details["conservation"] == "2 of 2 units kept, 0 of 1 token, 0 units and 1 token lost to injected faults"


def test_a_request_that_could_have_been_served_is_not_excused():
    """With the token in its component, a request pending at the end of `drain` is starvation."""
    run = simulate(workload={"rate": 1.0, "cs_time": 50.0}, drain=10.0)
    assert run.verdicts["starvation"] == "failed"
    assert run.verdicts["safety"] == run.verdicts["conservation"] == "ok"


def test_a_lone_node_serves_itself():
    """One node, no links."""
    run = simulate(nodes=1, topology="complete")
    assert run.verdicts == ALL_OK
    assert run.audit.metrics()["messages_per_cs"] == 0


def test_warmup_is_left_out_of_the_metrics():
    """What happens before `warmup` is run and judged, but not measured."""
    whole, later = simulate(), simulate(warmup=200.0)
    assert whole.diary.of("enter") == later.diary.of("enter")
    counted = later.audit.metrics()["entries"]
    assert counted == sum(event["t"] >= 200 for event in later.diary.of("enter")) < whole.audit.metrics()["entries"]


class Deaf(ReverseLink):
    """Takes requests and does nothing about them."""

    def on_request(self, demand) -> None:
        self.status = WAITING
        self.set_timer("again", 10**9)  # never silent, so that the run does not end for want of events

    def on_timer(self, name: str) -> None:
        self.set_timer("again", 10**9)


def test_entries_that_never_come_end_a_run():
    """With `entries` and no entry for as long as `drain` allows, the run ends, and says starvation."""
    with registered(Deaf):
        run = simulate(entries=50, drain=200.0)
    assert run.diary.events[-1]["reason"] == "no entry for as long as drain allows"
    assert run.diary.events[-1]["t"] <= 400
    assert run.verdicts["starvation"] == "failed"


def test_a_run_that_ends_before_its_warmup_has_measured_nothing():
    """On line as from the log."""
    metrics = simulate(entries=20, warmup=5000.0).audit.metrics()
    assert (metrics["entries"], metrics["messages"], metrics["words_per_message"]) == (0, {}, None)
