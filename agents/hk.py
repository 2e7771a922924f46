"""hk, the prioritized h-out of-k mutual exclusion algorithm.

J.-R. Jiang: A Prioritized h-out of-k Mutual Exclusion Algorithm with Maximum Degree of Concurrency for Mobile Ad Hoc
Networks and Distributed Systems. Its predecessor without priorities is `agents.hk_fifo`.

RL (`agents.rl`) with a token that carries t, the number of free units out of k, and with queues in order of priority.
The node in front of the holder's queue gets the token, takes its h units or waits with the token until t >= h, and then
passes the token on; units come back by RELEASE. Assumes what RL assumes: bidirectional FIFO links, announced link
changes, no node failures and no partitions. The paper describes its procedures in prose; this is the pseudocode:

    request h, p       state := ES; enqueue (i, p); holder: serve; |Q| = 1: forwardRequest; otherwise report
    exit               state := NCS; age (aging = exit); holder: t += h, serve; otherwise forwardRelease(h)
    REQUEST(p) from j  unless a LINK from j is due: height[j] := ht; enqueue (j, p) if j is above; holder: serve;
                       sink: raiseHeight; |Q| = 1 or `next` not below: forwardRequest; otherwise report
    UPDATE(u) from j   if j is in Q: raise its priority to u; holder: serve; otherwise report
    RELEASE(r) from j  holder: t += r, serve; otherwise forwardRelease(r)
    TOKEN(t) from j    holder; come below j; LINK to all neighbours; serve
    LINK from j, link failing, link forming: as in RL; a holder serves
    serve (giveTokenToFrontOfQ), while i holds the token and Q is not empty:
        i in front: if t >= h: dequeue, t -= h, enter, go on; otherwise wait
        j in front: dequeue, TOKEN(t) to j, and if Q is not empty: REQUEST(front's p) to j
    report: if the front's priority is higher than what `next` was told: UPDATE(front's p) to `next`
    forwardRequest, raiseHeight: as in RL; forwardRelease(r): RELEASE(r) to the lowest neighbour

Deviations from the text (tests/agents/test_hk_defects.py has the runs and the cases):

1. A node that holds the token and waits for units stays in its queue, and looks again at every event. In print it has
   dequeued itself, and when it passes the token to a request of higher priority its own request is lost. "Releasing"
   only counts the units; here, as in the description of the RELEASE message, the holder then passes the token on.
   Without that schedule 3 starves a node, if deviation 5 is undone as well.
2. Requests age once per CS entry, as `PriorityParameters` says. In print (`aging` = exit) a node ages its own queue at
   its own exit. A star whose centre never enters starves a leaf of low priority, as requests wait in the centre's
   queue.
3. forwardRelease leaves `next` alone. In print it points `next` at the lowest neighbour, which may never have been
   asked: schedule 33 starves a node. A RELEASE that a breaking link returns is sent again, or schedule 1 loses units;
   at a node without a lower neighbour it waits until there is one, or schedule 1 takes a minimum over nothing.
4. `report` also follows when the node's own request comes to the front, and when the entry in front is raised. Without
   either, bursts of requests are not served in order of priority. An UPDATE only ever raises a priority, or it would
   undo aging (found by hand).
5. A holder in its CS passes the token on when a request arrives, as it does at its entry if one waits then. In print it
   ignores requests until it leaves, though units are free.
6. With `follow` = carried the REQUEST that follows a TOKEN travels inside it. In print (`follow` = message) it arrives
   when the receiver has already served its queue.
7. As deviations 1 to 4 of RL: a node without neighbours is no sink and asks no node, and its `next` is then itself; a
   `next` that has left counts as reversed; messages from strangers are refused. Without these schedule 2 takes a
   minimum over nothing, and schedules 2 and 3 starve a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from agents import h_out_of_k
from agents.contract import CRITICAL, REMAINDER, WAITING, Demand
from agents.errors import MisuseError
from agents.h_out_of_k import Initial, Link, Priority, Release, UnitParameters, UnitsByLinkReversal
from agents.heights import Height, lower_than, lowest
from agents.message import Message, added
from agents.pacing import RAISE
from agents.partition_detection import DETECTION, DETECTION_HANDLERS


@dataclass(frozen=True, slots=True)
class Token(h_out_of_k.Token):
    """TOKEN(t), with the number of CS entries so far, for aging, and the REQUEST that follows, where it is carried."""

    entries: int = added()
    follow: tuple[int, int] | None = added()


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(i, p): asks the receiver for the token on behalf of the sender."""

    height: Height
    priority: Priority


