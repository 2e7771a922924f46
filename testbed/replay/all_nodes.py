"""Replays every node of a repetition, and reads its logs only once: a log of all nodes is long, and nodes are many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from analysis.events import KINDS
from analysis.listener import Listener, method_name
from analysis.load import replay as read_log
from testbed.backends.repetition import Repetition
from testbed.randomness import Streams
from testbed.replay.node_history import (
    NodeLog,
    _check_level,
    _letter,
    _NodeReader,
    _SentMessages,
    _station_logs,
    _whole,
    read_node_log,
)
from testbed.replay.replayer import NodeReplay, _Stepper
from testbed.runtime.handler_watch import HandlerWatch
from testbed.scenario.schema import Scenario


def replay_all(path: Path, scenario: Scenario, repetition: int) -> Iterator[NodeReplay]:
    """Repeat what every node did in a repetition of a run, node by node: the same as `replay` for each of them."""
    logs = read_node_logs(path / f"rep-{repetition:03d}", scenario.nodes)
    beginning = Repetition(scenario, Streams(scenario.seed, repetition))
    with HandlerWatch(scenario.handler_limit):
        for node, log in enumerate(logs):
            stepper = _Stepper(beginning, scenario, node)
            for incarnation in log.incarnations:
                stepper.run(incarnation, None)
            yield NodeReplay(path, scenario, repetition, node, log, stepper.steps, stepper.state, stepper.missing)


def read_node_logs(folder: Path, nodes: int) -> list[NodeLog]:
    """What the logs of a repetition say of each of its nodes."""
    own = [_station_logs(folder, node) for node in range(nodes)]
    if not any(own):
        return _from_one_log(folder / "events.jsonl", nodes)
    if all(own):
        return _from_station_logs(own)
    return [read_node_log(folder, node) for node in range(nodes)]  # some stations wrote nothing


def _from_one_log(path: Path, nodes: int) -> list[NodeLog]:
    readers = [_NodeReader(node) for node in range(nodes)]
    for reader in readers:
        reader.begin_incarnation(0, "start")
    read_log(path, _ByNode(readers))
    for reader in readers:
        _check_level(path, reader.trace)
        reader.incarnations[-1].is_whole = reader.has_stopped
        reader.find_letters(reader.messages, by_time=False)
    return [NodeLog([path], reader.incarnations) for reader in readers]


def _from_station_logs(own: list[list[tuple[int, Path]]]) -> list[NodeLog]:
    readers, sent = [_NodeReader(node) for node in range(len(own))], _SentMessages()
    for reader, logs in zip(readers, own, strict=True):
        for incarnation, path in logs:
            reader.begin_incarnation(0, "start" if incarnation == 1 else "restart")
            read_log(path, _OneStation(reader, sent), started=True)
    for reader in readers:
        reader.find_letters(sent, by_time=True)
    return [NodeLog([path for _, path in logs], reader.incarnations) for reader, logs in zip(readers, own, strict=True)]


class _ByNode(Listener):
    """Passes every event to the reader of its node, a message also to that of its receiver."""

    def __init__(self, readers: list[_NodeReader]) -> None:
        self._readers = readers
        for name in map(method_name, KINDS):
            setattr(self, name, partial(self._pass, name))

    def _pass(self, name: str, t: int, node: int | None, *fields: Any) -> None:
        readers = self._readers
        if node is None:
            concerned = readers
        elif node >= len(readers):  # the station of a place, which relays messages and has no agent
            concerned = []
        elif name == "send" and fields[0] != node:
            concerned = [readers[node], readers[fields[0]]]
        else:
            concerned = [readers[node]]
        for reader in concerned:
            getattr(reader, name)(t, node, *fields)


class _OneStation(Listener):
    """Passes every event of a station's log to its reader, and takes what it sent for the readers of the receivers."""

    def __init__(self, reader: _NodeReader, sent: _SentMessages) -> None:
        self._reader = reader
        self._sent = sent
        for name in map(method_name, KINDS):
            setattr(self, name, partial(self._pass, name))

    def _pass(self, name: str, t: int, node: int | None, *fields: Any) -> None:
        getattr(self._reader, name)(t, node, *fields)
        if name == "send" and node is not None:
            peer, number, kind, *_, values = fields
            self._sent.add(node, peer, number, _whole(t), _letter(kind, values))
