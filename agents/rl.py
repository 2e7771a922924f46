"""RL, the Reverse Link mutual exclusion algorithm.

J. E. Walter, J. L. Welch, N. H. Vaidya: A Mutual Exclusion Algorithm for Ad Hoc Mobile Networks. Wireless Networks
7(6), 2001. Line numbers in comments are those of its section 4.3.

One token; every node has a height, links lead from higher to lower, and the token holder is lowest, so requests run
downhill to it and the token comes back along the queues they left. Assumes bidirectional FIFO links, announced link
changes, no message lost on a breaking link, no node failures and no partitions.

Deviations from the printed pseudocode (tests/agents/test_rl_defects.py has runs that fail without 1 to 3, and cases of
4 and 5):

1. A forming neighbour joins N only with its first LinkInfo. If the last old link fails meanwhile, N is empty: the test
   "lower than every neighbour" is vacuously true, RaiseHeight takes a minimum over nothing, and so does ForwardRequest.
   Here a node without neighbours is not a sink and forwards nothing; the LinkInfo that brings its next neighbour
   finds `next` gone and forwards then.
2. Request line 8 and LinkInfo line 9 compare with height[next] even when `next` has left N, whose height is history;
   after the case above the request is never sent again and the node starves. Here a `next` outside N counts as
   reversed. A token holder, whose `next` is itself, never forwards.
3. That is not enough if the first neighbour to come back is the old `next`: it is in N and below, so the request that
   could not be sent never is. Here a node that has no neighbour to ask points `next` at itself.
4. A message from a node that is neither in N nor forming a link is refused with a `PeerError`. In print it would write
   height[j] for a j outside N, and LinkInfo line 1 would take j into N. With reliable FIFO links and announced changes
   there is no such message.
5. The failure of a link also ends `forming[j]`, which in print stays true, so that deviation 4 refuses messages of a
   link that is gone. Nothing else depends on it: the formation of a link sets it anew.

What the paper leaves out, each without effect in its model:

- Two parameters, both off by default: `raise_interval` paces RaiseHeight (`agents.pacing`), and `detect_partitions`
  lets a component without the token fall silent, as section 7 suggests (`agents.partition_detection`).
- A message that a failed link did not deliver comes back to its sender (`on_return`).
- A holder that has lost its last link keeps the token, and enters whenever its own application asks. It says nothing
  until a link forms; then LinkInfo tells both ends their heights, as on any new link.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import CRITICAL, REMAINDER, WAITING, Demand, Graph
from agents.heights import Height, by_distance, lower_than, lowest
from agents.message import Message
from agents.pacing import RAISE
from agents.partition_detection import DETECTION, DETECTION_HANDLERS, UNDETECTED, DetectingAgent, DetectingParameters


@dataclass(frozen=True, slots=True)
class Request(Message):
    """Asks the receiver for the token on behalf of the sender."""

    height: Height


@dataclass(frozen=True, slots=True)
class Token(Message):
    """The privilege to enter the critical section."""

    units: ClassVar[int] = 1
    height: Height


@dataclass(frozen=True, slots=True)
class LinkInfo(Message):
    """The sender's height."""

    height: Height


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: its own height, its neighbours' heights, and whether it holds the token."""

    height: Height
    neighbours: tuple[Height, ...]
    holds_token: bool


