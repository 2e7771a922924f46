"""KLME: the claims of the paper, its illustration (Table 1), and what its texts say of leaving and of lost tokens."""

from collections import Counter
from dataclasses import dataclass

import pytest

from agents.contract import CRITICAL, ONE_UNIT, REMAINDER, WAITING
from agents.errors import MisuseError
from agents.groups import Group, Member
from agents.klme import KLME
from agents.klme_leader import KLMEParameters
from agents.klme_messages import (
    REQUESTS_PER_VISIT,
    IAmLeaving,
    LeaderInfo,
    PerGrant,
    Release,
    ReqAck,
    ReqCS,
    Request,
    Token,
    TokenAck,
    TokenLost,
)
from tests.agents.klme_stage import KLMEStage


def started(nodes: int, **parameters) -> KLMEStage:
    """One neighbourhood, whose nodes know their leader; nothing has been sent since."""
    stage = KLMEStage([range(nodes)], **parameters)
    stage.deliver_all()
    stage.log.clear()
    return stage


def simple(requests: list[Request]) -> list[Request]:
    """Requests as the paper numbers them: without their visits."""
    return [(node, number % REQUESTS_PER_VISIT) for node, number in requests]


# -- initialisation and Table 1 ----------------------------------------------------------------------------------------


def test_the_initial_leader_is_a_parameter():
    """GenerateToken: an arbitrary node. A group without that node starts with its first member."""
    groups = [Group(0, 2, (Member(3, 0), Member(1, 1))), Group(1, 2, (Member(4, 0), Member(0, 1))), Group(2, 2)]
    for leader, leaders in ((None, {3, 4}), (1, {1, 4}), (0, {3, 0}), (2, {3, 4})):
        starts = KLME.initial_in(groups, 5, KLMEParameters(leader=leader))
        assert {node for node, start in enumerate(starts) if start.token is not None} == leaders
        assert starts[2].group is None


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [({"k": 0}, "k at least 1"), ({"retry": 0.0}, "retry from 1e-06"), ({"retransmit": -1.0}, "retransmit from 1e-06")],
)
def test_parameters_that_can_never_be_right(wrong, allowed):
    """Refused with what is allowed."""
    with pytest.raises(ValueError, match=allowed):
        KLMEParameters(**wrong)


def test_a_leader_that_does_not_exist():
    """Refused for the size of the network; k may be greater than that, since groups are places."""
    KLMEParameters(k=9, leader=3).check(4)
    with pytest.raises(ValueError, match=r"leader a node of 0\.\.3"):
        KLMEParameters(leader=4).check(4)


@dataclass
class Row:
    """A row of Table 1 as the paper prints it. `unknown`: the cells of Node_Req_List that no message fills."""

    queue: list[int]
    alloc: list[tuple[int, int]]
    states: dict[int, str]
    leader: int
    lists: dict[int, str]
    free: int
    unknown: str = ""


R4, R5 = dict.fromkeys((1, 2, 3, 4), "R"), dict.fromkeys((1, 2, 3, 4, 5), "R")
LEFT = dict.fromkeys((1, 2, 3, 5), "R")
TABLE_1 = {
    "a": Row([], [], R4, 2, dict.fromkeys((1, 2, 3, 4), "0000"), 2),
    "b": Row([], [(3, 1)], R4 | {3: "CS"}, 3, dict.fromkeys((1, 2, 3, 4), "0010"), 1, "1.3 4.3"),
    "c": Row(
        [],
        [(3, 1), (4, 1)],
        R4 | {3: "CS", 4: "CS"},
        3,
        {1: "0010", 2: "0010", 3: "0011", 4: "0011"},
        0,
        "1.3 4.3",
    ),
    "d": Row(
        [],
        [(3, 1), (4, 1)],
        R5 | {3: "CS", 4: "CS"},
        3,
        {1: "00100", 2: "00100", 3: "00110", 4: "00110", 5: "00110"},
        0,
        "1.3 4.3 5.3 5.4",
    ),
    "e": Row(
        [],
        [(3, 1)],
        R5 | {3: "CS"},
        3,
        {1: "00100", 2: "00100", 3: "00110", 4: "00110", 5: "00110"},
        1,
        "1.3 4.3 5.3 5.4",
    ),
    "f": Row([], [(3, 1)], LEFT | {3: "CS"}, 3, dict.fromkeys((1, 2, 3, 5), "0010"), 1, "1.3 5.3"),
    "g": Row([], [(1, 1)], LEFT | {1: "CS"}, 1, dict.fromkeys((1, 2, 3, 5), "1010"), 1, "2.1 5.1 5.3"),
    "h": Row(
        [2],
        [(1, 1), (5, 1)],
        LEFT | {1: "CS", 2: "W", 5: "CS"},
        1,
        {1: "1111", 2: "1110", 3: "1010", 5: "1011"},
        0,
        "2.1 5.1 5.3",
    ),
}


