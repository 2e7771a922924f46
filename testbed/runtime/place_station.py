"""The station of a place: it beacons its neighbourhood and its members, and keeps the token while no node is there."""

from __future__ import annotations

from collections.abc import Callable

from agents.codec import Codec
from agents.message import Message
from testbed.event_queue import Scheduler
from testbed.link.actions import Action, Deliver
from testbed.link.endtoend import EndToEnd
from testbed.link.frames import Beacon
from testbed.network.place_register import PlaceRegister
from testbed.runtime.place_messages import Leave, PutDown, PutDownAnswer, Register, Registered
from testbed.runtime.processing_costs import ProcessingCosts
from testbed.runtime.stack import Put, Stack

NO_COSTS = ProcessingCosts(0, 0, "fifo")
"""A place handles what it gets at once."""


class PlaceStation(Stack):
    """A station without an agent: its layer, and the register of its place."""

    layer: EndToEnd

    def __init__(
        self,
        layer: EndToEnd,
        queue: Scheduler,
        transmit: Put,
        group: int,
        register: PlaceRegister,
        codec: Codec,
        every: int,
    ) -> None:
        """`every`: the time between two beacons, in ticks."""
        super().__init__(layer, None, queue, transmit, NO_COSTS)
        self._group = group
        self.register = register
        self._codec = codec
        self._every = every
        self._answers: dict[type[Message], Callable[[int, Message], None]] = {
            Register: self._on_register,
            Leave: self._on_leave,
            PutDown: self._on_put_down,
        }

    def begin(self) -> None:
        """Plan the layer's first wake-up and the first beacon."""
        super().begin()
        self._queue.at(self._queue.now + self._every, self._beacon)

    def _beacon(self) -> None:
        if self._has_ended:
            return
        members = tuple((one.node, one.visit) for one in self.register.members())
        self.layer.beacon(self._queue.now, Beacon(self._group, members))
        self._carry_out()
        self._queue.at(self._queue.now + self._every, self._beacon)

    def _do(self, action: Action) -> None:
        """Answer a message. Lost answers concern processes that have ended, and beacons of other places no place."""
        if isinstance(action, Deliver):
            answer = self._answers.get(type(action.message))
            if answer is not None:
                answer(action.peer, action.message)

    def _answer(self, node: int, message: Message) -> None:
        self.layer.send(self._queue.now, node, message)

    def _on_register(self, node: int, message: Message) -> None:
        assert isinstance(message, Register)
        visit, members, deposit = self.register.arrive(node)
        token = None if deposit is None else tuple(self._codec.encode(deposit))
        others = tuple((one.node, one.visit) for one in members)
        self._answer(node, Registered(message.attempt, visit, others, token))

    def _on_leave(self, node: int, message: Message) -> None:
        assert isinstance(message, Leave)
        self.register.leave(node, message.visit)

    def _on_put_down(self, node: int, message: Message) -> None:
        assert isinstance(message, PutDown)
        token = self._codec.decode(bytes(message.token))
        self._answer(node, PutDownAnswer(message.visit, self.register.put_down(node, message.visit, token)))
