"""The medium's loop, on sockets that take the place of the kernel and the orchestrator; locks; loading of modules."""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from testbed.backends.hwsim import kernel, lock, messages
from testbed.backends.hwsim.hearing import GivenPairs, Places
from testbed.backends.hwsim.lock import Lock
from testbed.backends.hwsim.medium import RadioMedium
from testbed.backends.hwsim.outcomes import FrameOutcomes
from testbed.backends.stations.control import Control
from testbed.errors import BackendError
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing
from testbed.radio.air import Air
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from tests.testbed.backends.hwsim.frames import BROADCAST, FAMILY, mac, raw, receivers


@dataclass(frozen=True)
class Running:
    """A medium in a thread, and the other ends of its sockets."""

    kernel: socket.socket
    control: Control
    watcher: Control
    medium: RadioMedium
    thread: threading.Thread

    def sends(self, frame: bytes) -> list[int]:
        """Send a frame; returns the nodes that receive it."""
        self.kernel.send(frame)
        return receivers(self.kernel.recv(4096))

    def ask(self, **what: object) -> None:
        """Send an order, and wait until the medium has carried it out."""
        self.control.send(what | {"reply": True})
        assert self.control.receive()[0] == {"done": what["do"]}

    def finish(self) -> None:
        """End the medium."""
        self.control.send({"do": "finish"})
        self.thread.join(5)
        assert not self.thread.is_alive()


def start(hearing: GivenPairs | Places) -> Running:
    """Start a medium."""
    wire, kernel_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    control, orchestrator = Control.pair()
    watched, watcher = Control.pair()
    for one in (kernel_end, orchestrator.socket, watcher.socket):
        one.settimeout(5)
    addresses, packer = [mac(node) for node in range(hearing.nodes)], messages.Packer(FAMILY, 2412)
    medium = RadioMedium(
        wire, control, watched, lambda on_try: FrameOutcomes(hearing, Radio(), addresses, packer, Random(1))
    )
    thread = threading.Thread(target=medium.run, daemon=True)
    thread.start()
    return Running(kernel_end, orchestrator, watcher, medium, thread)


def test_it_carries_frames_follows_orders_and_reports() -> None:
    running = start(GivenPairs(3, [(0, 1)]))
    assert running.sends(raw(0, BROADCAST)) == [1]
    running.ask(do="allow", pairs=[[0, 1], [0, 2]])
    assert running.sends(raw(0, BROADCAST)) == [1, 2]
    running.ask(do="forbid", pairs=[[1, 0]])
    running.ask(do="start", epoch=time.monotonic_ns())
    assert running.sends(raw(0, BROADCAST)) == [2]
    running.finish()
    report = running.medium.report()
    assert report["frames"]["sent"]["data broadcast"] == 3
    assert report["frames"]["received"] == 4
    assert 0 <= report["lateness_ms"]["p50"] <= report["lateness_ms"]["max"] < 5000
    assert report["backlog"] == 1


def test_a_watcher_learns_where_nodes_are_and_may_leave() -> None:
    path = Trajectory((Waypoint(0.0, 0.0, 0.0), Waypoint(1000.0, 5000.0, 0.0)))
    running = start(Places([path, standing(Position(7.0, 8.0, 9.0))], Air(Radio(), Streams(1, 0))))

    def where() -> dict[str, Any]:
        running.watcher.send({"do": "where", "reply": True})
        answer, _ = running.watcher.receive()
        assert answer is not None
        return answer

    assert where() == {"done": "where", "run_ns": 0, "positions": [[0.0, 0.0, 0.0], [7.0, 8.0, 9.0]]}
    running.ask(do="start", epoch=time.monotonic_ns() - 100_000_000_000)
    moved = where()
    seconds = moved["run_ns"] / 1e9
    assert 100.0 <= seconds < 160.0
    assert abs(moved["positions"][0][0] - 5.0 * seconds) <= 5.0 * 0.05, (
        "to within the time for which positions are cached"
    )
    running.watcher.close()
    assert running.sends(raw(0, BROADCAST)) == [], "the medium goes on, and node 0 is far away"
    running.finish()


