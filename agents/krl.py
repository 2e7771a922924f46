"""KRL, k-mutual exclusion by link reversal.

J. E. Walter, G. Cao, M. Mohanty: A K-Mutual Exclusion Algorithm for Wireless Ad Hoc Networks. POMC 2001. Line numbers
in comments are those of its appendix.

RL with k tokens: a node may hold several, and requests run downhill to the nearest holder. A holder with no higher
neighbour lowers its height, so that requests can reach it. Assumes k < n and what RL assumes of links, but allows
partitions, and nodes to fail as long as not all holders do. In a component where every node holds a token, each in turn
lowers its height for ever, as each raises it in one that has none; `agents.pacing` paces both.

Deviations from the printed pseudocode (tests/agents/test_krl_defects.py has the runs and the cases):

1. With N empty, a node is neither a sink nor has a neighbour to ask, as in RL. Without it seed 16 takes a minimum over
   nothing. Nor is it above all its neighbours: a holder that has lost its last link would take a maximum over nothing
   (line 1 of LowerHeight). It keeps its tokens, and says nothing until a link forms.
2. A `next` outside N counts as reversed, as in RL. Without it seed 16 starves a node.
3. A node that has no neighbour to ask points `next` at itself, as in RL. Without it schedule 201 starves a node.
4. Line 3 of release lowers the height only of a node that still holds a token. Without it, nodes of a static network
   raise their heights, where section 4.2 says that none will have to.
5. The heights expected in acknowledgements are kept apart from height[j], one for each token sent. Line 3 of Token
   overwrites height[j]: when two tokens cross on a link, the acknowledgement no longer equals it, and receivedLI[j]
   stays false. When the last one has come, height[j] is what it says, as it is in print. Found by hand; no random run
   was seen to starve of either.
6. Line 8 of Token, the acknowledgement, is outside the `if`. Without it schedule 64 starves a node. The height it
   carries is the one the sender expects; the node's own may be lower still, but never higher, by deviation 9.
7. A token holder never forwards a request (line 13 of LinkInfo). Without it holders ask others for tokens; no run was
   seen to fail of it.
8. A node that passes a token on and keeps another has `next` at itself, as the data structures say. No run was seen to
   fail without it.
9. Line 4 of Token lowers the height of a node that is above what line 8 tells, not only of one above h. The two differ
   by a node at (h1, h2, i) that gets a token from one at (h1, h2, j), i < j: it is below h, stays, and says that it is
   lower than it is. Once j is at (h1, h2 - 1, j) both take the link for outgoing and the node drops j's requests. The
   run that starves j beside two idle tokens, found by hand, is one of `agents.krlf_adaptive`, which shares this line.
   Random runs of it and of KRLF come to such links, because they forward idle tokens downhill, and none was seen to
   starve. KRL gives tokens only to nodes that have asked from above: no run of it was seen to come to such a link.
10. A holder that borders only on holders starts below (0, 0, i), or it would have no neighbour above it. In print node
   0 starts at (0, 0, 0) even so.
11. A message from a node that is neither in N nor forming a link is refused with a `PeerError`, as in RL.
12. The failure of a link also ends `forming[j]`, as in RL.

What the paper leaves out, without effect in its model, is as in RL: `raise_interval`, which also paces LowerHeight,
`detect_partitions`, and messages that come back to their senders.

LowerHeight tells the links that are incoming afterwards, as its line 4 says and the overview does not. Of any other
lowering only the lower neighbours hear, so both ends of an idle link may take it for incoming, as in RL; no harm was
seen to come of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from agents.contract import CRITICAL, REMAINDER, WAITING, Demand, Graph
from agents.heights import Height, distances, is_highest, lower_than, lowest
from agents.message import Message
from agents.pacing import LOWER, RAISE
from agents.partition_detection import DETECTION, DETECTION_HANDLERS, UNDETECTED, DetectingAgent, DetectingParameters
from agents.rl import LinkInfo, Request, Token  # the same three, with the same fields


@dataclass(frozen=True)
class KParameters(DetectingParameters):
    """`k`: how many tokens there are."""

    k: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 1:
            raise ValueError("k at least 1")

    def check(self, nodes: int) -> None:
        """The paper assumes k < n."""
        if self.k >= nodes:
            raise ValueError(f"k less than the number of nodes, {nodes}")


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: its own height, its neighbours' heights, and how many tokens it holds."""

    height: Height
    neighbours: tuple[Height, ...]
    tokens: int


