"""hk as printed, deviation by deviation, and hk with a line broken: what the tests must be able to tell from hk."""

from agents.contract import CRITICAL, REMAINDER, WAITING, Demand
from agents.h_out_of_k import Claim, Release
from agents.heights import lowest
from agents.hk import PrioritizedHOutOfK, Request, Update
from agents.hk_fifo import HOutOfK
from agents.message import Message

# -- each deviation undone, the others kept ----------------------------------------------------------------------------


class LostRequest(PrioritizedHOutOfK):
    """Deviation 1 undone: a holder that waits for units has left its queue, and only RELEASE makes it look again."""

    def give_token_to_front(self) -> None:
        super().give_token_to_front()
        if self.token_holder:
            self.dequeue(self.node)

    def take_back(self, units: int) -> None:
        if self.token_holder and self.status is WAITING:
            self.enqueue(self.node, (10**9, 0))
        super().take_back(units)


class OverwrittenNext(PrioritizedHOutOfK):
    """Deviation 3 undone: forwardRelease moves `next` to the lowest neighbour, which need not have been asked."""

    def forward_release(self) -> None:
        if self.released and self.height and not self.is_sink():
            self.next = lowest(self.height)
        super().forward_release()


class LostRelease(PrioritizedHOutOfK):
    """Deviation 3 undone: a RELEASE that a breaking link returns is dropped."""

    def on_return(self, peer: int, message: Message) -> None:
        if not isinstance(message, Release):
            super().on_return(peer, message)


class HurriedRelease(PrioritizedHOutOfK):
    """Deviation 3 undone: a RELEASE goes to the lowest neighbour, even if there is none."""

    def forward_release(self) -> None:
        if self.released:
            self.send(lowest(self.height), Release(self.my_height, self.released))
            self.released = 0


class UnreportedOwnRequest(PrioritizedHOutOfK):
    """Deviation 4 undone: no UPDATE when the node's own request comes to the front."""

    def on_request(self, demand: Demand) -> None:
        super().on_request(demand)
        self.outbox = [output for output in self.outbox if not isinstance(output[2], Update)]


class UnreportedRaise(PrioritizedHOutOfK):
    """Deviation 4 undone: an UPDATE is passed on only if it moves its sender to the front."""

    def on_update(self, j: int, message: Update) -> None:
        in_front = bool(self.queue) and self.queue[0].neighbour == j
        super().on_update(j, message)
        if in_front:
            self.outbox = [output for output in self.outbox if not isinstance(output[2], Update)]


class LoweringUpdate(PrioritizedHOutOfK):
    """Deviation 4 undone: an UPDATE sets the priority to what it says, below what aging has made it."""

    def on_update(self, j: int, message: Update) -> None:
        if any(claim.neighbour == j for claim in self.queue):
            self.dequeue(j)
            self.queue.append(Claim(j, (-(10**9), 0)))
        super().on_update(j, message)


class IgnoringHolder(PrioritizedHOutOfK):
    """Deviation 5 undone: a request that reaches a holder in its CS waits until the holder leaves."""

    def on_request_message(self, j: int, message: Request) -> None:
        if self.token_holder and self.status is CRITICAL:
            if j not in self.awaiting_link and self.my_height < message.height:
                self.enqueue(j, message.priority)
        else:
            super().on_request_message(j, message)


class KeepingHolder(IgnoringHolder):
    """Deviations 1 and 5 undone: a holder that leaves its CS counts its units, and does not pass the token on."""

    def on_release(self) -> None:
        if self.token_holder:
            self.status = REMAINDER
            self.free, self.in_use = self.free + self.in_use, 0
        else:
            super().on_release()


class EmptyNeighbourhood(PrioritizedHOutOfK):
    """Deviation 7 undone: with N empty, a node is lower than all its neighbours, and asks the lowest of none."""

    def is_sink(self) -> bool:
        return all(self.my_height < height for height in self.height.values())

    def forward_request(self) -> None:
        self.next = lowest(self.height)
        self.told = self.queue[0].priority
        self.send(self.next, self.request())


class StaleNext(PrioritizedHOutOfK):
    """Deviation 7 undone: `next` is compared by the height it had when it left N."""

    def on_link_down(self, peer: int) -> None:
        if peer in self.height:
            self.remembered = {**getattr(self, "remembered", {}), peer: self.height[peer]}
        super().on_link_down(peer)

    def leads_on(self) -> bool:
        heights = {**getattr(self, "remembered", {}), **self.height, self.node: self.my_height}
        return not self.is_sink() and self.my_height >= heights[self.next]

    def report(self) -> None:
        if self.next in self.height:
            super().report()


class ReturningNext(PrioritizedHOutOfK):
    """Deviation 7 undone: a node that has no neighbour to ask keeps its old `next`."""

    def forward_request(self) -> None:
        if self.height:
            super().forward_request()


# -- mutants -----------------------------------------------------------------------------------------------------------


class KeptToken(PrioritizedHOutOfK):
    """giveTokenToFrontOfQ without tokenHolder := false."""

    def send_token(self, front: int) -> None:
        super().send_token(front)
        self.token_holder = True


class UncountedUnits(PrioritizedHOutOfK):
    """A node enters without t := t - h."""

    def take_units(self) -> None:
        super().take_units()
        self.free += self.demanded


class ForgottenRequest(PrioritizedHOutOfK):
    """giveTokenToFrontOfQ without the REQUEST that follows the TOKEN."""

    def send_token(self, front: int) -> None:
        sent = len(self.outbox)
        super().send_token(front)
        self.outbox = self.outbox[: sent + 1]


def of_fifo(mutant: type[PrioritizedHOutOfK]) -> type[PrioritizedHOutOfK]:
    """The same mutation of the algorithm without priorities."""
    return type(f"{mutant.__name__}Fifo", (mutant, HOutOfK), {"__doc__": mutant.__doc__})


MUTANTS = {
    "hk": (KeptToken, UncountedUnits, ForgottenRequest),
    "hk-fifo": tuple(map(of_fifo, (KeptToken, UncountedUnits, ForgottenRequest))),
}