def test_radios_may_have_other_addresses_than_stations() -> None:
    """The kernel gives the radio of station 02:... the address 42:... by itself."""
    radio_addresses = [bytes((0x42,)) + mac(node)[1:] for node in range(2)]
    packer, stations = messages.Packer(FAMILY, 2412), [mac(0), mac(1)]
    hearing = GivenPairs(2, [(0, 1)])
    outcomes = FrameOutcomes(hearing, Radio(), stations, packer, Random(1), radio_addresses=radio_addresses)
    sent = messages.read_sent(raw(0, mac(1)))
    assert sent is not None
    outcomes.take(sent._replace(transmitter=radio_addresses[0]), 0, 0)
    landed = outcomes.land(0, 1 << 60)
    assert messages.receiver(radio_addresses[1]) in landed, "the frame goes to the radio of the station that it is for"
    assert messages.receiver(stations[1]) not in landed
    assert outcomes.lost == {}


def test_it_places_nodes_for_a_trial() -> None:
    places = Places([standing(Position(0.0, 0.0)), standing(Position(1000.0, 0.0))], Air(Radio(), Streams(1, 0)))
    running = start(places)
    assert running.sends(raw(0, BROADCAST)) == []
    running.ask(do="place", positions={"1": [10.0, 0.0]})
    assert running.sends(raw(0, BROADCAST)) == [1]
    running.ask(do="place", positions={})
    assert running.sends(raw(0, BROADCAST)) == []
    running.finish()


def test_many_frames_at_once_all_arrive_and_what_the_kernel_refuses_is_counted() -> None:
    running = start(GivenPairs(2, [(0, 1)]))
    running.kernel.send(b"\x14\0\0\0\x02\0\0\0" + bytes(8) + b"\xea\xff\xff\xff")  # an error: EINVAL
    for cookie in range(50):
        running.kernel.send(raw(0, mac(1), cookie=cookie))
    arrived = 0
    while arrived < 50:
        arrived += len(receivers(running.kernel.recv(1 << 18)))
    running.finish()
    assert running.medium.outcomes.lost == {"refused by the kernel": 1}
    assert running.medium.lateness.summary_ms() is not None


def test_a_run_is_alive_while_its_process_holds_the_lock(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        Lock("other", tmp_path).take()
        os.write(writing, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(reading, 1)
    mine = Lock("mine", tmp_path)
    mine.take()
    assert [lock.is_alive(run, tmp_path) for run in ("other", "mine", "never")] == [True, True, False]
    for run in ("other", "mine"):
        with pytest.raises(BackendError, match="under way"):
            Lock(run, tmp_path).take()
    assert lock.remove_stale(tmp_path) == []
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert lock.is_alive("mine", tmp_path), "looking at a lock does not release it"
    assert lock.remove_stale(tmp_path) == ["other"]
    mine.release()
    assert list(tmp_path.iterdir()) == []


def test_modules_are_loaded_after_those_they_need(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text(
        "kernel/net/a/mac80211.ko: kernel/net/b/cfg80211.ko\n"
        "kernel/drivers/mac80211_hwsim.ko.xz: kernel/net/a/mac80211.ko kernel/net/b/cfg80211.ko kernel/c/rfkill.ko\n"
    )
    order = [path.name for path in kernel.load_order(tmp_path, "mac80211_hwsim")]
    assert order == ["rfkill.ko", "cfg80211.ko", "mac80211.ko", "mac80211_hwsim.ko.xz"]
    with pytest.raises(BackendError, match="has no nothing"):
        kernel.load_order(tmp_path, "nothing")
    with pytest.raises(BackendError, match="testbed guest"):
        kernel.load_order(tmp_path / "absent", "mac80211_hwsim")
