"""What stations cost: `python -m benchmarks.stations [--json] [--quick]`.

Two stations that answer every message at once, each a process with a driver, an agent, a link layer and a log, over two
UDP sockets, are compared with two processes that only bounce datagrams with asyncio, with as many in transit. Then a
hundred stations on `loopback` are started and left idle: how long it takes until all run, and the memory of each
(proportional set size: memory that processes share is divided among them).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Self

from agents.contract import Agent, Demand
from agents.message import Message
from agents.registry import ALGORITHMS
from analysis.listener import Listener
from testbed.backends.loopback.backend import LoopbackEnvironment
from testbed.backends.repetition import Repetition
from testbed.backends.stations.control import Control
from testbed.backends.stations.orchestrator import Orchestrator
from testbed.backends.stations.station import Station
from testbed.backends.stations.transport import Address, udp_socket
from testbed.link.actions import Transmit
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

IN_TRANSIT = 16
SECONDS, QUICK_SECONDS = 5.0, 0.5
STATIONS, QUICK_STATIONS = 100, 10
LOOPBACK = "127.0.0.1"


def idle(algorithm: str, nodes: int, **more: Any) -> Scenario:
    """Nodes whose applications make no requests."""
    fixed = {"name": "idle", "workload": {"rate": 1e-6}, "duration": 1e6, "backend": "loopback"}
    return Scenario.model_validate({"algorithm": algorithm, "nodes": nodes, **fixed, **more})


# -- bouncing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ball(Message):
    """Is sent back every time that it is received."""

    number: int


class Player(Agent):
    """Returns every ball; the first of two serves."""

    messages = (Ball,)
    handlers = {Ball: "on_ball"}  # noqa: RUF012

    def __init__(self, node: int) -> None:
        super().__init__(node)
        self.returned = 0

    @classmethod
    def initial(cls, graph: Any, parameters: Any) -> list[Any]:
        """Nothing to start with."""
        return [None, None]

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Self:
        """A player."""
        return cls(node)

    @property
    def units(self) -> int:
        """There are no units."""
        return 0

    def on_request(self, demand: Demand) -> None:
        """No requests are made."""

    def on_release(self) -> None:
        """No node is ever inside."""

    def on_link_up(self, peer: int) -> None:
        """Serve."""
        if self.node == 0:
            for number in range(IN_TRANSIT):
                self.send(peer, Ball(number))

    def on_ball(self, peer: int, ball: Ball) -> None:
        """Return it."""
        self.returned += 1
        self.send(peer, ball)


class Facing:
    """The transport of a station whose only peer is at a known address."""

    def __init__(self, ours: socket.socket, theirs: Address) -> None:
        self._ours = ours
        self._theirs = theirs

    def open(self, node: int) -> socket.socket:
        """The socket, which was opened before so that the other station knows its port."""
        return self._ours

    def address(self, transmit: Transmit) -> tuple[bytes, Address]:
        """The peer gets every datagram."""
        return transmit.data, self._theirs

    def is_ours(self, source: Address) -> bool:
        """Whether the peer sent it."""
        return source == self._theirs


def two_sockets() -> tuple[socket.socket, socket.socket]:
    """Two UDP sockets on the loopback interface, bound to free ports."""
    return udp_socket((LOOPBACK, 0)), udp_socket((LOOPBACK, 0))


def through_stations(seconds: float) -> dict[str, float]:
    """Messages per second that two agents receive from each other."""
    ALGORITHMS["player"] = Player
    scenario = idle("player", 2, topology="complete", links={"kind": "radio", "hello": 0.2})
    repetition, sockets = Repetition(scenario, Streams(1, 0)), two_sockets()
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nodes").mkdir()
        controls = []
        for node, (ours, theirs) in enumerate((sockets, sockets[::-1])):
            mine, its = Control.pair()
            transport = Facing(ours, theirs.getsockname())
            context.Process(target=_station, args=(repetition, node, transport, its, folder), daemon=True).start()
            its.close()
            controls.append(mine)
        for control in controls:
            control.receive()
        for control in controls:
            control.send({"do": "start", "epoch": time.monotonic_ns()})
        log = folder / "nodes" / "000-1.jsonl"
        _wait_until(lambda: b'"recv"' in log.read_bytes())
        before, begin = log.read_bytes().count(b'"recv"'), time.monotonic()
        time.sleep(seconds)
        received, elapsed = log.read_bytes().count(b'"recv"') - before, time.monotonic() - begin
        for control in controls:
            control.send({"do": "finish"})
        for process in multiprocessing.active_children():
            process.join(5)
    del ALGORITHMS["player"]
    return {"messages_per_s": 2 * received / elapsed}


def _station(repetition: Repetition, node: int, transport: Facing, control: Control, folder: Path) -> None:
    asyncio.run(Station(repetition, node, 1, transport, control, folder).run())


class Echo(asyncio.DatagramProtocol):
    """Sends every datagram back."""

    def __init__(self) -> None:
        self.received = 0

    def connection_made(self, transport: Any) -> None:
        """Keep the transport for the answers."""
        self.out = transport

    def datagram_received(self, data: bytes, source: Address) -> None:
        """Send it back."""
        self.received += 1
        self.out.sendto(data, source)


def bare_echo(seconds: float) -> dict[str, float]:
    """Datagrams per second that two processes bounce with asyncio, of the size of a message's."""
    first, second = two_sockets()
    context = multiprocessing.get_context("fork")
    other = context.Process(target=lambda: asyncio.run(_echo(second, None, 0.0)), daemon=True)
    other.start()
    received, elapsed = asyncio.run(_echo(first, second.getsockname(), seconds))
    other.kill()
    other.join()
    return {"datagrams_per_s": 2 * received / elapsed}


