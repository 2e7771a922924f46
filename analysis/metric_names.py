"""Every metric of a run by its key: what tables call it, and which columns it has.

This is the only list of metrics. `analysis.metrics`, `analysis.demands`, `analysis.tokens`,
`analysis.height_changes`, `analysis.network` and `analysis.neighbourhoods` measure them;
tests/analysis/test_metric_names.py compares what they measure with this table.
"""

from __future__ import annotations

from dataclasses import dataclass

_SPREAD = ("mean", "p50", "p95", "max")
_LONG_SPREAD = ("mean", "p50", "p95", "p99", "max")


@dataclass(frozen=True)
class MetricName:
    """How a metric is named and bounded."""

    label: str
    columns: tuple[str, ...] = ("mean",)
    """The columns that a scenario's `expect` can bound; none for a metric that is a mapping by type."""


METRICS: dict[str, MetricName] = {
    "entries": MetricName("CS entries"),
    "waiting_time": MetricName("waiting time", _SPREAD),
    "waiting_time_with_pending": MetricName("waiting time, with pending"),
    "pending": MetricName("pending at the end"),
    "response_time": MetricName("response time", _SPREAD),
    "synchronization_delay": MetricName("synchronization delay", _SPREAD),
    "messages_per_cs": MetricName("messages per CS"),
    "messages_per_cs_by_type": MetricName("messages per CS by type", ()),
    "messages": MetricName("messages by type", ()),
    "messages_cut_off": MetricName("messages while cut off"),
    "words_per_message": MetricName("words per message"),
    "sent_words_per_message": MetricName("words per message, as sent"),
    "words_per_cs": MetricName("words per CS"),
    "token_hops_per_cs": MetricName("token hops per CS"),
    "fairness": MetricName("fairness (Jain)"),
    "concurrency": MetricName("concurrency"),
    "peak_units": MetricName("most units in use"),
    "throughput": MetricName("throughput (CS per unit)"),
    "time": MetricName("time measured"),
    "inversions_per_cs": MetricName("inversions per CS"),
    "inversions_after_grace_per_cs": MetricName("inversions per CS, after grace"),
    "first_inversions": MetricName("first inversions", ()),
    "deadlines_missed": MetricName("deadlines missed (share)"),
    "nodes_inside": MetricName("nodes inside"),
    "utilisation": MetricName("utilisation (share)"),
    "idle_though_fitting": MetricName("idle though one fits"),
    "longest_wait": MetricName("longest wait"),
    "pending_at_close": MetricName("pending at close"),
    "token_fairness": MetricName("token fairness (Jain)"),
    "tokens_idle": MetricName("tokens idle (share)"),
    "token_path": MetricName("token hops between CS", _SPREAD),
    "height_changes_per_cs": MetricName("height changes per CS"),
    "link_changes": MetricName("link changes"),
    "link_change_rate": MetricName("link changes per unit"),
    "mean_degree": MetricName("mean degree"),
    "frames": MetricName("frames by type", ()),
    "air_bytes": MetricName("bytes on the air"),
    "components": MetricName("components"),
    "time_partitioned": MetricName("time partitioned (share)"),
    "medium_lateness": MetricName("medium lateness (ms)", _LONG_SPREAD),
    "station_lateness": MetricName("station lateness (ms)", _LONG_SPREAD),
    "frames_per_cs": MetricName("frames per CS"),
    "bytes_per_cs": MetricName("bytes per CS"),
    "transmissions_per_cs": MetricName("transmissions per CS"),
    "arrivals": MetricName("arrivals in neighbourhoods"),
    "evictions": MetricName("critical sections cut short by leaving"),
    "abandoned": MetricName("requests abandoned by leaving"),
    "regenerated": MetricName("tokens made anew"),
    "entries_by_place": MetricName("CS entries by place", ()),
    "waiting_by_place": MetricName("waiting time by place", ()),
}
