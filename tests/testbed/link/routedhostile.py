"""The hostile medium under routers and other layers that address any node, and an account of what they did."""

from collections import deque

from agents.message import Message
from testbed.link.actions import Deliver, Lost, Transmit
from testbed.link.endtoend import EndToEnd
from testbed.link.router import Router
from tests.testbed.link.hostile import Coin, Hostile, Note


class RoutedHostile(Hostile):
    """Nodes that send to any other, over routes that the medium keeps breaking."""

    def __init__(self, seed: int, layer: type[EndToEnd] = Router, *, crashes: bool = True) -> None:
        self.ways: dict[tuple[int, int], deque[Message]] = {}
        super().__init__(seed, layer, crashes=crashes)  # type: ignore[arg-type]

    def _send(self, node: int) -> None:
        peer = self.rng.choice([peer for peer in range(self.nodes) if peer != node])
        coins = [coin for coin, place in self.where.items() if place == node]
        if coins and self.rng.random() < 0.5:
            message: Message = Coin(self.rng.choice(coins))
            self.where[message.serial] = (node, peer)
        else:
            self.serial += 1
            message = Note(self.serial)
        self.ways.setdefault((node, peer), deque()).append(message)
        self.layers[node].send(self.now, peer, message)
        self._carry_out(node)

    def _crash(self, node: int) -> None:
        super()._crash(node)
        for ends in list(self.ways):
            if ends[0] == node:
                self.lost.update(message.serial for message in self.ways.pop(ends))

    def _carry_out(self, node: int) -> None:
        for action in self.layers[node].take():
            if isinstance(action, Transmit):
                self._transmit(node, action)
            elif isinstance(action, Deliver):
                way = self.ways.get((action.peer, node), deque())
                if way and way[0] == action.message:
                    way.popleft()
                    if isinstance(action.message, Coin):
                        assert self.where[action.message.serial] == (action.peer, node)
                        self.where[action.message.serial] = node
                else:  # on the air when its sender died
                    assert action.message.serial in self.lost, f"{action.message} twice, or out of order"
            else:
                assert isinstance(action, Lost)
                assert self.lives[action.peer] > 1, "lost, although the peer never died"
                if action.message in self.ways[node, action.peer]:  # else delivered, and the receipt was lost
                    self.lost.add(action.message.serial)
                    self.ways[node, action.peer].remove(action.message)
        self.wakes[node] = self.layers[node].wake_at()

    def heal_and_check(self) -> None:
        """Everybody in reach again: everything arrives."""
        self.apart.clear()
        self.loss, self.slowest = min(self.loss, 0.05), 2_000_000
        for _ in range(30):
            self.run(0.5, changing=False)
            if not any(self.ways.values()):
                break
        assert not [way for way in self.ways.values() if way], "not everything was delivered"
        assert all(isinstance(place, int) or coin in self.lost for coin, place in self.where.items())
        assert self.crashes or not self.lost


def soak(seed: int, layer: type[EndToEnd] = Router) -> RoutedHostile:
    """One case."""
    hostile = RoutedHostile(seed, layer)
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
