"""The events a run logs: one versioned table of kinds and fields.

Every event has `t` (ticks, `agents.contract.TICKS` to a time unit), `node` (or null where it concerns the whole run)
and `kind`, then the fields of its kind in the order of this table. Readers ignore kinds and fields they do not know, so
a newer log can be read by an older reader as long as the version is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

VERSION = 5
SESSION = 10**9
"""Over radio links, `send.id` is a session's number times this plus the message's place in the session."""

LEVELS = ("metrics", "cs", "events")
"""Trace levels: each writes what the one before it writes, and more."""


class Start(NamedTuple):
    """The fields of the first event: what the checks and metrics must know of the run."""

    version: int = VERSION
    trace: str = LEVELS[-1]
    needs: str = "links"
    """What the algorithm addresses: "links" (neighbours), "any node" or "groups" (neighbourhoods)."""
    over_radio: bool = False
    """Whether link layers find the links."""
    assumes_connected: bool = True
    """Whether the algorithm's paper assumes a connected network."""
    promises_bound: bool = True
    """Whether the algorithm, with its parameters, serves every request within some bound."""
    shares: str = "tokens"
    capacity: int = 1
    warmup: int = 0
    grace: int = 0
    """How long a request must have waited before an entry ahead of it counts as one that was made to wait, in ticks."""
    units: Sequence[int] = ()
    """What every node holds."""
    tokens: Sequence[int] = ()
    links: Sequence[Sequence[int]] = ()
    clusters: Sequence[int] = ()
    """The cluster of every node, or nothing if there are no clusters.

    With clusters, everything in other events that speaks of components, units and parts speaks of one cluster.
    """
    places: Sequence[int] = ()
    """The units of every neighbourhood, or nothing if there are none. With neighbourhoods, everything that speaks of
    components, units and parts speaks of one neighbourhood."""
    groups: Sequence[int | None] = ()
    """The neighbourhood of every node, null for a node that is in none."""
    kept: Sequence[int] = ()
    """The units whose token lies at the place of each neighbourhood."""
    patience: int = 0
    """For how long a request may be pending, in ticks; 0 if that is not judged."""
    absent: Sequence[int] = ()
    """The nodes that are not there all the time: they appear later, or leave."""
    real_time: bool = False
    """Whether time is that of a clock, so that a machine can be too slow for the run."""


KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    # kind: (the lowest trace level that writes it, its fields)
    "start": ("metrics", Start._fields),
    "stop": ("metrics", ("reason", "units", "tokens")),
    "close": ("metrics", ("patience",)),
    "awaits": ("metrics", ("peers", "spares")),
    "pending": ("metrics", ("since", "alive", "component", "component_units", "component_tokens", "parts")),
    "frames": ("metrics", ("type", "count", "bytes")),
    "lateness": ("metrics", ("medium_ms", "station_ms", "bound_ms")),
    "breach": ("metrics", ("algorithm", "event", "output", "why")),
    "miscount": ("metrics", ("units", "tokens", "said_units", "said_tokens", "event")),
    "partition": ("metrics", ("parts", "cut_off")),
    "crash": ("metrics", ("units", "tokens")),
    "restart": ("metrics", ("incarnation",)),
    "fault": ("metrics", ("fault", "detail")),
    "lost": ("metrics", ("peer", "id", "type", "units", "tokens", "why")),
    "request": ("cs", ("units", "priority", "deadline")),
    "enter": ("cs", ("units", "priority", "deadline")),
    "exit": ("cs", ("units",)),
    "evict": ("cs", ()),
    "join": ("cs", ("group", "visit", "members", "units", "tokens", "fields")),
    "leaving": ("cs", ("group",)),
    "left": ("metrics", ("group", "ready", "abandoned", "units", "tokens")),
    "deposit": ("cs", ("group", "units", "tokens", "fields")),
    "refused": ("cs", ("group", "units", "tokens", "fields")),
    "regenerate": ("metrics", ("group", "units", "tokens")),
    "free": ("cs", ("group", "free", "units")),
    "broadcast": ("events", ("group", "type", "receivers", "fields")),
    "link_up": ("events", ("peer",)),
    "link_down": ("events", ("peer", "lag")),
    "send": ("events", ("peer", "id", "type", "units", "tokens", "words", "added_words", "fields")),
    "recv": ("events", ("peer", "id", "type", "units", "tokens")),
    "relay": ("events", ("source", "target", "id", "type", "words", "added_words")),
    "return": ("events", ("peer", "id", "type", "units", "tokens")),
    "timer": ("events", ("name",)),
}
"""What the names do not say:

- `stop.units` and `stop.tokens` list what every node holds.
- `close`: from now on no requests are made and no links change. A request that has been pending for longer than
  `patience` ticks has waited too long.
- `awaits`: the nodes that a node waits for at the end, where permissions are shared, and how many of them it can do
  without; before all `pending`.
- `pending` is a request still pending at the end: whether its node runs, how many nodes its component has, how many
  units and tokens that component holds, and how many components there are (`parts`).
- `partition` comes whenever the network's components change: how many there are (`parts`; with clusters, of the cluster
  that has most), and which nodes can reach no unit (`cut_off`).
- `send.words` is the size of a message as its paper counts it; `added_words` is that of fields which a correction of
  the paper's algorithm added.
- `frames` sums up, at the end, what the link layers put on the air.
- `lateness` says, where time is real, how much later than due the medium passed datagrams on (`medium_ms`: mean, p50,
  p95, p99 and max in milliseconds, or null), the same of the timers and receptions of the station that was latest by
  its p99 (`station_ms`, which also has `station`, its number), and how late a station may be (`bound_ms`).
- `breach`: the algorithm broke the contract, which ends the repetition: in which event of the node, with which output
  (empty if with none), and why that is a breach.
- `miscount`: after an event, a node says that it holds another amount than by the messages that it has sent and
  received (`units`, `tokens`): from then on what it says counts.
- `lost.node` sent the message.
- `units` and `tokens` are two things where a token may carry no free unit; elsewhere they are the same number.
- `request.deadline` and `enter.deadline` are times in ticks, or null if there is none.
- `link_down.lag` is for how long the link was kept because messages were in transit on it.
- `evict`: a node leaves its neighbourhood from its critical section. It asks again where it arrives.
- `join`: a node is in a neighbourhood, for the `visit`th time that any node comes there; `members` are the others, as
  [node, visit], and `fields` is the token that lay at the place, as its type and its fields, or null.
- `left`: a node has left its neighbourhood: whether it was `ready`, whether it abandoned a request, and the units and
  tokens that it took along, which are lost.
- `deposit`: the last node puts the token down at the place; `refused` if another node has arrived meanwhile.
- `regenerate`: a node makes a token anew that was lost.
- `free`: a token leaves, and says how many of its units are free.
- `broadcast`: so many of the `send` events that follow, one for each receiver, are one transmission.
- `send.id` counts up from each sender to each receiver.
- `relay` is a node between `source` and `target` that passes on a message of an algorithm that addresses any node."""


def supports(trace: str, kind: str) -> bool:
    """Whether a log of this trace level holds events of this kind."""
    return LEVELS.index(trace) >= LEVELS.index(KINDS[kind][0])
