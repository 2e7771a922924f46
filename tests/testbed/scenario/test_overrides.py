"""Overrides that choose another algorithm or another kind: which keys of the former choice stay."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from testbed.errors import ScenarioError
from testbed.scenario import yaml_reader
from testbed.scenario.loader import build, loads
from testbed.scenario.schema import Scenario
from tests.testbed.tiny import command, is_one_line, tiny, write_tiny

PLACED = "area: [100, 100]\nplacement: {kind: grid, spacing: 10}\n"
GEOMETRIC = {"topology": "geometric"}


def built(text: str, *overrides: str) -> tuple[Scenario, list[str]]:
    """The scenario, and the lines on what was left out."""
    notes: list[str] = []
    return build(yaml_reader.parse(text, "test"), list(overrides), notes.append), notes


@pytest.mark.parametrize(
    ("written", "override", "meant", "note"),
    [
        ({"algorithm": "{name: krl, k: 2}"}, "algorithm.name=rl", {"algorithm": "rl"}, "k of krl"),
        (
            {"algorithm": "{name: krl, k: 2, raise_interval: 3}"},
            "algorithm.name=rl",
            {"algorithm": "{name: rl, raise_interval: 3}"},
            "k of krl",
        ),
        (
            {"algorithm": "{name: rl, raise_interval: 3}"},
            "algorithm.name=krl",
            {"algorithm": "{name: krl, raise_interval: 3}"},
            None,
        ),
        (
            {"topology": "{kind: random, connectivity: 0.8, link_change_rate: 1}"},
            "topology.kind=complete",
            {"topology": "complete"},
            "connectivity, link_change_rate of random",
        ),
        ({"topology": "{kind: explicit, links: [[0, 1]]}"}, "topology.kind=complete", {}, "links of explicit"),
        ({"more": "links: {kind: radio, loss: 0.1}\n"}, "links.kind=ideal", {}, "loss of radio"),
        (
            {**GEOMETRIC, "more": PLACED},
            "placement.kind=uniform",
            {**GEOMETRIC, "more": PLACED.replace("{kind: grid, spacing: 10}", "uniform")},
            "spacing of grid",
        ),
        (
            {**GEOMETRIC, "more": PLACED + "mobility: {kind: random-waypoint, speed: [1, 2], pause: 1}\n"},
            "mobility.kind=static",
            {**GEOMETRIC, "more": PLACED},
            "speed, pause of random-waypoint",
        ),
        (
            {**GEOMETRIC, "more": PLACED + "radio: {propagation: {kind: log-distance, exponent: 3}}\n"},
            "radio.propagation.kind=friis",
            {**GEOMETRIC, "more": PLACED + "radio: {propagation: friis}\n"},
            "exponent of log-distance",
        ),
    ],
)
def test_keys_of_the_former_choice_are_left_out(
    written: dict[str, str], override: str, meant: dict[str, str], note: str | None
) -> None:
    """Those that the new choice does not know: the scenario is the one that a user would write for the new choice."""
    scenario, notes = built(tiny(**written), override)
    assert scenario == loads(tiny(**meant))
    assert notes == ([] if note is None else [f"--set {override}: left out {note}"])


def test_a_key_of_the_same_name_and_another_type_is_left_out() -> None:
    """`max_lag` of random may be null, that of geometric may not."""
    text = tiny(PLACED, topology="{kind: random, connectivity: 1, max_lag: null}")
    scenario, notes = built(text, "topology.kind=geometric")
    assert scenario == loads(tiny(PLACED, **GEOMETRIC))
    assert notes == ["--set topology.kind=geometric: left out connectivity, max_lag of random"]


@pytest.mark.parametrize(
    "overrides",
    [
        *permutations(["algorithm.name=krl", "algorithm.k=4", "nodes=6"]),
        ("algorithm.k=4", "algorithm=krl", "nodes=6"),
    ],
)
def test_order_of_overrides_makes_no_difference(overrides: tuple[str, ...]) -> None:
    """What is set for the new choice stays, also if it is set before the choice."""
    scenario, notes = built(tiny(algorithm="{name: hk, k: 2, aging: none}"), *overrides)
    assert scenario == loads(tiny(algorithm="{name: krl, k: 4}", nodes="6"))
    assert notes == ([] if "algorithm=krl" in overrides else ["--set algorithm.name=krl: left out aging of hk"])


def test_the_last_of_two_choices_counts() -> None:
    """As with any key that is set twice."""
    scenario, notes = built(tiny(algorithm="{name: krl, k: 2}"), "algorithm.name=rl", "algorithm.name=hk-fifo")
    assert scenario == loads(tiny(algorithm="{name: hk-fifo, k: 2}"))
    assert notes == []


@pytest.mark.parametrize(
    ("written", "overrides", "message"),
    [
        ("{name: krl, kk: 2}", ["algorithm.name=rl"], "test:2: algorithm.kk: found unknown key"),
        ("{name: krl, kk: 2}", ["algorithm.name=krl"], "test:2: algorithm.kk: found unknown key"),
        ("rl", ["algorithm.name=rl", "algorithm.k=3"], "--set algorithm.k=3: algorithm.k: found unknown key"),
        ("{name: krl, k: 2}", ["algorithm.name=rll"], "--set algorithm.name=rll: algorithm.name: found 'rll'"),
        ("{name: krll, k: 2}", ["algorithm.name=rl"], "test:2: algorithm.k: found unknown key"),
        ("{name: krl, k: 2}", ["algorithm.name=[rl]"], "--set algorithm.name=[rl]: algorithm.name: found ['rl']"),
    ],
)
def test_only_keys_of_the_former_choice_are_left_out(written: str, overrides: list[str], message: str) -> None:
    """A key that neither choice knows, or that an override sets, is an error as before."""
    with pytest.raises(ScenarioError) as caught:
        built(tiny(algorithm=written), *overrides)
    assert str(caught.value).startswith(message)


MINE = """
from agents.krl import KReverseLink
from agents.rl import ReverseLink


