"""The values of the RL paper's tables beside ours in the figures."""

from __future__ import annotations

from testbed.experiments.reproduce.rl import CELLS, METRICS, TABLES, _by_links, _by_load, printed_values
from testbed.experiments.reproduce.rl_cells import LOADS, NAMES, RL, RR


def test_every_printed_value_has_its_place() -> None:
    """24 for each table; two of Table 1 and one of Table 2 as the paper prints them."""
    for table, metric in METRICS.items():
        values = printed_values(metric)
        assert len(values) == len(CELLS) * len(TABLES[table]) == 24
    waits = {
        (one["series"], one["mobility"], one["rate"]): one["waiting_time"]
        for one in _by_load(printed_values("waiting_time"))
    }
    assert waits[f"{NAMES[RR]}, 20%", "zero", LOADS["high"]] == 185
    assert waits[f"{NAMES[RL]}, 80%", "high", LOADS["low"]] == 7
    sent = _by_links(printed_values("messages_per_cs"))
    messages = {(one["series"], one["mobility"], one["percent"]): one["messages_per_cs"] for one in sent}
    assert messages[f"{NAMES[RL]}, low load", "high", 20] == 1900
    assert len(messages) == len(waits) == 24
