"""BV: k tokens, each with a forest of pointers by which requests find it.

S. Bulgannawar, N. H. Vaidya: A Distributed K-Mutual Exclusion Algorithm. ICDCS 1995. Names in comments are those of its
pseudocode, which has no line numbers.

Every node has a pointer for every token. A request for token t follows the pointers of the t-th forest, and every node
that forwards it points at the requester from then on. A node that waits for t keeps later requests for t, and appends
them to the token's queue when it comes. A node that holds another token u takes the request for u instead: the tag
beside a node in the queue, its request modifier, says who did that. A node that leaves its critical section and finds
the queue empty keeps the token, and informs v other nodes. Assumes delivery between any two nodes, exactly once and in
order, and nodes that do not fail: nothing recovers what a node knew.

Three decisions are parameters (section 3): which token a node requests (`choice`), how many nodes it informs (`v`), and
which (`inform_to`). What the paper leaves open, and what is taken here: the token last seen by node i is at first i
modulo k; an INFORM goes to nodes that are all different, and not to the node itself.

Deviations from the printed pseudocode (tests/agents/test_bv_defects.py has the runs):

1. An INFORM that is overtaken by the token, which takes another path, sets a pointer back to where the token was. The
   pointers may then form a cycle for good, and requests never reach the token. So every token has an epoch, the number
   of times it was sent. Messages carry the highest epoch that the sender knows of, and an INFORM that is older than
   what its receiver knows is ignored. Without it seed 46 starves a node with one token, seed 579 with two;
   `literal_inform` switches the printed text back on. The words of a message are counted without epochs, as in print.
2. Handle_TOKEN empties node-queue after appending it to the token's queue; in print it is never emptied. Without it
   a request of seed 0 comes back to its own node.
3. Where prose and pseudocode differ, the pseudocode is taken. HandleREQUEST sets pointer[token-id], not pointer[t], as
   it sends an idle token away: by the prose a request of seed 0 comes back to its own node. Handle_TOKEN sets
   pointer[waiting-for-token] to the modifier, not pointer[t]: by the prose seed 19 starves a node.
4. A token that comes to a node that does not wait, because it has restarted and forgotten its request, is treated as
   at an exit.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Literal, Self

from agents.contract import CRITICAL, REMAINDER, WAITING, Agent, Demand, Graph, MultipleEntries, Needs
from agents.message import Message, added


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(Y, t): node Y, not necessarily the sender, has requested token t."""

    origin: int
    token: int
    epoch: int = added()  # of the token, as far as the sender knows


@dataclass(frozen=True, slots=True)
class Token(Message):
    """TOKEN(t): the token with its queue; beside every node in it, its request modifier."""

    units: ClassVar[int] = 1
    token: int
    queue: tuple[int, ...]
    modifiers: tuple[int | None, ...]
    epochs: tuple[int, ...] = added()  # of all tokens


@dataclass(frozen=True, slots=True)
class Inform(Message):
    """INFORM(X, t): the sender, X, has token t."""

    token: int
    epoch: int = added()


@dataclass(frozen=True)
class BVParameters(MultipleEntries):
    """`k` tokens; which token to request; how many nodes to inform, and which; whether to trust every INFORM."""

    choice: Literal["random", "last-seen"] = "last-seen"
    v: int = 2
    inform_to: Literal["random", "stalest"] = "random"
    literal_inform: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v < 0:
            raise ValueError("v at least 0")

    def check(self, nodes: int) -> None:
        """Every token starts at a node of its own, and no node informs itself."""
        super().check(nodes)
        if self.v > nodes - 1:
            raise ValueError(f"v at most the number of other nodes, {nodes - 1}")


@dataclass(frozen=True, slots=True)
class Initial:
    """What a node starts with: how many nodes there are, its pointers, and the token that it holds."""

    nodes: int
    pointers: tuple[int, ...]
    token: int | None


