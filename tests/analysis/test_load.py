"""Run directories, whole and damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from analysis.events import VERSION
from analysis.listener import Listener
from analysis.load import RunDirectoryError, audit_log, load_run, read_events, replay
from analysis.metric_names import METRICS
from tests.analysis import histories
from tests.analysis.histories import Event, line, recv, request, returned, start, stop, visit


def send(*arguments: Any) -> Event:
    """A message leaves, with fields, as a log has them."""
    return (*histories.send(*arguments)[:-1], [])


# The unit goes to node 1, which uses it; a second message comes back.
GOOD = [
    start(),
    request(1, 1),
    send(1, 0, 1, 1),
    recv(2, 1, 0, 1),
    ("enter", 2, 1, 1),
    ("exit", 4, 1, 1),
    send(5, 1, 0, 1),
    returned(6, 1, 0, 1),
    stop(10, 0, 1, 0),
]


def write_log(path: Path, *events: Event | str) -> Path:
    """A log with these events; text is written as it is."""
    path.write_text("".join(event if isinstance(event, str) else line(event) for event in events))
    return path


def write_run(
    path: Path, *logs: list[Event] | None, status: str = "finished", summary: dict[str, Any] | None = None
) -> Path:
    """A run directory with one repetition a log; None makes a repetition that has no log."""
    path.mkdir()
    (path / "meta.json").write_text(json.dumps({"status": status}))
    if summary is not None:
        (path / "summary.json").write_text(json.dumps(summary))
    for number, events in enumerate(logs):
        (path / f"rep-{number:03d}").mkdir()
        if events is not None:
            write_log(path / f"rep-{number:03d}" / "events.jsonl", *events)
    return path


# -- events --------------------------------------------------------------------------------------------------------


def test_events_are_read_in_order(tmp_path: Path) -> None:
    """Every line is an event."""
    log = write_log(tmp_path / "events.jsonl", *GOOD)
    assert [event["kind"] for _, event in read_events(log)] == [kind for kind, *_ in GOOD]


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_truncated_last_line_is_left_out(tmp_path: Path, kept: int) -> None:
    """A kill may cut the last line anywhere before its end."""
    half = line(GOOD[-1]).rstrip("\n")[:kept]
    log = write_log(tmp_path / "events.jsonl", *GOOD[:-1], half)
    assert [event["kind"] for _, event in read_events(log)][-1] == "return"
    assert len(list(read_events(log))) == len(GOOD) - 1


def test_last_line_without_line_feed(tmp_path: Path) -> None:
    """A last line that lacks only its line feed is whole."""
    log = write_log(tmp_path / "events.jsonl", *GOOD[:-1], line(GOOD[-1]).rstrip("\n"))
    assert len(list(read_events(log))) == len(GOOD)


@pytest.mark.parametrize("broken", ['{"t":1,"no', "", "[1]", '{"t":1}', '{"kind":"enter"}', "null"])
def test_broken_line_in_the_middle_is_refused(tmp_path: Path, broken: str) -> None:
    """No kill does that: the file and the line are named."""
    log = write_log(tmp_path / "events.jsonl", *GOOD[:2], broken + "\n", *GOOD[2:])
    with pytest.raises(RunDirectoryError) as refused:
        list(read_events(log))
    assert str(refused.value).startswith(f"{log}:3: ")


def test_audit_of_a_log(tmp_path: Path) -> None:
    """Fields reach the checks and the metrics by their names."""
    audit = audit_log(write_log(tmp_path / "events.jsonl", *GOOD))
    assert {one["verdict"] for one in audit.verdicts().values()} <= {"ok", "not applicable"}
    assert audit.metrics()["waiting_time"]["max"] == 1
    assert audit.metrics()["response_time"]["max"] == 3
    assert audit.metrics()["messages"] == {"Token": 2}
    assert audit.metrics()["time"] == 10


def test_unknown_kinds_and_fields_are_ignored(tmp_path: Path) -> None:
    """A newer log of the same version can be read."""
    newer = [json.dumps(json.loads(line(event)) | {"colour": "red"}) + "\n" for event in GOOD]
    newer.insert(3, '{"t":1,"node":0,"kind":"teleport","to":[1,2]}\n')
    known = audit_log(write_log(tmp_path / "known.jsonl", *GOOD))
    audit = audit_log(write_log(tmp_path / "newer.jsonl", *newer))
    assert audit.verdicts() == known.verdicts()
    assert audit.metrics() == known.metrics()


def test_order_of_fields_does_not_matter(tmp_path: Path) -> None:
    """Fields are taken by name, not by place."""
    backwards = [json.dumps(dict(reversed(json.loads(line(event)).items()))) + "\n" for event in GOOD]
    audit = audit_log(write_log(tmp_path / "events.jsonl", *backwards))
    assert {one["verdict"] for one in audit.verdicts().values()} <= {"ok", "not applicable"}


@pytest.mark.parametrize("version", [VERSION + 1, 0, None])
def test_wrong_version_is_refused(tmp_path: Path, version: Any) -> None:
    """In a log of another version, the same kinds and fields may mean something else."""
    log = write_log(tmp_path / "events.jsonl", start(version=version), *GOOD[1:])
    with pytest.raises(RunDirectoryError, match=rf"events\.jsonl:1: log version {version}; .* {VERSION}$"):
        audit_log(log)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ('{"t":1,"node":0,"kind":"send","peer":1}\n', "a send event that makes no sense: it has no id"),
        ('{"t":1,"node":7,"kind":"evict"}\n', "an evict event that makes no sense: node is 7; allowed: a node, from"),
        (line(("exit", 1, 0, "one")), "an exit event that makes no sense: units is 'one'"),
        (line(stop(2, 1)), "a stop event that makes no sense: units has 1 numbers; allowed: 3"),
    ],
)  # fmt: skip
def test_senseless_event_is_refused(tmp_path: Path, event: str, reason: str) -> None:
    """The file, the line and the reason are named. Many more are in test_plausible."""
    log = write_log(tmp_path / "events.jsonl", start(), event)
    with pytest.raises(RunDirectoryError) as refused:
        audit_log(log)
    assert str(refused.value).startswith(f"{log}:2: {reason}")


class Choosy(Listener):
    """Raises an exception at every request."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def request(self, t: int, node: int, units: int, priority: int, deadline: int | None) -> None:
        raise self._error


