"""What is true of the events of a run one after another, whatever its algorithm does.

A log that breaks one of these rules was damaged or made up, so that no verdict can be based on it. What an algorithm
can cause, such as two nodes inside at once, units that are doubled or messages out of order, is left to the checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.counted import counted
from analysis.events import KINDS, LEVELS, SESSION, Start, supports
from analysis.field_types import Implausible, shown
from analysis.listener import Listener

WITHOUT_PROCESS = frozenset(("lost", "fault", "restart", "pending", "breach"))
"""What may be logged of a node that has crashed."""

Key = tuple[int, int, int]
"""A message: its sender, its receiver, its number."""


class Account(Listener):
    """Follows the time, the nodes that run, the requests and the messages of one repetition.

    The types of all fields have been checked before. For every event `admit` is called first, then its method.
    """

    def __init__(self) -> None:
        self._now = 0
        self._trace = LEVELS[-1]
        self._past: dict[str, str] = {}
        """Why there cannot be an event of a kind now; not in it are those that there can be."""
        self._nodes = 0
        self._down: set[int] = set()
        self._crashes: Counter[int] = Counter()
        self._waiting: dict[int, tuple[int, tuple[int, int, int | None]]] = {}  # since when, and for what
        self._inside: dict[int, int] = {}  # with how many units
        self._moving: dict[Key, tuple[str, int, int]] = {}  # the type, units and tokens of messages in transit
        self._last: dict[Key, int] = {}  # sender, receiver, session -> the last number sent

    def admit(self, t: int, node: int | None, kind: str) -> None:
        """An event of a kind is next."""
        if kind in self._past:
            raise Implausible(self._past[kind])
        if t < self._now and kind != "breach":  # of a station: logged when all logs have been read
            raise Implausible(f"time runs backwards, from {self._now} to {t}")
        if node in self._down and kind not in WITHOUT_PROCESS:
            raise Implausible(f"node {node} has crashed")
        self._now = t

    # -- the run -----------------------------------------------------------------------------------------------------

    def start(self, t: int, node: None, *fields: Any) -> None:
        start = Start(*fields)
        check_start(t, start)
        self._trace = start.trace
        self._past = {kind: f"trace level {start.trace} has none" for kind in KINDS if not supports(start.trace, kind)}
        self._past["start"] = "it is the second one"
        self._nodes = len(start.units)

    def close(self, t: int, node: None, patience: int) -> None:
        self._past["close"] = "it is the second one"

    def pending(
        self, t: int, node: int, since: int, alive: bool, component: int, component_units: int, component_tokens: int,
        parts: int,
    ) -> None:  # fmt: skip
        if since > t:
            raise Implausible(f"since is {since}, later than t")
        if alive is (node in self._down):
            raise Implausible(f"alive is {alive}, and node {node} {'has crashed' if alive else 'runs'}")
        if supports(self._trace, "request") and self._waiting.pop(node, (None,))[0] != since:
            raise Implausible(f"node {node} has no request pending since {since}")

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        for name, held in (("units", units), ("tokens", tokens)):
            _check_length(name, held, self._nodes)
        for waiting, (since, _) in self._waiting.items():
            raise Implausible(f"node {waiting} waits since {since}, and no pending event says so")
        self._past = dict.fromkeys(KINDS, "it comes after the stop")

    def breach(self, t: int, node: int | None, algorithm: str, event: str, output: str, why: str) -> None:
        self._past = dict.fromkeys(KINDS, "it comes after the breach")

    # -- nodes -------------------------------------------------------------------------------------------------------

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self._down.add(node)
        self._crashes[node] += 1
        self._leave(node)

    def restart(self, t: int, node: int, incarnation: int) -> None:
        if node not in self._down:
            raise Implausible(f"node {node} has not crashed")
        if incarnation != self._crashes[node]:
            raise Implausible(f"incarnation is {incarnation}, and node {node} has crashed {self._crashes[node]} times")
        self._down.remove(node)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        self._leave(node)

    def evict(self, t: int, node: int) -> None:
        self._leave(node)

    def _leave(self, node: int) -> None:
        self._waiting.pop(node, None)
        self._inside.pop(node, None)

    # -- requests ----------------------------------------------------------------------------------------------------
    # A node may ask, enter and leave in any order: the checks judge that. But it enters with what it has asked for.

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        self._waiting[node] = t, (units, priority, deadline)

    def enter(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        demand = (units, priority, deadline)
        asked = self._waiting.pop(node, (t, demand))[1]
        if asked != demand:
            raise Implausible(f"units, priority and deadline are {demand}, and node {node} has asked for {asked}")
        self._inside[node] = units

    def exit(self, t: int, node: int, units: int) -> None:
        entered = self._inside.pop(node, units)
        if entered != units:
            raise Implausible(f"units is {units}, and node {node} has entered with {entered}")

    # -- links and messages ------------------------------------------------------------------------------------------

    def link_up(self, t: int, node: int, peer: int) -> None:
        _check_ends(node, peer)

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        _check_ends(node, peer)

    def send(
        self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, words: int, added_words: int,
        fields: Any,
    ) -> None:  # fmt: skip
        session = (node, peer, id // SESSION)
        if node == peer or (id - self._last.get(session, 0) != 1 and id % SESSION > 1):  # a new link counts from 1
            _check_ends(node, peer)
            raise Implausible(f"id is {id}, and the message before it has {self._last.get(session, 0)}")
        self._last[session] = id
        self._moving[node, peer, id] = (type, units, tokens)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._take((peer, node, id), (type, units, tokens))

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._take((node, peer, id), (type, units, tokens))

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        _check_ends(node, peer)
        if supports(self._trace, "send"):  # otherwise nothing can be said
            self._take((node, peer, id), (type, units, tokens))

    def relay(
        self, t: int, node: int, source: int, target: int, id: int, type: str, words: int, added_words: int
    ) -> None:
        if (source, target, id) not in self._moving:
            self._check_sent((source, target, id))

    def _take(self, key: Key, message: tuple[str, int, int]) -> None:
        """A message is no longer in transit. One that was not is the business of the check `order`, if it was sent."""
        sent = self._moving.pop(key, None)
        if sent is None:
            self._check_sent(key)
        elif sent != message:
            raise Implausible(f"type, units and tokens are {shown(message)}, and the message was sent with {sent}")

    def _check_sent(self, key: Key) -> None:
        """Numbers count up, so all up to the last one were sent."""
        source, target, id = key
        if id > self._last.get((source, target, id // SESSION), -1):
            raise Implausible(f"node {source} has sent no message {id} to {target}")


# -- the start --------------------------------------------------------------------------------------------------------


def check_start(t: int, start: Start) -> None:
    """The lists of the first event fit together."""
    nodes, places = len(start.units), len(start.places)
    if t != 0:
        raise Implausible(f"t is {t}; allowed: 0")
    if not nodes:
        raise Implausible("units is []; allowed: a number for each node")
    _check_length("tokens", start.tokens, nodes)
    _check_length("clusters", start.clusters, nodes if start.clusters else 0)
    _check_length("groups", start.groups, nodes if places else 0)
    _check_length("kept", start.kept, places)
    for cluster in start.clusters:
        if cluster >= nodes:
            raise Implausible(f"clusters has {cluster}, and there are {nodes} nodes")
    for group in start.groups:
        if group is not None and group >= places:
            raise Implausible(f"groups has {group}, and there are {places} neighbourhoods")
    for kept, units in zip(start.kept, start.places, strict=True):
        if kept not in (0, units):
            raise Implausible(f"kept has {kept}, and the neighbourhood has {counted(units, 'unit')}")
    if places and sum(start.places) != start.capacity:
        raise Implausible(f"capacity is {start.capacity}, and places sum up to {sum(start.places)}")
    _check_links(start.links, nodes)


def _check_links(links: Sequence[Sequence[int]], nodes: int) -> None:
    seen = set()
    for link in links:
        if len(link) != 2 or link[0] == link[1] or max(link) >= nodes:
            raise Implausible(f"links has {shown(link)}; allowed: two of {nodes} nodes")
        if frozenset(link) in seen:
            raise Implausible(f"links has {link} twice")
        seen.add(frozenset(link))


def _check_length(name: str, values: Sequence[Any], length: int) -> None:
    if len(values) != length:
        raise Implausible(f"{name} has {len(values)} numbers; allowed: {length}")


def _check_ends(node: int, peer: int) -> None:
    if node == peer:
        raise Implausible(f"peer is {peer}, the node itself")
