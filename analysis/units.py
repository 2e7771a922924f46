"""The units of metrics and of axes: what labels of figures say in parentheses, and how columns of data frames end.

`METRIC_UNITS` has every metric of `analysis.metric_names`; tests/analysis/test_units.py compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.metric_names import METRICS


@dataclass(frozen=True)
class Unit:
    """What a number counts or measures."""

    words: str
    """As a label says it; empty for a number that has no unit, such as an index."""
    suffix: str = ""
    """How the name of a column ends; empty where the name of the metric says it, or there is nothing to say."""
    is_whole: bool = False
    """Whether it is a count, so that each repetition has a whole number."""


TIME = Unit("time units", "_units")
MILLISECONDS = Unit("ms", "_ms")
BYTES = Unit("bytes")  # the names of these metrics have the word
SHARE = Unit("share", "_share")
INDEX = Unit("")


def count_of(what: str) -> Unit:
    """A whole number of things."""
    return Unit(what, is_whole=True)


def ratio_of(what: str) -> Unit:
    """A mean number of things, such as messages per critical section."""
    return Unit(what)


METRIC_UNITS: dict[str, Unit] = {
    "entries": count_of("entries"),
    "waiting_time": TIME,
    "waiting_time_with_pending": TIME,
    "pending": count_of("requests"),
    "response_time": TIME,
    "synchronization_delay": TIME,
    "messages_per_cs": ratio_of("messages"),
    "messages_per_cs_by_type": ratio_of("messages"),
    "messages": count_of("messages"),
    "messages_cut_off": count_of("messages"),
    "words_per_message": ratio_of("words"),
    "sent_words_per_message": ratio_of("words"),
    "words_per_cs": ratio_of("words"),
    "token_hops_per_cs": ratio_of("hops"),
    "fairness": INDEX,
    "concurrency": ratio_of("units in use"),
    "peak_units": count_of("units"),
    "throughput": Unit("entries per time unit", "_per_unit"),
    "time": TIME,
    "inversions_per_cs": ratio_of("inversions"),
    "inversions_after_grace_per_cs": ratio_of("inversions"),
    "first_inversions": INDEX,
    "deadlines_missed": SHARE,
    "nodes_inside": ratio_of("nodes"),
    "utilisation": SHARE,
    "idle_though_fitting": SHARE,
    "longest_wait": TIME,
    "pending_at_close": count_of("requests"),
    "token_fairness": INDEX,
    "tokens_idle": SHARE,
    "token_path": ratio_of("hops"),
    "height_changes_per_cs": ratio_of("changes"),
    "link_changes": count_of("changes"),
    "link_change_rate": Unit("changes per time unit", "_per_unit"),
    "mean_degree": ratio_of("links per node"),
    "frames": count_of("frames"),
    "air_bytes": Unit("bytes", is_whole=True),
    "components": ratio_of("components"),
    "time_partitioned": SHARE,
    "medium_lateness": MILLISECONDS,
    "station_lateness": MILLISECONDS,
    "frames_per_cs": ratio_of("frames"),
    "bytes_per_cs": BYTES,
    "transmissions_per_cs": ratio_of("transmissions"),
    "arrivals": count_of("arrivals"),
    "evictions": count_of("evictions"),
    "abandoned": count_of("requests"),
    "regenerated": count_of("tokens"),
    "entries_by_place": count_of("entries"),
    "waiting_by_place": TIME,
}
"""The unit of every metric; of a mapping by type, that of its values."""

_SPEED, _METRES, _SECONDS = Unit("m/s"), Unit("m"), Unit("s")
_AXES: dict[str, tuple[str, Unit]] = {
    "nodes": ("nodes", Unit("count")),
    "repeat": ("repetitions", Unit("count")),
    "clusters": ("clusters", Unit("count")),
    "time_unit": ("length of a time unit", _SECONDS),
    "duration": ("duration", TIME),
    "warmup": ("warmup", TIME),
    "drain": ("drain", TIME),
    "patience": ("patience", TIME),
    "grace": ("grace", TIME),
    "notice": ("notice", TIME),
    "area": ("area", _METRES),
    "workload.rate": ("request rate of a node", Unit("requests per time unit")),
    "workload.contention": ("contention", SHARE),
    "workload.cs_time": ("critical section", TIME),
    "workload.units": ("units of a request", Unit("units")),
    "workload.deadline": ("deadline", TIME),
    "delays.hop": ("delay of a hop", TIME),
    "delays.send": ("time to send a message", TIME),
    "delays.receive": ("time to receive a message", TIME),
    "topology.connectivity": ("connectivity", Unit("share of all links")),
    "topology.link_change_rate": ("link changes", Unit("changes per time unit")),
    "topology.max_lag": ("longest lag of a link", TIME),
    "topology.hysteresis": ("hysteresis", Unit("share of the range")),
    "links.loss": ("datagrams lost", SHARE),
    "links.duplicate": ("datagrams duplicated", SHARE),
    "links.hello": ("time between hellos", TIME),
    "links.jitter": ("jitter of hellos", SHARE),
    "links.dead_after": ("silence that closes a link", Unit("hello intervals")),
    "links.retry": ("time to the first retry", Unit("hello intervals")),
    "links.max_retry": ("longest time between retries", Unit("hello intervals")),
    "links.up_after": ("hellos that open a link", Unit("hellos")),
    "radio.range": ("radio range", _METRES),
    "radio.rate": ("data rate", Unit("Mb/s")),
    "radio.tx_power_dbm": ("transmission power", Unit("dBm")),
    "mobility.speed": ("speed", _SPEED),
    "mobility.mean_speed": ("mean speed", _SPEED),
    "mobility.member_speed": ("speed of members", _SPEED),
    "mobility.pause": ("pause", _SECONDS),
    "mobility.interval": ("time of a step", _SECONDS),
    "mobility.leg_time": ("time of a leg", _SECONDS),
    "mobility.radius": ("radius of a group", _METRES),
    "mobility.groups": ("groups", Unit("count")),
    "churn.departures": ("departures of a node", Unit("departures per time unit")),
    "churn.away": ("time away", TIME),
    "churn.groups": ("groups", Unit("count")),
    "algorithm.k": ("k", Unit("units")),
    "algorithm.raise_interval": ("time between raises", TIME),
}
"""What labels of figures call the keys of scenarios that are often varied; others are called by their keys."""


def metric_label(name: str, column: str = "mean") -> str:
    """A metric as the label of an axis, with its unit."""
    label, words = METRICS[name].label, METRIC_UNITS[name].words
    before, _, inside = label.partition(" (")
    if inside:  # a table has no room for more; here the whole unit is written
        label, words = before, words or inside.rstrip(")")
    named = label if column == "mean" else f"{label}, {column}"
    return f"{named} ({words})" if words else named


def axis_label(key: str) -> str:
    """A key of scenarios as the label of an axis, with its unit where it is known."""
    label, unit = _AXES.get(key, (key, INDEX))
    return f"{label} ({unit.words})" if unit.words else label


def axis_value_label(key: str, text: str) -> str:
    """A value of a key, as the title of a panel has it: `mobility.speed = 1-5 m/s`."""
    _, unit = _AXES.get(key, (key, INDEX))
    has_unit = unit.words in ("m/s", "m", "s", "Mb/s", "dBm")
    return f"{key} = {text}{f' {unit.words}' if has_unit else ''}"
