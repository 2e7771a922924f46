"""ns-3's radios and movements against ours."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.backends.repetition import Repetition
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from tests.testbed.backends.ns3 import on_ns3

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

HEADERS = 24 + 8 + 20 + 8 + 4
"""MAC, LLC, IP, UDP, and the checksum."""
FRAME_BYTES, FRAMES = 100, 100
MS = 10**6


def make_air(seed: int = 1, repetition: int = 0, **keys: Any) -> Any:
    """The air of a scenario with two or more nodes."""
    from testbed.backends.ns3 import library, network
    from testbed.backends.ns3.air import Ns3Air

    basics = {"nodes": 2, "topology": "geometric", "workload": {"rate": 1}, "duration": 10.0}
    one = Repetition(on_ns3.scenario(**{**basics, **keys}), Streams(seed, repetition))
    ns = library.reset(seed, repetition)
    return Ns3Air(ns, network.build(ns, one), one)


def at_distance(metres: float, radio: dict[str, Any]) -> Any:
    """Two nodes at a distance."""
    return make_air(radio=radio, placement={"kind": "explicit", "places": [[0, 0], [metres, 0]]}, area=[10_000, 10])


def arrivals(air: Any, to: int | None, size: int = FRAME_BYTES, frames: int = FRAMES) -> int:
    """How many of so many frames from the first node arrive at the second."""
    arrived = 0
    for number in range(1, frames + 1):
        air.send(0, to, bytes(size - HEADERS))
        while (station := air.run_until(10 * MS * number)) >= 0:
            assert air.datagram() == bytes(size - HEADERS)
            arrived += station == 1
    return arrived


PROPAGATION = ["log-distance", "friis", {"kind": "nakagami", "m": [1.5, 1.5, 1.5]}]


@pytest.mark.parametrize("rate", [6, 54])
@pytest.mark.parametrize("propagation", PROPAGATION, ids=["log-distance", "friis", "nakagami"])
def test_the_range_is_the_same(propagation: Any, rate: int, record_property: Any) -> None:
    """The distance at which half of the frames of 100 bytes arrive: within 2 %."""
    keys = {"propagation": propagation, "rate": rate}
    ours = Radio.model_validate(keys).reach_m()
    frames = 4000 if isinstance(propagation, dict) else 200  # fading spreads the edge
    near, far = 0.9 * ours, 1.1 * ours
    while far - near > 0.002 * ours:
        middle = (near + far) / 2
        if arrivals(at_distance(middle, keys), None, frames=frames) * 2 > frames:
            near = middle
        else:
            far = middle
    record_property("half of the frames", f"{ours:.1f} m here, {near:.1f} m in ns-3")
    assert near == pytest.approx(ours, rel=0.02)


EVERY_PROPAGATION: list[Any] = [
    {"kind": "friis", "system_loss": 2, "min_loss_db": 30},
    {"kind": "two-ray", "system_loss": 2, "antenna_height": 1.2, "min_distance": 0.4},
    {"kind": "log-distance", "exponent": 2.7, "reference_distance": 2},
    {"kind": "three-log-distance", "distances": [1, 50, 150], "exponents": [2, 3, 4]},
    {"kind": "shadowing", "sigma_db": 6, "mean": "three-log-distance"},
    "range",
]


@pytest.mark.parametrize("standard", ["802.11g", "802.11a"])
@pytest.mark.parametrize("propagation", EVERY_PROPAGATION, ids=str)
def test_the_loss_between_moving_nodes_is_the_same(propagation: Any, standard: str) -> None:
    """At any time of the run: so positions, frequency, parameters and the shadowing of every pair are the same."""
    radio = {"range": 100, "propagation": propagation, "standard": standard}
    mobility = {"kind": "random-waypoint", "speed": [10, 40]}
    air = make_air(nodes=4, radio=radio, mobility=mobility, placement="uniform", area=[300, 100], duration=100.0)
    geometry = air._geometry
    for seconds in (0.0, 0.7, 13.0, 99.9, 140.0):
        air.run_until(round(seconds * 1e9))
        places = [path.at(seconds) for path in geometry.trajectories]
        for node, place in enumerate(places):
            assert air.position(node) == pytest.approx(place, abs=1e-6)
        for a, b in ((0, 1), (2, 0), (1, 3), (3, 2)):
            sent = geometry.air.radio.tx_power_dbm
            ours = sent - geometry.air.rx_power_dbm(a, b, places[a], places[b])
            assert air.loss_db(a, b) == pytest.approx(ours, abs=1e-5)


@pytest.mark.parametrize(
    ("standard", "rate"), [("802.11b", 1), ("802.11b", 5.5), ("802.11g", 11), ("802.11g", 36), ("802.11a", 9)]
)
def test_every_standard_sends(standard: str, rate: float) -> None:
    """Inside the range all frames arrive, outside none: broadcast and unicast."""
    radio = {"standard": standard, "rate": rate, "range": 100}
    for to in (None, 1):
        assert arrivals(at_distance(80, radio), to) == FRAMES
        assert arrivals(at_distance(125, radio), to) == 0


@pytest.mark.parametrize(
    ("keys", "reach"),
    [
        ({"antenna_gain_dbi": 3.0}, 10 ** (6 / 30)),
        ({"tx_power_dbm": 22.0}, 10 ** (6 / 30)),
        ({"detection_rssi_dbm": -76.0}, 10 ** (-6 / 30)),
        ({"noise_figure_db": 21.0, "detection_snr_db": 10.0}, 10 ** (-12 / 30) * 10 ** (-0.034 / 30)),
        ({"noise_floor_dbm": -70.0, "detection_snr_db": 6.0}, 10 ** (-18 / 30)),
        ({"detection_rssi_dbm": -110.0, "detection_snr_db": -10.0, "rate": 6}, None),
        ({"detection_rssi_dbm": -120.0, "detection_snr_db": -10.0, "rate": 1, "noise_figure_db": 0.0}, None),
    ],
    ids=str,
)
def test_every_key_of_the_radio_counts(keys: dict[str, Any], reach: float | None) -> None:
    """Inside the range that our module computes frames arrive, outside hardly any."""
    ours = Radio.model_validate(keys).reach_m()
    if reach is not None:
        assert ours == pytest.approx(Radio().reach_m() * reach, rel=0.01)
    assert arrivals(at_distance(0.9 * ours, keys), None) > 0.9 * FRAMES
    assert arrivals(at_distance(1.1 * ours, keys), None) < 0.1 * FRAMES


def test_a_radio_that_is_off() -> None:
    """It hears nothing and sends nothing; what waited in it does not come later."""
    air = at_distance(50, {})
    air.set_radio(1, False)
    assert arrivals(air, 1) == 0
    air.set_radio(1, True)
    air.set_radio(1, True)
    start = air.now_ns()
    for _ in range(20):
        air.send(0, 1, bytes(1000))
    assert air.run_until(start + 5 * MS) == 1, "the first of them"
    air.set_radio(0, False)
    air.run_until(start + 10 * MS)  # what was on the air
    air.set_radio(0, True)
    assert air.run_until(start + 1000 * MS) == -1
    air.send(0, 1, b"again")
    assert air.run_until(start + 2000 * MS) == 1
    assert air.datagram() == b"again"


def test_acknowledgements_do_not_pass_a_cut() -> None:
    """Nor does anything else, until it is open again."""
    air = at_distance(50, {})
    assert arrivals(air, 1) == FRAMES
    air.set_passable(0, 1, False)
    air.send(0, 1, b"lost")
    assert air.run_until(air.now_ns() + 1000 * MS) == -1
    air.set_passable(0, 1, True)
    air.send(0, 1, b"heard")
    assert air.run_until(air.now_ns() + 1000 * MS) == 1
    assert air.datagram() == b"heard", "the other one was given up"


def test_a_unicast_is_repeated_and_a_broadcast_is_not() -> None:
    """Where half of the frames are lost, the radio's own acknowledgements bring nearly all unicasts through."""
    radio = {"rate": 54}
    air = at_distance(Radio.model_validate(radio).reach_m(), radio)
    assert 20 < arrivals(air, None) < 80
    air = at_distance(Radio.model_validate(radio).reach_m(), radio)
    assert arrivals(air, 1) > 90


