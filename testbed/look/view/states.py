"""The state of every agent at every time, as the changes from step to step.

The states are those of a replay (`testbed.replay`), in the same form in which `testbed replay --json` prints them, so
that the page and the command say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from testbed.look.view.columns import Table, column, finite
from testbed.replay.replayer import NodeReplay

Describe = Callable[[NodeReplay], dict[str, Any]]
"""Gives a replay in the form of `testbed replay --json`."""
WHOLE, GONE = -1, -1
LONG_LIST = 8
"""Of lists this long that keep their length, such as one number for every node, only what changes is stored."""
MAX_SIZE = 40_000_000
"""Characters of values, beyond which a browser takes too long to open the page."""


class TooLarge(Exception):
    """The states do not fit into a page."""


def states(replays: Iterable[NodeReplay], describe: Describe) -> tuple[dict[str, Any], list[str]]:
    """The states of all nodes for the page, and what a reader must know of them.

    A step is a time, whether a new agent starts in it, and how many changes it has. A change is an attribute, a key if
    the attribute is a mapping or a long list that has changed in part, and a new value.
    """
    attributes, keys, values = Table(), Table(), Table()
    nodes, notes = [], []
    for replay in replays:
        if values.size > MAX_SIZE:
            raise TooLarge(f"their values have more than {MAX_SIZE:,} characters")
        nodes.append(_node(replay, describe(replay)["steps"], attributes, keys, values))
        if replay.differences:
            when = f"t={replay.differences[0].given.t / 1e9:g}"
            notes.append(f"node {replay.node}: from {when} on, the replayed agent differs from the log")
        elif replay.missing is not None:
            notes.append(f"node {replay.node}: no states after t={replay.steps[-1].given.t / 1e9:g}: {replay.missing}")
    tables = {"attributes": attributes.values, "keys": keys.values, "values": values.values}
    return {**tables, "nodes": nodes}, notes


def _node(
    replay: NodeReplay, described: list[dict[str, Any]], attributes: Table, keys: Table, values: Table
) -> dict[str, str]:
    times: list[int] = []
    starts: list[int] = []
    counts: list[int] = []
    changes: list[tuple[int, int, int]] = []
    known: dict[str, Any] = {}
    for step, told in zip(replay.steps, described, strict=True):
        is_start = step.given.kind in ("start", "restart")
        if is_start:
            known = {}
        before = len(changes)
        for name, new in finite(told["changes"]).items():
            attribute, old = attributes.add(name), known.get(name)
            known[name] = new
            if isinstance(old, dict) and isinstance(new, dict) and new:
                changes += [(attribute, keys.add(key), GONE) for key in old if key not in new]
                fresh = (key for key in new if key not in old or old[key] != new[key])
                changes += [(attribute, keys.add(key), values.add(new[key])) for key in fresh]
            elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) >= LONG_LIST:
                changed = (place for place, one in enumerate(new) if one != old[place])
                changes += [(attribute, keys.add(place), values.add(new[place])) for place in changed]
            else:
                changes.append((attribute, WHOLE, values.add(new)))
        times.append(max(step.given.t, times[-1] if times else 0))  # a process that logged nothing has no time
        starts.append(int(is_start))
        counts.append(len(changes) - before)
    return {
        "t": column(times),
        "start": column(starts),
        "count": column(counts),
        "attribute": column(change[0] for change in changes),
        "key": column(change[1] for change in changes),
        "value": column(change[2] for change in changes),
    }