@pytest.mark.parametrize("error", [KeyError(0), IndexError(), TypeError(), ValueError("the node has crashed")])
def test_an_event_that_its_reader_cannot_take(tmp_path: Path, error: Exception) -> None:
    """Another reader of the log may know of more that cannot be."""
    log = write_log(tmp_path / "events.jsonl", *GOOD)
    with pytest.raises(RunDirectoryError, match=r"events\.jsonl:2: a request event that makes no sense: \{'t': "):
        replay(log, Choosy(error))


# -- run directories -----------------------------------------------------------------------------------------------


def test_finished_run(tmp_path: Path) -> None:
    """The metrics are those the run wrote; the verdicts are made again from the log."""
    run = load_run(
        write_run(tmp_path / "run", GOOD, GOOD, summary={"metrics": {"entries": {"mean": 42}}, "checks": {}})
    )
    assert run.finished
    assert [folder.name for folder in run.repetitions] == ["rep-000", "rep-001"]
    assert run.metrics() == {"entries": {"mean": 42}}
    assert {one["verdict"] for one in run.verdicts().values()} <= {"ok", "not applicable"}


def test_failed_check_of_one_repetition(tmp_path: Path) -> None:
    """The log says what the summary does not: repetition 1 was unsafe, at t=3, by node 2."""
    *before, exits = visit(0, 1, 1, 9)
    unsafe = [start(), *before, ("enter", 3, 2, 1), exits, stop(10, 1, 0, 0)]
    run = load_run(write_run(tmp_path / "run", GOOD, unsafe, summary={"metrics": {}, "checks": {}}))
    assert run.verdicts()["safety"]["verdict"] == "failed"
    assert run.verdicts()["safety"]["offenders"][0].startswith("repetition 1: t=3: node 2 ")


def test_killed_run_is_readable(tmp_path: Path) -> None:
    """No summary, no stop, half a line: there are metrics of what was logged, and no verdict it cannot give."""
    path = write_run(tmp_path / "run", GOOD, status="running")
    write_log(path / "rep-000" / "events.jsonl", *GOOD[:-1], '{"t":123')
    run = load_run(path)
    assert not run.finished
    assert run.summary is None
    assert run.metrics()["entries"]["mean"] == 1
    assert run.metrics()["waiting_time"]["mean"] == 1
    verdicts = {name: one["verdict"] for name, one in run.verdicts().items()}
    assert {name: verdicts[name] for name in ("safety", "conservation", "starvation", "order")} == {
        "safety": "ok",
        "conservation": "not checked",
        "starvation": "not checked",
        "order": "ok",
    }