async def _echo(ours: socket.socket, serve_to: Address | None, seconds: float) -> tuple[int, float]:
    loop = asyncio.get_running_loop()
    transport, echo = await loop.create_datagram_endpoint(Echo, sock=ours)
    if serve_to is None:
        await asyncio.Event().wait()
    for _ in range(IN_TRANSIT):
        transport.sendto(bytes(40), serve_to)
    begin = time.monotonic()
    await asyncio.sleep(seconds)
    transport.close()
    return echo.received, time.monotonic() - begin


# -- a hundred of them -------------------------------------------------------------------------------------------------


class Measured(Orchestrator):
    """Measures its stations for a while instead of running the scenario."""

    found: dict[str, float]
    idle_s: float

    def _watch(self) -> str:
        # The fork server reports the processes one by one, and stations may be ready before it has reported them all.
        self._await(lambda: len(self._processes._pids) == self.scenario.stations, 10.0, "the fork server's reports")
        pids = list(self._processes._pids.values())
        begin_cpu = sum(map(cpu_s, pids))
        until = time.monotonic() + self.idle_s
        while time.monotonic() < until:
            self._do_due()
            self._listen(0.1)
            self._merger.merge(self.now)
        self.found = {
            "stations": len(pids),
            "memory_each_mb": sum(map(own_memory_mb, pids)) / len(pids),
            "cpu_each_share": (sum(map(cpu_s, pids)) - begin_cpu) / self.idle_s / len(pids),
        }
        return "measured"


def many_stations(count: int, idle_s: float) -> dict[str, float]:
    """Stations that are started and idle: they make no requests, and links are kept up."""
    places = {"topology": "geometric", "area": [1000, 1000], "placement": "grid", "radio": {"range": 120}}
    scenario = idle("rl", count, **places)
    with tempfile.TemporaryDirectory() as name:
        one = Measured(scenario, 0, LoopbackEnvironment(), Listener(), lambda share: None, Path(name))
        one.idle_s = idle_s
        begin = time.monotonic()
        one.run_all()
        assert one._clock is not None
        return {"start_s": one._clock.epoch_ns / 1e9 - begin, **one.found}


def own_memory_mb(pid: int) -> float:
    """The proportional set size of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def cpu_s(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline, "the stations exchange no messages"
        time.sleep(0.02)


def measure(*, quick: bool) -> dict[str, Any]:
    """Everything, ready for JSON."""
    seconds = QUICK_SECONDS if quick else SECONDS
    stations, echo = through_stations(seconds), bare_echo(seconds)
    return {
        **stations,
        **echo,
        "ratio_echo": stations["messages_per_s"] / echo["datagrams_per_s"],
        "many": many_stations(QUICK_STATIONS if quick else STATIONS, seconds),
    }


def render(found: dict[str, Any]) -> str:
    """The results as text."""
    many = found["many"]
    return (
        f"two stations     {found['messages_per_s']:10,.0f} messages per second\n"
        f"bare asyncio     {found['datagrams_per_s']:10,.0f} datagrams per second\n"
        f"ratio_echo       {found['ratio_echo']:10.3f}\n"
        f"{many['stations']} stations: started in {many['start_s']:.1f} s, {many['memory_each_mb']:.1f} MB each, "
        f"{100 * many['cpu_each_share']:.2f} % of a core each while idle\n"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="What stations cost.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="shorter, with fewer stations")
    arguments = parser.parse_args(argv)
    found = measure(quick=arguments.quick)
    print(json.dumps(found, indent=1) if arguments.json else render(found), end="\n" if arguments.json else "")


if __name__ == "__main__":
    main()