@dataclass(frozen=True, slots=True)
class Update(Message):
    """UPDATE(i, u): the sender's request now has this priority."""

    height: Height
    priority: Priority


@dataclass(frozen=True)
class PriorityParameters(UnitParameters):
    """Choices that the paper leaves open, and the printed ones beside what works better.

    `aging`: how pending requests gain priority, `step` at a time. `entry`: the token counts CS entries, and a node that
    gets the token raises all requests in its queue by a step for each entry that it had not counted. This needs the
    fewest messages; a request that joined the queue after some of these entries gains by them as well. `stamp`: a
    request keeps the priority p - step * (the CS entries that its node knew of when it asked), so nothing has to be
    raised. Both serve every request within a bound, and are for that nearer to the order of arrival. `exit`, as
    printed: a node raises the requests in its own queue when it leaves its CS. `none`: no aging. These two follow the
    priorities most closely, and starve requests under load.

    `ties` between equal priorities. `id`: the requester travels with the priority and the lower one goes first, in
    every queue alike. `arrival`: in the order of arrival at each queue, which needs fewer messages.

    `follow`: whether the REQUEST after a TOKEN is a `message`, as printed, or `carried` by the TOKEN. That saves a
    message and tells the receiver before it serves its queue, but it is another algorithm.
    """

    aging: Literal["entry", "stamp", "exit", "none"] = "entry"
    step: int = 1
    ties: Literal["id", "arrival"] = "id"
    follow: Literal["message", "carried"] = "message"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step < 1:
            raise ValueError("step at least 1")


DEFAULTS = PriorityParameters()


