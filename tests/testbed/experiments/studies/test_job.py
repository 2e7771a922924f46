"""The name of a job: what changes a result changes it, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.experiments.measure import measure
from testbed.experiments.studies.job import StoredPoint
from testbed.scenario.loader import load, loads
from tests.testbed.others import file_of
from tests.testbed.tiny import tiny

TRACE = "node,t,x,y\n0,0,0,0\n0,100,0,0\n1,0,9,0\n1,100,9,0\n2,0,0,9\n2,100,0,9\n"
FOLLOWS = """
name: follows
algorithm: rl
nodes: 3
topology: geometric
radio: {range: 50}
mobility: {kind: trace, file: %s}
workload: {rate: 0.1}
duration: 20
"""


def name_of(text: str) -> str:
    return StoredPoint(loads(text)).name


@pytest.mark.parametrize(
    "text",
    [
        tiny(name="another"),
        tiny("description: what it is for\n"),
        tiny("expect: {checks: {safety: failed}}\n"),
        tiny("repeat: 7\n"),
        "# a comment\n" + tiny(),
        tiny("seed: 1\nbackend: sim\n"),  # defaults, written out
        tiny(topology="{kind: complete}", duration="5e1"),
    ],
    ids=["name", "description", "expect", "repeat", "comment", "defaults", "another spelling"],
)
def test_what_changes_no_result_changes_no_name(text: str) -> None:
    assert name_of(text) == name_of(tiny())


@pytest.mark.parametrize(
    "text",
    [
        tiny(algorithm="krl"),
        tiny(algorithm="{name: rl, detect_partitions: true}"),
        tiny(nodes="6"),
        tiny(duration="51"),
        tiny(workload="{rate: 0.2}"),
        tiny("seed: 2\n"),
        tiny("warmup: 1\n"),
        tiny("delays: {hop: 2}\n"),
        tiny("backend: loopback\n"),
    ],
)
def test_what_may_change_a_result_changes_the_name(text: str) -> None:
    assert name_of(text) != name_of(tiny())


def test_all_names_of_a_point_differ() -> None:
    jobs = StoredPoint(loads(tiny())).jobs(12)
    assert len(set(jobs)) == 12
    assert jobs == sorted(jobs)
    assert jobs[3] == StoredPoint(loads(tiny("repeat: 4\n"))).job(3)


def test_the_content_of_a_trace_counts_and_not_its_place(tmp_path: Path) -> None:
    """Of two places with the same trace, and one with another."""
    for folder in ("here", "there", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "walk.csv").write_text(TRACE if folder != "other" else TRACE.replace("9", "8"))
        (tmp_path / folder / "scenario.yaml").write_text(FOLLOWS % "walk.csv")
    here, there, other = (
        StoredPoint(load(tmp_path / folder / "scenario.yaml")) for folder in ("here", "there", "other")
    )
    assert here.scenario.trace_file != there.scenario.trace_file
    assert here.name == there.name != other.name
    assert measure(here.scenario, 0) == measure(there.scenario, 0)


def test_the_content_of_an_algorithm_file_counts_and_not_its_place(tmp_path: Path) -> None:
    files = {folder: file_of(tmp_path / folder / "mine.py") for folder in ("here", "there", "other")}
    files["other"].write_text(files["other"].read_text() + "X = 1\n")
    points = {
        folder: StoredPoint(loads(tiny(algorithm=f"{{name: mine, file: {file}}}"))) for folder, file in files.items()
    }
    assert points["here"].name == points["there"].name != points["other"].name
    assert points["here"].content != points["other"].content


def test_which_time_it_runs_in() -> None:
    assert not StoredPoint(loads(tiny())).is_real_time
    assert StoredPoint(loads(tiny("backend: loopback\n"))).is_real_time