def test_table_1():
    """Section 3.5, step by step; the paper's node i is i - 1 here.

    Everything comes out as printed but some cells of Node_Req_List (row i, column j: i.j), in which nodes know of
    requests that no message tells them. From b on 1.3 and 4.3: the request of node 3 goes to node 2 and comes back in
    the Token. From d on 5.3 and 5.4: node 5 gets Leader_info, which lists no requests. From g on 2.1 and 5.1: the
    request of node 1 goes to node 3 and comes back in the Token, with which node 1 learns of 1.3.
    """
    stage = KLMEStage([range(4)], nodes=5, k=2, leader=1)
    steps = {
        "a": lambda: None,
        "b": lambda: stage.request(2),
        "c": lambda: stage.request(3),
        "d": lambda: stage.join(4),
        "e": lambda: stage.release(3),
        "f": lambda: stage.leave(3),
        "g": lambda: (stage.release(2), stage.request(0)),
        "h": lambda: (stage.request(4), stage.deliver_all(), stage.request(1)),
    }
    for name, step in steps.items():
        step()
        stage.deliver_all()
        stage.check()
        assert row_of(stage, TABLE_1[name]) == TABLE_1[name], f"event {name}"


def row_of(stage: KLMEStage, printed: Row) -> Row:
    """What the nodes have; Node_Req_List as printed, and which of its cells are in truth 0."""
    leader = stage.leader()
    nodes = sorted(stage.places[0].visits)
    lists = {node: {other: requests_at(stage.agents[node], other) for other in nodes} for node in nodes}
    cells = {
        (node, other): int(digit) for node in nodes for other, digit in zip(nodes, printed.lists[node + 1], strict=True)
    }
    unknown = [(node, other) for (node, other), digit in cells.items() if digit > lists[node][other]]
    for node, other in unknown:
        lists[node][other] = 1
    (named,) = {stage.agents[node].leader for node in nodes}
    letter = {REMAINDER: "R", WAITING: "W", CRITICAL: "CS"}
    return Row(
        [node + 1 for node, _ in leader.queue],
        [(node + 1, number) for node, number in simple(leader.alloc)],
        {node + 1: letter[stage.agents[node].status] for node in nodes},
        named.node + 1,
        {node + 1: "".join(map(str, known.values())) for node, known in lists.items()},
        leader.free,
        " ".join(f"{node + 1}.{other + 1}" for node, other in unknown),
    )


def requests_at(agent: KLME, other: int) -> int:
    """The number of a node's last request in Node_Req_List; a node's own request is RN, and the leader has the
    token's list as well.
    """
    number = agent.number if other == agent.node else max(agent.requests.get(other, 0), agent.served.get(other, 0))
    return number % REQUESTS_PER_VISIT


# -- section 5 ---------------------------------------------------------------------------------------------------------


def test_the_token_holder_sends_no_message():
    """5.1.1: it enters directly, as Kfree is positive."""
    stage = started(4)
    stage.request(0)
    assert stage.inside == {0}
    stage.release(0)
    assert not stage.log


@pytest.mark.parametrize(("ack", "messages"), [("queued", 3), ("always", 4)])
def test_the_best_case(ack, messages):
    """5.1.2: request, grant and release, as in section 3.1. Event C acknowledges every request, which makes four."""
    stage = started(4, ack=ack)
    stage.request(0)
    stage.request(3)
    stage.deliver_all()
    assert stage.inside == {0, 3}
    stage.release(3)
    stage.deliver_all()
    assert stage.sent() == Counter(ReqCS=1, PerGrant=1, Release=1, ReqAck=messages - 3)


