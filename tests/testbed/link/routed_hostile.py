"""The hostile medium below routers and other layers that address any node, and a record of what they did."""

from collections import deque

from agents.message import Message
from testbed.link.actions import Deliver, Lost, Transmit
from testbed.link.endtoend import EndToEnd
from testbed.link.router import Router
from testbed.link.wire import Wire
from tests.testbed.link.hostile import Coin, Hostile, wire_of


class RoutedHostile(Hostile):
    """Nodes that send to any other node, over routes that the medium keeps breaking."""

    def __init__(
        self, seed: int, layer: type[EndToEnd] = Router, *, crashes: bool = True, wire: type[Wire] = Wire
    ) -> None:
        self.in_transit: dict[tuple[int, int], deque[Message]] = {}  # in the order in which they were sent
        super().__init__(seed, layer, crashes=crashes, wire=wire)  # type: ignore[arg-type]

    def _send(self, node: int) -> None:
        peer = self.rng.choice([peer for peer in range(self.nodes) if peer != node])
        message = self._next_message(node, peer)
        self.in_transit.setdefault((node, peer), deque()).append(message)
        self.layers[node].send(self.now, peer, message)
        self._carry_out(node)

    def _crash(self, node: int) -> None:
        super()._crash(node)
        for ends in list(self.in_transit):
            if ends[0] == node:
                self.lost.update(message.serial for message in self.in_transit.pop(ends))

    def _carry_out(self, node: int) -> None:
        for action in self.layers[node].take():
            if isinstance(action, Transmit):
                self._transmit(node, action)
            elif isinstance(action, Deliver):
                sent = self.in_transit.get((action.peer, node), deque())
                if sent and sent[0] == action.message:
                    sent.popleft()
                    if isinstance(action.message, Coin):
                        assert self.where[action.message.serial] == (action.peer, node)
                        self.where[action.message.serial] = node
                else:  # on the air when its sender crashed
                    assert action.message.serial in self.lost, f"{action.message} twice, or out of order"
            else:
                assert isinstance(action, Lost)
                assert self.incarnations[action.peer] > 1, "lost, although the peer never crashed"
                sent = self.in_transit[node, action.peer]
                if action.message in sent:  # else delivered, and the receipt was lost
                    self.lost.add(action.message.serial)
                    sent.remove(action.message)
        self.wakes[node] = self.layers[node].wake_at()

    def heal_and_check(self) -> None:
        """All nodes in reach again: every message arrives."""
        self.apart.clear()
        self.loss, self.slowest = min(self.loss, 0.05), 2_000_000
        for _ in range(30):
            self.run(0.5, changing=False)
            if not any(self.in_transit.values()):
                break
        assert not any(self.in_transit.values()), "not everything was delivered"
        assert all(isinstance(place, int) or coin in self.lost for coin, place in self.where.items())
        assert self.crashes or not self.lost


def soak(seed: int, layer: type[EndToEnd] = Router) -> RoutedHostile:
    """One case."""
    hostile = RoutedHostile(seed, layer, wire=wire_of(seed))
    hostile.run(3.0)
    hostile.heal_and_check()
    return hostile


def fails(seed: int, layer: type[EndToEnd]) -> bool:
    """Whether a case shows what is wrong with a layer."""
    try:
        soak(seed, layer)
    except (AssertionError, KeyError, IndexError):
        return True
    return False
