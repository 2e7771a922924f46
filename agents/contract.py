"""The contract between an algorithm and the driver that steps it.

An agent is the mutual exclusion process of one node. The driver calls one `on_...` method for each event of the paper
(RequestCS, ReleaseCS, Recv, LinkUp, LinkDown and a few the papers leave out); the method runs to completion, changes
the agent's state and appends what is to be done to `outbox`; the driver then takes the outbox and carries it out in
order. An agent reads no clock and draws randomness only from the generator it was given.

A refused event (`MisuseError`, `PeerError`) changes nothing: validate first, change state second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from random import Random
from typing import Any, ClassVar, Self

from agents.errors import MisuseError, PeerError
from agents.message import Message
from agents.outputs import (
    CANCEL_TIMER,
    ENTER,
    SEND,
    SET_TIMER,
    Output,
    PackedOutput,
    unpacked,
)
from agents.snapshot import copied, frozen

TICKS = 10**9
"""To a time unit: the delays of timers are in ticks."""

Graph = Mapping[int, Sequence[int]]
"""The network at time 0: for every node 0..n-1 its neighbours in ascending order."""


class Status(Enum):
    """Where the application process stands (section 3 of the RL paper, and all that followed it)."""

    REMAINDER = auto()
    WAITING = auto()
    CRITICAL = auto()

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a Python call


# Bound once: a member looked up through its class costs as much as what is done with it.
REMAINDER, WAITING, CRITICAL = Status


class Shares(Enum):
    """What an algorithm shares out, so that no more than `capacity` are inside."""

    TOKENS = "tokens"  # conserved: each is held by a node or carried by one message
    PERMISSIONS = "permissions"  # given anew for every request; no node holds anything


class Needs(Enum):
    """What an algorithm asks of the layer below it."""

    LINKS = "links"  # neighbours, and to be told when links come and go
    ANY_NODE = "any node"  # delivery to any node, so a router in an ad hoc network
    GROUPS = "groups"  # neighbourhoods with reliable broadcast, as in k-local mutual exclusion (agents.groups)


@dataclass(frozen=True, slots=True)
class Demand:
    """What an application asks for: `units` of the resource, with a priority where the algorithm knows one.

    A greater priority is more urgent. `deadline` is the time in ticks by which the application wants to be inside; it
    is measured, and algorithms go by the priority.
    """

    units: int = 1
    priority: int = 0
    deadline: int | None = None


ONE_UNIT = Demand()


@dataclass(frozen=True)
class Parameters:
    """The parameters of an algorithm that has none. Algorithms that have some subclass it, with types and defaults.

    A value that can never be right is refused in `__post_init__` with a ValueError that says what is allowed; one that
    is wrong for the size of the network, in `check`.
    """

    def check(self, nodes: int) -> None:
        """Raise ValueError if the parameters cannot work with this many nodes."""


@dataclass(frozen=True)
class MultipleEntries(Parameters):
    """The parameters of an algorithm that lets several nodes in: `k` at a time."""

    k: int = 3

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("k at least 1")

    def check(self, nodes: int) -> None:
        """More entries at a time than nodes would be without meaning."""
        if self.k > nodes:
            raise ValueError(f"k at most the number of nodes, {nodes}")


FAULTS = ("link changes", "crash", "restart", "cut", "lose")
"""What an algorithm can declare that it survives.

