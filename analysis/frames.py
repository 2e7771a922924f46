"""Data frames of results and of events, for pandas. Needs the plots extra or the parquet extra.

Metrics are computed elsewhere, in plain Python; a frame only has what they measured, typed, with the unit in the name
of every column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from agents.contract import TICKS
from analysis.check import FAILED, INCONCLUSIVE, NOT_APPLICABLE, NOT_CHECKED, OK
from analysis.events import KINDS, VERSION, Start, supports
from analysis.field_types import EventTypes, Implausible
from analysis.listener import Listener, method_name
from analysis.load import RunDirectoryError, read_events
from analysis.metric_names import METRICS
from analysis.results import Results
from analysis.selection import is_number, known, shown
from analysis.units import METRIC_UNITS

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = (OK, FAILED, INCONCLUSIVE, NOT_CHECKED, NOT_APPLICABLE)
WHOLE, NUMBER, TEXT, FLAG = "Int64", "float64", "category", "boolean"
"""Types of columns; those of whole numbers and of flags may have gaps."""


# -- results -----------------------------------------------------------------------------------------------------------


def results_frame(results: Results) -> pd.DataFrame:
    """One row per repetition: the axes, the repetition, every metric, the verdict of every check, and the seconds.

    A metric that is a distribution has a column for its mean and for each percentile. One that is a mapping by type has
    a column for each type, such as `messages.Token`; it is empty at the points where no repetition has that type.
    Columns of metrics that no repetition measured are there, and empty. A metric that is called as an axis is gets
    `_measured` at the end of its name.
    """
    import pandas as pd

    columns: dict[str, pd.Series[Any]] = {}
    for axis in results.axes:
        columns[axis] = _axis_column([row.axes.get(axis) for row in results.rows])
    columns["repetition"] = pd.Series([row.repetition for row in results.rows], dtype=WHOLE)
    for name, metric in METRICS.items():
        unit = METRIC_UNITS[name]
        dtype = WHOLE if unit.is_whole else NUMBER
        values = [row.metrics.get(name) for row in results.rows]
        found: dict[str, list[Any]] = {}
        if len(metric.columns) > 1:
            for column in metric.columns:
                found[f"{name}_{column}{unit.suffix}"] = [None if one is None else one.get(column) for one in values]
        elif metric.columns:
            found[f"{name}{unit.suffix}"] = values
        elif name != "first_inversions":  # examples in words
            found = {f"{name}{unit.suffix}.{kind}": mine for kind, mine in _by_type(results, name).items()}
        for column, mine in found.items():
            free = f"{column}_measured" if column in columns else column
            columns[free] = pd.Series(mine, dtype=dtype)
    for check in dict.fromkeys(name for row in results.rows for name in row.checks):
        verdicts = [row.checks.get(check, {}).get("verdict") for row in results.rows]
        columns[f"check_{check}"] = pd.Series(pd.Categorical(verdicts, categories=VERDICTS))
    columns["seconds"] = pd.Series([row.seconds for row in results.rows], dtype=NUMBER)
    return pd.DataFrame(columns)


def _axis_column(values: Sequence[Any]) -> pd.Series[Any]:
    """Numbers as numbers; anything else as categories, in the order of the study."""
    import pandas as pd

    known_values = [value for value in values if value is not None]
    if known_values and all(map(is_number, known_values)):
        return pd.Series(values, dtype=WHOLE if all(isinstance(one, int) for one in known_values) else NUMBER)
    texts = [None if value is None else shown(value) for value in values]
    return pd.Series(pd.Categorical(texts, categories=list(dict.fromkeys(text for text in texts if text is not None))))


def _by_type(results: Results, name: str) -> dict[str, list[Any]]:
    """The values of a mapping by type, one list a type. As in summaries, what a repetition never sent counts as 0."""
    types = sorted({kind for row in results.rows for kind in row.metrics.get(name) or ()})
    columns: dict[str, list[Any]] = {kind: [] for kind in types}
    for _, rows in results.points():
        there = {kind for row in rows for kind in row.metrics.get(name) or ()}
        for row in rows:
            mapping = row.metrics.get(name)
            for kind in types:
                columns[kind].append(None if mapping is None or kind not in there else mapping.get(kind, 0))
    return columns


# -- events ------------------------------------------------------------------------------------------------------------

_TIMES = ("since", "deadline", "lag", "patience", "warmup", "grace")
"""Fields in ticks, which frames have in time units."""


def events_frame(run_directory: Path, kind: str, repetition: int = 0) -> pd.DataFrame:
    """All events of a kind in a repetition: `t_units`, `node`, and the fields of that kind, each with its type.

    Times are in time units and have that in their names, such as `deadline_units`. `SelectionError` for an unknown
    kind, `RunDirectoryError` for a log that cannot be read or does not hold such events.
    """
    import pandas as pd

    known(kind, KINDS, "kind of event")
    rows = [(t, node, *values) for _, t, node, values in _events(log_of(run_directory, repetition), (kind,))]
    names = KINDS[kind][1]
    columns = list(zip(*rows, strict=True)) if rows else [()] * (2 + len(names))
    frame: dict[str, Any] = {"t_units": _in_units(columns[0]), "node": pd.Series(columns[1], dtype=WHOLE)}
    hints = get_type_hints(Start if kind == "start" else getattr(Listener, method_name(kind)))
    for name, values in zip(names, columns[2:], strict=True):
        if name in _TIMES:
            frame[f"{name}_units"] = _in_units(values)
        else:
            frame[name] = pd.Series(values, dtype=_dtype(hints[name]))
    return pd.DataFrame(frame)


def _in_units(ticks: Sequence[int | None]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series([None if t is None else t / TICKS for t in ticks], dtype=NUMBER)


def _dtype(hint: Any) -> str:
    """The type of a column for a declared type; lists and mappings stay as they are."""
    simple: dict[Any, str] = {int: WHOLE, float: NUMBER, str: TEXT, bool: FLAG}
    if get_origin(hint) in (Union, UnionType):
        hint, *others = [one for one in get_args(hint) if one is not type(None)]
        hint = None if others else hint
    return simple.get(hint, "object")


def log_of(run_directory: Path, repetition: int) -> Path:
    """The log of a repetition; an error if the run has no such repetition."""
    log = run_directory / f"rep-{repetition:03d}" / "events.jsonl"
    if not log.is_file():
        raise RunDirectoryError(f"{run_directory}: has no log of repetition {repetition}")
    return log


def _events(log: Path, kinds: Sequence[str]) -> Iterator[tuple[str, int, int | None, list[Any]]]:
    """The events of some kinds: kind, time in ticks, node and fields; checked like those of `analysis.load.replay`."""
    types, trace = EventTypes(), None
    for number, event in read_events(log):
        kind = event["kind"]
        if kind not in kinds and trace is not None:
            continue
        try:
            if trace is None and kind != "start":
                raise Implausible("it comes before the start")
            if kind == "start" and event.get("version") != VERSION:
                raise Implausible(f"it has log version {event.get('version')}; this reader knows {VERSION}")
            values = types.values(event)
        except Implausible as error:
            raise RunDirectoryError(f"{log}:{number}: a {kind} event that makes no sense: {error}") from error
        if kind == "start":
            trace = Start(*values).trace
            lacking = [one for one in kinds if not supports(trace, one)]
            if lacking:
                needs = KINDS[lacking[0]][0]
                raise RunDirectoryError(
                    f"{log}: trace level {trace} has no {lacking[0]} events; run it with trace: {needs}"
                )
        if kind in kinds:
            yield kind, event["t"], event.get("node"), values


def waiting_times_frame(run_directory: Path, repetitions: Sequence[int]) -> pd.DataFrame:
    """One row for every request that was served, in the order of entries.

    Columns: `repetition`, `node`, `requested_units`, `entered_units`, `left_units` (empty if the node was inside at
    the end), `waiting_units`, `demand` (the units that it asked for), and `is_measured`: whether it entered after the
    warmup. The mean of `waiting_units` where `is_measured` is the metric `waiting_time`.
    """
    import pandas as pd

    served = [row for one in repetitions for row in _served(log_of(run_directory, one), one)]
    columns = list(zip(*served, strict=True)) if served else [()] * 7
    repetition, node, requested, entered, left, demand, is_measured = columns
    return pd.DataFrame(
        {
            "repetition": pd.Series(repetition, dtype=WHOLE),
            "node": pd.Series(node, dtype=WHOLE),
            "requested_units": _in_units(requested),
            "entered_units": _in_units(entered),
            "left_units": _in_units(left),
            "waiting_units": _in_units([late - early for early, late in zip(requested, entered, strict=True)]),
            "demand": pd.Series(demand, dtype=WHOLE),
            "is_measured": pd.Series(is_measured, dtype=FLAG),
        }
    )


_ENDS = ("exit", "evict", "crash")
"""Events with which a node is no longer in its critical section."""


def _served(log: Path, repetition: int) -> list[list[Any]]:
    """Repetition, node, times of request, entry and exit in ticks, demand, and whether it counts; by entry."""
    warmup, served = 0, []
    requested: dict[int, int] = {}
    inside: dict[int, list[Any]] = {}
    for kind, t, node, values in _events(log, ("start", "request", "enter", *_ENDS)):
        if kind == "start":
            warmup = Start(*values).warmup
            continue
        assert node is not None, "EventTypes refuses it"
        if kind == "request":  # one that a crash ended is replaced by the next
            requested[node] = t
        elif kind == "enter":
            row = [repetition, node, requested.pop(node, t), t, None, values[0], t >= warmup]
            inside[node] = row
            served.append(row)
        elif kind in _ENDS and node in inside:
            inside.pop(node)[4] = t
    return served