class KReverseLink(DetectingAgent):
    """The mutual exclusion process of node i."""

    messages: ClassVar[tuple[type[Message], ...]] = (Request, Token, LinkInfo, *DETECTION)
    handlers: ClassVar = {
        Request: "on_request_message",
        Token: "on_token",
        LinkInfo: "on_link_info",
        **DETECTION_HANDLERS,
    }
    parameters = KParameters
    assumes_connected = False  # holders may fail, so components may be left without a token
    survives = ("link changes", "crash", "restart", "cut")
    summary = "k tokens by link reversal (Walter, Cao, Mohanty 2001)"

    def __init__(self, node: int, initial: Initial, parameters: DetectingParameters = UNDETECTED) -> None:
        super().__init__(node, parameters)
        self.my_height = initial.height  # myHeight
        self.height = {height[2]: height for height in initial.neighbours}  # height[j]; its keys are N, ascending
        self.token_count = initial.tokens  # numTokens; tokenHolder is whether there are any
        self.next = node if self.token_count or not self.height else lowest(self.height)
        self.queue: list[int] = []  # Q
        self.awaiting_info: dict[int, list[Height]] = {}  # the j with receivedLI[j] false, and the heights to come
        self.forming: dict[int, Height] = {}  # the j with forming[j] true, and formHeight[j]

    @classmethod
    def capacity(cls, parameters: KParameters) -> int:
        """k."""
        return parameters.k

    @classmethod
    def initial(cls, graph: Graph, parameters: KParameters) -> list[Initial]:
        """Nodes 0 to k-1 hold a token each; heights lead to them, and each has a neighbour above it (the appendix)."""
        n, k = len(graph), parameters.k
        to_holder = distances(graph, range(k))
        to_other = distances(graph, range(k, n))
        heights = [(0, to_holder.get(i, n) if i >= k else 1 - to_other.get(i, 1), i) for i in range(n)]
        return [Initial(heights[i], tuple(heights[j] for j in graph[i]), int(i < k)) for i in range(n)]

    @classmethod
    def blank(cls, node: int, initial: Any, parameters: Any) -> Initial:
        """A node that restarts knows no neighbour."""
        return Initial((0, 0, node), (), 0)

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: Any, rng: Random) -> Self:
        """KRL draws no random numbers."""
        return cls(node, initial, parameters)

    @property
    def units(self) -> int:
        """The tokens held, the one in use included."""
        return self.token_count

    # -- events, in the paper's order --------------------------------------------------------------------------------

    def on_request(self, demand: Demand) -> None:
        """When node i requests access to the CS."""
        self.require(REMAINDER, "request")
        self.status = WAITING  # l. 1
        self.queue.append(self.node)  # l. 2
        if not self.token_count:  # l. 3
            if len(self.queue) == 1:  # l. 4
                self.forward_request()
        else:
            self.give_token_to_next()  # l. 5

    def on_release(self) -> None:
        """When node i releases the CS."""
        self.require(CRITICAL, "release")
        if self.queue:  # l. 1
            self.give_token_to_next()
        self.status = REMAINDER  # l. 2
        self.lower_if_highest()  # l. 3-4

    def on_request_message(self, j: int, message: Request) -> None:
        """When Request(h) received at node i from node j."""
        h = message.height
        if j not in self.height and j not in self.forming:  # deviation 11
            raise self.refuse(j, message)
        if j in self.awaiting_info:  # l. 1
            return
        self.height[j] = h  # l. 2
        self.is_low_enough = False
        if self.my_height < h and j not in self.queue:  # l. 3
            self.queue.append(j)
        if self.token_count:  # l. 4
            if self.queue and (self.status is REMAINDER or (self.status is CRITICAL and self.token_count > 1)):  # l. 5
                self.give_token_to_next()  # l. 6
        elif self.is_sink():  # l. 8
            self.raise_height()  # l. 9
        elif self.queue == [j] or (self.queue and not self.leads_on()):  # l. 10
            self.forward_request()  # l. 11

    def on_token(self, j: int, message: Token) -> None:
        """When Token(h) received at node i from node j."""
        h = message.height
        if j not in self.height and j not in self.forming:  # deviation 11
            raise self.refuse(j, message)
        self.token_count += 1  # l. 1-2
        self.height[j] = h  # l. 3
        self.come_below(h, j)  # l. 4-7
        self.send(j, LinkInfo(lower_than(h, self.node)))  # l. 8
        self.use_token()  # l. 9-10
        if self.detects:  # partition detection
            self.note_news()

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        """When LinkInfo(h) received at node i from node j."""
        h = message.height
        if j not in self.height and j not in self.forming:  # deviation 11
            raise self.refuse(j, message)
        if j in self.forming:  # else j is in N already, and lines 1-4 do nothing
            self.height = dict(sorted({**self.height, j: h}.items()))  # l. 1
            if self.my_height != self.forming[j]:  # l. 2
                self.send(j, LinkInfo(self.my_height))  # l. 3
            del self.forming[j]  # l. 4
            self.note_news()
        if j not in self.awaiting_info:  # l. 5
            self.height[j] = h
        elif h in self.awaiting_info[j]:  # l. 6
            self.awaiting_info[j].remove(h)
            if not self.awaiting_info[j]:
                del self.awaiting_info[j]
                self.height[j] = h  # deviation 5
        if j in self.queue and self.my_height > self.height[j]:  # l. 7
            self.queue.remove(j)
        self.lower_if_highest()  # l. 8-10
        # A holder does nothing here: line 11, and for line 13 deviation 7. Nor does a node whose link to `next` leads
        # down: it is no sink, and has no request to reroute.
        if not self.token_count and not self.leads_on():
            if self.is_sink():  # l. 11
                self.raise_height()  # l. 12
            elif self.queue:  # l. 13
                self.forward_request()  # l. 14

    def on_link_down(self, peer: int) -> None:
        """When failure of link to j detected at node i."""
        self.height.pop(peer, None)  # l. 1
        self.forming.pop(peer, None)  # deviation 12
        if peer in self.queue:  # l. 2
            self.queue.remove(peer)
        self.awaiting_info.pop(peer, None)  # l. 3
        self.note_failure()  # partition detection
        if not self.token_count:  # l. 4
            if self.is_sink():  # l. 5
                self.raise_height()  # l. 6
            elif self.queue and self.next not in self.height:  # l. 7
                self.forward_request()  # l. 8
        else:
            self.lower_if_highest()  # l. 9-10

    def on_link_up(self, peer: int) -> None:
        """When formation of link to j detected at node i."""
        self.send(peer, LinkInfo(self.my_height))  # l. 1
        self.forming[peer] = self.my_height  # l. 2-3

    def on_return(self, peer: int, message: Message) -> None:
        """A token that could not be delivered comes back: as in RL, as if the lowest neighbour had just sent it."""
        if message.units:
            self.token_count += 1
            if self.height and not self.is_sink():
                self.come_below(min(self.height.values()))
            self.use_token()
            self.note_news()

    def on_timer(self, name: str) -> None:
        """A rest is over: catch up on what was put off."""
        super().on_timer(name)
        if name == LOWER:
            self.lower_if_highest()

    # -- procedures, in the paper's order ----------------------------------------------------------------------------

    def forward_request(self) -> None:
        """Procedure ForwardRequest()."""
        if not self.height or self.silent is not None or (RAISE in self.resting and self.is_sink()):  # pacing
            self.next = self.node  # deviation 3
            return
        self.next = lowest(self.height)  # l. 1
        self.send(self.next, Request(self.my_height))  # l. 2

    def come_below(self, h: Height, sender: int | None = None) -> None:
        """Lines 4-7 of Token: come just below h, if not there already; the lower neighbours, but for j, are told."""
        mine, told = self.my_height, lower_than(h, self.node)
        if mine > told:  # deviation 9
            self.send_all([k for k, height in self.height.items() if height < mine and k != sender], LinkInfo(told))
            self.my_height = told

    def use_token(self) -> None:
        """Lines 9-10 of Token."""
        if self.queue:
            self.give_token_to_next()
        else:
            self.next = self.node

    def give_token_to_next(self) -> None:
        """Procedure GiveTokenToNext(), only called when Q is not empty."""
        head = self.queue.pop(0)  # l. 1
        if head == self.node:  # l. 11
            self.next = head
            self.status = CRITICAL  # l. 12
            self.enter()  # l. 13
            return
        self.send_token(head, self.token())  # l. 3-8
        if not self.token_count and self.queue:  # l. 9
            self.send(head, Request(self.my_height))  # l. 10

    def send_token(self, head: int, token: Message) -> None:
        """Lines 3-8 of GiveTokenToNext, which forwarding shares."""
        self.token_count -= 1  # l. 3-5
        self.next = self.node if self.token_count else head
        expected = self.height[head] = lower_than(self.my_height, head)  # l. 6
        self.awaiting_info.setdefault(head, []).append(expected)  # l. 7
        self.send(head, token)  # l. 8

    def token(self) -> Message:
        """A token that was asked for."""
        return Token(self.my_height)

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
        self.queue = [k for k in self.queue if k not in self.height or self.my_height < self.height[k]]  # l. 5-6
        if self.queue:  # l. 7
            self.forward_request()

    def lower_height(self) -> None:
        """Procedure LowerHeight()."""
        lower = self.lowered_height()  # l. 1-3
        if lower is None:  # all are holders here
            return
        self.my_height = lower
        self.send_all([k for k, height in self.height.items() if height > self.my_height], LinkInfo(self.my_height))

    # -- conditions --------------------------------------------------------------------------------------------------

    def is_sink(self) -> bool:
        """Whether every link is incoming."""
        return bool(self.height) and self.my_height < min(self.height.values())

    def leads_on(self) -> bool:
        """Whether the link to `next` is there and outgoing."""
        return self.height.get(self.next, self.my_height) < self.my_height

    def lower_if_highest(self) -> None:
        """A token holder with no incoming link lowers its height, so that requests can reach it."""
        may_lower = self.token_count and not self.is_low_enough
        if may_lower and is_highest(self.my_height, self.height) and not self.must_rest(LOWER):
            self.lower_height()
