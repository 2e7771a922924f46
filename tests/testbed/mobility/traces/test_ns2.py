"""Movement files of ns-2: the meaning of their statements."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from testbed.errors import InputError
from testbed.mobility.traces import Trace, limits, read, write
from testbed.mobility.trajectory import Position, Trajectory, Waypoint

from .samples import sample, written

START = "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n"


def path_of(tmp_path: Path, text: str, node: int = 0) -> Trajectory:
    return read(written(tmp_path / "trace.ns2", text)).trajectories[node]


def test_the_sample(tmp_path: Path) -> None:
    """Numbers with gaps are names; node 0 changes its direction at (20, 0), node 7 pauses, jumps and stops."""
    trace = read(sample(tmp_path, "sample.ns2"))
    assert trace.names == ("0", "7")
    first, second = trace.trajectories
    assert first.waypoints == (
        Waypoint(1.0, 0.0, 0.0, 1.5),
        Waypoint(3.0, 20.0, 0.0, 1.5),
        Waypoint(8.0, 20.0, 50.0, 1.5),
    )
    assert second.waypoints == (
        Waypoint(2.5, 0.0, 10.0),
        Waypoint(9.0, 0.0, 23.0),
        Waypoint(9.0, 5.0, 6.0),
        Waypoint(30.0, 5.0, 6.0),
    )


def test_nodes_come_by_their_numbers(tmp_path: Path) -> None:
    """Not in the order of the file, nor as words in the alphabet."""
    text = "".join(f"$node_({i}) set X_ {i}\n$node_({i}) set Y_ 0\n" for i in (10, 9, 100))
    trace = read(written(tmp_path / "trace.ns2", text))
    assert trace.names == ("9", "10", "100")
    assert [trajectory.at(0).x for trajectory in trace.trajectories] == [9, 10, 100]


def test_numbers_are_not_words(tmp_path: Path) -> None:
    """Leading zeros do not make another node."""
    assert read(written(tmp_path / "trace.ns2", "$node_(007) set X_ 1\n$node(7) set Y_ 2\n")).names == ("7",)


def test_too_many_nodes_are_noticed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only after all start positions are read."""
    monkeypatch.setattr(limits, "MAX_NODES", 1)
    with pytest.raises(InputError, match=r"trace\.ns2:3: more than 1 nodes"):
        path_of(tmp_path, f"{START}$node_(1) set X_ 1\n{START}")


def test_a_node_without_statements_stands(tmp_path: Path) -> None:
    """Its only waypoint is its start position."""
    assert path_of(tmp_path, START).waypoints == (Waypoint(0.0, 0.0, 0.0),)


def test_the_last_start_position_counts(tmp_path: Path) -> None:
    """Coordinate by coordinate, wherever in the file, as in ns-3."""
    text = START + '$ns_ at 1 "$node_(0) setdest 9 2 1"\n$node_(0) set X_ 5\n$node_(0) set Y_ 2'
    assert path_of(tmp_path, text).waypoints == (Waypoint(1.0, 5.0, 2.0), Waypoint(5.0, 9.0, 2.0))


def test_speed_zero_stops(tmp_path: Path) -> None:
    """The destination of such a statement is ignored."""
    path = path_of(tmp_path, START + '$ns_ at 1 "$node_(0) setdest 9 0 1"\n$ns_ at 3 "$node_(0) setdest 77 88 0"\n')
    assert path.waypoints == (Waypoint(1, 0, 0), Waypoint(3, 2, 0))


def test_going_nowhere(tmp_path: Path) -> None:
    """A destination that is already reached takes no time and adds no waypoint."""
    path = path_of(tmp_path, START + '$ns_ at 1 "$node_(0) setdest 0 0 1"\n$ns_ at 3 "$node_(0) setdest 4 0 2"\n')
    assert path.waypoints == (Waypoint(1, 0, 0), Waypoint(3, 0, 0), Waypoint(5, 4, 0))


def test_of_two_statements_at_one_time_the_later_counts(tmp_path: Path) -> None:
    """The first has no time to move the node."""
    path = path_of(tmp_path, START + '$ns_ at 1 "$node_(0) setdest 9 0 1"\n$ns_ at 1 "$node_(0) setdest 0 8 2"\n')
    assert path.waypoints == (Waypoint(1, 0, 0), Waypoint(5, 0, 8))


def test_interrupted_just_before_arriving(tmp_path: Path) -> None:
    """A statement coincides with an arrival only within a rounding error: a microsecond is more."""
    path = path_of(
        tmp_path, START + '$ns_ at 0 "$node_(0) setdest 100 0 0.1"\n$ns_ at 999.999999 "$node_(0) set Y_ 7"\n'
    )
    assert path.waypoints[1].x == pytest.approx(99.9999999, abs=1e-9)
    assert path.waypoints[1].x < 100


def test_a_jump_ends_a_movement(tmp_path: Path) -> None:
    """It changes one coordinate of the node's current place, also to its start value."""
    path = path_of(tmp_path, START + '$ns_ at 1 "$node_(0) setdest 9 9 1.5"\n$ns_ at 3 "$node_(0) set Y_ 0"\n')
    assert path.at(2.999999).y == pytest.approx(3 / math.sqrt(2), abs=1e-5)
    assert path.at(3) == path.at(9) == pytest.approx(Position(3 / math.sqrt(2), 0, 0))


