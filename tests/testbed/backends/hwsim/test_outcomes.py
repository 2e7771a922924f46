"""What happens to frames, without a kernel: which nodes receive them, how often they are tried, when; the counts."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from testbed.backends.hwsim import error_rates, messages
from testbed.backends.hwsim.frames import Impairments, Try, tries_left
from testbed.backends.hwsim.hearing import REFRESH_NS, GivenPairs, Hearer, Hearing, Places
from testbed.backends.hwsim.outcomes import FrameOutcomes
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing
from testbed.radio.air import Air
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from tests.testbed.backends.hwsim.frames import BROADCAST, FAMILY, ONCE, SIX, mac, number, receivers, sent, unpack

SEVEN_TIMES = (SIX, 7, -1, 0, -1, 0, -1, 0)
BEACON = 0x80
US = 1000


def outcomes(hearing: Hearing, radio: Radio | None = None, **impairments: Any) -> FrameOutcomes:
    addresses = [mac(node) for node in range(hearing.nodes)]
    packer = messages.Packer(FAMILY, 2412)
    on_try = impairments.pop("on_try", None)
    return FrameOutcomes(hearing, radio or Radio(), addresses, packer, Random(1), Impairments(**impairments), on_try)


def line(*xs: float, radio: Radio | None = None) -> Places:
    return Places([standing(Position(x, 0.0)) for x in xs], Air(radio or Radio(range=100.0), Streams(1, 0)))


def send(made: FrameOutcomes, *arguments: Any, now: int = 0, **more: Any) -> bytes:
    """Send one frame; returns the messages to the kernel when it has been on the air."""
    made.take(sent(*arguments, **more), now, now)
    return made.land(now)


def test_those_in_range_hear_a_broadcast_and_the_sender_is_told_that_it_is_sent() -> None:
    data = send(outcomes(line(0, 80, 160)), 1, BROADCAST)
    assert receivers(data) == [0, 2]
    (report,) = unpack(data)[1]
    assert number(report[messages.FLAGS]) == 1 | messages.WAS_ACKED
    assert receivers(send(outcomes(line(0, 80, 160)), 0, BROADCAST)) == [1]


def test_a_unicast_goes_to_its_receiver_alone_and_is_acknowledged_by_it() -> None:
    made = outcomes(line(0, 80, 90))
    frames, (report,) = unpack(send(made, 0, mac(1), tries=SEVEN_TIMES))
    assert [one[messages.ADDR_RECEIVER] for one in frames] == [mac(1)]
    assert number(report[messages.FLAGS]) & messages.WAS_ACKED
    assert report[messages.TX_INFO] == bytes((SIX, 1, 255, 0, 255, 0, 255, 0))
    assert number(report[messages.SIGNAL]) == number(frames[0][messages.SIGNAL]) == -79  # 80 m, at a range of 100


def test_a_unicast_to_a_node_out_of_range_is_tried_as_often_as_asked_for_and_not_acknowledged() -> None:
    made = outcomes(line(0, 80, 160))
    tries = (SIX, 3, 0, 4, -1, 0, -1, 0)
    frames, (report,) = unpack(send(made, 0, mac(2), tries=tries))
    assert not frames
    assert not number(report[messages.FLAGS]) & messages.WAS_ACKED
    assert report[messages.TX_INFO] == bytes((SIX, 3, 0, 4, 255, 0, 255, 0))
    assert made.tries == 7
    assert made.lost == {"out of reach": 1}
    made.hearing.forbid([(0, 1)])
    made.forget()
    send(made, 0, mac(1), tries=tries)
    assert made.lost == {"out of reach": 1, "faults": 1}


def test_forbidden_pairs_hear_nothing_in_either_direction() -> None:
    made = outcomes(line(0, 10, 20))
    made.hearing.forbid([[1, 0]])
    made.forget()
    assert receivers(send(made, 0, BROADCAST)) == [2]
    assert receivers(send(made, 1, BROADCAST)) == [2]
    made.hearing.forbid([])
    made.forget()
    assert receivers(send(made, 0, BROADCAST)) == [1, 2]


def test_given_pairs_hear_each_other_without_positions() -> None:
    hearing = GivenPairs(4, [(0, 1), (1, 2)])
    made = outcomes(hearing)
    assert receivers(send(made, 1, BROADCAST)) == [0, 2]
    hearing.allow([(3, 1)])
    hearing.forbid([(1, 2)])
    made.forget()
    assert receivers(send(made, 1, BROADCAST)) == [3]
    assert receivers(send(made, 0, BROADCAST)) == []


def test_nodes_are_where_their_trajectories_take_them() -> None:
    away = Trajectory((Waypoint(0.0, 50.0, 0.0), Waypoint(10.0, 150.0, 0.0)))
    late = Trajectory((Waypoint(0.0, 10.0, 0.0),), appears=2.0)
    hearing = Places([standing(Position(0.0, 0.0)), away, late], Air(Radio(range=100.0), Streams(1, 0)))
    made = outcomes(hearing)
    second = 10**9
    heard = [receivers(send(made, 0, BROADCAST, now=round(t * second))) for t in (0.0, 1.9, 2.1, 4.9, 5.2, 100.0)]
    assert heard == [[1], [1], [1, 2], [1, 2], [2], [2]]
    assert hearing.lasts_ns() == REFRESH_NS
    hearing.place({1: Position(0.0, 1.0), 2: Position(0.0, 2.0)})
    made.forget()
    assert hearing.lasts_ns() is None
    assert receivers(send(made, 0, BROADCAST, now=second)) == [1, 2]


def test_frames_are_lost_as_often_as_the_radio_module_says() -> None:
    radio = Radio(range=100.0, rate=54.0)
    hearing, tries = line(0, 100, radio=radio), (11, 1, -1, 0, -1, 0, -1, 0)
    made = outcomes(hearing, radio)
    expected = Air(radio, Streams(1, 0)).frame_error_rate(0, 1, Position(0.0, 0.0), Position(100.0, 0.0), 100)
    n = 4000
    arrived = sum(len(receivers(send(made, 0, BROADCAST, tries=tries))) for _ in range(n))
    assert abs(arrived / n - (1 - expected)) < 4 * (expected * (1 - expected) / n) ** 0.5
    assert made.lost["errors"] == n - arrived


def test_fading_frames_arrive_as_often_as_the_radio_module_says() -> None:
    radio = Radio(range=100.0, propagation={"kind": "nakagami"})  # type: ignore[arg-type]
    made = outcomes(line(0, 120, radio=radio), radio)
    expected = Air(radio, Streams(1, 0)).frame_error_rate(0, 1, Position(0.0, 0.0), Position(120.0, 0.0), 100)
    n = 3000
    arrived = sum(len(receivers(send(made, 0, BROADCAST))) for _ in range(n))
    assert abs(arrived / n - (1 - expected)) < 4 * (expected * (1 - expected) / n) ** 0.5


def test_a_unicast_is_tried_until_it_and_its_acknowledgement_get_through() -> None:
    radio = Radio(range=100.0, rate=54.0)
    made = outcomes(line(0, 100, radio=radio), radio)
    tries = (11, 4, SIX, 2, -1, 0, -1, 0)
    firsts, seen = [], set()
    for _ in range(300):
        _, (report,) = unpack(send(made, 0, mac(1), tries=tries))
        used = [number(report[messages.TX_INFO][i : i + 1]) for i in range(8)]
        assert number(report[messages.FLAGS]) & messages.WAS_ACKED, "6 Mb/s get through for certain"
        assert used[4:] == [-1, 0, -1, 0]
        assert used[:2] == [11, 4] if used[2] == SIX else used[2:] == [-1, 0, -1, 0, -1, 0]
        firsts.append(used[1])
        seen.add(tuple(used))
    assert {(11, 1, -1, 0, -1, 0, -1, 0), (11, 2, -1, 0, -1, 0, -1, 0), (11, 4, SIX, 1, -1, 0, -1, 0)} <= seen
    assert made.received == 300


def test_a_frame_is_delivered_at_the_end_of_its_time_on_the_air() -> None:
    """DIFS of 28 µs, 7.5 slots of 9 µs, 20 µs of preamble, 35 symbols of 4 µs for 822 bits, 6 µs of silence."""
    made = outcomes(line(0, 80))
    made.take(sent(0, BROADCAST), 1_000_000, 0)
    assert made.next_due() == 1_000_000 + round((28 + 67.5 + 20 + 140 + 6) * US)


def test_nodes_that_hear_a_transmission_wait_and_others_send_at_the_same_time() -> None:
    made = outcomes(line(0, 80, 160, 320))
    takes = round((28 + 67.5 + 20 + 140 + 6) * US)
    for node in (0, 1, 3):
        made.take(sent(node, BROADCAST), 0, 0)
    dues = []
    while (due := made.next_due()) is not None:
        dues.append(due)
        made.land(due)
    assert dues == [takes, takes, 2 * takes]


def test_every_try_takes_longer_than_the_one_before() -> None:
    tries: list[tuple[Try, bool]] = []
    made = outcomes(line(0, 160), on_try=lambda one, frame, again: tries.append((one, again)))
    send(made, 0, mac(1), tries=SEVEN_TIMES)
    assert [again for _, again in tries] == [False] + [True] * 6
    waits = [b.start_ns - a.start_ns for (a, _), (b, _) in pairwise(tries)]
    assert waits == sorted(waits)
    assert waits[0] < waits[-1] < 6_000 * US
    assert {one.mbps for one, _ in tries} == {6.0}


def test_loss_and_duplicates_are_of_datagrams_not_of_beacons_and_not_made_up_by_retries() -> None:
    made = outcomes(line(0, 80), loss=0.3)
    arrived = sum(len(receivers(send(made, 0, mac(1), tries=SEVEN_TIMES))) for _ in range(1000))
    assert 640 < arrived < 760
    assert made.lost == {"loss": 1000 - arrived}
    assert made.tries == 1000, "they are acknowledged"
    assert all(receivers(send(made, 0, BROADCAST, control=BEACON)) == [1] for _ in range(100))
    made = outcomes(line(0, 80), duplicate=1.0)
    assert receivers(send(made, 0, BROADCAST)) == [1, 1]


def collide(
    *xs: float, senders: tuple[int, ...], to: bytes = BROADCAST, **more: Any
) -> tuple[FrameOutcomes, list[bytes]]:
    made = outcomes(line(*xs), collisions=True)
    for node in senders:
        made.take(sent(node, to, **more), 0, 0)
    data = []
    while (due := made.next_due()) is not None:
        data.append(made.land(due))
    return made, data


def test_hidden_stations_collide_at_the_one_between_them() -> None:
    made, data = collide(0, 90, 180, senders=(0, 2))
    assert [receivers(one) for one in data] == [[], []]
    assert made.lost == {"collision": 2}


def test_the_much_stronger_of_two_survives() -> None:
    _, data = collide(0, 20, 110, senders=(0, 2))
    assert [receivers(one) for one in data] == [[1], []]


def test_stations_that_hear_each_other_take_turns_and_do_not_collide() -> None:
    made, data = collide(0, 50, 100, senders=(0, 1, 2))
    assert [receivers(one) for one in data] == [[1, 2], [0, 2], [0, 1]]
    assert not made.lost


def test_a_unicast_that_collided_is_tried_again() -> None:
    made, data = collide(0, 90, 180, senders=(0, 2), to=mac(1), tries=SEVEN_TIMES)
    assert made.lost["collision"] >= 2
    assert made.tries > 2
    assert all(len(unpack(one)[1]) == 1 for one in data if one)
    assert sum(len(unpack(one)[1]) for one in data if one) == 2


def test_a_unicast_that_wants_no_acknowledgement_is_not_tried_again() -> None:
    made, data = collide(0, 90, 180, senders=(0, 2), to=mac(1), tries=SEVEN_TIMES, flags=1 | messages.NO_ACK)
    assert made.lost == {"collision": 2}
    assert made.tries == 2
    for one in data:
        (report,) = unpack(one)[1]
        assert not number(report[messages.FLAGS]) & messages.WAS_ACKED
        assert report[messages.TX_INFO] == bytes((SIX, 1, 255, 0, 255, 0, 255, 0))


def test_a_beacon_that_waits_while_data_land_is_still_known_to_have_been_on_the_air() -> None:
    """Data frames that are due go first, however late the medium is; the beacon was 150 ms earlier: no overlap."""
    made = outcomes(GivenPairs(3, [(0, 1), (1, 2)]), collisions=True)
    made.take(sent(0, BROADCAST, control=BEACON), 0, 0)
    made.take(sent(2, BROADCAST), 150_000 * US, 150_000 * US)
    landed = [receivers(made.land(200_000 * US, 200_000 * US)) for _ in range(2)]
    assert landed == [[1], [1]]
    assert not made.lost


def test_a_beacon_that_waits_while_data_land_is_still_known_to_have_collided() -> None:
    """It overlapped a frame that landed long before it."""
    made = outcomes(GivenPairs(3, [(0, 1), (1, 2)]), collisions=True)
    made.take(sent(0, BROADCAST, control=BEACON), 0, 0)
    for now in (0, 150_000 * US):
        made.take(sent(2, BROADCAST), now, now)
    landed = [receivers(made.land(200_000 * US, 200_000 * US)) for _ in range(3)]
    assert landed == [[], [1], []]
    assert made.lost == {"collision": 2}


def test_a_landed_frame_is_dropped_when_no_waiting_frame_could_overlap_it() -> None:
    made = outcomes(GivenPairs(2, [(0, 1)]), collisions=True)
    for second in range(100):
        send(made, 0, BROADCAST, now=10**9 * second)
    assert len(made._heard[1]) == 1


class FadesAtTheMiddle(Hearing):
    """Node 1 hears node 0, whose frames fade, and node 2, whose frames do not; nodes 0 and 2 do not hear each other."""

    def __init__(self, own: float, rival: float) -> None:
        super().__init__(3)
        self.heard: dict[int, list[Hearer]] = {0: [(1, own, 1.0)], 1: [], 2: [(1, rival, None)]}

    def listeners(self, sender: int, run_ns: int) -> list[Hearer]:
        return self.heard[sender]

    def lasts_ns(self) -> int | None:
        return None


@pytest.mark.parametrize(("faded", "rival", "heard"), [(-75.0, -86.0, [1]), (-49.0, -58.0, [])])
def test_a_frame_that_fades_is_not_counted_as_its_own_rival(
    faded: float, rival: float, heard: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean is -60 dBm, the faded power nearer to the rival's: 11 dB above the rival survive, 9 dB do not."""
    monkeypatch.setattr(error_rates, "draw_gain_db", lambda m, rng: faded + 60.0)
    made = outcomes(FadesAtTheMiddle(-60.0, rival), collisions=True)
    for node in (0, 2):
        made.take(sent(node, BROADCAST), 0, 0)
    assert receivers(made.land(0)) == heard