class One(ReverseLink):
    pass


class Two(KReverseLink):
    pass


ALGORITHMS = {"one": One, "two": Two}
"""


@pytest.mark.parametrize(
    ("written", "overrides", "meant", "notes"),
    [
        (
            "{name: two, file: FILE, k: 2, raise_interval: 3}",
            ["algorithm.name=rl"],
            "{name: rl, raise_interval: 3}",
            ["--set algorithm.name=rl: left out file, k of two"],
        ),
        (
            "{name: two, file: FILE, k: 2}",
            ["algorithm.name=one"],
            "{name: one, file: FILE}",
            ["--set algorithm.name=one: left out k of two"],
        ),
        (
            "{name: krl, k: 2}",
            ["algorithm.file=FILE", "algorithm.name=one"],
            "{name: one, file: FILE}",
            ["--set algorithm.name=one: left out k of krl"],
        ),
    ],
)
def test_algorithms_in_files(written: str, overrides: list[str], meant: str, notes: list[str], tmp_path: Path) -> None:
    """A name of the testbed's own algorithms takes the place of a file; another name is one in the same file."""
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")

    def named(text: str) -> str:
        return text.replace("FILE", str(file))

    assert built(tiny(algorithm=named(written)), *map(named, overrides)) == (loads(tiny(algorithm=named(meant))), notes)


@pytest.mark.parametrize(
    "arguments",
    [("run",), ("compare", "--algorithms", "rl,krl"), ("compare", "--backends", "sim"), ("mobility",)],
    ids=str,
)
def test_commands_say_what_is_left_out(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """In one line on stderr, so that JSON on stdout stays whole."""
    text = {"algorithm": "{name: krl, k: 2}", **GEOMETRIC}
    scenario = write_tiny(tmp_path, PLACED, **text)
    done = command(*arguments, scenario, "--set", "algorithm.name=rl", "--out", tmp_path / "runs", "--json")
    assert done.returncode == 0, done.stderr
    assert is_one_line(done.stderr)
    assert done.stderr == "testbed: --set algorithm.name=rl: left out k of krl\n"


def test_export_says_what_is_left_out(tmp_path: Path) -> None:
    """As the other commands do; the script is on stdout."""
    scenario = write_tiny(tmp_path, PLACED, algorithm="{name: krl, k: 2}", **GEOMETRIC)
    done = command("export", scenario, "--to", "mininet-wifi", "--set", "algorithm.name=rl")
    assert (done.returncode, done.stderr) == (0, "testbed: --set algorithm.name=rl: left out k of krl\n")