def test_frames_are_lost_besides() -> None:
    """`links.loss`: so many broadcasts are missing, and unicasts are repeated, for acknowledgements are lost too."""
    places = {"placement": {"kind": "explicit", "places": [[0, 0], [50, 0]]}, "area": [100, 100]}
    lossy = {**places, "links": {"kind": "radio", "loss": 0.3}}
    assert 600 < arrivals(make_air(**lossy), None, frames=1000) < 800
    assert arrivals(make_air(**lossy), 1, frames=1000) > 990


def test_the_draws_depend_on_seed_and_repetition_only() -> None:
    """Which broadcasts arrive where half of them are lost."""
    radio = {"rate": 54}
    reach = Radio.model_validate(radio).reach_m()
    places = {"placement": {"kind": "explicit", "places": [[0, 0], [reach, 0]]}, "area": [100, 100]}

    def arrived(seed: int, repetition: int) -> tuple[int, ...]:
        air = make_air(seed, repetition, radio=radio, **places)
        return tuple(arrivals_of_one(air, number) for number in range(1, 101))

    draws = [(1, 0), (1, 1), (2, 0), (4_294_944_441, 0)]
    found = [arrived(*draw) for draw in draws]
    assert len(set(found)) == len(draws)
    assert [arrived(*draw) for draw in reversed(draws)] == found[::-1]


def arrivals_of_one(air: Any, number: int) -> int:
    """Whether one more broadcast arrives."""
    air.send(0, None, bytes(FRAME_BYTES - HEADERS))
    heard = 0
    while air.run_until(10 * MS * number) >= 0:
        heard += 1
    return heard