def chase(nodes: int, rounds: int) -> KLMEStage:
    """The request of the last node reaches every leader too late, for so many rounds: each has passed the token on.

    The other nodes pass the token on in a circle. Only at the end do the requests arrive, when the leader is in its CS
    and a unit is free.
    """
    stage = started(nodes, k=2)
    last, leader = nodes - 1, 0
    stage.request(last)
    for _ in range(rounds):
        following = (leader + 1) % last
        stage.request(following)
        stage.deliver(following, leader)
        for other in {*range(nodes)} - {leader}:
            while stage.channels[leader, other]:
                stage.deliver(leader, other)
        stage.deliver_kind(TokenAck, following, leader)
        stage.release(following)
        leader = following
    stage.request(leader)
    stage.deliver_all()
    return stage


def cost(stage: KLMEStage, node: int) -> Counter[str]:
    """The messages of a node's request: those that it sends, the answers to it, and its Release."""
    asked = [message for source, _, message in stage.log if source == node and isinstance(message, ReqCS | Release)]
    answers = [message for _, target, message in stage.log if target == node and isinstance(message, ReqAck | PerGrant)]
    return Counter(type(message).__name__ for message in asked + answers)


def test_the_worst_case():
    """5.1.3: n - 1 requests, one to each other node, an acknowledgement, a grant and a release: n + 2."""
    nodes = 6
    stage = chase(nodes, rounds=nodes - 2)
    assert nodes - 1 in stage.inside
    stage.release(nodes - 1)
    assert cost(stage, nodes - 1) == Counter(ReqCS=nodes - 1, ReqAck=1, PerGrant=1, Release=1)


def test_the_worst_case_is_worse_if_messages_are_slow():
    """5.1.3 says that a request is repeated at most n - 1 times. That holds if it arrives before the token has been
    everywhere: a leader that has it stored serves it when the token comes back. Else there is no bound.
    """
    nodes = 6
    stage = chase(nodes, rounds=20)
    assert cost(stage, nodes - 1) == Counter(ReqCS=21, ReqAck=1, PerGrant=1)


def test_the_response_time_of_an_idle_token():
    """5.2: 2T, a request and the token."""
    stage = started(3)
    stage.request(2)
    stage.deliver_round()
    assert not stage.inside
    stage.deliver_round()
    assert stage.inside == {2}
    assert stage.leader().node == 2


@pytest.mark.parametrize(("leaves", "rounds"), [(0, 1), (1, 2)])
def test_the_synchronization_delay(leaves, rounds):
    """5.3: T if the leader leaves, which passes the token on; 2T if another node does, a release and a grant."""
    stage = started(3, k=2)
    for node in range(3):
        stage.request(node)
        stage.deliver_all()
    assert stage.inside == {0, 1}
    stage.release(leaves)
    for _ in range(rounds):
        assert len(stage.inside) == 1
        stage.deliver_round()
    assert stage.inside == {1 - leaves, 2}


# -- section 4 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stays", [0, 1])
def test_l_deadlock_avoidance(stays):
    """Theorem 3, k = 2: a node never leaves its CS, the leader or another, and all others are served all the same."""
    stage = started(5, k=2)
    stage.request(0)
    if stays != 0:
        stage.request(stays)
        stage.deliver_all()
        stage.release(0)
    others = [node for node in range(5) if node != stays]
    for _ in range(3):
        stage.request(*others)
        assert stage.rest(stays) == []
        assert stage.inside == {stays}
    assert stage.entries >= 1 + 3 * len(others)


def test_lemma_3_a_request_that_came_too_late_is_kept():
    """It is stored where the token was, and served when that comes back, even if it is not repeated."""
    stage = started(3, k=1)
    stage.request(1)
    stage.request(2)
    stage.deliver(1, 0)
    stage.deliver(2, 0)
    assert stage.agents[0].requests.keys() == {1, 2}
    stage.deliver_kind(Token, 0, 1)
    stage.release(1)
    stage.deliver_kind(TokenAck, 1, 0)
    stage.request(0)
    stage.deliver_kind(ReqCS, 0, 1)
    stage.deliver_kind(Token, 1, 0)
    assert simple(stage.agents[0].queue) == [(2, 1)]
    stage.release(0)
    stage.deliver_kind(Token, 0, 2)
    assert stage.inside == {2}


def passed_on_before_the_release() -> KLMEStage:
    """Node 1 has left its CS, and its Release is on its way to node 0, which has passed the token on to node 2."""
    stage = started(4, k=2)
    for node in range(3):
        stage.request(node)
        stage.deliver_all()
    stage.release(0)
    stage.release(1)
    stage.deliver(1, 0)
    stage.deliver(0, 2)
    assert stage.inside == {2}
    assert simple(stage.leader().alloc) == [(1, 1), (2, 1)]
    return stage


