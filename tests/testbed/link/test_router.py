"""The router on a hostile medium: exactly once and in order from end to end, whatever the routes do."""

from collections import deque

import pytest

from agents.message import Message
from testbed.link.actions import Deliver, Lost, Transmit
from testbed.link.router import Router
from tests.testbed.link.hostile import Coin, Hostile, Note


class RoutedHostile(Hostile):
    """Nodes that send to any other, over routes that the medium keeps breaking."""

    def __init__(self, seed: int, layer: type[Router] = Router, *, crashes: bool = True) -> None:
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


def soak(seed: int, layer: type[Router] = Router) -> RoutedHostile:
    """One case."""
    hostile = RoutedHostile(seed, layer)
    hostile.run(3.0)
    hostile.heal_and_check()
    return hostile


@pytest.mark.parametrize("batch", range(4))
def test_a_thousand_cases(batch):
    """Exactly once, in order, and nothing lost without a crash."""
    for seed in range(batch * 250, batch * 250 + 250):
        try:
            soak(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


class ImpatientReceipt(Router):
    """Receipts what has arrived, delivered or not."""

    def _on_packet(self, packet, body) -> None:
        incoming = self._incoming.get(packet.source)
        if packet.target == self.node and incoming is not None and packet.number > incoming.delivered + 1:
            incoming.delivered = packet.number - 1
        super()._on_packet(packet, body)


class Forgetful(Router):
    """Keeps no account of what it has delivered."""

    def _on_packet(self, packet, body) -> None:
        if packet.target == self.node and packet.life == self.incarnation and packet.source in self._incoming:
            self._incoming[packet.source].delivered = min(self._incoming[packet.source].delivered, packet.number - 1)
        super()._on_packet(packet, body)


class SentOnce(Router):
    """Never sends again."""

    def _plan(self, outgoing) -> None:
        outgoing.retry_at = None


@pytest.mark.parametrize("mutant", [ImpatientReceipt, Forgetful, SentOnce])
def test_mutants_are_caught(mutant):
    """Within some cases."""

    def fails(seed: int) -> bool:
        try:
            soak(seed, mutant)
        except (AssertionError, KeyError, IndexError):
            return True
        return False

    assert any(fails(seed) for seed in range(60)), mutant.__doc__


def test_routes_lead_over_others():
    """0 and 2 hear only 1: they are two hops apart, and messages arrive."""
    hostile = RoutedHostile(1, crashes=False)
    hostile.nodes, hostile.lives = 3, [1, 1, 1]
    hostile.layers = [hostile._birth(node) for node in range(3)]
    hostile.wakes = [layer.wake_at() for layer in hostile.layers]
    hostile.loss = hostile.doubling = 0.0
    hostile.slowest = 2_000_000
    hostile.apart = {frozenset((0, 2))}
    hostile.run(1.0, changing=False)
    assert hostile.layers[0].routes[2].hops == 2
    assert hostile.layers[0].routes[2].via == 1
    hostile.ways[0, 2] = deque([Note(999)])
    hostile.layers[0].send(hostile.now, 2, Note(999))
    hostile._carry_out(0)
    hostile.run(0.2, changing=False)
    assert not hostile.ways[0, 2]
