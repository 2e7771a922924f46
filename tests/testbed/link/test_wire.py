"""Datagrams are decoded as they were encoded; all other bytes are counted and dropped, and change nothing."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.link.frames import Data, Hello, Relay, State
from testbed.link.layer import LinkLayer
from testbed.link.wire import MAX_BYTES, Datagram, Junk, Wire
from tests.testbed.link.hostile import MS, SETTINGS, Coin, Hostile, Note

WIRE = Wire("a run", (Coin, Note))
number = st.integers(0, 2**40)
frames = st.one_of(
    st.builds(Hello, number, st.lists(st.tuples(number, number), max_size=20).map(tuple)),
    st.builds(State, number, number, number, st.integers(0, 3), number, number, st.none() | number, st.booleans()),
    st.builds(Data, number, number, number, number),
    st.builds(Relay, number, number, number, number, st.integers(0, 8)),
)


@given(sender=number, incarnation=number, frame=frames, body=st.binary(max_size=60))
def test_encoded_datagrams_are_decoded(sender, incarnation, frame, body):
    """To the last field."""
    datagram = Datagram(sender, incarnation, frame, body if isinstance(frame, Data | Relay) else b"")
    assert WIRE.read(WIRE.spell(datagram)) == datagram


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "of another version"),
        (b"\xff" * 30, "of another version"),
        (Wire("another run", ()).spell(Datagram(1, 1, Hello(1, ()))), "of another run"),
        (WIRE.spell(Datagram(1, 1, Hello(1, ()))) + b"x", "malformed"),
        (WIRE.spell(Datagram(1, 1, Hello(1, ())))[:-1], "malformed"),
        (bytes(MAX_BYTES + 1), "oversized"),
    ],
    ids=["nothing", "noise", "another run", "too long", "too short", "oversized"],
)
def test_junk_is_told_by_its_kind(data, why):
    """And no other exception is raised."""
    with pytest.raises(Junk, match=why):
        WIRE.read(data)


def test_a_datagram_that_would_not_fit_is_not_sent():
    """It is refused before it is on the air."""
    with pytest.raises(ValueError, match="at most 1400"):
        WIRE.spell(Datagram(1, 1, Data(2, 1, 1, 1), bytes(MAX_BYTES)))


def fuzz(count: int, seed: int) -> LinkLayer:
    """Give a layer in the middle of a run recorded datagrams with changed bytes, and noise."""
    rng = Random(seed)
    hostile = Hostile(seed, crashes=False)
    recorded: list[bytes] = []
    deliver = LinkLayer.on_datagram

    def record(self, now, data):
        recorded.append(data)
        deliver(self, now, data)

    LinkLayer.on_datagram = record
    try:
        hostile.run(2.0)
    finally:
        LinkLayer.on_datagram = deliver
    layer = hostile.layers[0]
    for index in range(count):
        data = bytearray(rng.choice(recorded)) if rng.random() < 0.8 else bytearray(rng.randbytes(rng.randint(0, 60)))
        for _ in range(rng.randint(1, 4)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data) + 1) :]
        if bytes(data) not in recorded:
            layer.on_datagram(hostile.now + index, bytes(data))
            assert not layer.take(), "a broken datagram has no effect"
    return layer


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_broken_datagrams_crash_nothing(seed):
    """They are counted by what is wrong with them."""
    layer = fuzz(2_000, seed)
    assert sum(layer.dropped.values()) > 1_500
    assert min(layer.dropped[why] for why in ("malformed", "of another version", "of another run")) > 20


@pytest.mark.slow
def test_a_million_broken_datagrams():
    """The same, many more."""
    for seed in range(10):
        fuzz(100_000, seed)


def test_replays_change_nothing():
    """Every datagram of a run is received once more at its end: nothing is delivered, opened or closed by it."""
    hostile = Hostile(5, crashes=False)
    hostile.loss = hostile.doubling = 0.0
    recorded: list[tuple[int, bytes]] = []
    transmit = hostile._transmit

    def record(node, action):
        recorded.extend((peer, action.data) for peer in range(hostile.nodes) if peer != node)
        transmit(node, action)

    hostile._transmit = record
    hostile.run(2.0)
    hostile.heal_and_check()
    before = {pair: (book.up, book.session, book.delivered) for pair, book in hostile.books.items()}
    hostile._transmit = transmit
    for peer, data in recorded:
        hostile.layers[peer].on_datagram(hostile.now, data)
        hostile._carry_out(peer)
    hostile.run(1.0, changing=False)
    hostile.heal_and_check()
    after = {pair: (book.up, book.session, book.delivered) for pair, book in hostile.books.items()}
    assert after == before


def test_timing_of_hellos():
    """One every 100 ms, give or take a fifth."""
    layer = LinkLayer(0, 1, WIRE, SETTINGS, Random(1))
    times = []
    while layer.wake_at() < 10_000 * MS:
        now = layer.wake_at()
        layer.on_time(now)
        (hello,) = layer.take()
        assert isinstance(WIRE.read(hello.data).frame, Hello)
        times.append(now)
    gaps = [b - a for a, b in pairwise(times)]
    assert all(80 * MS <= gap <= 120 * MS for gap in gaps)
    assert len({gap // MS for gap in gaps}) > 10
