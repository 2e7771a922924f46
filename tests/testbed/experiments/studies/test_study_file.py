"""Study files and `--vary`: what is wrong is named in one line, with its place, and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.errors import InputError
from testbed.experiments.studies.open import open_study
from testbed.experiments.studies.study_file import default_store
from tests.testbed.others import file_of
from tests.testbed.tiny import write_tiny

BASE = """\
scenario:
  algorithm: rl
  nodes: 5
  topology: complete
  workload: {rate: 0.5}
  duration: 10
"""
"""Six lines; what a case adds begins in line 7."""


@pytest.mark.parametrize(
    ("more", "error"),
    [
        # -- axes
        ("vary: {noddes: [3]}", ":7: noddes: found unknown key; allowed: one of name, .* (did you mean nodes?)"),
        ("vary: {workload.rat: [3]}", ":7: workload.rat: found unknown key; .* (did you mean rate?)"),
        ("vary: {nodes: []}", ":7: vary.nodes: found an empty list; allowed: one or more values"),
        ("vary: {nodes: 5}", ":7: vary.nodes: found 5; allowed: a list of values"),
        ("vary: {nodes: [3, 3]}", ":7: vary.nodes: found 3 a second time; allowed: each value once"),
        ("vary: {nodes: [3, 0]}", ":7: nodes: found 0; allowed: at least 1"),
        ("vary:\n  nodes:\n  - 3\n  - 0\n", ":10: nodes: found 0; allowed: at least 1"),
        ("vary: {nodes: [3, 2026-01-01]}", ":7: nodes: found '2026-01-01'; allowed: a whole number"),
        ("vary: {nodes: [.inf]}", ":7: nodes: found 'Infinity'; allowed: a whole number"),
        ("vary: {workload: [5]}", ":7: workload: found 5; allowed: a mapping of keys"),
        ("vary: [nodes]", ":7: vary: found ['nodes']; allowed: keys of the scenario, each with a value"),
        ("vary: {5: [1]}", ":7: 5: found no such place; allowed: a key, or the index of a list item"),
        ("vary: {algorithm: [rl, krl]}", ":7: vary.algorithm: found an axis of its own; allowed: the list algorithms"),
        ("vary: {backend: [sim]}", ":7: vary.backend: found an axis of its own; allowed: the list backends of the"),
        ("vary: {repeat: [1, 2]}", ":7: vary.repeat: found a key that changes no result"),
        ("vary: {expect.checks.safety: [ok]}", ":7: vary.expect.checks.safety: found a key that changes no result"),
        ("vary: {nodes: [3]}\nvary: {seed: [3]}", ":8: vary: found the same key a second time"),
        # -- together
        ("together: [{nodes: [3, 4], seed: [1]}]",
         ":7: together.0: found 2 values of nodes, 1 values of seed; allowed: as many of each"),
        ("together: {nodes: [3, 4], seed: [1]}", ":7: together.0: found 2 values of nodes, 1 values of seed"),
        ("together: [{nodes: []}]", ":7: together.0: found an axis without values"),
        ("together: [{nodes: 5}]", ":7: together.0: found an axis without values; allowed: lists of values"),
        ("together: [5]", ":7: together: found 5; allowed: keys of the scenario"),
        ("together: 5", ":7: together: found 5; allowed: lists of values that go together"),
        ("vary: {nodes: [3]}\ntogether: [{nodes: [4]}]", ":8: together.0.nodes: found nodes a second time"),
        ("together:\n- {seed: [4]}\n- {seed: [5]}", ":9: together.1.seed: found seed a second time"),
        ("together: [{nodes: [3, 0], seed: [1, 2]}]", ":7: nodes: found 0; allowed: at least 1"),
        # -- more points
        ("points: 5", ":7: points: found 5; allowed: a list of keys with values"),
        ("points: [5]", ":7: points: found 5; allowed: keys of the scenario"),
        ("points:\n- {nodes: 4}\n- {nodes: 0}", ":9: nodes: found 0; allowed: at least 1"),
        ("points: [{algorithm: krl}]", ":7: points.0.algorithm: found an axis of its own"),
        # -- changes for all points
        ("set: {nodes: 0}", ":7: nodes: found 0; allowed: at least 1"),
        ("set: {nodes: 0}\nvary: {seed: [1, 2]}", ":7: nodes: found 0; allowed: at least 1"),
        ("set: [1]", ":7: set: found [1]; allowed: keys of the scenario, each with a value"),
        ("set: {nods: 4}", ":7: nods: found unknown key"),
        # -- algorithms and backends
        ("algorithms: [rl, rll]", ":7: name: found 'rll'; allowed: one of .* (did you mean rl?)"),
        ("algorithms: []", ":7: algorithms: found []; allowed: a list of algorithms"),
        ("algorithms: [rl, rl]", ":7: found a second rl"),
        ("algorithms: [{name: krl, k: 0}]", ":7: algorithm: found .* allowed: k at least 1"),
        ("algorithms: [rl, {name: krl, k: 4}]\nvary: {nodes: [5, 4]}",
         ":7: algorithm: found .* with nodes=4; allowed: k less than the number of nodes, 4"),
        ("backends: [sim, loopback]\nset: {links: ideal}", ":8: links: found ideal; allowed: radio: loopback"),
        ("backends: [simm]", ":7: backends: found 'simm'; allowed: one of .* (did you mean sim?)"),
        ("backends: [sim, sim]", ":7: backends: found 'sim' a second time"),
        ("backends: sim", ":7: backends: found 'sim'; allowed: a list of values"),
        ("backends: [{a: 1}]", ":7: backends: found {'a': 1}; allowed: one of"),
        # -- the rest
        ("repaet: 5", ":7: repaet: found unknown key; allowed: one of name, .* (did you mean repeat?)"),
        ("repeat: 0", ":7: repeat: found 0; allowed: 1 to 10000"),
        ("name: [1]", ":7: name: found [1]; allowed: text of one line"),
        ('name: "two\\nlines"', ":7: name: found 'two\\nlines'; allowed: text of one line"),
        ("5: 6", ":7: 5: found unknown key"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_study(more: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(BASE + more)
    with pytest.raises(InputError) as raised:
        open_study(path)
    start, _, rest = error.partition(".*")
    said = str(raised.value)
    assert said.startswith(f"{path}{start}"), said
    for part in rest.split(".*"):
        assert part.strip() in said


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("scenario: nowhere.yaml", "nowhere.yaml: no such file"),
        ("scenario: 5", "study.yaml:1: scenario: found 5; allowed: a file, or the keys of a scenario"),
        ("scenario:", "study.yaml:1: scenario: found None; allowed: a file, or the keys of a scenario"),
        ("scenario: {nodes: 5}", "study.yaml:1: algorithm: found nothing; allowed: a value: this key is required"),
        ("scenario: study.yaml", "study.yaml:1: scenario: found unknown key"),
        ("scenario: [", "study.yaml:1: not YAML"),
        ("", "study.yaml: found nothing in the file; allowed: a mapping of keys"),
        ("[1]", "study.yaml:1: found a list; allowed: a mapping of keys"),
        (BASE.replace("5", "-5", 1) + "vary: {seed: [1]}", "study.yaml:3: nodes: found -5; allowed: at least 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_base(text: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        open_study(path)
    assert str(raised.value).startswith(f"{tmp_path}/{error}")


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("nodes", "found no key=values; allowed: for example workload.rate=0.1,1,10"),
        ("=1", "found no key=values"),
        ("nodes=", "nodes: found an empty list; allowed: one or more values"),
        ("nodes=[", "nodes: found not YAML"),
        ("nodes=3,3", "nodes: found 3 a second time; allowed: each value once"),
        ("nodes=3,-1", "nodes: found -1; allowed: at least 1"),
        ("noddes=3", "noddes: found unknown key"),
        ("seed=1", "seed: found an axis of the study already; allowed: each key once"),
        ("algorithm=krl", "algorithm: found an axis of its own"),
        ("name=a,b", "name: found a key that changes no result"),
        ("duration=-1", "duration: found -1"),
    ],
)
def test_what_is_wrong_with_an_option(option: str, error: str, tmp_path: Path) -> None:
    """The option is named, not the file, which may have the same key."""
    path = tmp_path / "study.yaml"
    path.write_text(BASE + "vary: {seed: [1, 2]}")
    with pytest.raises(InputError) as raised:
        open_study(path, [option])
    assert str(raised.value).startswith(f"--vary {option}: {error}")


def test_options_are_axes_after_those_of_the_study(tmp_path: Path) -> None:
    """Of a list or a mapping too."""
    path = tmp_path / "study.yaml"
    path.write_text(BASE + "vary: {seed: [1, 2]}")
    found = open_study(path, ["nodes=3,4", "workload={rate: 1},{rate: 2}"])
    assert found.axes == ("seed", "nodes", "workload")
    assert [point.axes for point in found.points][:2] == [
        {"seed": 1, "nodes": 3, "workload": {"rate": rate}} for rate in (1, 2)
    ]
    assert len(found.points) == 8


def test_a_scenario_is_a_study(tmp_path: Path) -> None:
    """Of one point, or along the axes of options."""
    path = write_tiny(tmp_path, "repeat: 3\n")
    assert [point.label for point in open_study(path).points] == ["tiny"]
    varied = open_study(path, ["nodes=3,4"])
    assert [point.label for point in varied.points] == ["nodes=3", "nodes=4"]
    assert varied.repetitions.at_least == 3


@pytest.mark.parametrize("name", ["my läufe (1).yaml", ".hidden.yaml", "x" * 200 + ".yaml"])
def test_a_study_may_have_any_file_name(name: str, tmp_path: Path) -> None:
    """Although scenarios have narrower names."""
    (tmp_path / name).write_text(BASE)
    assert open_study(tmp_path / name).name == Path(name).stem


def test_algorithms_in_files(tmp_path: Path) -> None:
    """By a place beside the study."""
    file_of(tmp_path / "mine.py")
    (tmp_path / "study.yaml").write_text(BASE + "algorithms: [rl, {name: mine, file: mine.py}]")
    points = open_study(tmp_path / "study.yaml").points
    assert [point.label for point in points] == ["rl", "mine"]
    loaded = points[1].scenario.algorithm.loaded
    assert loaded is not None
    assert loaded.path == tmp_path / "mine.py"


def test_where_results_go(tmp_path: Path) -> None:
    assert default_store(tmp_path / "study.yaml") == tmp_path / "study.store"
    with pytest.raises(InputError, match=r"found no .yaml file; allowed: a study or a scenario"):
        default_store(tmp_path / "study")
