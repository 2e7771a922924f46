"""A node's view of its neighbourhood over radio: it hears the beacon of a place, registers there, and leaves in time.

A node is in a neighbourhood while it is within range of the place, which it knows from its own path, and has registered
after hearing the beacon. It knows the other members from the place's answer, from later beacons and from the messages
that it gets, so that what it knows may be old: a broadcast goes to the members that it knows of.
"""

from __future__ import annotations

from collections.abc import Callable

from agents.codec import Codec
from agents.groups import GroupMessage, Member
from agents.message import Message
from testbed.event_queue import Scheduler
from testbed.link.frames import Beacon
from testbed.runtime.group_driver import GroupDriver
from testbed.runtime.place_messages import Leave, PutDown, PutDownAnswer, Register, Registered

ATTEMPTS_PER_INCARNATION = 10**6


class RegisteredGroups:
    """The membership of one incarnation of one node. Serves its driver, and what makes the node travel."""

    def __init__(
        self,
        node: int,
        incarnation: int,
        driver: GroupDriver,
        queue: Scheduler,
        send: Callable[[int, Message], None],
        codec: Codec,
        first_place: int,
        notice: int,
    ) -> None:
        """`send`: sends a message to the station of a place. The place of group g is station `first_place` + g."""
        self._node = node
        self._driver = driver
        self._queue = queue
        self._send = send
        self._codec = codec
        self._first_place = first_place
        self._notice = notice
        self._in_range: int | None = None  # the group within whose range the node is, and is going to stay
        self._attempt = incarnation * ATTEMPTS_PER_INCARNATION
        self._is_registering = False
        self._group: int | None = None
        self._visit = -1
        self._others: dict[int, int] = {}  # the other members that are known, and their visits
        self._is_leaving = False
        self._deposited: Message | None = None  # on its way to the place
        self.on_left: Callable[[int], None] = lambda node: None

    # -- for the driver ----------------------------------------------------------------------------------------------

    def members(self, node: int, group: int) -> tuple[Member, ...]:
        """The other members of the group, as far as the node knows."""
        return tuple(Member(*one) for one in sorted(self._others.items()))

    def ready_to_leave(self, node: int, group: int) -> None:
        """The agent does not need to stay."""
        self._leave(ready=True, told=True)

    def deposit(self, node: int, group: int, message: Message) -> None:
        """The agent puts a token down at the place, which answers."""
        self._deposited = message
        self._send(self._place(group), PutDown(self._visit, tuple(self._codec.encode(message))))

    # -- for what makes the node travel ------------------------------------------------------------------------------

    def group_of(self, node: int) -> int | None:
        """The neighbourhood that the node is in."""
        return self._group

    def arrive(self, node: int, group: int) -> None:
        """The node comes within range of a place: it registers when it hears the beacon."""
        self._in_range = group

    def announce(self, node: int, deadline: int) -> None:
        """The node learns that it leaves: when it is ready, or else at that time."""
        self._in_range = None
        if self._group is not None and not self._is_leaving:
            self._is_leaving = True
            self._queue.at(deadline, self._leave_at_last, self._visit)
            self._driver.leaving(self._node)

    def vanish(self, node: int) -> None:
        """The node leaves at once, without notice, and comes back only when it next comes within range of a place."""
        self._in_range = None
        if self._group is not None:
            self._leave(ready=False, told=False)

    def end(self) -> None:
        """The process has ended: what was planned for it does not happen."""
        self._group = self._in_range = None

    def _leave_at_last(self, visit: int) -> None:
        if self._group is not None and visit == self._visit:
            self._leave(ready=False, told=True)

    def _leave(self, *, ready: bool, told: bool) -> None:
        """The visit is over. `told`: tell the place, so that it no longer lists the node."""
        assert self._group is not None
        if told:
            self._send(self._place(self._group), Leave(self._visit))
        self._group = self._deposited = None
        self._is_leaving = False
        self._others.clear()
        self._driver.left(self._node, ready=ready)

    # -- from the air ------------------------------------------------------------------------------------------------

    def on_beacon(self, place: int, beacon: Beacon) -> None:
        """A beacon was heard: register, learn who is there, or say that an earlier visit is over."""
        listed = dict(beacon.members)
        mine = listed.pop(self._node, None)
        if beacon.group == self._group:
            if mine == self._visit:  # else it is older than the visit
                self._others = listed
        elif beacon.group == self._in_range and not self._is_registering:
            self._attempt += 1
            self._is_registering = True
            self._send(place, Register(self._attempt))
        elif mine is not None and not self._is_registering:
            self._send(place, Leave(mine))

    def on_answer(self, place: int, message: Message) -> None:
        """The place has answered."""
        group = place - self._first_place
        if isinstance(message, Registered):
            self._join(group, message)
        elif isinstance(message, PutDownAnswer) and group == self._group and message.visit == self._visit:
            deposited, self._deposited = self._deposited, None
            if message.is_taken:
                self._leave(ready=True, told=False)
            elif deposited is not None:
                self._driver.refuse_deposit(self._node, deposited)

    def note_sender(self, peer: int, message: GroupMessage) -> None:
        """A message of another member has arrived: it is there."""
        if message.group == self._group:
            self._others[peer] = max(message.visit, self._others.get(peer, -1))

    def _join(self, group: int, answer: Registered) -> None:
        if answer.attempt != self._attempt or self._group is not None:
            self._send(self._place(group), Leave(answer.visit))  # the answer to an earlier incarnation
            return
        self._is_registering = False
        self._group, self._visit, self._others = group, answer.visit, dict(answer.members)
        deposit = None if answer.token is None else self._codec.decode(bytes(answer.token))
        members = tuple(Member(*one) for one in answer.members)
        self._driver.join(self._node, group, answer.visit, members, deposit)
        if self._in_range != group:  # the answer came too late
            self.announce(self._node, self._queue.now + self._notice)

    def _place(self, group: int) -> int:
        return self._first_place + group
