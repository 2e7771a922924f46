"""Delivery from end to end over a network that routes datagrams but guarantees nothing."""

from random import Random

import pytest

from agents.message import Message
from testbed.link.actions import Deliver, Lost, Transmit
from testbed.link.endtoend import Direct
from testbed.link.frames import Packet, Receipt, Who
from testbed.link.wire import Datagram, Wire
from tests.testbed.link.hostile import MS, SETTINGS, Coin, Note
from tests.testbed.link.routed_hostile import fails, soak

WIRE = Wire("a run", (Coin, Note))


def direct(node: int, incarnation: int = 1) -> Direct:
    return Direct(node, incarnation, WIRE, SETTINGS, Random(node))


def frames(layer: Direct) -> list[Message]:
    """The frames it wants to send, none of them a broadcast."""
    found = []
    for action in layer.take():
        if isinstance(action, Transmit):
            assert action.to is not None
            found.append(WIRE.read(action.data).frame)
    return found


def exchange(a: Direct, b: Direct, now: int = 0) -> list[Deliver | Lost]:
    """Carry datagrams between two layers until both are silent; returns what their agents are told."""
    told, is_silent = [], False
    while not is_silent:
        is_silent = True
        for one, other in ((a, b), (b, a)):
            for action in one.take():
                if isinstance(action, Transmit):
                    is_silent = False
                    other.on_datagram(now, action.data)
                else:
                    assert isinstance(action, Deliver | Lost)
                    told.append(action)
    return told


@pytest.mark.parametrize("batch", range(4))
def test_a_thousand_cases(batch):
    """Exactly once, in order, and nothing lost without a crash."""
    for seed in range(batch * 250, batch * 250 + 250):
        try:
            soak(seed, Direct)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


class ImpatientReceipt(Direct):
    """Gives receipts for packets that have arrived, delivered or not."""

    def _on_packet(self, packet, body) -> None:
        incoming = self._incoming.get(packet.source)
        if incoming is not None and packet.number > incoming.delivered + 1:
            incoming.delivered = packet.number - 1
        super()._on_packet(packet, body)


class Forgetful(Direct):
    """Forgets what it has delivered."""

    def _on_packet(self, packet, body) -> None:
        if packet.source in self._incoming:
            self._incoming[packet.source].delivered = min(self._incoming[packet.source].delivered, packet.number - 1)
        super()._on_packet(packet, body)


class SentOnce(Direct):
    """Never sends a packet again."""

    def _plan(self, outgoing) -> None:
        outgoing.retry_at = None


class BlindToRestarts(Direct):
    """Delivers packets that were for an earlier incarnation."""

    def _read(self, sender, incarnation, frame, body) -> None:
        if isinstance(frame, Packet) and frame.target == self.node:
            self._on_packet(frame, body)
        else:
            super()._read(sender, incarnation, frame, body)


@pytest.mark.parametrize("mutant", [ImpatientReceipt, Forgetful, SentOnce, BlindToRestarts])
def test_mutants_are_caught(mutant):
    """Within 60 cases."""
    assert any(fails(seed, mutant) for seed in range(60)), mutant.__doc__


def test_an_unknown_target_is_asked_once_before_anything_is_sent():
    """However many messages wait for it."""
    a, b = direct(0), direct(1)
    for serial in range(3):
        a.send(0, 1, Note(serial))
    (question,) = frames(a)
    assert question == Who(1)
    b.on_datagram(0, WIRE.spell(Datagram(0, 1, question)))
    (answer,) = frames(b)
    assert answer == Receipt(1, 1, 0, 1, 0, 0)
    a.on_datagram(0, WIRE.spell(Datagram(1, 1, answer)))
    assert [frame.number for frame in frames(a)] == [1, 2, 3]


def test_a_question_is_repeated_less_and_less_often():
    """While there is no route, or no target."""
    a = direct(0)
    a.send(0, 1, Note(1))
    times, now = [], 0
    while now < 2_000 * MS:
        times += [now // MS for frame in frames(a) if frame == Who(1)]
        now = a.wake_at()
        a.on_time(now)
    assert times == [0, 30, 90, 210, 450, 850, 1250, 1650]


def test_a_packet_for_the_old_incarnation_reveals_the_new_one():
    """A message that was in doubt is lost, and messages sent afterwards arrive."""
    a, b = direct(0), direct(1)
    a.send(0, 1, Note(1))
    assert exchange(a, b) == [Deliver(0, 1, 1, Note(1))]
    a.send(0, 1, Coin(7))
    restarted = direct(1, incarnation=2)
    assert exchange(a, restarted) == [Lost(1, 1, 2, Coin(7))]
    a.send(0, 1, Coin(8))
    assert exchange(a, restarted) == [Deliver(0, 1, 3, Coin(8))]


def test_nothing_is_lost_if_the_new_incarnation_sends_first():
    """Its incarnation is known before anything is sent to it."""
    a, b = direct(0), direct(1)
    a.send(0, 1, Note(1))
    exchange(a, b)
    restarted = direct(1, incarnation=2)
    restarted.send(0, 0, Note(2))
    assert exchange(a, restarted) == [Deliver(1, 2, 1, Note(2))]
    a.send(0, 1, Coin(7))
    assert exchange(a, restarted) == [Deliver(0, 1, 2, Coin(7))]


@pytest.mark.parametrize(
    ("sender", "frame", "why"),
    [
        (1, Who(2), "for another node"),
        (0, Who(0), "our own"),
        (1, Receipt(2, 1, 0, 1, 0, 0), "malformed"),
        (1, Packet(1, 1, 0, 9, 1, 0, 0), "for another incarnation"),
        (1, Receipt(1, 1, 0, 9, 0, 0), "for another incarnation"),
    ],
)
def test_frames_for_another_node_or_incarnation_are_dropped(sender, frame, why):
    """And counted by what is wrong with them."""
    layer = direct(0)
    layer.on_datagram(0, WIRE.spell(Datagram(sender, 1, frame)))
    assert layer.dropped == {why: 1}
    assert layer.take() == []
