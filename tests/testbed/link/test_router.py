"""The router on a hostile medium: exactly once and in order from end to end, however the routes change."""

from collections import deque

import pytest

from testbed.link.router import Router
from tests.testbed.link.hostile import Note
from tests.testbed.link.routed_hostile import RoutedHostile, fails, soak


@pytest.mark.parametrize("batch", range(4))
def test_a_thousand_cases(batch):
    """Exactly once, in order, and nothing lost without a crash."""
    for seed in range(batch * 250, batch * 250 + 250):
        try:
            soak(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


class ImpatientReceipt(Router):
    """Gives receipts for packets that have arrived, delivered or not."""

    def _on_packet(self, packet, body) -> None:
        incoming = self._incoming.get(packet.source)
        if packet.target == self.node and incoming is not None and packet.number > incoming.delivered + 1:
            incoming.delivered = packet.number - 1
        super()._on_packet(packet, body)


class Forgetful(Router):
    """Forgets what it has delivered."""

    def _on_packet(self, packet, body) -> None:
        if (
            packet.target == self.node
            and packet.target_incarnation == self.incarnation
            and packet.source in self._incoming
        ):
            self._incoming[packet.source].delivered = min(self._incoming[packet.source].delivered, packet.number - 1)
        super()._on_packet(packet, body)


class SentOnce(Router):
    """Never sends a packet again."""

    def _plan(self, outgoing) -> None:
        outgoing.retry_at = None


@pytest.mark.parametrize("mutant", [ImpatientReceipt, Forgetful, SentOnce])
def test_mutants_are_caught(mutant):
    """Within 60 cases."""
    assert any(fails(seed, mutant) for seed in range(60)), mutant.__doc__


def test_routes_lead_over_other_nodes():
    """0 and 2 hear only 1: they are two hops apart, and messages arrive."""
    hostile = RoutedHostile(1, crashes=False)
    hostile.nodes, hostile.incarnations = 3, [1, 1, 1]
    hostile.layers = [hostile._start(node) for node in range(3)]
    hostile.wakes = [layer.wake_at() for layer in hostile.layers]
    hostile.loss = hostile.doubling = 0.0
    hostile.slowest = 2_000_000
    hostile.apart = {frozenset((0, 2))}
    hostile.run(1.0, changing=False)
    assert hostile.layers[0].routes[2].hops == 2
    assert hostile.layers[0].routes[2].via == 1
    hostile.in_transit[0, 2] = deque([Note(999)])
    hostile.layers[0].send(hostile.now, 2, Note(999))
    hostile._carry_out(0)
    hostile.run(0.2, changing=False)
    assert not hostile.in_transit[0, 2]
