"""Many neighbours, many routes, much time: frames fit into datagrams, and memory stays bounded."""

from random import Random

from testbed.link.actions import Transmit, Up
from testbed.link.frames import Advert, Hello, Relay
from testbed.link.layer import REMEMBERED_RELAYS, LinkLayer
from testbed.link.router import Router
from testbed.link.settings import LinkSettings
from testbed.link.wire import MAX_BYTES, Datagram, Wire
from tests.testbed.link.hostile import MS, Coin, Note

WIRE = Wire("a run", (Coin, Note))
SETTINGS = LinkSettings(hello=100 * MS, jitter=0.2, up_after=2, dead_after=350 * MS, retry=25 * MS, max_retry=400 * MS,
                    close_timeout=None)  # fmt: skip


def layer(node: int) -> LinkLayer:
    return LinkLayer(node, 1, WIRE, SETTINGS, Random(node))


def transmitted(layer: LinkLayer | Router) -> list[bytes]:
    return [action.data for action in layer.take() if isinstance(action, Transmit)]


def test_a_hello_to_a_thousand_neighbours():
    """It is split over frames of one number, which together name all neighbours."""
    one, peers = layer(0), range(10_000, 11_000)
    for peer in peers:
        one.on_datagram(0, WIRE.spell(Datagram(peer, 3, Hello(1, ()))))
    one.take()
    one.on_time(one.wake_at())
    sent = transmitted(one)
    assert len(sent) > 1
    assert max(map(len, sent)) <= MAX_BYTES
    hellos = [WIRE.read(data).frame for data in sent]
    assert {hello.number for hello in hellos} == {1}
    assert [heard for hello in hellos for heard in hello.heard] == [(peer, 3) for peer in peers]


def test_an_advert_of_a_thousand_routes_to_a_hundred_neighbours():
    """Every neighbour is named together with every route, however large the numbers are."""
    router = Router(0, 1, WIRE, SETTINGS, Random(0))
    peers, far = range(10_000, 10_100), range(20_000, 21_000)
    for peer in peers:
        routes = ((peer, 300, 2**30, 0), *((target, 300, 2**30, 60) for target in far[peer % 100 :: 100]))
        router.on_datagram(0, WIRE.spell(Datagram(peer, 300, Advert(((0, 1),), routes))))
    router.take()
    router.on_time(router.wake_at())
    sent = transmitted(router)
    assert max(map(len, sent)) <= MAX_BYTES
    told = {peer: set() for peer in peers}
    for data in sent:
        advert = WIRE.read(data).frame
        assert advert.vector[0] == (0, 1, 1, 0), "its own entry first"
        for peer, _ in advert.heard:
            told[peer] |= {entry[0] for entry in advert.vector}
    assert all(targets == {0, *peers, *far} for targets in told.values())


def test_a_hello_that_comes_twice_counts_once():
    """Two hellos open a link; one hello that arrives twice does not."""
    one = layer(1)
    first, second = (WIRE.spell(Datagram(0, 1, Hello(number, ((1, 1),)))) for number in (1, 2))
    opener = layer(0)
    for asked, data in ((0, first), (0, first), (1, second)):
        one.on_datagram(0, data)
        sent = [WIRE.read(datagram).frame for datagram in transmitted(one)]
        mirrored = WIRE.spell(Datagram(1, 1, Hello(WIRE.read(data).frame.number, ((0, 1),))))
        opener.on_datagram(0, mirrored)
        sent += [WIRE.read(datagram).frame for datagram in transmitted(opener)]
        assert len(sent) == asked, "one of the two opens the session"


def test_memory_for_relays_is_bounded():
    """A peer falls silent with a unit in transit; it is asked by relay, again and again."""
    one, other = layer(0), layer(1)
    now, up = 0, False
    while not up:
        now = min(one.wake_at(), other.wake_at())
        one.on_time(now)
        other.on_time(now)
        for _ in range(10):
            for giver, taker in ((one, other), (other, one)):
                for action in giver.take():
                    up = up or (giver is one and isinstance(action, Up))
                    if isinstance(action, Transmit):
                        taker.on_datagram(now, action.data)
    one.send(now, 1, Coin(1))
    relays = 0
    while relays <= REMEMBERED_RELAYS + 100:
        now = one.wake_at()
        one.on_time(now)
        relays += sum(isinstance(WIRE.read(data).frame, Relay) for data in transmitted(one))
    assert len(one._seen) <= REMEMBERED_RELAYS
