"""Data frames of runs and of results: their columns, their types, and the same numbers as the metrics."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from analysis.events import KINDS, supports
from analysis.frames import events_frame, results_frame, waiting_times_frame
from analysis.load import RunDirectoryError
from analysis.metric_names import METRICS
from analysis.open_run import OpenRun
from analysis.results import Results, Row
from analysis.selection import SelectionError
from testbed.experiments.runner import run
from testbed.scenario.loader import loads
from tests.analysis.made_results import OK, made

SCENARIO = """
name: frames
algorithm: rl
nodes: 8
topology: {kind: random, connectivity: 0.4, link_change_rate: 0.1}
workload: {rate: 0.2, deadline: 20}
warmup: 20
duration: 120
repeat: 2
trace: events
faults: [{at: 60, kind: crash, node: 3}, {at: 70, kind: restart, node: 3}]
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    """A run in which a node crashes, with a log of all events."""
    return OpenRun(run(loads(SCENARIO), tmp_path_factory.mktemp("runs")).path)


def log_lines(opened: OpenRun, repetition: int = 0) -> list[dict[str, Any]]:
    text = (opened.path / f"rep-{repetition:03d}" / "events.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("kind", ["enter", "send", "link_down", "fault", "start", "crash", "stop"])
def test_events_are_those_of_the_log(opened: OpenRun, kind: str) -> None:
    """Every event of the kind, with every field; times are in time units."""
    frame = opened.events(kind, repetition=1)
    events = [one for one in log_lines(opened, 1) if one["kind"] == kind]
    assert len(frame) == len(events) > 0
    assert list(frame["t_units"]) == [one["t"] / 1e9 for one in events]
    for name in KINDS[kind][1]:
        times = f"{name}_units" in frame
        values = frame[f"{name}_units" if times else name].tolist()
        assert values == [one[name] / 1e9 if times else one[name] for one in events]


def test_types_of_events(opened: OpenRun) -> None:
    sent = opened.events("send").dtypes.astype(str).to_dict()
    whole = dict.fromkeys(("node", "peer", "id", "units", "tokens", "words", "added_words"), "Int64")
    assert sent == {"t_units": "float64", **whole, "type": "category", "fields": "object"}
    entered = opened.events("enter").dtypes.astype(str).to_dict()
    assert entered["deadline_units"] == "float64"
    assert str(opened.events("start").dtypes["over_radio"]) == "boolean"


def test_a_kind_that_did_not_happen_has_the_same_columns(opened: OpenRun) -> None:
    """So that frames of several runs can be put together."""
    frame = opened.events("fault")
    none = opened.events("regenerate")
    assert len(frame) == 2
    assert none.empty
    assert none.dtypes.astype(str).to_dict() == {
        "t_units": "float64",
        **dict.fromkeys(("node", "group", "units", "tokens"), "Int64"),
    }


def test_waiting_times_are_the_metric(opened: OpenRun) -> None:
    """Entries after the warmup, request by request, have the mean, the greatest and the number of the metrics."""
    frame = opened.waiting_times()
    assert not frame["is_measured"].all()
    for number, mine in frame[frame["is_measured"]].groupby("repetition"):
        metrics = opened.results.rows[int(number)].metrics
        assert len(mine) == metrics["entries"]
        assert mine["waiting_units"].mean() == pytest.approx(metrics["waiting_time"]["mean"], rel=1e-12)
        assert mine["waiting_units"].max() == pytest.approx(metrics["waiting_time"]["max"], rel=1e-12)
        response = (mine["left_units"] - mine["requested_units"]).dropna()
        assert response.max() >= mine["waiting_units"].max()
    assert (frame["demand"] == 1).all()
    assert list(frame.columns) == [
        "repetition", "node", "requested_units", "entered_units", "left_units", "waiting_units", "demand",
        "is_measured",
    ]  # fmt: skip


def test_a_crash_ends_a_request(tmp_path: Path, opened: OpenRun) -> None:
    """A request that a crash ended is not served by the entry after the restart, and a crash inside is an end."""
    start = log_lines(opened)[0]
    asked = {"units": 1, "priority": 0, "deadline": None}
    events = [
        start,
        {"t": 1 * 10**9, "node": 2, "kind": "request", **asked},
        {"t": 2 * 10**9, "node": 2, "kind": "crash", "units": 0, "tokens": 0},
        {"t": 5 * 10**9, "node": 2, "kind": "request", **asked},
        {"t": 6 * 10**9, "node": 2, "kind": "enter", **asked},
        {"t": 8 * 10**9, "node": 2, "kind": "crash", "units": 1, "tokens": 1},
        {"t": 9 * 10**9, "node": 4, "kind": "request", **asked},
        {"t": 21 * 10**9, "node": 4, "kind": "enter", **asked},
    ]
    folder = tmp_path / "rep-000"
    folder.mkdir()
    (folder / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    frame = waiting_times_frame(tmp_path, [0])
    assert frame["waiting_units"].tolist() == [1.0, 12.0]
    assert frame["left_units"].tolist()[0] == 8.0
    assert frame["left_units"].isna().tolist() == [False, True]
    assert frame["is_measured"].tolist() == [False, True]


def test_logs_that_are_refused(tmp_path: Path, opened: OpenRun) -> None:
    """One line each, with the file and its line."""
    with pytest.raises(SelectionError, match=r"kind of event: found entr; did you mean enter\?"):
        opened.events("entr")
    with pytest.raises(RunDirectoryError, match="has no log of repetition 7"):
        opened.events("enter", 7)
    copy = tmp_path / "copy"
    shutil.copytree(opened.path, copy)
    log = copy / "rep-000" / "events.jsonl"
    good = log.read_text().splitlines(keepends=True)
    bad = json.dumps({"t": 5, "node": 0, "kind": "enter", "units": "one", "priority": 0, "deadline": None})
    for lines, line in (
        ([good[0], bad + "\n"], "events.jsonl:2: .*units is 'one'"),
        ([bad + "\n"], "events.jsonl:1: .*before the start"),
        ([good[0].replace('"version":', '"version":9')], "events.jsonl:1: .*log version"),
    ):
        log.write_text("".join(lines))
        with pytest.raises(RunDirectoryError, match=line):
            events_frame(copy, "enter")
    log.write_text("".join(good)[:-20])  # a killed run: the last line is left out
    assert len(events_frame(copy, "enter")) == len(opened.events("enter"))


def test_events_that_a_trace_level_leaves_out(tmp_path: Path) -> None:
    """An empty frame would look as if none had happened."""
    path = run(loads(SCENARIO, ["trace=metrics", "repeat=1"]), tmp_path).path
    assert not supports("metrics", "enter")
    with pytest.raises(RunDirectoryError, match="trace level metrics has no enter events; run it with trace: cs"):
        OpenRun(path).events("enter")
    with pytest.raises(RunDirectoryError, match="run it with trace: cs"):
        OpenRun(path).waiting_times()


def test_a_frame_has_every_metric(opened: OpenRun) -> None:
    """With its unit, and with the numbers of the summary."""
    frame = opened.frame()
    columns = " ".join(frame.columns)
    assert [name for name, metric in METRICS.items() if metric.columns and name not in columns] == []
    summary = json.loads((opened.path / "summary.json").read_text())
    for number, one in enumerate(summary["repetitions"]):
        row, metrics = frame.iloc[number], one["metrics"]
        for column in ("mean", "p50", "p95", "max"):
            assert row[f"waiting_time_{column}_units"] == metrics["waiting_time"][column]
        assert row["utilisation_share"] == metrics["utilisation"]
        assert row["throughput_per_unit"] == metrics["throughput"]
        assert row["entries"] == metrics["entries"]
        assert row["messages.Token"] == metrics["messages"]["Token"]
        assert row["check_safety"] == one["checks"]["safety"]["verdict"]
    assert str(frame["entries"].dtype) == "Int64"
    assert str(frame["check_safety"].dtype) == "category"
    assert frame["frames_per_cs"].isna().all()
    assert frame["arrivals"].isna().all()


def test_axes_are_typed() -> None:
    axes: dict[str, list[Any]] = {
        "algorithm": ["rl", "krl"], "nodes": [5, 10], "workload.rate": [0.5, 1], "mobility.speed": [[5, 10], [1, 3]],
    }  # fmt: skip
    frame = results_frame(made(axes, lambda *_: 1.0))
    assert {axis: str(frame[axis].dtype) for axis in axes} == {
        "algorithm": "category", "nodes": "Int64", "workload.rate": "float64", "mobility.speed": "category",
    }  # fmt: skip
    assert list(frame["mobility.speed"].cat.categories) == ["5-10", "1-3"]
    assert frame["seconds"].tolist() == [0.5] * 48


def test_types_of_messages_count_as_in_summaries() -> None:
    """0 if another repetition of the point sent some, nothing if none did."""
    sent = [("rl", {"Token": 3}), ("rl", {"Token": 1, "Request": 2}), ("krl", {"Ask": 4}), ("krl", None)]
    rows = [Row({"algorithm": name}, n % 2, {"messages": messages}, OK) for n, (name, messages) in enumerate(sent)]
    frame = results_frame(Results("made", ("algorithm",), tuple(rows)))
    found = {name: frame[f"messages.{name}"].astype(object).where(frame[f"messages.{name}"].notna(), None).tolist()
             for name in ("Token", "Request", "Ask")}  # fmt: skip
    assert found == {"Token": [3, 1, None, None], "Request": [0, 2, None, None], "Ask": [None, None, 4, None]}


def test_an_axis_may_be_called_like_a_metric() -> None:
    """`entries` is a key of scenarios too."""
    frame = results_frame(made({"entries": [100, 200]}, lambda *_: 1.0, repetitions=1))
    assert frame["entries"].tolist() == [100, 200]
    assert frame["entries_measured"].tolist() == [10, 10]


def test_a_run_that_was_killed(tmp_path: Path, opened: OpenRun) -> None:
    """Without a summary, what its logs say."""
    copy = tmp_path / "killed"
    shutil.copytree(opened.path, copy)
    (copy / "summary.json").unlink()
    meta = json.loads((copy / "meta.json").read_text())
    (copy / "meta.json").write_text(json.dumps({**meta, "status": "running", "repeat": 5}))
    killed = OpenRun(copy)
    assert killed.results.missing == 3
    both = [one.frame()["waiting_time_mean_units"].tolist() for one in (killed, opened)]
    assert both[0] == both[1]
    assert "did not come to its end" in killed._repr_html_()


def test_a_run_shows_itself_escaped(tmp_path: Path, opened: OpenRun) -> None:
    """Names come from users: none of them is markup."""
    text = opened._repr_html_()
    assert "safety <b" in text
    assert "waiting time" in text
    evil = tmp_path / "<script>&"
    shutil.copytree(opened.path, evil)
    summary = json.loads((evil / "summary.json").read_text())
    summary["checks"]["safety"] = {"verdict": "failed", "detail": '"><script>', "offenders": ["<b>"], "first": None}
    (evil / "summary.json").write_text(json.dumps(summary))
    shown = OpenRun(evil)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;&amp;" in shown
    assert "failed" in repr(OpenRun(evil))


def test_a_summary_without_repetitions_is_refused(tmp_path: Path, opened: OpenRun) -> None:
    copy = tmp_path / "odd"
    shutil.copytree(opened.path, copy)
    summary = json.loads((copy / "summary.json").read_text())
    (copy / "summary.json").write_text(json.dumps({**summary, "repetitions": [{"metrics": {}}]}))
    with pytest.raises(RunDirectoryError, match=r"summary\.json: a repetition that makes no sense"):
        _ = OpenRun(copy).results


def test_results_are_not_changed(opened: OpenRun) -> None:
    before = replace(opened.results)
    results_frame(opened.results)
    assert opened.results == before