"link changes" matter only to algorithms that need links. After a "crash", requests that need what the crashed node had
are excused; a node that comes back by "restart" has forgotten everything. A "cut" is a partition that heals. "lose" is
one message that does not arrive.
"""


class Agent:
    """Base of every algorithm: one instance is the mutual exclusion process of one node."""

    needs: ClassVar[Needs] = Needs.LINKS
    shares: ClassVar[Shares] = Shares.TOKENS
    assumes_connected: ClassVar[bool] = True
    """Whether the paper assumes that the network is never partitioned."""
    survives: ClassVar[tuple[str, ...]] = ()
    """The faults of a scenario, of `FAULTS`, in which it stays safe and serves every request that it still can serve.

    `testbed check` injects these and no others.
    """
    never_rests: ClassVar[bool] = False
    """Whether it goes on sending when no node asks: then every message must take some time."""
    messages: ClassVar[tuple[type[Message], ...]] = ()
    handlers: ClassVar[Mapping[type[Message], str]] = {}
    """The method that takes each class of messages, by name; for algorithms that leave `on_receive` as it is."""
    _receivers: ClassVar[Mapping[type[Message], Callable[[Any, int, Any], None]]] = {}
    is_reconstruction: ClassVar[bool] = False
    """Whether the original text could not be found; then every table says so."""
    parameters: ClassVar[type[Parameters]] = Parameters
    spares: int = 0
    """How many of the nodes that it awaits a waiting node can do without."""
    summary: ClassVar[str] = ""
    """One line for `testbed list algorithms`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._receivers = {kind: getattr(cls, name) for kind, name in cls.handlers.items()}

    def __init__(self, node: int) -> None:
        self.node = node
        self.status = Status.REMAINDER
        self.outbox: list[PackedOutput] = []

    # -- starting ----------------------------------------------------------------------------------------------------

    @classmethod
    def initial(cls, graph: Graph, parameters: Any) -> list[Any]:
        """What every node starts with: its height or its place in the tree, its neighbours, its tokens.

        The result holds one value per node, which `start` turns into an agent. By default it is the numbers of all
        other nodes: enough for an algorithm that starts from its number and its peers.
        """
        return [tuple(peer for peer in range(len(graph)) if peer != node) for node in range(len(graph))]

    @classmethod
    def blank(cls, node: int, initial: Any, parameters: Any) -> Any:
        """What a node starts with that restarts after a crash: no neighbours, no tokens, no memory.

        By default what it started with at time 0, `initial`.
        """
        return initial

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Self:
        """An agent for `node` from its entry of `initial(...)`; by default `cls(node, initial)`."""
        make: Callable[[int, Any], Self] = cls
        return make(node, initial)

    @classmethod
    def without_links(cls, initial: Any) -> Any:
        """What a node starts with where links have yet to be found: the same, and no neighbours."""
        return replace(initial, neighbours=()) if hasattr(initial, "neighbours") else initial

    @classmethod
    def starts_permuted(cls, parameters: Any) -> bool:
        """Whether `initial` is given a permuted copy of the graph: a structure built before the nodes moved."""
        return False

    @classmethod
    def capacity(cls, parameters: Any) -> int:
        """How many units may be in use at one time: 1 for mutual exclusion, k for its generalisations."""
        return parameters.k if isinstance(parameters, MultipleEntries) else 1

    @classmethod
    def largest_demand(cls, parameters: Any) -> int:
        """How many units one request may ask for; most algorithms give every node one."""
        return 1

    @classmethod
    def promises_bound(cls, parameters: Any) -> bool:
        """Whether every request is served within some bound, however heavy the load."""
        return True

    @classmethod
    def uses_priorities(cls, parameters: Any) -> bool:
        """Whether the priority of a demand makes a difference."""
        return False

    # -- inputs ------------------------------------------------------------------------------------------------------

    def on_request(self, demand: Demand) -> None:
        """RequestCS: the application wants to enter its critical section."""
        raise NotImplementedError

    def on_release(self) -> None:
        """ReleaseCS: the application leaves its critical section."""
        raise NotImplementedError

    def on_receive(self, peer: int, message: Message) -> None:
        """Recv: a message from `peer` has arrived, which is for the method that `handlers` names."""
        receiver = self._receivers.get(type(message))
        if receiver is None:
            raise self.refuse(peer, message)
        receiver(self, peer, message)

    @classmethod
    def receiver(cls, kind: type[Message]) -> Callable[[Any, int, Any], None]:
        """What `on_receive` calls for a class of messages, as a function of (agent, peer, message): for speed."""
        if cls.on_receive is not Agent.on_receive:
            return cls.on_receive
        return cls._receivers.get(kind, cls.on_receive)

    def on_link_up(self, peer: int) -> None:
        """LinkUp: `peer` has come within reach."""

    def on_link_down(self, peer: int) -> None:
        """LinkDown: `peer` is out of reach. Everything sent to it before has arrived, or comes back by `on_return`."""

    def on_return(self, peer: int, message: Message) -> None:
        """A message to `peer` could not be delivered and comes back. What carries units must override this."""
        if message.units or message.tokens:
            raise MisuseError(f"node {self.node}: {type(message).__name__} carries units and cannot be dropped")

    def on_timer(self, name: str) -> None:
        """A timer set with `set_timer` has run out."""

    # -- outputs -----------------------------------------------------------------------------------------------------

    def send(self, peer: int, message: Message) -> None:
        """Send a message to one node."""
        self.outbox.append((SEND, (peer,), message))

    def send_all(self, peers: Iterable[int], message: Message) -> None:
        """Send the same message to several nodes, in that order."""
        self.outbox.append((SEND, tuple(peers), message))

    def enter(self) -> None:
        """EnterCS: let the application into its critical section."""
        self.outbox.append((ENTER, None, None))

    def set_timer(self, name: str, delay: int) -> None:
        """Ask for `on_timer(name)` after `delay` ticks; a timer of that name that is running starts over."""
        self.outbox.append((SET_TIMER, name, delay))

    def cancel_timer(self, name: str) -> None:
        """Forget a timer; nothing happens if it is not running."""
        self.outbox.append((CANCEL_TIMER, name, None))

    def take_outputs(self) -> list[Output]:
        """Empty the outbox; every message to a peer is an output of its own. For tests and for tools."""
        taken, self.outbox = self.outbox, []
        return [output for packed in taken for output in unpacked(packed)]

    # -- inspection --------------------------------------------------------------------------------------------------

    @property
    def units(self) -> int:
        """Units of the resource that this node holds, those in use by its own critical section included."""
        if self.shares is Shares.PERMISSIONS:
            return 0
        raise NotImplementedError(f"{type(self).__name__} shares tokens, and must say how many a node holds")

    @property
    def tokens(self) -> int:
        """Tokens that this node holds: as many as units, unless the algorithm tells the two apart."""
        return self.units

    def awaits(self) -> frozenset[int]:
        """The nodes that a node waits for, where permissions are shared: by default those in `awaited`.

        For a node that waits to enter: those whose permission it lacks. Any other node may wait for a permission that
        it has given to come back.
        """
        return frozenset(getattr(self, "awaited", ()))

    def state(self) -> tuple[Any, ...]:
        """Everything the agent knows as one canonical hashable tuple, its random generator included."""
        return tuple((name, frozen(value)) for name, value in sorted(self.__dict__.items()))

    def clone(self) -> Self:
        """An exact, independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update((name, copied(value)) for name, value in self.__dict__.items())
        return twin

    # -- for subclasses ----------------------------------------------------------------------------------------------

    def require(self, status: Status, event: str) -> None:
        """Refuse an application event that does not fit the node's status."""
        if self.status is not status:
            raise MisuseError(f"node {self.node}: {event} while {self.status.name}")

    def refuse(self, peer: int, message: Message) -> PeerError:
        """The error to raise for a message that this algorithm does not know."""
        return PeerError(f"node {self.node}: unexpected {type(message).__name__} from node {peer}")