class BV(Agent):
    """Node I."""

    needs = Needs.ANY_NODE
    messages = (Request, Token, Inform)
    handlers: ClassVar = {Request: "on_request_message", Token: "on_token", Inform: "on_inform"}
    parameters = BVParameters
    survives = ("cut",)
    summary = "k tokens, requests follow dynamic forests of pointers (Bulgannawar, Vaidya 1995)"

    def __init__(self, node: int, initial: Initial, parameters: BVParameters, rng: Random) -> None:
        super().__init__(node)
        self.decisions = parameters
        self.rng = rng
        self.token = initial.token  # token-id; `holding` is the status CRITICAL
        self.pointer = list(initial.pointers)
        self.waiting_for: int | None = None  # waiting-for-token
        self.node_queue: list[int] = []
        self.token_queue: list[tuple[int, int | None]] = []  # with request modifiers; of the token that is here
        self.epoch = [0] * len(self.pointer)  # of every token: the highest that this node knows of
        self.last_seen = node % len(self.pointer)
        self.heard_of = [peer for peer in range(initial.nodes) if peer != node]  # the one heard of last is at the end

    @classmethod
    def initial(cls, graph: Graph, parameters: BVParameters) -> list[Initial]:
        """Token t is at node t, and all pointers lead there."""
        tokens = range(parameters.k)
        return [Initial(len(graph), tuple(tokens), node if node in tokens else None) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Initial, parameters: BVParameters) -> Initial:
        """A node that restarts has no token, and points elsewhere even where it had one."""
        elsewhere = tuple(t if t != node else (node + 1) % initial.nodes for t in range(parameters.k))
        return Initial(initial.nodes, elsewhere, None)

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: BVParameters, rng: Random) -> Self:
        """Random choices are drawn from the node's own generator."""
        return cls(node, initial, parameters, rng)

    @property
    def units(self) -> int:
        """1 for a node that has a token."""
        return int(self.token is not None)

    def on_request(self, demand: Demand) -> None:
        """Entry_CS."""
        self.require(REMAINDER, "request")
        self.status = WAITING
        if self.token is not None:
            self.enter_critical()
            return
        t = self.waiting_for = self.chosen_token()
        self.send(self.pointer[t], Request(self.node, t, self.epoch[t]))

    def on_release(self) -> None:
        """Exit_CS."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        self.pass_on_or_inform()

    def on_request_message(self, j: int, message: Request) -> None:
        """HandleREQUEST(Y, t)."""
        y, t = message.origin, message.token
        self.learn(t, message.epoch)
        self.hear_of(y)
        if self.token is not None:
            self.token_queue.append((y, None if self.token == t else self.node))
            if self.status is not CRITICAL:
                self.pointer[self.token] = y
                self.send_token()
        elif self.waiting_for == t:
            self.node_queue.append(y)
        else:
            self.send(self.pointer[t], Request(y, t, self.epoch[t]))
            self.pointer[t] = y

    def on_token(self, j: int, message: Token) -> None:
        """Handle_TOKEN(t)."""
        t, queue = message.token, list(zip(message.queue, message.modifiers, strict=True))
        for token, epoch in enumerate(message.epochs):
            self.learn(token, epoch)
        self.hear_of(j)
        _, modifier = queue.pop(0)  # the entry of this node
        wanted = self.waiting_for
        if wanted not in (t, None):
            assert modifier is not None, "a token other than the requested one comes with the modifier of the request"
            self.pointer[wanted] = modifier
        tag = None if wanted == t else modifier
        self.token_queue = queue + [(node, tag) for node in self.node_queue]
        self.node_queue = []  # deviation 2
        self.waiting_for = None
        self.token = self.last_seen = t
        self.pointer[t] = self.node
        if self.status is WAITING:
            self.enter_critical()
        else:  # deviation 4
            self.pass_on_or_inform()

    def on_inform(self, j: int, message: Inform) -> None:
        """HandleINFORM(Y, t)."""
        t = message.token
        self.hear_of(j)
        if message.epoch < self.epoch[t] and not self.decisions.literal_inform:  # deviation 1
            return
        self.learn(t, message.epoch)
        self.pointer[t] = j
        self.last_seen = t

    # -- procedures --------------------------------------------------------------------------------------------------

    def pass_on_or_inform(self) -> None:
        """The second half of Exit_CS: send the token to the first node on its queue, or tell others that it is here."""
        assert self.token is not None, "a node that leaves its critical section has a token"
        if self.token_queue:
            self.pointer[self.token] = self.last_unmodified()
            self.send_token()
        elif self.decisions.v:
            told = self.to_inform()
            self.send_all(told, Inform(self.token, self.epoch[self.token]))

    def last_unmodified(self) -> int:
        """The last node on the queue without a request modifier, or the first node if all have one."""
        unmodified = [node for node, modifier in self.token_queue if modifier is None]
        return unmodified[-1] if unmodified else self.token_queue[0][0]

    def send_token(self) -> None:
        """The token leaves for the first node on its queue, with all that it carries."""
        t, queue = self.token, self.token_queue
        assert t is not None, "only a token that is here can leave"
        self.token, self.token_queue = None, []
        self.epoch[t] += 1
        nodes, modifiers = zip(*queue, strict=True)
        self.send(nodes[0], Token(t, nodes, modifiers, tuple(self.epoch)))

    def chosen_token(self) -> int:
        """The first decision: which token to request."""
        return self.rng.randrange(len(self.pointer)) if self.decisions.choice == "random" else self.last_seen

    def to_inform(self) -> list[int]:
        """The third decision: which v nodes to inform; `stalest` are those that this node has heard of longest ago."""
        if self.decisions.inform_to == "random":
            return self.rng.sample(sorted(self.heard_of), self.decisions.v)
        stalest = self.heard_of[: self.decisions.v]
        self.heard_of = self.heard_of[self.decisions.v :] + stalest
        return stalest

    def hear_of(self, peer: int) -> None:
        """A message of, or on behalf of, another node has arrived."""
        if peer != self.node:
            self.heard_of.remove(peer)
            self.heard_of.append(peer)

    def learn(self, token: int, epoch: int) -> None:
        """Take over an epoch that is higher than the one this node knows of."""
        self.epoch[token] = max(self.epoch[token], epoch)

    def enter_critical(self) -> None:
        """Enter the critical section."""
        self.status = CRITICAL
        self.enter()
