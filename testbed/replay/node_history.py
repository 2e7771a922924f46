"""What the logs of a repetition say of one node: its incarnations, the inputs of its agent, and what the agent did.

A real station writes a log of its own, `nodes/NNN-I.jsonl` for node NNN in incarnation I; a simulated node is in
`events.jsonl` with all others. A receive event does not hold its message: the send event of the same number does, in
the sender's log. Numbers may start from 1 again with a link or an incarnation, so the latest message counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.contract import Demand
from analysis.events import Start, supports
from analysis.listener import Listener
from analysis.load import replay
from testbed.errors import InputError

HOW_TO_LOG_MORE = "run with --set trace=events"


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as it is logged."""

    type: str
    fields: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """Something an agent asked for. A log has messages, entries, evictions, deposits and tokens made anew.

    The `peer` of a broadcast or a deposit is the neighbourhood.
    """

    kind: str
    peer: int | None = None
    letter: Letter | None = None
    timer: str | None = None
    delay: int | None = None


@dataclass(slots=True)
class Input:
    """Something that happened to a node, and what the log says that its agent did then.

    The kinds are those of events, and `start`, the first input of the first incarnation, as `restart` is of the others.
    """

    t: int
    kind: str
    peer: int | None = None
    letter: Letter | None = None
    """The message that arrives or comes back; None if no log has it."""
    number: int | None = None
    """The number that its sender gave it."""
    demand: Demand | None = None
    timer: str | None = None
    group: int | None = None
    """The neighbourhood that the node joins or leaves, or whose place refuses its token."""
    visit: int | None = None
    members: tuple[tuple[int, int], ...] = ()
    """The others that are there, by node and visit."""
    outputs: list[Output] = field(default_factory=list)


@dataclass(slots=True)
class Incarnation:
    """One process of a node, from its start to its exit."""

    inputs: list[Input]
    is_whole: bool = False
    """Whether the log goes on to the end of it, so that no output can be missing there."""


@dataclass(frozen=True, slots=True)
class NodeLog:
    """All that the logs say of a node."""

    files: list[Path]
    incarnations: list[Incarnation]


def read_node_log(folder: Path, node: int) -> NodeLog:
    """Read what the logs in the folder of a repetition say of a node."""
    own = _station_logs(folder, node)
    reader = _NodeReader(node)
    if own:
        for incarnation, path in own:
            reader.begin_incarnation(0, "start" if incarnation == 1 else "restart")
            replay(path, reader, started=True)
        sent = _sent_to(folder, node, reader.senders())
    else:
        path = folder / "events.jsonl"
        if not path.is_file():
            raise InputError(f"{folder}: holds no log of node {node}; {HOW_TO_LOG_MORE}")
        reader.begin_incarnation(0, "start")
        replay(path, reader)
        _check_level(path, reader.trace)
        reader.incarnations[-1].is_whole = reader.has_stopped
        sent = reader.messages
    reader.find_letters(sent, by_time=bool(own))
    return NodeLog([path for _, path in own] or [folder / "events.jsonl"], reader.incarnations)


def _station_logs(folder: Path, node: int) -> list[tuple[int, Path]]:
    """The logs that a node's own processes wrote, with the incarnation of each, in order."""
    found = [(path.stem.rpartition("-")[2], path) for path in folder.glob(f"nodes/{node:03d}-*.jsonl")]
    return sorted((int(number), path) for number, path in found if number.isascii() and number.isdigit())


def _check_level(path: Path, trace: str | None) -> None:
    if trace is None:
        raise InputError(f"{path}: the log is empty: the run was killed as it started")
    if not supports(trace, "recv"):
        raise InputError(f"{path}: trace level {trace} has no messages; {HOW_TO_LOG_MORE}")


class _SentMessages:
    """The messages that were sent to and by a node, by their numbers."""

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int, int], list[tuple[int, Letter]]] = {}

    def add(self, sender: int, receiver: int, number: int, when: int, letter: Letter) -> None:
        self._sent.setdefault((sender, receiver, number), []).append((when, letter))

    def find(self, sender: int, receiver: int, number: int, when: int, type: str) -> Letter | None:
        """The latest message sent before that time; if there is none, because clocks disagree, the first one after."""
        sent = [one for one in self._sent.get((sender, receiver, number), ()) if one[1].type == type]
        before = [letter for then, letter in sent if then <= when]
        if before:
            return before[-1]
        return sent[0][1] if sent else None


class _SendReader(Listener):
    """Takes the messages that other nodes sent to a node from their logs, with the times they sent them."""

    def __init__(self, node: int, sent: _SentMessages) -> None:
        self._node = node
        self._sent = sent

    def send(
        self,
        t: int,
        node: int,
        peer: int,
        id: int,
        type: str,
        units: int,
        tokens: int,
        words: int,
        added_words: int,
        fields: Any,
    ) -> None:
        if peer == self._node:
            self._sent.add(node, peer, id, _whole(t), _letter(type, fields))


def _sent_to(folder: Path, node: int, senders: list[int]) -> _SentMessages:
    """What these nodes sent to a node, from their own logs or, for those without one, from the log of all nodes."""
    sent = _SentMessages()
    reader = _SendReader(node, sent)
    logs = {sender: _station_logs(folder, sender) for sender in senders}
    for _, path in (log for found in logs.values() for log in found):
        replay(path, reader, started=True)
    if not all(logs.values()) and (folder / "events.jsonl").is_file():
        replay(folder / "events.jsonl", reader)
    return sent