def test_what_is_left_of_the_tries() -> None:
    assert tries_left((4, 3, 0, 2, -1, 0, -1, 0), (4, 1, -1, 0, -1, 0, -1, 0)) == (4, 2, 0, 2, -1, 0, -1, 0)
    assert tries_left((4, 3, 0, 2, -1, 0, -1, 0), (4, 3, 0, 1, -1, 0, -1, 0)) == (0, 1, -1, 0, -1, 0, -1, 0)
    assert tries_left(ONCE, ONCE)[0] == -1


def test_frames_are_counted_by_kind() -> None:
    made = outcomes(line(0, 80))
    for to, control in ((BROADCAST, 0x08), (mac(1), 0x08), (mac(1), 0x88), (BROADCAST, BEACON), (BROADCAST, 0x40)):
        send(made, 0, to, control=control)
    counts = made.counts()
    assert counts["sent"] == {"data unicast": 2, "data broadcast": 1, "beacon": 1, "management": 1}
    assert counts["bytes"] == {"data unicast": 200, "data broadcast": 100, "beacon": 100, "management": 100}
    assert counts["received"] == 5


def test_frames_of_unknown_radios_and_fragments_are_counted_and_dropped() -> None:
    made = outcomes(line(0, 80))
    made.take(sent(5, BROADCAST), 0, 0)
    made.take(sent(0, BROADCAST)._replace(size=4), 0, 0)
    assert made.next_due() is None
    assert made.lost == {"of no station": 2}


@pytest.mark.parametrize("index", [-1, 12, 100])
def test_an_unknown_rate_is_the_lowest(index: int) -> None:
    made = outcomes(line(0, 80))
    (frame,), _ = unpack(send(made, 0, BROADCAST, tries=(index, 1, -1, 0, -1, 0, -1, 0)))
    assert number(frame[messages.RX_RATE]) == 0


def test_data_that_are_due_go_before_beacons() -> None:
    made = outcomes(line(0, 80))
    made.take(sent(0, BROADCAST, control=BEACON, cookie=1), 0, 0)
    made.take(sent(1, BROADCAST, cookie=2), 0, 0)
    landed = [number(unpack(made.land(0, now_ns=10**9))[1][0][messages.COOKIE]) for _ in range(2)]
    assert landed == [2, 1]
    made.take(sent(0, BROADCAST, control=BEACON, cookie=1), 0, 0)
    made.take(sent(1, BROADCAST, cookie=2), 0, 0)
    assert number(unpack(made.land(0))[1][0][messages.COOKIE]) == 1, "unless the beacon is due earlier"
