"""KLME as printed, deviation by deviation, and KLME with a line broken: what the tests must be able to tell from it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agents.contract import CRITICAL
from agents.groups import Member
from agents.klme import KLME
from agents.klme_leader import Sent
from agents.klme_messages import (
    IAmHere,
    IAmLeaving,
    LeaderInfo,
    PerGrant,
    Release,
    ReqAck,
    Request,
    Token,
    TokenLost,
)
from agents.outputs import BROADCAST, SEND, PackedOutput

# -- each deviation undone, the others kept ----------------------------------------------------------------------------


class OverwrittenLeader(KLME):
    """Deviation 1 undone: M_Th_id is what the last Leader_info says, however old it is."""

    def on_leader_info(self, peer: int, message: LeaderInfo) -> None:
        super().on_leader_info(peer, message)
        if not self.holds_token and message.leader != self.node:
            self.leader = Member(message.leader, message.leader_visit)


class KeptEntry(KLME):
    """Deviation 2 undone: an idle leader counts its unit as free (F), and its entry stays in T_alloc_id."""

    def on_release(self) -> None:
        keeps = self.holds_token and not self.queue
        own = (self.node, self.number)
        super().on_release()
        if keeps:
            self.alloc.append(own)
            self.capacity_here += 1


class UnrecordedGrant(KLME):
    """Deviation 2 undone: the request that G grants stays in the queue, and Kfree is as it was."""

    def on_release_message(self, peer: int, message: Release) -> None:
        request = (message.node, message.number)
        if not self.holds_token or request not in self.alloc:
            super().on_release_message(peer, message)
            return
        self.alloc.remove(request)
        if (front := self.next_request()) is not None:
            self.tell(Member(front[0], self.present[front[0]]), PerGrant, front[1], self.leader_number)


class InfoFirst(KLME):
    """Deviation 3 undone: Leader_info goes before the Token."""

    def transfer(self, target: Member) -> None:
        sent = len(self.outbox)
        super().transfer(target)
        (index,) = [
            n for n, output in enumerate(self.outbox) if n >= sent and output[0] is SEND and is_token(output[2])
        ]
        token = self.outbox.pop(index)
        after = next(n for n, output in enumerate(self.outbox) if n >= sent and output[0] is BROADCAST)
        self.outbox.insert(after + 1, token)


class NumberlessToken(KLME):
    """Deviation 3 undone: the Token does not say its leader number, which its receiver learns from Leader_info."""

    def on_token(self, peer: int, message: Token) -> None:
        known = self.leader_number
        super().on_token(peer, message)
        self.leader_number = known + (self.leader_number - message.number)

    def on_named_leader(self, peer: Member, message: LeaderInfo) -> None:
        if self.holds_token:
            self.leader_number = max(self.leader_number, message.number)
        elif message.number > self.accepted:
            super().on_named_leader(peer, message)


class AcceptedAgain(KLME):
    """Deviation 3 undone: a Token is accepted whatever its leader number."""

    def on_token(self, peer: int, message: Token) -> None:
        self.accepted = 0
        super().on_token(peer, message)


class InfoFirstAndAcceptedAgain(AcceptedAgain, InfoFirst):
    """Deviation 3 undone in both: Leader_info before the Token, and every Token is accepted."""


class AnyGrant(KLME):
    """Deviation 3 undone: Per_grant does not say for which request it is."""

    def on_per_grant(self, peer: int, message: PerGrant) -> None:
        super().on_per_grant(peer, replace(message, number=self.number))


class AnyAck(KLME):
    """Deviation 3 undone: Req_ack does not say for which request it is."""

    def on_req_ack(self, peer: int, message: ReqAck) -> None:
        self.acked = True


class UnknownGranter(KLME):
    """Deviation 3 undone: Per_grant does not say with which leader number it was given."""

    def on_per_grant(self, peer: int, message: PerGrant) -> None:
        super().on_per_grant(peer, replace(message, leader_number=0))


class KeepingLeaver(KLME):
    """Deviation 4 undone: a leader that leaves passes the token on only from its CS."""

    def on_leaving(self, group: int) -> None:
        if self.holds_token and self.status is not CRITICAL:
            self.leaving = True
            self.tell_members(IAmLeaving)
            self.ready_to_leave(group)
        else:
            super().on_leaving(group)


class HastyLeaver(KLME):
    """Deviation 4 undone: a leaver does not wait for its Token_ack."""

    def depart_if_done(self) -> None:
        if self.leaving:
            self.sent = None
        super().depart_if_done()


class ChoosyLeaver(KLME):
    """Deviation 4 undone: a leader that leaves takes the token along if no node asks and all are inside."""

    def hand_over(self) -> None:
        inside = {node for node, _ in self.alloc}
        if self.present and not self.queue and inside.issuperset(self.present):
            self.leave_with_token()
        else:
            super().hand_over()

    def leave_with_token(self) -> None:
        assert self.group is not None
        self.tell_members(IAmLeaving)
        self.ready_to_leave(self.group)


class NoPlace(ChoosyLeaver):
    """Deviation 4 undone: the last node takes the token along."""

    def hand_over(self) -> None:
        KLME.hand_over(self)

    def put_down(self) -> None:
        self.leave_with_token()


class Forgetful(KLME):
    """Deviation 5 undone: a node does not remember which visits are over."""

    def note_departure(self, member: Member) -> None:
        super().note_departure(member)
        self.departed.clear()


class ServingStrangers(KLME):
    """Deviation 5 undone: a request is served whether or not its node is known to be there."""

    def next_request(self) -> Request | None:
        return next(iter(self.queue), None)


class AnyVisit(KLME):
    """Deviation 5 undone: I_am_leaving of any visit says that the Token is lost."""

    def forget(self, member: Member) -> None:
        super().forget(member)
        if not self.holds_token and self.sent is not None and self.sent.target.node == member.node:
            self.regain(self.sent)


@dataclass(frozen=True, slots=True)
class IAmLeavingWithLists(IAmLeaving):
    """I_am_leaving(i, node_req_list, node_release_list)."""

    requests: tuple[Request, ...]
    releases: tuple[Request, ...]


class Gossip(KLME):
    """Deviation 6 undone: I_am_leaving carries the requests and releases that the leaver knows of, and they count."""

    messages = (*KLME.messages, IAmLeavingWithLists)
    handlers: ClassVar = {**KLME.handlers, IAmLeavingWithLists: "on_lists"}

    def tell_members(self, kind: Any, *fields: Any) -> None:
        if kind is IAmLeaving:
            super().tell_members(IAmLeavingWithLists, *(tuple(sorted(one.items())) for one in self.lists()))
        else:
            super().tell_members(kind, *fields)

    def lists(self) -> tuple[dict[int, int], dict[int, int]]:
        return self.requests, self.releases

    def on_lists(self, peer: int, message: IAmLeavingWithLists) -> None:
        for request in message.requests:
            if self.holds_token and request[0] != self.node:
                self.accept(request)
            else:
                self.note(self.requests, request)
        for request in message.releases:
            self.on_release_message(peer, Release(message.group, message.visit, self.visit, *request))
        self.on_i_am_leaving(peer, message)


class GossipAmongStrangers(Gossip, ServingStrangers):
    """Deviations 5 and 6 undone: requests that are passed on are served without knowing that their nodes are there."""


class SilentRegeneration(KLME):
    """Deviation 7 undone: a token that is made anew does not announce itself."""

    def regain(self, sent: Sent) -> None:
        before = len(self.outbox)
        super().regain(sent)
        own = [
            output
            for output in self.outbox[before:]
            if output[0] is BROADCAST and isinstance(output[2], LeaderInfo) and output[2].leader == self.node
        ]
        self.outbox = [output for output in self.outbox if output not in own]


class UnansweredArrival(KLME):
    """Deviation 7 undone: only the leader answers I_am_here; a node that has just passed the token on does not."""

    def on_i_am_here(self, peer: int, message: IAmHere) -> None:
        was_leader = self.holds_token
        super().on_i_am_here(peer, message)
        if not was_leader:
            self.outbox = [output for output in self.outbox if not is_info_of_another(self.node, output)]


class UnannouncedRepetition(KLME):
    """Deviation 7 undone: a Token that is sent again is not followed by Leader_info."""

    def on_token_lost(self, peer: int, message: TokenLost) -> None:
        super().on_token_lost(peer, message)
        self.outbox = [output for output in self.outbox if not isinstance(output[2], LeaderInfo)]

    def on_timer(self, name: str) -> None:
        if name != "retransmit":
            super().on_timer(name)


class NoRetry(KLME):
    """Deviation 7 undone: a node that waits for a leader or an acknowledgement does not repeat itself."""

    def repeat_later(self) -> None:
        """Do nothing."""


class UnansweredAndNoRetry(UnansweredArrival, NoRetry):
    """Deviation 7 undone: I_am_here is sent once, and only the leader answers it."""


class NoQuestion(KLME):
    """Deviation 7 undone: a missing Token_ack is not asked for."""

    def on_timer(self, name: str) -> None:
        if name != "retransmit":
            super().on_timer(name)


def is_token(message: Any) -> bool:
    return isinstance(message, Token)


def is_info_of_another(node: int, output: PackedOutput) -> bool:
    """Whether an output is Leader_info to one node about a leader that is not the sender."""
    return output[0] is SEND and isinstance(output[2], LeaderInfo) and output[2].leader != node


# -- mutants -----------------------------------------------------------------------------------------------------------


class KeptToken(KLME):
    """A leader that passes the token on keeps it."""

    def drop_token(self) -> None:
        """Do nothing."""


class ForgottenAllocation(KLME):
    """A grant is not entered in T_alloc_id."""

    def tell(self, member: Member, kind: Any, *fields: Any) -> None:
        super().tell(member, kind, *fields)
        if kind is PerGrant:
            self.alloc = [one for one in self.alloc if one[0] != member.node]


class UnrepeatedRelease(KLME):
    """A, without the Release to the new leader."""

    def on_leader_info(self, peer: int, message: LeaderInfo) -> None:
        super().on_leader_info(peer, replace(message, alloc=()))


class NoRecovery(KLME):
    """Section 7, without the detection by I_am_leaving."""

    def regain(self, sent: Sent) -> None:
        self.sent = None
        self.depart_if_done()


MUTANTS = (KeptEntry, KeptToken, ForgottenAllocation, HastyLeaver, InfoFirst, NoRecovery)
RARE_MUTANTS = (OverwrittenLeader, UnrepeatedRelease)
"""These leave units in use, until the next leader mends it; so a run on the simulator may hide them."""
