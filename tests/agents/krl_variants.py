"""KRL as printed, line by line, and KRL with a line broken: what the tests must be able to tell from the real one."""

from agents.contract import CRITICAL, REMAINDER
from agents.heights import Height, is_highest, lower_than, lowest
from agents.krl import KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.krlf_adaptive import KReverseLinkAdaptive
from agents.message import Message
from agents.rl import LinkInfo, Request, Token

# -- each deviation undone, the others kept ----------------------------------------------------------------------------


class EmptyNeighbourhood(KReverseLink):
    """Deviation 1 undone: with N empty, a node is lower than all its neighbours, and asks the lowest of none."""

    def is_sink(self) -> bool:
        return all(self.my_height < height for height in self.height.values())

    def forward_request(self) -> None:
        self.next = lowest(self.height)
        self.send(self.next, Request(self.my_height))


class StaleNext(KReverseLink):
    """Deviation 2 undone: `next` is compared by the height it had when it left N."""

    def on_link_down(self, peer: int) -> None:
        self.remembered = {**getattr(self, "remembered", {}), peer: self.height[peer]}
        super().on_link_down(peer)

    def leads_on(self) -> bool:
        heights = {**getattr(self, "remembered", {}), **self.height, self.node: self.my_height}
        return not self.is_sink() and self.my_height >= heights[self.next]


class ReturningNext(KReverseLink):
    """Deviation 3 undone: a node that has no neighbour to ask keeps its old `next`."""

    def forward_request(self) -> None:
        if self.height:
            super().forward_request()


class UnguardedRelease(KReverseLink):
    """Deviation 4 undone: release lowers the height of a node that holds no token any more."""

    def on_release(self) -> None:
        self.require(CRITICAL, "release")
        if self.queue:
            self.give_token_to_next()
        self.status = REMAINDER
        if is_highest(self.my_height, self.height):
            self.lower_height()


class CrossingTokens(KReverseLink):
    """Deviation 5 undone: line 3 of Token overwrites the height that the acknowledgement is compared with."""

    def on_token(self, j: int, message: Token) -> None:
        if j in self.awaiting_info:
            self.awaiting_info[j] = [message.height]
        super().on_token(j, message)


class SilentAcknowledgement(KReverseLink):
    """Deviation 6 undone: line 8 of Token inside the `if`, so a node that is low already acknowledges nothing."""

    def on_token(self, j: int, message: Token) -> None:
        low = self.my_height < message.height
        super().on_token(j, message)
        if low:
            told = LinkInfo(lower_than(message.height, self.node))
            self.outbox = [output for output in self.outbox if output[1:] != ((j,), told)]


class AskingHolder(KReverseLink):
    """Deviation 7 undone: line 13 of LinkInfo lets a token holder forward a request."""

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        super().on_link_info(j, message)
        if self.token_count and self.queue and not self.leads_on():
            self.forward_request()


class KeptNext(KReverseLink):
    """Deviation 8 undone: `next` points at the node that got the token, although others are kept."""

    def send_token(self, head: int, token: Message) -> None:
        super().send_token(head, token)
        self.next = head


class HighAcknowledgement(KReverseLinkAdaptive):
    """Deviation 9 undone: a node that is below h stays where it is, and says it is lower."""

    def come_below(self, h: Height, sender: int | None = None) -> None:
        if self.my_height > h:
            super().come_below(h, sender)


class LostAcknowledgement(KReverseLink):
    """Deviation 5, half of it undone: what the last acknowledgement says is not kept."""

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        if self.awaiting_info.get(j) == [message.height]:
            del self.awaiting_info[j]
            message = LinkInfo(self.height[j])
        super().on_link_info(j, message)


# -- mutants -----------------------------------------------------------------------------------------------------------


class KeptToken(KReverseLink):
    """GiveTokenToNext without line 3: numTokens--."""

    def send_token(self, head: int, token: Message) -> None:
        super().send_token(head, token)
        self.token_count += 1


class ForgottenRequest(KReverseLink):
    """GiveTokenToNext without lines 9-10: the token is not asked for again."""

    def give_token_to_next(self) -> None:
        super().give_token_to_next()
        self.outbox = [output for output in self.outbox if not isinstance(output[2], Request)]


class ReversedComparison(KReverseLink):
    """Line 3 of Request the wrong way round."""

    def on_request_message(self, j: int, message: Request) -> None:
        above = self.my_height < message.height and j not in self.queue
        super().on_request_message(j, message)
        if above and j in self.queue:
            self.queue.remove(j)


def mutated(mutant: type[KReverseLink], agent: type[KReverseLink]) -> type[KReverseLink]:
    """The same mutation of another algorithm."""
    return type(f"{mutant.__name__}{agent.__name__}", (mutant, agent), {"__doc__": mutant.__doc__})


class NeverResting(KReverseLinkForwarding):
    """PickLowest&ForwardToken gives away the token that the node's own critical section uses."""

    def idle_tokens(self) -> int:
        return self.token_count


class NeverServing(KReverseLinkForwarding):
    """Every token is forwarded, although requests wait."""

    def give_token_to_next(self) -> None:
        self.forward_token()


class Hoarding(KReverseLinkAdaptive):
    """A token that was asked for stays where it arrives, although requests wait there."""

    stays = False

    def on_token(self, j: int, message: Token) -> None:
        self.stays = not message.hops
        super().on_token(j, message)

    def on_release(self) -> None:
        self.stays = False
        super().on_release()

    def give_token_to_next(self) -> None:
        if not self.stays:
            super().give_token_to_next()


MUTANTS = {
    "krl": (KeptToken, ForgottenRequest, ReversedComparison),
    "krlf": (mutated(KeptToken, KReverseLinkForwarding), NeverResting, NeverServing),
    "krlf-adaptive": (
        mutated(KeptToken, KReverseLinkAdaptive),
        mutated(ForgottenRequest, KReverseLinkAdaptive),
        Hoarding,
    ),
}