def test_lemma_4_a_release_is_sent_again():
    """Leader_info lists the allocations: a node that is not inside any more tells the new leader."""
    stage = passed_on_before_the_release()
    stage.deliver_kind(LeaderInfo, 0, 1)
    stage.deliver_kind(Release, 1, 2)
    assert simple(stage.leader().alloc) == [(2, 1)]


def test_lemma_4_a_release_that_came_too_late_is_kept():
    """It is stored where the token was, and counts when that comes back."""
    stage = passed_on_before_the_release()
    stage.deliver_kind(TokenAck, 2, 0)
    stage.deliver_kind(LeaderInfo, 0, 2)
    stage.request(0)
    stage.deliver(0, 2)
    stage.release(2)
    stage.deliver_kind(Token, 2, 0)
    assert simple(stage.agents[0].alloc) == [(0, 2)]


# -- leaving and arriving (events I to L) ------------------------------------------------------------------------------


def test_a_leader_that_leaves_passes_the_token_to_the_front_of_the_queue():
    """I: from its CS, which it leaves. Its unit is free."""
    stage = started(4, k=1)
    for node in (0, 3, 1):
        stage.request(node)
        stage.deliver_all()
    stage.leave(0)
    stage.deliver_all()
    assert stage.inside == {3}
    assert (simple(stage.leader().alloc), simple(stage.leader().queue)) == ([(3, 1)], [(1, 1)])
    assert stage.outside() == [0]


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_leader_that_leaves_with_an_empty_queue(is_inside):
    """I: the token goes to the lowest id that is not inside. So it does if the leader is idle (deviation 4)."""
    stage = started(4, k=3)
    stage.request(0)
    stage.request(1)
    stage.deliver_all()
    if not is_inside:
        stage.release(0)
    stage.leave(0)
    stage.deliver_all()
    assert stage.leader().node == 2
    assert stage.inside == {1}
    assert {agent.leader.node for agent in stage.agents.values() if agent.leader is not None} == {2}


def test_a_leader_that_leaves_while_all_others_are_inside():
    """The token goes to the lowest of them (deviation 4)."""
    stage = started(3, k=3)
    for node in range(3):
        stage.request(node)
        stage.deliver_all()
    stage.leave(0)
    stage.deliver_all()
    assert stage.leader().node == 1
    assert stage.inside == {1, 2}
    assert stage.rest() == []
    stage.check_at_rest()


def test_the_last_node_leaves_the_token_at_the_place():
    """Deviation 4; the next one to arrive is the leader, without a message."""
    stage = KLMEStage([[0]], nodes=2)
    stage.request(0)
    stage.leave(0)
    assert stage.tokens(0) == ["the place"]
    assert stage.outside() == [0, 1]
    stage.join(1)
    assert stage.leader().node == 1
    stage.request(1)
    assert stage.inside == {1}
    assert not stage.log


def test_a_token_that_the_place_refuses():
    """Another node has arrived, whose I_am_here is on its way: the leaver waits for it and hands the token over."""
    stage = KLMEStage([[0]], nodes=2)
    stage.join(1)
    stage.leave(0)
    assert stage.refusals == [0]
    assert (stage.tokens(0), stage.outside()) == (["node 0"], [])
    stage.deliver(1, 0)
    assert stage.tokens(0) == ["from 0 to 1"]
    stage.deliver_all()
    assert (stage.tokens(0), stage.outside()) == (["node 1"], [0])


def test_a_leaver_waits_for_its_token_ack():
    """Deviation 4: only it could make the token anew. A node that has no token leaves at once."""
    stage = started(3)
    stage.leave(2)
    assert stage.outside() == [2]
    stage.leave(0)
    stage.deliver_kind(Token, 0, 1)
    assert stage.outside() == [2]
    stage.deliver_kind(TokenAck, 1, 0)
    assert stage.outside() == [0, 2]