class _NodeReader(Listener):
    """Takes what concerns one node from a log."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._events = 0  # so far: what comes later in a log happened later
        self._received: list[tuple[Input, int, str]] = []  # inputs with a message, their place in the log, its type
        self.messages = _SentMessages()
        self._broadcasting = 0  # how many of the messages to come are of a broadcast
        self._evicted_at = -1
        self.incarnations: list[Incarnation] = []
        self.trace: str | None = None
        self.has_stopped = False

    def begin_incarnation(self, t: int, kind: str) -> None:
        """A new process."""
        self.incarnations.append(Incarnation([Input(t, kind)]))

    def senders(self) -> list[int]:
        """The nodes whose messages arrived."""
        peers = {given.peer for given, _, _ in self._received if given.kind == "recv" and given.peer is not None}
        return sorted(peers)

    def find_letters(self, sent: _SentMessages, *, by_time: bool) -> None:
        """Find what arrived, by its time or by its place in the log, and what came back, which is in the node's log."""
        for given, place, type in self._received:
            assert given.peer is not None
            assert given.number is not None
            if given.kind == "return":
                given.letter = self.messages.find(self._node, given.peer, given.number, place, type)
            else:
                when = given.t if by_time else place
                given.letter = sent.find(given.peer, self._node, given.number, when, type)

    # -- of the run --------------------------------------------------------------------------------------------------

    def start(self, t: int, node: None, *fields: Any) -> None:
        self.trace = Start(*fields).trace

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        self.has_stopped = True

    # -- inputs ------------------------------------------------------------------------------------------------------

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._give(node, Input(t, "crash"))

    def restart(self, t: int, node: int, incarnation: int) -> None:
        if node == self._node:
            first, *others = self.incarnations[-1].inputs
            if first.kind == "restart" and not others:  # logged by the new process itself, in a log of its own
                first.t = _whole(t)
            else:
                self.begin_incarnation(_whole(t), "restart")

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._give(node, Input(t, "request", demand=Demand(units, priority, deadline)))

    def exit(self, t: int, node: int, units: int) -> None:
        self._give(node, Input(t, "exit"))

    def link_up(self, t: int, node: int, peer: int) -> None:
        self._give(node, Input(t, "link_up", peer=peer))

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        self._give(node, Input(t, "link_down", peer=peer))

    def timer(self, t: int, node: int, name: str) -> None:
        self._give(node, Input(t, "timer", timer=name))

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        letter = None if fields is None else _letter(*fields)
        self._give(node, Input(t, "join", group=group, visit=visit, members=_tuples(members), letter=letter))

    def leaving(self, t: int, node: int, group: int) -> None:
        self._give(node, Input(t, "leaving", group=group))

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        if node == self._node and not ready and self._evicted_at == t:
            self._running_inputs()[-1].outputs.pop()  # not the agent, but its departure ended the critical section
        self._give(node, Input(t, "left", group=group))

    def refused(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._give(node, Input(t, "refused", group=group, letter=_letter(*fields)))

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._give(node, Input(t, "recv", peer=_whole(peer), number=_whole(id)), type)

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._give(node, Input(t, "return", peer=_whole(peer), number=_whole(id)), type)

    def _give(self, node: int, given: Input, type: str | None = None) -> None:
        if node == self._node:
            inputs, t = self._running_inputs(), _whole(given.t)
            if len(inputs) == 1 and inputs[0].kind == "restart":
                inputs[0].t = inputs[0].t or t  # a process that did not log when it restarted
            inputs.append(given)
            self._events += 1
            if type is not None:
                self._received.append((given, self._events, type))

    # -- outputs -----------------------------------------------------------------------------------------------------

    def send(
        self,
        t: int,
        node: int,
        peer: int,
        id: int,
        type: str,
        units: int,
        tokens: int,
        words: int,
        added_words: int,
        fields: Any,
    ) -> None:
        if self._node in (node, peer):
            letter = _letter(type, fields)
            self._events += 1
            self.messages.add(node, peer, id, self._events, letter)
            if node == self._node and self._broadcasting:
                self._broadcasting -= 1  # one of the messages of a broadcast
            else:
                self._take(node, Output("send", peer, letter))

    def broadcast(self, t: int, node: int, group: int, type: str, receivers: int, fields: Any) -> None:
        if node == self._node:
            self._broadcasting = receivers
            self._take(node, Output("broadcast", group, _letter(type, fields)))

    def deposit(self, t: int, node: int, group: int, units: int, tokens: int, fields: Any) -> None:
        self._take(node, Output("deposit", group, _letter(*fields)))

    def regenerate(self, t: int, node: int, group: int, units: int, tokens: int) -> None:
        self._take(node, Output("regenerate"))

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._take(node, Output("enter"))

    def evict(self, t: int, node: int) -> None:
        self._take(node, Output("evict"))
        if node == self._node:
            self._evicted_at = t

    def _take(self, node: int, output: Output) -> None:
        if node == self._node:
            self._running_inputs()[-1].outputs.append(output)

    def _running_inputs(self) -> list[Input]:
        """The inputs of the current incarnation, which must not have crashed."""
        inputs = self.incarnations[-1].inputs
        if inputs[-1].kind == "crash":
            raise ValueError("the node has crashed")
        return inputs


def _letter(type: str, fields: Any) -> Letter:
    """A message as an agent had it: lists in JSON were tuples."""
    if not isinstance(fields, list):
        raise TypeError("fields are a list")
    return Letter(type, _tuples(fields))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _whole(value: int) -> int:
    if not isinstance(value, int):
        raise TypeError("not a whole number")
    return value
