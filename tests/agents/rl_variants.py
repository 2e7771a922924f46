"""RL as printed, and RL with a line broken: what the tests must be able to tell from the real one."""

from collections.abc import Iterator
from contextlib import contextmanager

from agents.contract import Agent, Status
from agents.heights import lower_than, lowest, raised
from agents.registry import ALGORITHMS
from agents.rl import LinkInfo, Request, ReverseLink, Token


@contextmanager
def registered(agent: type[Agent], name: str = "rl") -> Iterator[None]:
    """Put another class in an algorithm's place for a while."""
    real, ALGORITHMS[name] = ALGORITHMS[name], agent
    try:
        yield
    finally:
        ALGORITHMS[name] = real


class StaleNext(ReverseLink):
    """Deviation 1 without deviation 2: line 8 of Request and line 9 of LinkInfo as printed.

    `height` is an array in the paper, so the height of a node that has left N can still be read.
    """

    def on_link_down(self, peer: int) -> None:
        self.remembered = {**getattr(self, "remembered", {}), peer: self.height[peer]}
        super().on_link_down(peer)

    def leads_on(self) -> bool:
        heights = {**getattr(self, "remembered", {}), **self.height, self.node: self.my_height}
        return not self.is_sink() and self.my_height >= heights[self.next]


class ReturningNext(ReverseLink):
    """Deviations 1 and 2 without deviation 3: a node that has no neighbour to ask keeps its old `next`."""

    def forward_request(self) -> None:
        if self.height:
            super().forward_request()


class Literal(StaleNext):
    """The printed pseudocode to the letter: neither deviation."""

    def is_sink(self) -> bool:
        return all(self.my_height < height for height in self.height.values())

    def forward_request(self) -> None:
        self.next = lowest(self.height)
        self.send(self.next, Request(self.my_height))


class KeptToken(ReverseLink):
    """GiveTokenToNext without line 3: tokenHolder := false."""

    def give_token_to_next(self) -> None:
        super().give_token_to_next()
        self.token_holder = True


class ReversedComparison(ReverseLink):
    """Line 3 of Request with the comparison the wrong way round: those below are queued, those above are not."""

    def on_request_message(self, j: int, message: Request) -> None:
        if self.my_height < message.height and j not in self.queue:
            super().on_request_message(j, message)
            if j in self.queue:
                self.queue.remove(j)
        else:
            super().on_request_message(j, message)


class NeverStruck(ReverseLink):
    """RaiseHeight without line 5: requesters that are now below stay in the queue."""

    def raise_height(self) -> None:
        queue = list(self.queue)
        super().raise_height()
        self.queue = queue


class ForgottenRequest(ReverseLink):
    """GiveTokenToNext without line 7: the token goes, and is not asked for again."""

    def give_token_to_next(self) -> None:
        self.next = self.queue.pop(0)
        if self.next == self.node:
            self.status = Status.CRITICAL
            self.enter()
            return
        self.token_holder = False
        self.height[self.next] = lower_than(self.my_height, self.next)
        self.awaiting_info[self.next] = self.height[self.next]
        self.send(self.next, Token(self.my_height))


class ForgottenReroute(ReverseLink):
    """RaiseHeight without line 6: a node that has turned its links does not ask again."""

    def raise_height(self) -> None:
        self.my_height = raised(self.my_height, self.height)
        for k in sorted(self.height):
            self.send(k, LinkInfo(self.my_height))
        self.queue = [k for k in self.queue if k not in self.height or self.my_height < self.height[k]]


MUTANTS = (KeptToken, ReversedComparison, ForgottenRequest, ForgottenReroute, NeverStruck)
