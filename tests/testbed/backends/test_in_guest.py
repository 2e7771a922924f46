"""What goes into a guest for a run: the scenario and its trace, from memory and from where the trace lies."""

from pathlib import Path

from testbed.backends.in_guest import _files
from testbed.scenario import yaml_reader
from testbed.scenario.loader import load
from tests.conftest import PROJECT


def test_a_scenario_with_its_trace() -> None:
    """The scenario names the trace as it is called beside it in the guest."""
    scenario = load(PROJECT / "scenarios/mobility/replay-market.yaml")
    files = _files(scenario)
    text, trace = files["/tmp/sent/scenario.yaml"], files["/tmp/sent/market-square.ns_movements"]
    assert isinstance(text, bytes)
    assert trace == scenario.trace_file
    assert isinstance(trace, Path)
    sent = yaml_reader.parse(text.decode(), "sent").data
    assert sent["mobility"]["file"] == "market-square.ns_movements"
    assert {**sent, "mobility": None} == {**yaml_reader.parse(scenario.to_yaml(), "own").data, "mobility": None}


def test_a_scenario_without_one() -> None:
    """A single file."""
    assert list(_files(load(PROJECT / "scenarios/quickstart.yaml"))) == ["/tmp/sent/scenario.yaml"]
