"""The points of a study: every combination, what goes together, more points, and every algorithm and backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.errors import InputError
from testbed.experiments.studies import study as study_module
from testbed.experiments.studies.study import Study, label_of
from testbed.experiments.studies.study_file import read_study
from testbed.randomness import Streams

BASE = """
scenario:
  algorithm: rl
  nodes: 5
  topology: complete
  workload: {rate: 0.5}
  duration: 10
"""


def study(folder: Path, more: str, base: str = BASE) -> Study:
    path = folder / "study.yaml"
    path.write_text(base + more)
    return read_study(path)


def values(found: Study, *keys: str) -> list[tuple[Any, ...]]:
    """The values of these keys in the scenarios of all points."""
    rows = []
    for point in found.points:
        row = []
        for key in keys:
            value: Any = point.scenario.model_dump()
            for part in key.split("."):
                value = value[part]
            row.append(value)
        rows.append(tuple(row))
    return rows


def test_a_grid_has_every_combination(tmp_path: Path) -> None:
    found = study(tmp_path, "vary: {nodes: [3, 4], workload.rate: [1, 2, 3]}")
    assert found.axes == ("nodes", "workload.rate")
    assert values(found, "nodes", "workload.rate") == [(n, rate) for n in (3, 4) for rate in (1, 2, 3)]
    assert [point.axes for point in found.points][1] == {"nodes": 3, "workload.rate": 2}
    assert found.points[1].label == "nodes=3, workload.rate=2"


def test_values_that_go_together_are_one_axis(tmp_path: Path) -> None:
    found = study(tmp_path, "vary: {seed: [1, 2]}\ntogether: [{nodes: [3, 4], workload.rate: [1, 2]}]")
    assert values(found, "seed", "nodes", "workload.rate") == [(1, 3, 1), (1, 4, 2), (2, 3, 1), (2, 4, 2)]
    assert found.axes == ("seed", "nodes", "workload.rate")


def test_more_points_beside_the_grid(tmp_path: Path) -> None:
    """One that is in the grid already is there once; on an axis that it does not name, it has the value of the base."""
    found = study(tmp_path, "vary: {nodes: [3, 4]}\npoints: [{nodes: 9, seed: 7}, {nodes: 4, seed: 1}]")
    assert [point.axes for point in found.points] == [
        {"nodes": 3, "seed": 1},
        {"nodes": 4, "seed": 1},
        {"nodes": 9, "seed": 7},
    ]
    assert values(found, "nodes", "seed") == [(3, 1), (4, 1), (9, 7)]


def test_points_without_a_grid(tmp_path: Path) -> None:
    """The base is then no point itself."""
    found = study(tmp_path, "points: [{nodes: 9}, {nodes: 7}]")
    assert values(found, "nodes") == [(9,), (7,)]


def test_a_study_without_axes_is_one_point(tmp_path: Path) -> None:
    """Called by the name of its scenario."""
    found = study(tmp_path, "")
    assert (len(found.points), found.axes) == (1, ())
    assert found.points[0].label == "study-study"


def test_every_algorithm_and_backend(tmp_path: Path) -> None:
    """Named as comparisons name them."""
    found = study(
        tmp_path,
        "algorithms: [rl, {name: krl, k: 2}, {name: krl, k: 3}]\nbackends: [sim, loopback]\nvary: {nodes: [4, 5]}",
    )
    assert found.axes == ("algorithm", "backend", "nodes")
    assert len(found.points) == 12
    assert [point.label for point in found.points[:4]] == [
        "rl, backend=sim, nodes=4",
        "krl k=2, backend=sim, nodes=4",
        "krl k=3, backend=sim, nodes=4",
        "rl, backend=loopback, nodes=4",
    ]
    assert found.points[2].scenario.model_dump()["algorithm"]["k"] == 3


def test_changes_for_all_points(tmp_path: Path) -> None:
    """An axis wins over them."""
    found = study(tmp_path, "set: {nodes: 7, workload.rate: 9}\nvary: {nodes: [3, 4]}")
    assert values(found, "nodes", "workload.rate") == [(3, 9), (4, 9)]


def test_axes_of_lists_and_mappings(tmp_path: Path) -> None:
    found = study(tmp_path, "vary: {workload: [{rate: 1}, {rate: 2}]}")
    assert values(found, "workload.rate") == [(1,), (2,)]
    assert found.points[0].label == 'workload={"rate": 1}'


def test_a_value_that_a_key_takes_as_text_or_number(tmp_path: Path) -> None:
    """Small and large numbers, and a word, come to the scenario as they are written."""
    found = study(tmp_path, "vary: {workload.rate: [1.0e-7, 2.0e+6], trace: [cs, events]}")
    assert values(found, "workload.rate", "trace") == [
        (1e-7, "cs"), (1e-7, "events"), (2e6, "cs"), (2e6, "events"),
    ]  # fmt: skip


def test_a_base_in_a_file(tmp_path: Path) -> None:
    """Its place is given from the study's folder, and files that it names from its own."""
    folder = tmp_path / "bases"
    folder.mkdir()
    (folder / "walk.csv").write_text("node,t,x,y\n0,0,0,0\n0,100,0,0\n1,0,9,0\n1,100,9,0\n")
    (folder / "base.yaml").write_text(
        "name: base\nalgorithm: rl\nnodes: 2\ntopology: geometric\nradio: {range: 50}\nworkload: {rate: 1}\n"
        "mobility: {kind: trace, file: walk.csv}\nduration: 9\nrepeat: 4\n"
    )
    found = study(tmp_path, "vary: {seed: [1, 2]}", base="scenario: bases/base.yaml\n")
    assert [point.scenario.trace_file for point in found.points] == [folder / "walk.csv"] * 2
    assert found.repetitions.at_most == 4


def test_repetitions_share_draws_along_axes(tmp_path: Path) -> None:
    """All points have the seed of the base, so repetition r has the same random streams in all of them."""
    found = study(tmp_path, "algorithms: [rl, krl]\nvary: {workload.rate: [1, 2]}")
    assert {point.scenario.seed for point in found.points} == {1}
    states = {Streams(point.scenario.seed, 3).of("application", 2).getstate() for point in found.points}
    assert len(states) == 1


def test_labels() -> None:
    assert label_of({"algorithm": "krl k=3", "nodes": 5, "area": [1, 2]}) == "krl k=3, nodes=5, area=[1, 2]"
    assert label_of({}) == ""


def test_too_many_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_module, "MAX_POINTS", 3)
    with pytest.raises(InputError, match="more than 3 points"):
        assert study(tmp_path, "vary: {seed: [1, 2, 3, 4]}").points
