"""The events a run logs: one versioned table of kinds and fields.

Every event has `t` (ticks, `agents.contract.TICKS` to a time unit), `node` (or null where it concerns the whole run)
and `kind`, then the fields of its kind in the order of this table. Readers ignore kinds and fields they do not know, so
a newer log can be read by an older reader as long as the version is the same.
"""

VERSION = 3
SESSION = 10**9
"""Over radio links, `send.id` is a session's number times this plus the message's place in the session."""

LEVELS = ("metrics", "cs", "events")
"""Trace levels: each writes what the one before it writes, and more."""

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    # kind: (the lowest trace level that writes it, its fields)
    "start": (
        "metrics",
        (
            "version",
            "trace",
            "needs",
            "over_radio",
            "assumes_connected",
            "shares",
            "capacity",
            "warmup",
            "units",
            "links",
            "clusters",
        ),
    ),
    "stop": ("metrics", ("reason", "units")),
    "awaits": ("metrics", ("peers", "spares")),
    "pending": ("metrics", ("since", "alive", "component", "component_units", "parts")),
    "frames": ("metrics", ("type", "count", "bytes")),
    "lateness": ("metrics", ("medium_ms",)),
    "partition": ("metrics", ("parts", "cut_off")),
    "crash": ("metrics", ("units",)),
    "restart": ("metrics", ("incarnation",)),
    "fault": ("metrics", ("fault", "detail")),
    "lost": ("metrics", ("peer", "id", "type", "units", "why")),
    "request": ("cs", ("units", "priority")),
    "enter": ("cs", ("units",)),
    "exit": ("cs", ("units",)),
    "evict": ("cs", ()),
    "link_up": ("events", ("peer",)),
    "link_down": ("events", ("peer", "lag")),
    "send": ("events", ("peer", "id", "type", "units", "words", "added_words", "fields")),
    "recv": ("events", ("peer", "id", "type", "units")),
    "relay": ("events", ("source", "target", "id", "type", "words", "added_words")),
    "return": ("events", ("peer", "id", "type", "units")),
    "timer": ("events", ("name",)),
}
"""What the names do not say:

- `start.needs` is what the algorithm addresses, "links" (neighbours) or "any node"; `over_radio` says whether link
  layers find the links, `assumes_connected` whether the algorithm's paper assumes a connected network.
- `start.units` and `stop.units` list what every node holds.
- `start.clusters` lists the cluster of every node, or nothing if there are no clusters. With clusters, everything below
  that speaks of components, units and parts speaks of the nodes and units of one cluster.
- `awaits`: the nodes that a node waits for at the end, where permissions are shared, and how many of them it can do
  without; before all `pending`.
- `pending` is a request still pending at the end: whether its node runs, how many nodes its component has, how many
  units that component holds, and how many components there are (`parts`).
- `partition` comes whenever the network's components change: how many there are (`parts`; with clusters, of the cluster
  that has most), and which nodes can reach no unit (`cut_off`).
- `send.words` is the size of a message as its paper counts it; `added_words` is that of fields which a correction of
  the paper's algorithm added.
- `frames` sums up, at the end, what the link layers put on the air.
- `lateness` says, where time is real, how much later than due the medium passed datagrams on: mean, p50, p95, p99 and
  max in milliseconds.
- `lost.node` sent the message.
- `link_down.lag` is for how long the link was kept because messages were in transit on it.
- `send.id` counts up from each sender to each receiver.
- `relay` is a node between `source` and `target` that passes on a message of an algorithm that addresses any node."""


def supports(trace: str, kind: str) -> bool:
    """Whether a log of this trace level holds events of this kind."""
    return LEVELS.index(trace) >= LEVELS.index(KINDS[kind][0])
