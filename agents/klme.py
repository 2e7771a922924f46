"""KLME: k-local mutual exclusion, k units in every neighbourhood, shared out by a leader that holds the token.

The k-Local Mutual Exclusion Problem in Mobile Ad Hoc Networks, sections 3.4 (events A to L) and 7 (token loss). The
leader enters as it likes. While it is inside, it permits others (Per_grant) as long as units are free and queues the
rest; when it leaves, it passes the token to the front of the queue. An idle leader passes the token to the first node
that asks. The token lists the allocations; Leader_info repeats the list, so that a node whose Release went to an old
leader sends it again. Assumes reliable FIFO delivery between the members of a neighbourhood, and announced departures.

Section 7 (`recover`): the receiver of a Token acknowledges it, the sender keeps a copy until then. A Token is lost
if its receiver says so (Leader_info came, and by FIFO the Token should have come before it) or leaves without having
acknowledged. Then the sender makes it anew from its copy.

Deviations. Without them fail (tests/agents/test_klme_defects.py): S26, the schedule with seed 26 on its stage; R8, the
run with seed 8 of tests/agents/klme_runs.py; built, a run built there.

1. A: the leader is replaced only by newer Leader_info; the text overwrites it before the test (S26).
2. Kfree is derived from the allocations: an idle leader's own entry stays in F and is freed twice by G (R8, built). G
   takes the request that it grants off the queue (R0, built).
3. Token goes before Leader_info (C has them in the other order, which section 7 takes for a loss; R0), carries its
   leader number (S5), and each number is accepted once (a precaution, as long as links are FIFO). Grants and
   acknowledgements carry the request's number (both built). A grant carries the leader number as well, so that the
   Release goes to that leader or a later one, even if its Leader_info is still on its way (S83).
4. A leader that leaves hands the token over whatever its state, not only from its CS (I; S0, R0), and stays until it
   has the Token_ack (S0, R0). Nodes that are inside get it only if all are (S2, R0). The last node leaves the token at
   the place (S0, R0).
5. Visits are numbered, and what belongs to a visit that is over is ignored (built): a node keeps the visits that have
   ended since its arrival (S214), and of earlier ones it knows those that were there when it arrived. It serves a
   request only of a node that it knows to be there.
6. I_am_leaving carries no lists: requests that are passed on that way outlive the nodes that made them (S23, R9, both
   with strangers served). They are repeated to the next leader anyway, and so are releases.
7. A token made anew announces itself by Leader_info (built). I_am_here is answered also by a node that has just passed
   the token on (built, without `retry`). A lost Token is sent again with a new attempt number, followed by Leader_info
   to its receiver alone, so that its loss is detected again (S4 with losses, without `retransmit`). In case other
   messages are lost as well: after `retry` a node without leader or acknowledgement sends I_am_here once more, and a
   node without its Token sends Token_lost (built); after `retransmit` without Token_ack, Leader_info asks for it
   (built).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, Demand
from agents.groups import TO_MEMBERS, Group, Member
from agents.klme_leader import KLMEParameters, Leader, Sent
from agents.klme_messages import (
    IAmHere,
    IAmLeaving,
    LeaderInfo,
    PerGrant,
    Release,
    ReqAck,
    ReqCS,
    Token,
    TokenAck,
    TokenLost,
    first_number,
    maker,
    visit_of,
)
from agents.message import Message

MAX_DOUBLINGS = 6
"""Of the time after which a node repeats itself."""


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: its group and visit and the other members, or no group; the leader has the token."""

    group: int | None = None
    visit: int = 0
    members: tuple[Member, ...] = ()
    token: Token | None = None


