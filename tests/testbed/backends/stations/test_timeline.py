"""Logs merged while they are being written."""

import json
from pathlib import Path

from testbed.backends.stations.timeline import LogTail, Timeline


def line(t: int, **more: object) -> str:
    return json.dumps({"t": t, **more}) + "\n"


def tail(folder: Path, name: str, *times: int) -> LogTail:
    path = folder / name
    path.write_text("".join(line(t, of=name) for t in times))
    return LogTail(path)


def times(timeline: Timeline, now: int) -> list[int]:
    return [t for t, _ in timeline.take(now)]


def test_only_what_is_complete_is_passed_on(tmp_path):
    """Up to the earliest of all clocks, ours included."""
    timeline = Timeline()
    timeline.tails = [a, b] = [tail(tmp_path, "a", 1, 4, 9), tail(tmp_path, "b", 2, 3, 8)]
    a.clock, b.clock = 9, 3
    assert times(timeline, 100) == [1, 2, 3]
    assert times(timeline, 100) == []
    b.clock = 10
    assert times(timeline, 5) == [4]
    assert times(timeline, 100) == [8, 9]


def test_a_clock_that_stands_still_holds_everything_up(tmp_path):
    """Its log might still get events of an earlier time."""
    timeline = Timeline()
    timeline.tails = [a, b] = [tail(tmp_path, "a", 1, 2), tail(tmp_path, "missing")]
    a.clock = 50
    assert times(timeline, 100) == []
    b.close()
    assert times(timeline, 100) == [1, 2]


def test_a_line_that_is_not_whole_waits(tmp_path):
    """It is read when its rest has been written."""
    timeline, path = Timeline(), tmp_path / "a"
    path.write_text(line(1) + line(2)[:5])
    timeline.tails = [a] = [LogTail(path)]
    a.clock = 10
    assert times(timeline, 100) == [1]
    with path.open("a") as file:
        file.write(line(2)[5:] + line(3))
    assert times(timeline, 100) == [2, 3]


def test_what_we_add_ourselves_comes_in_between(tmp_path):
    """As a function to call, in the order of time."""
    timeline, called = Timeline(), []
    timeline.tails = [a] = [tail(tmp_path, "a", 1, 4)]
    a.clock = 10
    timeline.add(2, lambda: called.append(2))
    timeline.add(6, lambda: called.append(6))
    taken = list(timeline.take(5))
    assert [t for t, _ in taken] == [1, 2, 4]
    taken[1][1]()
    assert called == [2]


def test_the_order_within_a_log_is_kept(tmp_path):
    """Events of one time happened in the order they were written."""
    path = tmp_path / "a"
    path.write_text(line(1, n=1) + line(1, n=2) + line(1, n=3))
    timeline = Timeline()
    timeline.tails = [one] = [LogTail(path)]
    one.clock = 1
    assert [event["n"] for _, event in timeline.take(1)] == [1, 2, 3]
    one.close()
    one.close()  # twice does no harm