class PrioritizedHOutOfK(UnitsByLinkReversal):
    """The mutual exclusion process of node i."""

    messages: ClassVar[tuple[type[Message], ...]] = (Token, Request, Release, Update, Link, *DETECTION)
    handlers: ClassVar = {
        Token: "on_token",
        Request: "on_request_message",
        Release: "on_release_message",
        Update: "on_update",
        Link: "on_link",
        **DETECTION_HANDLERS,
    }
    parameters: ClassVar[type[UnitParameters]] = PriorityParameters
    survives = ("link changes", "crash", "restart", "cut")
    summary = "h of k units by link reversal, in order of priority (Jiang)"

    def __init__(self, node: int, initial: Initial, parameters: PriorityParameters = DEFAULTS) -> None:
        super().__init__(node, initial, parameters)
        self.aging, self.step = parameters.aging, parameters.step
        self.ties, self.follow = parameters.ties, parameters.follow
        self.told: Priority = (0, 0)  # the priority that `next` was last told
        self.entries = 0  # CS entries that the node knows of

    @classmethod
    def promises_bound(cls, parameters: Any) -> bool:
        """Requests must age, wherever they wait."""
        return parameters.aging in ("entry", "stamp")

    @classmethod
    def uses_priorities(cls, parameters: Any) -> bool:
        """Q is in their order."""
        return True

    # -- events, in the paper's order --------------------------------------------------------------------------------

    def on_request(self, demand: Demand) -> None:
        """Requesting h copies of resources with priority p."""
        self.require(REMAINDER, "request")
        if not 1 <= demand.units <= self.k:
            raise MisuseError(f"node {self.node}: a demand for {demand.units} of {self.k} units")
        self.status = WAITING
        self.demanded = demand.units
        stamp = self.step * self.entries if self.aging == "stamp" else 0
        self.enqueue(self.node, (demand.priority - stamp, -self.node if self.ties == "id" else 0))
        if self.token_holder:
            self.give_token_to_front()
        elif len(self.queue) == 1:
            self.forward_request()
        else:
            self.report()  # deviation 4

    def on_update(self, j: int, message: Update) -> None:
        """Receiving a priority update message."""
        self.require_neighbour(j, message)
        if any(claim.neighbour == j for claim in self.queue):
            self.enqueue(j, message.priority)
            if self.token_holder:
                self.give_token_to_front()
            else:
                self.report()

    def on_release(self) -> None:
        """Releasing r copies of resources."""
        self.require(CRITICAL, "release")
        self.status = REMAINDER
        if self.aging == "exit":
            self.age(self.step)
        released, self.in_use = self.in_use, 0
        self.take_back(released)
        self.report()  # deviation 4: of what has aged

    def on_request_message(self, j: int, message: Request) -> None:
        """Receiving a request message."""
        self.require_neighbour(j, message)
        if j in self.awaiting_link:  # sent before j had the token; j asks again if it still waits
            return
        self.height[j] = message.height
        if self.my_height < message.height:
            self.enqueue(j, message.priority)
        if self.token_holder:
            self.give_token_to_front()
        elif self.is_sink():
            self.raise_height()
        elif self.queue and (not self.leads_on() or [claim.neighbour for claim in self.queue] == [j]):
            self.forward_request()
        else:
            self.report()

    def on_token(self, j: int, message: Token) -> None:
        """Receiving the token message."""
        self.require_neighbour(j, message)
        self.height[j] = message.height
        self.come_below(message.height)
        self.hold_token(message)
        self.count_entries(message.entries)
        if message.follow is not None:
            self.enqueue(j, message.follow)
        self.give_token_to_front()

    # -- procedures, in the paper's order ----------------------------------------------------------------------------

    def give_token_to_front(self) -> None:
        """Procedure giveTokenToFrontOfQ(): called by a holder at every event, so that a waiting one looks again."""
        while self.token_holder and self.queue:
            front = self.queue[0].neighbour
            if front != self.node:
                self.send_token(front)
            elif self.free >= self.demanded:
                self.take_units()
            else:
                return  # deviation 1: still in Q

    def take_units(self) -> None:
        """The front is i, and t >= h."""
        self.dequeue(self.node)
        self.free -= self.demanded
        self.in_use = self.demanded
        self.count_entries(self.entries + 1)
        self.status = CRITICAL
        self.enter()

    def send_token(self, front: int) -> None:
        """The front is a neighbour: it gets the token, and is asked for it again if others wait."""
        self.dequeue(front)
        self.token_holder = False
        free, self.free = self.free, 0
        self.next = front
        self.height[front] = self.awaiting_link[front] = lower_than(self.my_height, front)
        carried = self.queue[0].priority if self.queue and self.follow == "carried" else None
        self.send(front, self.token(free, carried))
        if self.queue:
            self.told = self.queue[0].priority
            if carried is None:
                self.send(front, self.request())

    def forward_request(self) -> None:
        """Procedure forwardRequest()."""
        if not self.height or self.silent is not None or (RAISE in self.resting and self.is_sink()):  # dev. 7; pacing
            self.next = self.node
            return
        self.next = lowest(self.height)
        self.told = self.queue[0].priority
        self.send(self.next, self.request())

    # -- procedures that the paper does not name ---------------------------------------------------------------------

    def report(self) -> None:
        """Tell `next` if the front of Q is more urgent than it knows."""
        if self.queue and self.leads_on() and self.queue[0].priority > self.told:
            self.told = self.queue[0].priority
            self.send(self.next, Update(self.my_height, self.told))

    def count_entries(self, entries: int) -> None:
        """So many CS entries there have been: each ages every pending request (deviation 2)."""
        if self.aging == "entry":
            self.age(self.step * (entries - self.entries))
        self.entries = entries

    def age(self, gain: int) -> None:
        """Procedure aging(): raise the priority of every request in Q."""
        self.queue = [replace(one, priority=(one.priority[0] + gain, one.priority[1])) for one in self.queue]

    def token(self, free: int, follow: Priority | None) -> Message:
        """TOKEN(t)."""
        return Token(self.my_height, free, self.entries, follow)

    def request(self) -> Message:
        """REQUEST(i, p), with p the priority of the front."""
        return Request(self.my_height, self.queue[0].priority)