class KLME(Leader):
    """One node of KLME."""

    messages = (LeaderInfo, IAmHere, ReqCS, Token, ReqAck, PerGrant, Release, IAmLeaving, TokenAck, TokenLost)
    handlers: ClassVar = {
        LeaderInfo: "on_leader_info",
        ReqCS: "on_req_cs",
        ReqAck: "on_req_ack",
        PerGrant: "on_per_grant",
        Release: "on_release_message",
        Token: "on_token",
        IAmLeaving: "on_i_am_leaving",
        IAmHere: "on_i_am_here",
        TokenAck: "on_token_ack",
        TokenLost: "on_token_lost",
    }
    parameters = KLMEParameters
    survives = ("cut",)
    summary = "k units in each neighbourhood, a leader with the token shares them out"

    def __init__(self, node: int, initial: Initial, parameters: KLMEParameters) -> None:
        super().__init__(node, parameters)
        if initial.group is not None:
            self.arrive(initial.group, initial.visit, initial.members)
        if initial.token is not None:  # GenerateToken
            self.hold(initial.token)
            self.tell_members(LeaderInfo, self.node, initial.token.alloc, self.leader_number, self.visit, 0)

    @classmethod
    def initial_in(cls, groups: Sequence[Group], nodes: int, parameters: KLMEParameters) -> list[Initial]:
        """Initialization: the leader of every group has its token."""
        starts = [Initial()] * nodes
        for group in groups:
            leaders = [one for one in group.members if one.node == parameters.leader]
            leader = next(iter((*leaders, *group.members)), None)
            for one in group.members:
                others = tuple(other for other in group.members if other != one)
                token = cls.first_deposit(group, parameters) if one == leader else None
                starts[one.node] = Initial(group.number, one.visit, others, token)
        return starts

    @classmethod
    def first_deposit(cls, group: Group, parameters: KLMEParameters) -> Token:
        """GenerateToken: all units are free; Token_leader_no = 1."""
        return Token(group.number, TO_MEMBERS, TO_MEMBERS, (), (), group.capacity, (), 1, 0)

    @classmethod
    def blank(cls, node: int, initial: Initial, parameters: Any) -> Initial:
        """A node that restarts is in no group until it joins one."""
        return Initial()

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: KLMEParameters, rng: Random) -> Self:
        """The algorithm draws no random numbers."""
        return cls(node, initial, parameters)

    # -- A to L ------------------------------------------------------------------------------------------------------

    def on_leader_info(self, peer: int, message: LeaderInfo) -> None:
        """A. Leader_info(j, T_alloc_id, Token_leader_no)."""
        leader = Member(message.leader, message.leader_visit)
        if leader == Member(self.node, self.visit):
            self.on_named_leader(Member(peer, message.visit), message)
        elif message.number > self.leader_number:
            self.leader_number = message.number
            if leader.node == self.node:  # in a visit that is over: the token will be made anew
                self.leader = None
                return
            self.leader = leader
            for node, number in message.alloc:
                if node == self.node and visit_of(number) == self.visit and not self.uses(number):
                    self.tell(leader, Release, self.node, number)
            if self.status is WAITING and not self.acked:
                self.tell(leader, ReqCS, self.node, self.number)
            if self.sent is not None and message.number > self.sent.token.number:  # so it has arrived
                self.sent = None
                self.depart_if_done()

    def on_request(self, demand: Demand) -> None:
        """B. The node requests. Between two groups it waits for its arrival, and I_am_here carries the request."""
        self.require(REMAINDER, "request")
        self.tries = 0
        self.status, self.acked = WAITING, False
        if self.group is None:
            return
        self.number += 1
        if self.holds_token:
            self.queue.insert(0, (self.node, self.number))  # Kfree > 0 (section 5.1.1), or it is the next
            self.served[self.node] = self.number
            self.serve()
            return
        if self.leader is not None:
            self.tell(self.leader, ReqCS, self.node, self.number)
        self.repeat_later()

    def on_req_cs(self, peer: int, message: ReqCS) -> None:
        """C. Req_CS(j, RNj)."""
        if self.holds_token:
            self.accept((message.node, message.number))
        elif not self.is_gone(maker((message.node, message.number))):
            self.note(self.requests, (message.node, message.number))

    def on_req_ack(self, peer: int, message: ReqAck) -> None:
        """D. Req_ack()."""
        self.acked |= message.number == self.number

    def on_per_grant(self, peer: int, message: PerGrant) -> None:
        """E. Per_grant()."""
        if self.status is WAITING and message.number == self.number:
            if message.leader_number > self.leader_number:
                self.leader, self.leader_number = Member(peer, message.visit), message.leader_number
            self.status = CRITICAL
            self.enter()

    def on_release(self) -> None:
        """F. The node leaves its CS."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        if self.holds_token:
            self.alloc.remove((self.node, self.number))
            self.serve()
        elif self.leader is not None:
            self.tell(self.leader, Release, self.node, self.number)

    def on_release_message(self, peer: int, message: Release) -> None:
        """G. Release(j, RNj)."""
        request = (message.node, message.number)
        if not self.holds_token:
            self.note(self.releases, request)
        elif request in self.alloc:
            self.alloc.remove(request)
            self.serve()

    def on_token(self, peer: int, message: Token) -> None:
        """H. Token(T_alloc_id, T_req_list, Kfree, R_Queue)."""
        if message.number <= self.accepted:  # each leader number once
            return
        if self.parameter.recover:
            self.tell(Member(peer, message.visit), TokenAck, message.number)
        self.hold(message)
        self.merge()
        self.serve()

    def on_leaving(self, group: int) -> None:
        """I. The node is about to leave."""
        self.leaving = True
        request = (self.node, self.number)
        if self.status is CRITICAL:
            self.evict()
            if self.holds_token:
                self.alloc.remove(request)
            elif self.leader is not None:
                self.tell(self.leader, Release, *request)
        self.status = REMAINDER
        if self.holds_token:
            self.hand_over()
        else:
            self.depart_if_done()

    def on_i_am_leaving(self, peer: int, message: IAmLeaving) -> None:
        """J. I_am_leaving(j)."""
        self.forget(Member(peer, message.visit))

    def on_join(self, group: int, visit: int, members: tuple[Member, ...], deposit: Message | None) -> None:
        """K. The node enters a neighbourhood."""
        self.arrive(group, visit, members)
        if deposit is not None:
            assert isinstance(deposit, Token)
            self.hold(deposit)
            self.merge()
            self.serve()
        else:
            self.tell_members(IAmHere, self.number if self.status is WAITING else 0)
            self.repeat_later()

    def on_i_am_here(self, peer: int, message: IAmHere) -> None:
        """L. I_am_here(j, statej)."""
        member = Member(peer, message.visit)
        if self.departed.get(peer, -1) >= message.visit:
            return
        if self.present.get(peer, message.visit) < message.visit:
            self.forget(Member(peer, self.present[peer]))
        self.present[peer] = message.visit
        if self.holds_token:
            self.tell(member, LeaderInfo, self.node, tuple(self.alloc), self.leader_number, self.visit, 0)
            if message.request:
                self.accept((peer, message.request))
            self.serve()
            return
        if message.request:
            self.note(self.requests, (peer, message.request))
        if self.sent is not None:
            self.tell(member, LeaderInfo, *self.announcement(self.sent))

    def on_left(self, group: int) -> None:
        """The node has left: it deletes all local information (I)."""
        self.status = REMAINDER
        self.forget_group()
        self.cancel_timer("retry")
        self.cancel_timer("retransmit")

    # -- section 7 ---------------------------------------------------------------------------------------------------

    def on_named_leader(self, peer: Member, message: LeaderInfo) -> None:
        """Leader_info says that this node is the leader: by FIFO, the Token should have come before it."""
        if not self.parameter.recover:
            return
        is_missed_again = self.missed is not None and message.number == self.leader_number
        if message.number > self.leader_number or is_missed_again:
            self.leader_number = message.number
            self.leader = None
            self.missed = (peer, message.number, message.attempt)
            self.tell(peer, TokenLost, message.number, message.attempt)
            self.repeat_later()
        elif (message.number, message.attempt) == self.announced:  # asked again: the Token_ack has not arrived
            self.tell(peer, TokenAck, message.number)
        self.announced = (message.number, message.attempt)

    def on_token_ack(self, peer: int, message: TokenAck) -> None:
        """The Token has arrived; its copy is no longer needed."""
        if self.sent is not None and self.sent.token.number == message.number:
            self.sent = None
            self.cancel_timer("retransmit")
            self.depart_if_done()

    def on_token_lost(self, peer: int, message: TokenLost) -> None:
        """The Token is lost: make it anew and send it again."""
        sent = self.sent
        if sent is None or sent.target != Member(peer, message.visit):
            return
        if (sent.token.number, sent.token.attempt) == (message.number, message.attempt):
            self.regenerate(sent.token.units)
            self.sent = Sent(sent.target, replace(sent.token, attempt=message.attempt + 1))
            self.send(peer, self.sent.token)
            self.tell(sent.target, LeaderInfo, *self.announcement(self.sent))

    def regain(self, sent: Sent) -> None:
        """The receiver of the Token has left without it: make it anew, and be the leader again."""
        self.sent = None
        self.cancel_timer("retransmit")
        self.regenerate(sent.token.units)
        self.hold(replace(sent.token, number=sent.token.number + 1))
        self.merge()
        if not self.leaving:
            self.tell_members(LeaderInfo, self.node, tuple(self.alloc), self.leader_number, self.visit, 0)
        self.serve()

    def on_timer(self, name: str) -> None:
        """An answer has not come for some time."""
        if name == "retransmit":
            if self.sent is not None:
                self.tell(self.sent.target, LeaderInfo, *self.announcement(self.sent))
                self.set_timer("retransmit", round(self.parameter.retransmit * TICKS))
        elif self.missed is not None:
            peer, number, attempt = self.missed
            self.tell(peer, TokenLost, number, attempt)
            self.repeat_later()
        elif not self.leaving and (self.leader is None or (self.status is WAITING and not self.acked)):
            self.tell_members(IAmHere, self.number if self.status is WAITING else 0)
            self.repeat_later()

    def repeat_later(self) -> None:
        """Look after some time whether the answer has come; every time after twice as long as before."""
        if self.parameter.recover:
            self.set_timer("retry", round(self.parameter.retry * TICKS) << min(self.tries, MAX_DOUBLINGS))
            self.tries += 1

    # -- arriving and leaving ----------------------------------------------------------------------------------------

    def arrive(self, group: int, visit: int, members: tuple[Member, ...]) -> None:
        """Begin a visit; a request that the node brings along is its first there."""
        self.begin_visit(group, visit, members)
        self.number = first_number(visit) + (self.status is WAITING)

    def hand_over(self) -> None:
        """I: the leader leaves. The token goes to a node that asks, else to the lowest one that is not inside."""
        request = next((one for one in self.queue if self.is_here(maker(one))), None)
        if request is not None:
            self.queue.remove(request)
            self.transfer(maker(request))
        elif self.present:
            inside = {node for node, _ in self.alloc}
            node = min(self.present, key=lambda one: (one in inside, one))
            self.transfer(Member(node, self.present[node]))
        else:
            self.put_down()
            return
        self.depart_if_done()

    def put_down(self) -> None:
        """The last node leaves the token at the place."""
        assert self.group is not None
        served = tuple(sorted(self.served.items()))
        number, queue = self.leader_number + 1, tuple(self.queue)
        everyone = (TO_MEMBERS, TO_MEMBERS)
        token = Token(self.group, *everyone, tuple(self.alloc), served, self.free, queue, number, 0)
        self.drop_token()
        self.is_depositing = True
        self.deposit(self.group, token)

    def on_return(self, peer: int, message: Message) -> None:
        """The place refuses the token: another node has arrived, whose I_am_here is on its way."""
        assert isinstance(message, Token)
        self.is_depositing = False
        self.hold(message)
        self.merge()
        if self.present:
            self.hand_over()

    def depart_if_done(self) -> None:
        """I: a node that has handed over all it had announces that it leaves."""
        is_done = not self.holds_token and not self.is_depositing and self.sent is None
        if self.leaving and is_done and self.group is not None:
            self.tell_members(IAmLeaving)
            self.ready_to_leave(self.group)

    def forget(self, member: Member) -> None:
        """J: a visit is over. Delete it from all lists; if it was to get the token, that is lost."""
        self.note_departure(member)
        for known in (self.requests, self.releases):
            if visit_of(known.get(member.node, first_number(member.visit + 1))) <= member.visit:
                del known[member.node]
        if self.holds_token:
            self.drop_departed()
            self.serve()
        elif self.sent is not None and self.sent.target == member:
            self.regain(self.sent)
