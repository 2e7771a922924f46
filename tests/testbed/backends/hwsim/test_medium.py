"""The medium's loop, on sockets that play the kernel and the orchestrator; locks; loading of modules."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from testbed.errors import BackendError
from testbed.backends.hwsim import messages
from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import lock
from testbed.backends.hwsim.outcomes import Decisions
from testbed.backends.hwsim.hearing import GivenPairs, Places
from testbed.backends.hwsim.lock import Lock
from testbed.backends.hwsim.medium import Medium
from testbed.mobility.trajectory import Position, Trajectory, Waypoint, standing
from testbed.radio.air import Air
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from tests.testbed.backends.hwsim.frames import EVERYONE, FAMILY, mac, raw, receivers

WATCHERS: list[socket.socket] = []
"""The ends of those who watch, the newest last."""
Ends = tuple[socket.socket, socket.socket, threading.Thread, Medium]


def start(hearing: GivenPairs | Places) -> Ends:
    """A medium in a thread: the kernel's end, the orchestrator's end."""
    wire, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    control, orchestrators = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    watcher, watchers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    WATCHERS.append(watchers)
    for one in (kernels, orchestrators, watchers):
        one.settimeout(5)
    addresses, packer = [mac(node) for node in range(hearing.nodes)], messages.Packer(FAMILY, 2412)
    medium = Medium(wire, control, watcher, lambda on_try: Decisions(hearing, Radio(), addresses, packer, Random(1)))
    thread = threading.Thread(target=medium.run, daemon=True)
    thread.start()
    return kernels, orchestrators, thread, medium


def say(to: socket.socket, **what: object) -> None:
    to.send(json.dumps(what | {"reply": True}).encode())
    assert json.loads(to.recv(1024)) == {"done": what["do"]}


def test_it_carries_frames_obeys_and_reports() -> None:
    kernels, control, thread, medium = start(GivenPairs(3, [(0, 1)]))
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == [1]
    say(control, do="allow", pairs=[[0, 1], [0, 2]])
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == [1, 2]
    say(control, do="forbid", pairs=[[1, 0]])
    say(control, do="start", epoch=time.monotonic_ns())
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == [2]
    control.send(b'{"do": "finish"}')
    thread.join(5)
    report = medium.report()
    assert report["frames"]["sent"]["data broadcast"] == 3
    assert report["frames"]["received"] == 4
    assert 0 <= report["lateness_ms"]["p50"] <= report["lateness_ms"]["max"] < 5000
    assert report["backlog"] == 1


def test_a_watcher_learns_where_nodes_are_and_may_leave() -> None:
    path = Trajectory((Waypoint(0.0, 0.0, 0.0), Waypoint(1000.0, 5000.0, 0.0)))
    kernels, control, thread, _ = start(Places([path, standing(Position(7.0, 8.0, 9.0))], Air(Radio(), Streams(1, 0))))
    watcher = WATCHERS[-1]

    def where() -> dict[str, Any]:
        watcher.send(b'{"do": "where", "reply": true}')
        told: dict[str, Any] = json.loads(watcher.recv(4096))
        return told

    assert where() == {"done": "where", "run_ns": 0, "positions": [[0.0, 0.0, 0.0], [7.0, 8.0, 9.0]]}
    say(control, do="start", epoch=time.monotonic_ns() - 100_000_000_000)
    moved = where()
    seconds = moved["run_ns"] / 1e9
    assert 100.0 <= seconds < 160.0
    assert abs(moved["positions"][0][0] - 5.0 * seconds) <= 5.0 * 0.05, "to within the time that positions are kept for"
    watcher.close()
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == [], "it goes on, and node 0 is far away"
    control.send(b'{"do": "finish"}')
    thread.join(5)
    assert not thread.is_alive()


def test_radios_may_have_other_addresses_than_stations() -> None:
    """As the kernel does by itself: 42:... for the radio of station 02:..."""
    radio_addresses = [bytes((0x42,)) + mac(node)[1:] for node in range(2)]
    packer, stations = messages.Packer(FAMILY, 2412), [mac(0), mac(1)]
    hearing = GivenPairs(2, [(0, 1)])
    decisions = Decisions(hearing, Radio(), stations, packer, Random(1), radio_addresses=radio_addresses)
    sent = messages.read_sent(raw(0, mac(1)))
    assert sent is not None
    decisions.take(sent._replace(transmitter=radio_addresses[0]), 0, 0)
    told = decisions.land(0, 1 << 60)
    assert messages.receiver(radio_addresses[1]) in told, "the frame goes to the radio of the station that it is for"
    assert messages.receiver(stations[1]) not in told
    assert decisions.lost == {}


def test_it_places_nodes_for_a_trial() -> None:
    places = Places([standing(Position(0.0, 0.0)), standing(Position(1000.0, 0.0))], Air(Radio(), Streams(1, 0)))
    kernels, control, thread, _ = start(places)
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == []
    say(control, do="place", positions={"1": [10.0, 0.0]})
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == [1]
    say(control, do="place", positions={})
    kernels.send(raw(0, EVERYONE))
    assert receivers(kernels.recv(4096)) == []
    control.send(b'{"do": "finish"}')
    thread.join(5)


def test_many_frames_at_once_all_arrive_and_what_the_kernel_refuses_is_counted() -> None:
    kernels, control, thread, medium = start(GivenPairs(2, [(0, 1)]))
    kernels.send(b"\x14\0\0\0\x02\0\0\0" + bytes(8) + b"\xea\xff\xff\xff")  # an error: EINVAL
    for cookie in range(50):
        kernels.send(raw(0, mac(1), cookie=cookie))
    arrived = 0
    while arrived < 50:
        arrived += len(receivers(kernels.recv(1 << 18)))
    control.send(b'{"do": "finish"}')
    thread.join(5)
    assert medium.decisions.lost == {"refused by the kernel": 1}
    assert medium.lateness.summary_ms() is not None


def test_a_run_is_alive_while_its_process_holds_the_lock(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        Lock("there", tmp_path).take()
        os.write(writing, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(reading, 1)
    mine = Lock("mine", tmp_path)
    mine.take()
    assert [lock.is_alive(run, tmp_path) for run in ("there", "mine", "never")] == [True, True, False]
    for run in ("there", "mine"):
        with pytest.raises(BackendError, match="under way"):
            Lock(run, tmp_path).take()
    assert lock.remove_stale(tmp_path) == []
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert lock.is_alive("mine", tmp_path), "to look at it does not let go of it"
    assert lock.remove_stale(tmp_path) == ["there"]
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
