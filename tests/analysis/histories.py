"""Hand-written histories: events as tuples `(kind, t, node, *fields)`, with t in time units.

The long kinds have a function each; the others are written out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from agents.contract import TICKS
from analysis.events import KINDS, VERSION, Start
from analysis.listener import Listener, method_name

Event = tuple[Any, ...]
L = TypeVar("L", bound=Listener)


def start(
    *,
    units: Sequence[int] = (1, 0, 0),
    trace: str = "events",
    needs: str = "links",
    over_radio: bool = False,
    assumes_connected: bool = False,
    shares: str = "tokens",
    capacity: int | None = None,
    warmup: float = 0,
    links: Sequence[Sequence[int]] = ((0, 1), (1, 2)),
    clusters: Sequence[int] = (),
    places: Sequence[int] = (),
    groups: Sequence[int | None] = (),
    kept: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
    promises_bound: bool = True,
    grace: float = 0,
    patience: float = 0,
    absent: Sequence[int] = (),
    real_time: bool = False,
    version: int = VERSION,
) -> Event:
    """The first event: by default a line of three nodes, and node 0 holds the one unit."""
    fields = Start(
        version=version,
        trace=trace,
        needs=needs,
        over_radio=over_radio,
        assumes_connected=assumes_connected,
        promises_bound=promises_bound,
        shares=shares,
        capacity=sum(places or units) if capacity is None else capacity,
        warmup=int(warmup * TICKS),
        grace=int(grace * TICKS),
        units=list(units),
        tokens=list(units if tokens is None else tokens),
        links=[*map(list, links)],
        clusters=list(clusters),
        places=list(places),
        groups=list(groups),
        kept=[0] * len(places) if kept is None else list(kept),
        patience=int(patience * TICKS),
        absent=list(absent),
        real_time=real_time,
    )
    return ("start", 0, None, *fields)


def stop(t: float, *units: int) -> Event:
    """The last event, with what every node says it holds: as many tokens as units."""
    return ("stop", t, None, "duration", list(units), list(units))


def request(t: float, node: int, units: int = 1, priority: int = 0, deadline: float | None = None) -> Event:
    """A request, by default without priority and deadline."""
    return ("request", t, node, units, priority, None if deadline is None else round(deadline * TICKS))


def visit(node: int, asks: float, enters: float, exits: float, units: int = 1) -> list[Event]:
    """One critical section, from request to exit."""
    return [request(asks, node, units), ("enter", enters, node, units), ("exit", exits, node, units)]


def send(
    t: float, node: int, peer: int, id: int, type: str = "Token", units: int = 1, words: int = 4, added: int = 0
) -> Event:
    """A message leaves; by default it carries the unit."""
    return ("send", t, node, peer, id, type, units, units, words, added, None)


def recv(t: float, node: int, peer: int, id: int, type: str = "Token", units: int = 1) -> Event:
    """A message arrives."""
    return ("recv", t, node, peer, id, type, units, units)


def miscount(t: float, node: int, had: int, says: int, event: str = "on_release()") -> Event:
    """A node says that it holds another amount than by its messages."""
    return ("miscount", t, node, had, had, says, says, event)


def partition(t: float, parts: int, *cut_off: int) -> Event:
    """The network has so many components, and these nodes can reach no unit."""
    return ("partition", t, None, parts, list(cut_off))


def returned(t: float, node: int, peer: int, id: int, type: str = "Token", units: int = 1) -> Event:
    """A message comes back to its sender."""
    return ("return", t, node, peer, id, type, units, units)


def lost(t: float, node: int, peer: int, id: int, type: str = "Token", units: int = 1, why: str = "fault") -> Event:
    """A message of `node` will never arrive."""
    return ("lost", t, node, peer, id, type, units, units, why)


def pending(
    t: float, node: int, *, since: float, alive: bool, component: int, component_units: int, parts: int = 1
) -> Event:
    """A request is still pending at the end; its component has as many tokens as units."""
    held = (component_units, component_units)
    return ("pending", t, node, int(since * TICKS), alive, component, *held, parts)


def join(t: float, node: int, group: int, *, visit: int = 9, units: int = 0) -> Event:
    """A node is in a neighbourhood, and takes up the token that lies there, if it has units."""
    return ("join", t, node, group, visit, [], units, min(units, 1), None)


def left(
    t: float, node: int, group: int, *, ready: bool = True, abandoned: bool = False, units: int = 0, tokens: int = 0
) -> Event:
    """A node has left its neighbourhood, with nothing and without notice only if that is said."""
    return ("left", t, node, group, ready, abandoned, units, tokens)


def vanished(t: float, node: int, group: int, *, abandoned: bool = False) -> Event:
    """A node has left its neighbourhood without notice."""
    return left(t, node, group, ready=False, abandoned=abandoned)


def deposit(t: float, node: int, group: int, units: int, kind: str = "deposit") -> Event:
    """A node puts a token down at its place, or gets it back (`refused`)."""
    return (kind, t, node, group, units, 1, None)


def regenerate(t: float, node: int, group: int, units: int) -> Event:
    """A node makes the token of its neighbourhood anew."""
    return ("regenerate", t, node, group, units, 1)


def broadcast(t: float, node: int, *peers: int, type: str = "Hello") -> list[Event]:
    """A message that carries nothing to several members of neighbourhood 0, in one transmission."""
    return [("broadcast", t, node, 0, type, len(peers), None), *(send(t, node, peer, 1, type, 0) for peer in peers)]


def whole(event: Event) -> Event:
    """A crash with as many tokens as units, an entry without priority and deadline, where these are left out."""
    kind, t, node, *fields = event
    more = {"crash": fields[:1], "enter": [0, None]}.get(kind, [])
    return (kind, t, node, *fields, *(more if len(fields) == 1 else []))


def feed(listener: L, *events: Event) -> L:
    """Pass events to a listener, and return it."""
    for kind, t, node, *fields in map(whole, events):
        getattr(listener, method_name(kind))(round(t * TICKS), node, *fields)
    return listener


def line(event: Event) -> str:
    """An event as a log holds it."""
    kind, t, node, *fields = whole(event)
    head = {"t": round(t * TICKS), "node": node, "kind": kind}
    return json.dumps(head | dict(zip(KINDS[kind][1], fields, strict=True))) + "\n"