@pytest.mark.parametrize(
    "line",
    [
        "set opt(x) 500",
        '$ns_ at 5.0 "puts {done}"',
        '$ns_ at 150.0 "$node_(0) reset";',
        "$ns_ initial_node_pos $node_($i) 20",
        "$node_($i) random-motion 0",
        'for {set i 0} {$i < 5} {incr i} { puts "no" }',
        "   # $node_(0) setdest 1",
        "set node_(0) [$ns_ node]",
        "",
        "\t \r",
    ],
)
def test_other_tcl_is_ignored(tmp_path: Path, line: str) -> None:
    """Whole scripts can be read."""
    assert path_of(tmp_path, f"{line}\n{START}{line}\n").waypoints == (Waypoint(0, 0, 0),)


@pytest.mark.parametrize(
    "line",
    [
        '$ns_ at 1.0 "$node_(0) setdest 1 2 3',
        '$ns_ at 1.0 "$node_(0) se',
        '$ns_ at 1.0 "$node_(0) setdest 1 2"',
        '$ns_ at 1.0 "$node_(0) setdest 1 2 3 4"',
        '$ns_ at 1.0 "$n(0) setdest 1 2 3"',
        '$ns_ at 1.0 "$node_($i) setdest 1 2 3"',
        '$ns_ at 1.0 "$node_(0) start"',
        '$ns_ at "$node_(0) setdest 1 2 3"',
        '$ns_ at 1.0 "$node_(0) setdest 1 2 3; $node_(0) set X_ 5"',
        "$node_(0) setdest 1 2 3",
        "$node_(0) set X_",
        "$node_(0) set Q_ 5",
        "$node_(-1) set X_ 5",
        "$node_(1.0) set X_ 5",
        "$node_(0) set X_ [expr 5]",
        f"$node_({'9' * 5000}) set X_ 5",
    ],
)
def test_a_statement_that_might_move_a_node_is_not_ignored(tmp_path: Path, line: str) -> None:
    """A statement that is cut off or not understood is an error that names the line."""
    with pytest.raises(InputError, match=r"trace\.ns2:3: found .*; allowed: "):
        path_of(tmp_path, f"{START}{line}\n")


def test_a_comment_is_about_presence_only_if_it_says_when(tmp_path: Path) -> None:
    """Headings such as "# node 7" are ignored, also for nodes that the trace does not have."""
    text = f"# node 0 appears 5 leaves 9\n{START}# node 0\n# node 7\n# node 7 appears\n"
    path = path_of(tmp_path, text)
    assert (path.appears, path.leaves) == (5, 9)


def test_leading_zeros_of_a_number_are_no_part_of_it(tmp_path: Path) -> None:
    """In a statement or in a comment."""
    assert path_of(tmp_path, START.replace("(0)", "(007)") + "# node 07 leaves 9\n").leaves == 9


def test_a_climb_is_refused(tmp_path: Path) -> None:
    """The statement setdest has no height; the file that was there before stays unchanged."""
    target = written(tmp_path / "out.ns2", "before")
    with pytest.raises(InputError, match=r"out\.ns2: found node 0 climbs between 1 s and 2 s"):
        write(target, Trace(("a",), (Trajectory((Waypoint(1, 0, 0, 0), Waypoint(2, 0, 0, 1))),)))
    assert [path.name for path in tmp_path.iterdir()] == ["out.ns2"]
    assert target.read_text() == "before"


def test_an_infinite_speed_is_refused(tmp_path: Path) -> None:
    """A metre in a time that is too small to divide by."""
    with pytest.raises(InputError, match="no finite speed"):
        write(tmp_path / "out.ns2", Trace(("0",), (Trajectory((Waypoint(0, 0, 0), Waypoint(5e-324, 1, 0))),)))


def test_what_is_written(tmp_path: Path) -> None:
    """Every waypoint has its line; a node that jumps is first set to its start position, for ns-3."""
    path = Trajectory(
        (Waypoint(0.5, 1, 2), Waypoint(2.5, 5, 2), Waypoint(2.5, 0, 0, 3), Waypoint(4, 0, 0, 3)), appears=0.25, leaves=9
    )
    write(tmp_path / "out.ns2", Trace(("12",), (path,)))
    assert (tmp_path / "out.ns2").read_text() == (
        "# node 12 appears 0.25 leaves 9.0\n"
        "$node_(12) set X_ 1.0\n"
        "$node_(12) set Y_ 2.0\n"
        "$node_(12) set Z_ 0.0\n"
        '$ns_ at 0.0 "$node_(12) set X_ 1.0"\n'
        '$ns_ at 0.0 "$node_(12) set Y_ 2.0"\n'
        '$ns_ at 0.0 "$node_(12) set Z_ 0.0"\n'
        '$ns_ at 0.5 "$node_(12) setdest 5.0 2.0 2.0"\n'
        '$ns_ at 2.5 "$node_(12) set X_ 0.0"\n'
        '$ns_ at 2.5 "$node_(12) set Y_ 0.0"\n'
        '$ns_ at 2.5 "$node_(12) set Z_ 3.0"\n'
        '$ns_ at 2.5 "$node_(12) setdest 0.0 0.0 0.0"\n'
        '$ns_ at 4.0 "$node_(12) setdest 0.0 0.0 0.0"\n'
    )
    assert read(tmp_path / "out.ns2") == Trace(("12",), (path,))