class ReverseLink(DetectingAgent):
    """The mutual exclusion process of node i."""

    messages = (Request, Token, LinkInfo, *DETECTION)
    parameters = DetectingParameters
    handlers: ClassVar = {
        Request: "on_request_message",
        Token: "on_token",
        LinkInfo: "on_link_info",
        **DETECTION_HANDLERS,
    }
    survives = ("link changes", "crash", "restart", "cut")
    summary = "reverse link: one token, requests follow heights downhill (Walter, Welch, Vaidya 2001)"

    def __init__(self, node: int, initial: Initial, parameters: DetectingParameters = UNDETECTED) -> None:
        super().__init__(node, parameters)
        self.my_height = initial.height  # myHeight
        self.height = {height[2]: height for height in initial.neighbours}  # height[j]; its keys are N, ascending
        self.token_holder = initial.holds_token
        self.next = node if self.token_holder or not self.height else lowest(self.height)
        self.queue: list[int] = []  # Q
        self.awaiting_info: dict[int, Height] = {}  # the j with receivedLI[j] false, and the height to come
        self.forming: dict[int, Height] = {}  # the j with forming[j] true, and formHeight[j]

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Initial]:
        """Node 0 has the token and height (0, 0, 0); the others' heights lead to it (section 4.1)."""
        heights = by_distance(graph, root=0)
        return [Initial(heights[i], tuple(heights[j] for j in graph[i]), i == 0) for i in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Any, parameters: Any) -> Initial:
        """A node that restarts knows no neighbour; it raises its height as soon as it finds itself a sink."""
        return Initial((0, 0, node), (), False)

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: Any, rng: Random) -> Self:
        """RL draws no random numbers."""
        return cls(node, initial, parameters)

    @property
    def units(self) -> int:
        """1 for the token holder."""
        return int(self.token_holder)

    # -- events, in the paper's order --------------------------------------------------------------------------------

    def on_request(self, demand: Demand) -> None:
        """When node i requests access to the CS."""
        self.require(REMAINDER, "request")
        self.status = WAITING  # l. 1
        self.queue.append(self.node)  # l. 2: only i itself enqueues i, so it is not there yet
        if not self.token_holder:  # l. 3
            if len(self.queue) == 1:  # l. 4: later requests ride on the first
                self.forward_request()
        else:
            self.give_token_to_next()  # l. 5

    def on_release(self) -> None:
        """When node i releases the CS."""
        self.require(CRITICAL, "release")
        if self.queue:  # l. 1
            self.give_token_to_next()
        self.status = REMAINDER  # l. 2

    def on_request_message(self, j: int, message: Request) -> None:
        """When Request(h) received at node i from node j."""
        h = message.height
        if j not in self.height and j not in self.forming:  # deviation 4
            raise self.refuse(j, message)
        if j in self.awaiting_info:  # l. 1: sent before j had the token; j asks again if it still waits
            return
        self.height[j] = h  # l. 2
        if self.my_height < h and j not in self.queue:  # l. 3
            self.queue.append(j)
        if self.token_holder:  # l. 4
            if self.status is REMAINDER and self.queue:  # l. 5
                self.give_token_to_next()
        elif self.is_sink():  # l. 7
            self.raise_height()
        elif self.queue == [j] or (self.queue and not self.leads_on()):  # l. 8
            self.forward_request()  # l. 9

    def on_token(self, j: int, message: Token) -> None:
        """When Token(h) received at node i from node j."""
        h = message.height
        if j not in self.height and j not in self.forming:  # deviation 4
            raise self.refuse(j, message)
        self.token_holder = True  # l. 1
        self.height[j] = h  # l. 2
        lowered = lower_than(h, self.node)
        mine = self.my_height
        self.send_all([k for k, height in self.height.items() if height < mine or k == j], LinkInfo(lowered))  # l. 3
        self.my_height = lowered  # l. 4-5
        self.use_token()  # l. 6
        if self.silent is not None:
            self.note_news()

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        """When LinkInfo(h) received at node i from node j."""
        h = message.height
        if j not in self.height and j not in self.forming:  # deviation 4
            raise self.refuse(j, message)
        if j in self.forming:  # else j is in N already, and lines 1-4 do nothing
            self.height = dict(sorted({**self.height, j: h}.items()))  # l. 1: a key of `height` is a member of N
            if self.my_height != self.forming[j]:  # l. 2
                self.send(j, LinkInfo(self.my_height))  # l. 3
            del self.forming[j]  # l. 4
            self.note_news()
        if j not in self.awaiting_info:  # l. 5
            self.height[j] = h
        elif self.awaiting_info[j] == h:  # l. 6
            del self.awaiting_info[j]
        if j in self.queue and self.my_height > self.height[j]:  # l. 7
            self.queue.remove(j)
        # A holder does nothing here: line 8, and for line 9 deviation 2. Nor does a node whose link to `next` leads
        # down, as nearly always: it is no sink, and has no request to reroute.
        if not self.token_holder and not self.leads_on():
            if self.is_sink():  # l. 8
                self.raise_height()
            elif self.queue:  # l. 9
                self.forward_request()

    def on_link_down(self, peer: int) -> None:
        """When failure of link to j detected at node i."""
        self.height.pop(peer, None)  # l. 1
        self.forming.pop(peer, None)  # deviation 5
        if peer in self.queue:  # l. 2
            self.queue.remove(peer)
        self.awaiting_info.pop(peer, None)  # l. 3
        self.note_failure()  # partition detection
        if not self.token_holder:  # l. 4
            if self.is_sink():  # l. 5
                self.raise_height()
            elif self.queue and self.next not in self.height:  # l. 6
                self.forward_request()

    def on_link_up(self, peer: int) -> None:
        """When formation of link to j detected at node i."""
        self.send(peer, LinkInfo(self.my_height))  # l. 1
        self.forming[peer] = self.my_height  # l. 2-3

    def on_return(self, peer: int, message: Message) -> None:
        """A message that could not be delivered comes back, after its link has failed; the paper has no such event.

        Only the token matters. The node holds it again, as if its lowest neighbour had just sent it.
        """
        if isinstance(message, Token):
            self.token_holder = True
            if self.height and not self.is_sink():
                told = lower_than(min(self.height.values()), self.node)
                mine = self.my_height
                self.send_all([k for k, height in self.height.items() if height < mine], LinkInfo(told))
                self.my_height = told
            self.use_token()
            self.note_news()

    # -- procedures, in the paper's order ----------------------------------------------------------------------------

    def forward_request(self) -> None:
        """Procedure ForwardRequest()."""
        if not self.height or self.silent is not None or (RAISE in self.resting and self.is_sink()):  # dev. 1; pacing
            self.next = self.node  # deviation 3
            return
        self.next = lowest(self.height)  # l. 1
        self.send(self.next, Request(self.my_height))  # l. 2

    def use_token(self) -> None:
        """Line 6 of Token."""
        if self.queue:
            self.give_token_to_next()
        else:
            self.next = self.node

    def give_token_to_next(self) -> None:
        """Procedure GiveTokenToNext(), only called when Q is not empty."""
        self.next = head = self.queue.pop(0)  # l. 1
        if head != self.node:  # l. 2
            self.token_holder = False  # l. 3
            self.height[head] = self.awaiting_info[head] = lower_than(self.my_height, head)  # l. 4-5
            self.send(head, Token(self.my_height))  # l. 6
            if self.queue:  # l. 7
                self.send(head, Request(self.my_height))
        else:
            self.status = CRITICAL  # l. 9
            self.enter()  # l. 10

    def raise_height(self) -> None:
        """Procedure RaiseHeight()."""
        if self.silent is not None or self.must_rest(RAISE):  # partition detection, pacing
            self.next = self.node
            return
        higher = self.raised_height()  # l. 1-3
        if higher is None:  # silent from now on
            return
        self.my_height = higher
        self.send_all(self.height, LinkInfo(self.my_height))  # l. 4
        self.queue = [k for k in self.queue if k not in self.height or self.my_height < self.height[k]]  # l. 5
        if self.queue:  # l. 6
            self.forward_request()

    # -- conditions --------------------------------------------------------------------------------------------------

    def is_sink(self) -> bool:
        """Whether every link is incoming (definition 3); not so for a node without links (deviation 1).

        An outgoing link to `next`, as a node has nearly always, settles it without a look at the others.
        """
        heights, mine = self.height, self.my_height
        return heights.get(self.next, mine) >= mine and bool(heights) and mine < min(heights.values())

    def leads_on(self) -> bool:
        """Whether the link to `next` is there (deviation 2) and outgoing."""
        return self.height.get(self.next, self.my_height) < self.my_height