@pytest.mark.parametrize("leaver", [0, 1])
def test_a_node_that_leaves_in_its_cs(leaver):
    """I: leader or not, it is taken out of it, and enters the new neighbourhood waiting (L); its old unit is free."""
    stage = KLMEStage([[0, 1], [2]], k=2)
    stage.deliver_all()
    stage.request(0)
    stage.request(1)
    stage.deliver_all()
    stage.request(2)
    stage.leave(leaver)
    stage.deliver_all()
    assert stage.inside == {1 - leaver, 2}
    assert stage.leader().free == 1
    assert stage.outside() == [leaver]
    stage.join(leaver, 1)
    assert stage.agents[leaver].status is WAITING
    stage.deliver_all()
    assert stage.inside == {0, 1, 2}
    assert (stage.evictions, stage.leader(1).free) == (1, 0)


def test_what_belongs_to_a_leaver_is_deleted():
    """J: its request, its unit, and the Release that is on its way."""
    stage = started(4, k=2)
    for node in range(4):
        stage.request(node)
        stage.deliver_all()
    assert simple(stage.agents[0].queue) == [(2, 1), (3, 1)]
    stage.leave(2)
    stage.leave(1)
    stage.deliver_kind(IAmLeaving, 1, 0)
    stage.deliver(2, 0)
    assert simple(stage.agents[0].queue) == []
    assert simple(stage.agents[0].alloc) == [(0, 1), (3, 1)]
    assert stage.agents[0].present.keys() == {3}


# -- section 7 ---------------------------------------------------------------------------------------------------------


def test_the_receiver_of_the_token_leaves():
    """Detection by I_am_leaving. The token is made anew and goes to the front of the queue; that node leaves too, and
    with an empty queue the token is held.
    """
    stage = started(3, k=1)
    for node in range(3):
        stage.request(node)
        stage.deliver_all()
    stage.release(0)
    for losses, leaver in enumerate((1, 2), start=1):
        assert stage.tokens(0) == [f"from 0 to {leaver}"]
        stage.leave(leaver)
        assert stage.tokens(0) == []
        stage.deliver_kind(IAmLeaving, leaver, 0)
        assert stage.regenerated == losses
    assert stage.tokens(0) == ["node 0"]
    stage.request(0)
    assert stage.inside == {0}
    stage.deliver_all()
    assert stage.lost_tokens == 2


def test_the_token_is_lost_on_its_way():
    """Detection by Leader_info, before which the Token should have come; the Token is sent again, and lost again."""
    stage = started(3, ack="queued")
    stage.request(2)
    stage.deliver(2, 0)
    for losses in (1, 2, 3):
        assert stage.tokens(0) == ["from 0 to 2"]
        stage.lose(0, 2)
        stage.deliver_kind(LeaderInfo, 0, 2)
        stage.deliver_kind(TokenLost, 2, 0)
        assert stage.regenerated == losses
    stage.deliver_all()
    assert stage.inside == {2}
    assert (stage.lost_tokens, stage.regenerated) == (3, 3)
    assert stage.agents[0].sent is None


def test_token_lost_is_obeyed_once():
    """A repeated Token_lost of the same attempt does not make another token."""
    stage = started(2, ack="queued")
    stage.request(1)
    stage.deliver(1, 0)
    stage.lose(0, 1)
    stage.deliver_kind(LeaderInfo, 0, 1)
    stage.run_out(1, "retry")
    assert stage.sent()["TokenLost"] == 2
    stage.deliver_all()
    assert stage.regenerated == 1
    assert stage.inside == {1}


def test_without_recovery_a_lost_token_stays_lost():
    """`recover: false` is the algorithm without section 7: no Token_ack, no copy, no timer."""
    stage = started(3, recover=False, ack="queued")
    stage.request(2)
    stage.deliver_all()
    assert stage.inside == {2}
    assert stage.sent() == Counter(ReqCS=1, Token=1, LeaderInfo=2)
    stage.request(1)
    stage.deliver_all()
    stage.release(2)
    stage.release(1)
    stage.request(0)
    stage.deliver(0, 2)
    stage.lose(2, 0)
    assert stage.rest() == [0]
    assert (stage.tokens(0), stage.regenerated, stage.timers) == ([], 0, set())


# -- misuse ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("event", "status"), [("request", "WAITING"), ("release", "WAITING")])
def test_events_that_do_not_fit_are_refused(event, status):
    """And change nothing."""
    stage = started(2)
    stage.request(1)
    agent = stage.agents[1]
    before = agent.state()
    with pytest.raises(MisuseError, match=f"node 1: {event} while {status}"):
        agent.on_request(ONE_UNIT) if event == "request" else agent.on_release()
    assert agent.state() == before