def test_summary_of_a_run_that_went_on(tmp_path: Path) -> None:
    """A run that says it is running has not finished, whatever else is there."""
    assert not load_run(
        write_run(tmp_path / "run", GOOD, status="running", summary={"metrics": {}, "checks": {}})
    ).finished


def test_events_missing(tmp_path: Path) -> None:
    """A repetition without a log is not checked, nor is the run as a whole."""
    run = load_run(write_run(tmp_path / "run", GOOD, None))
    assert len(run.audits) == 2
    assert {one["verdict"] for one in run.verdicts().values()} == {"not checked"}
    assert {one["detail"] for one in run.verdicts().values()} == {"the log has no start (in 1 of 2 repetitions)"}
    assert run.audits[1].metrics()["entries"] is None


def test_no_repetitions(tmp_path: Path) -> None:
    """A run killed before its first repetition has no verdicts, and every metric without a value."""
    run = load_run(write_run(tmp_path / "run", status="running"))
    assert (run.repetitions, run.verdicts()) == ([], {})
    assert run.metrics() == {name: {"mean": None, "ci95": None} for name in METRICS}


@pytest.mark.parametrize("name", ["nowhere", "a file", "empty"])
def test_not_a_run_directory(tmp_path: Path, name: str) -> None:
    """What is not a run is refused by name."""
    (tmp_path / "a file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunDirectoryError, match="not a run directory") as refused:
        load_run(tmp_path / name)
    assert str(refused.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize("name", ["meta.json", "summary.json"])
@pytest.mark.parametrize("text", ['{"status":', "[]", "", "\udcff"])
def test_broken_json_is_refused(tmp_path: Path, name: str, text: str) -> None:
    """The file that cannot be read is named."""
    path = write_run(tmp_path / "run", GOOD, summary={"metrics": {}, "checks": {}})
    (path / name).write_text(text, errors="surrogateescape")
    with pytest.raises(RunDirectoryError) as refused:
        load_run(path)
    assert str(refused.value).startswith(f"{path / name}: ")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"\xff\xfe\n", "events.jsonl:1"),
        (b'{"t":1,"kind":[]}\n', "events.jsonl:1: not an event"),
        (b'{"t":1,"node":0,"kind":"evict"}\n', "events.jsonl:1: .* before the start"),
        (b'{"t":0,"node":null,"kind":"start","version":"\\n"}\n', r"events.jsonl:1: log version '\\n'"),
        (line(start(trace="verbose")).encode(), "events.jsonl:1: .* trace is 'verbose'"),
    ],
    ids=["not text", "kind is a list", "no start", "version of two lines", "unknown trace level"],
)
def test_senseless_logs_are_one_error(tmp_path: Path, line: bytes, complaint: str) -> None:
    """Whatever is wrong with a log is a RunDirectoryError that says where."""
    log = tmp_path / "events.jsonl"
    log.write_bytes(line + b'{"t":1,"kind":"later"}\n')
    with pytest.raises(RunDirectoryError, match=complaint):
        audit_log(log)


def test_a_summary_without_metrics_is_refused(tmp_path: Path) -> None:
    """Half a summary is no summary."""
    with pytest.raises(RunDirectoryError, match="not a summary"):
        load_run(write_run(tmp_path / "run", GOOD, summary={"metrics": {}}))


def test_a_repetition_that_is_gone(tmp_path: Path) -> None:
    """A finished run whose directory has lost a repetition cannot be read."""
    path = write_run(tmp_path / "run", GOOD, summary={"metrics": {}, "checks": {}})
    (path / "meta.json").write_text(json.dumps({"status": "finished", "repeat": 2}))
    with pytest.raises(RunDirectoryError, match="1 of its 2 repetitions"):
        load_run(path)


@pytest.mark.parametrize("closed", ["", "rep-000", "rep-000/events.jsonl"])
def test_what_may_not_be_read(closed: str, tmp_path: Path) -> None:
    """A file or folder without permissions; the test gives up its root rights while it reads."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = write_run(Path(folder) / "run", GOOD)
        (path / closed).chmod(0)
        with pytest.raises(RunDirectoryError, match=r"cannot be read: (\[Errno 13\] )?Permission denied"), not_root():
            load_run(path).verdicts()
        (path / closed).chmod(0o755)


@contextmanager
def not_root() -> Iterator[None]:
    """Root may read everything; until this ends, the process is not root."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)
