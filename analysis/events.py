"""The events a run logs: one versioned table of kinds and fields.

Every event has `t` (ticks), `node` (or null where it concerns the whole run) and `kind`, then the fields of its kind in
the order of this table. Readers ignore kinds and fields they do not know, so a newer log can be read by an older
reader as long as the version is the same.
"""

VERSION = 1
TICKS = 10**9  # to a time unit of the scenario
SESSION = 10**9
"""Over radio links, `send.id` is a session's number times this plus the message's place in the session."""

LEVELS = ("metrics", "cs", "events")
"""Trace levels: each writes what the one before it writes, and more."""

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    # kind: (the lowest trace level that writes it, its fields)
    "start": ("metrics", ("version", "trace", "needs", "capacity", "warmup", "units", "links")),
    "stop": ("metrics", ("reason", "units")),
    "pending": ("metrics", ("since", "alive", "component", "component_units")),
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
    "send": ("events", ("peer", "id", "type", "units", "words", "fields")),
    "recv": ("events", ("peer", "id", "type", "units")),
    "relay": ("events", ("source", "target", "id", "type", "words")),
    "return": ("events", ("peer", "id", "type", "units")),
    "timer": ("events", ("name",)),
}
"""What the kinds say, where the name does not: `start.units` and `stop.units` list what every node holds; `pending` is
a request still open at the end, with whether its node lives, how many nodes its component has and how many units
that component holds; `partition` says into how many parts the network has fallen and lists the nodes that can reach
no unit, whenever that changes; `frames` sums up, at the end, what the link layers put on the air; `lateness` says,
where time is real, how much later than it was due the medium passed datagrams on (mean, p50, p95, p99, max in
milliseconds); `lost.node` sent the message; `link_down.lag` is how long the link was kept after its time because
messages were in transit on it; `send.id` counts up from each sender to each receiver; `relay` is a node on the way
passing on a message of an algorithm that addresses any node."""


def supports(trace: str, kind: str) -> bool:
    """Whether a log of this trace level holds events of this kind."""
    return LEVELS.index(trace) >= LEVELS.index(KINDS[kind][0])
