"""What a node of KLME knows, and what its leader does with the token (`agents.klme` has the events)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agents.contract import CRITICAL, REMAINDER, TICKS, WAITING, MultipleEntries
from agents.groups import Member
from agents.klme_messages import LeaderInfo, PerGrant, ReqAck, Request, Token, maker
from agents.visits import VisitingAgent


@dataclass(frozen=True)
class KLMEParameters(MultipleEntries):
    """`leader`: the initial leader of its group; by default, and in other groups, the first member.

    `ack`: when Req_ack is sent, `always` (event C) or for `queued` requests only (section 3.1). `recover`: section 7.
    `retry`, `retransmit`: after how many time units a node repeats itself that waits for an answer (deviation 7).
    """

    leader: int | None = None
    ack: Literal["always", "queued"] = "always"
    recover: bool = True
    retry: float = 1.0
    retransmit: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("retry", "retransmit"):
            if not 1e-6 <= getattr(self, name) <= 1e9:
                raise ValueError(f"{name} from 1e-06 to 1e+09 time units")

    def check(self, nodes: int) -> None:
        """Groups may have more units than nodes."""
        if self.leader is not None and not 0 <= self.leader < nodes:
            raise ValueError(f"leader a node of 0..{nodes - 1}")


@dataclass(frozen=True, slots=True)
class Sent:
    """A Token that was sent and is not acknowledged yet."""

    target: Member
    token: Token


class Leader(VisitingAgent):
    """The state of a node, and the procedures of the leader."""

    leaving: bool
    number: int  # RN
    acked: bool  # Req_ack
    leader: Member | None  # M_Th_id
    leader_number: int  # Node_leader_no; at the leader also Token_leader_no
    requests: dict[int, int]  # Node_req_list
    releases: dict[int, int]  # Node_release_list
    holds_token: bool  # M_T; what follows is that of the token
    capacity_here: int  # K
    alloc: list[Request]  # T_alloc_id
    served: dict[int, int]  # T_req_list
    queue: list[Request]  # R_Queue
    accepted: int  # the leader number of the last token that was here
    sent: Sent | None  # the copy that section 7 keeps
    missed: tuple[Member, int, int] | None  # the sender, number and attempt of a Token that is lost
    announced: tuple[int, int]  # number and attempt of the last Leader_info that named this node
    tries: int  # how often in a row this node has repeated itself
    is_depositing: bool

    def __init__(self, node: int, parameters: KLMEParameters) -> None:
        super().__init__(node)
        self.parameter = parameters
        self.forget_group()

    def forget_group(self) -> None:
        """Know nothing, as between two groups."""
        self.end_visit()
        self.leaving = self.holds_token = self.acked = self.is_depositing = False
        self.number = self.leader_number = self.accepted = self.capacity_here = self.tries = 0
        self.leader = self.sent = self.missed = None
        self.requests, self.releases = {}, {}
        self.alloc, self.served, self.queue = [], {}, []
        self.announced = (0, 0)

    @property
    def units(self) -> int:
        """All units of the neighbourhood at its leader, those in use by others included."""
        return self.capacity_here if self.holds_token else 0

    @property
    def tokens(self) -> int:
        """1 at the leader."""
        return int(self.holds_token)

    @property
    def free(self) -> int:
        """Kfree, at the leader."""
        return self.capacity_here - len(self.alloc)

    # -- the token ---------------------------------------------------------------------------------------------------

    def hold(self, token: Token) -> None:
        """Become the leader."""
        self.holds_token = True
        self.missed = None
        self.sent = None
        self.leader, self.leader_number = Member(self.node, self.visit), max(self.leader_number, token.number)
        self.accepted = self.leader_number
        self.capacity_here = token.units
        self.alloc, self.served, self.queue = list(token.alloc), dict(token.requests), list(token.queue)

    def merge(self) -> None:
        """H: take into account the requests and releases that came while the token was elsewhere."""
        self.drop_departed()
        for request in sorted(self.requests.items()):
            if self.served.get(request[0], -1) < request[1]:
                self.enqueue(request)
        self.alloc = [one for one in self.alloc if self.releases.get(one[0], -1) < one[1]]
        self.releases.clear()
        own = (self.node, self.number)
        self.alloc = [one for one in self.alloc if one[0] != self.node or (one == own and self.uses(one[1]))]
        self.queue = [one for one in self.queue if one[0] != self.node]
        if self.status is WAITING:
            self.alloc = [one for one in self.alloc if one != own]  # granted: it enters now, before the grant arrives
            self.queue.insert(0, own)
            self.served[self.node] = self.number

    def accept(self, request: Request) -> None:
        """C, at the leader: a request has arrived."""
        node, number = request
        member = maker(request)
        if self.is_gone(member):
            return
        if self.served.get(node, -1) >= number:
            if request in self.queue:
                self.tell(member, ReqAck, number)  # it came with the Token, and its node does not know that
            return
        self.enqueue(request)
        if self.parameter.ack == "always":
            self.tell(member, ReqAck, number)
        self.serve()
        if self.parameter.ack == "queued" and request in self.queue:
            self.tell(member, ReqAck, number)

    def enqueue(self, request: Request) -> None:
        """Append a new request; the unit of an older one of the same node is free."""
        self.alloc = [one for one in self.alloc if one[0] != request[0]]
        self.queue = [one for one in self.queue if one[0] != request[0]]
        self.queue.append(request)
        self.served[request[0]] = request[1]
        self.note(self.requests, request)

    def serve(self) -> None:
        """Give what is free to the front of the queue: units while the leader is inside, else the token."""
        if not self.holds_token:
            return
        if self.leaving:
            self.hand_over()
            return
        while self.free > 0 and (request := self.next_request()) is not None:
            node, number = request
            self.queue.remove(request)
            if self.status is REMAINDER:
                self.transfer(maker(request))
                return
            self.alloc.append(request)
            if node == self.node:
                self.status, self.acked = CRITICAL, True
                self.enter()
            else:
                self.tell(maker(request), PerGrant, number, self.leader_number)

    def next_request(self) -> Request | None:
        """The first request in the queue of a node that is known to be there."""
        return next((one for one in self.queue if one[0] == self.node or self.is_here(maker(one))), None)

    def transfer(self, target: Member) -> None:
        """Pass the token on: Token first, then Leader_info to all."""
        assert self.group is not None
        self.leader_number += 1
        served = tuple(sorted(self.served.items()))
        alloc, queue = tuple(self.alloc), tuple(self.queue)
        token = Token(self.group, self.visit, target.visit, alloc, served, self.free, queue, self.leader_number, 0)
        self.send(target.node, token)
        sent = Sent(target, token)
        self.tell_members(LeaderInfo, *self.announcement(sent))
        self.drop_token()
        self.leader = target
        if self.parameter.recover:
            self.sent = sent
            self.set_timer("retransmit", round(self.parameter.retransmit * TICKS))

    def announcement(self, sent: Sent) -> tuple[int, tuple[Request, ...], int, int, int]:
        """What Leader_info says of a transfer."""
        target, token = sent.target, sent.token
        return target.node, token.alloc, token.number, target.visit, token.attempt

    def drop_token(self) -> None:
        """Be the leader no longer."""
        self.holds_token = False
        self.alloc, self.served, self.queue = [], {}, []

    def hand_over(self) -> None:
        """The leader is leaving: pass the token on."""
        raise NotImplementedError

    def drop_departed(self) -> None:
        """Delete visits that are over from the token."""
        self.alloc = [one for one in self.alloc if not self.is_gone(maker(one))]
        self.queue = [one for one in self.queue if not self.is_gone(maker(one))]
        self.served = dict(one for one in self.served.items() if not self.is_gone(maker(one)))

    def uses(self, number: int) -> bool:
        """Whether this node is inside by a request, or waits for it to be granted."""
        return self.status is not REMAINDER and number == self.number

    def note(self, known: dict[int, int], request: Request) -> None:
        """Keep the latest number of a node."""
        known[request[0]] = max(request[1], known.get(request[0], -1))
