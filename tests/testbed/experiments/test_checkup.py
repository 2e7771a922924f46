"""The check-up of an algorithm: correct ones pass, and each wrong one is caught in the step that looks for it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from agents.contract import FAULTS, ONE_UNIT, Needs
from agents.registry import ALGORITHMS
from testbed.errors import InputError
from testbed.experiments.checkup import trials
from testbed.experiments.checkup.checkup import IDEAL, RADIO, Plan, check_contract
from testbed.experiments.checkup.costs import measure_costs
from testbed.experiments.checkup.draws import draw
from testbed.experiments.checkup.finding import Finding, exit_code_of
from testbed.experiments.checkup.real_time import scenario_on, try_in_real_time
from testbed.experiments.checkup.subject import Subject, find_subject
from testbed.experiments.checkup.trials import try_group
from testbed.experiments.checkup.twins import NotTheSame, twin_class
from testbed.experiments.runner import no_report
from tests.testbed.others import file_of
from tests.zoo.members import FILES


def variant(folder: Path, code: str) -> Subject:
    """The skeleton of a new algorithm, with a subclass of its class `Mine` that is wrong."""
    return find_subject(str(file_of(folder / "variant.py", code)))


def in_zoo(name: str) -> Subject:
    """An algorithm of the zoo."""
    return find_subject(str(FILES[name]), name)


def group(subject: Subject, title: str, out: Path, runs: int = 24) -> Finding:
    """What a group of runs finds."""
    scenarios = [draw(subject, title, number, seed=1) for number in range(runs)]
    return try_group(title, scenarios, out, no_report)[0]


def contract(subject: Subject) -> Finding:
    """What the tests of the contract find."""
    runs = [draw(subject, IDEAL, number, seed=1) for number in range(2, 6)]
    return check_contract(runs, runs[1:2], no_report)


# -- correct algorithms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", [IDEAL, "link changes", RADIO])
def test_a_correct_algorithm_passes(title: str, tmp_path: Path) -> None:
    """In every group, and nothing is left behind."""
    found = group(variant(tmp_path, ""), title, tmp_path / "out", runs=8)
    assert (found.verdict, found.offences, found.runs) == ("ok", [], 8)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["krl", "hk", "klme", "maekawa"])
def test_registered_algorithms_keep_the_contract(name: str) -> None:
    """With several units, demands, groups and permissions."""
    found = contract(find_subject(name))
    assert (found.verdict, found.offences) == ("ok", [])


# -- the contract ------------------------------------------------------------------------------------------------------

CLOCK = """
import time
class Timed(Mine):
    def on_request(self, demand):
        super().on_request(demand)
        self.asked_at = time.perf_counter_ns()
"""
DICE = """
import random
class Gambler(Mine):
    def pass_token(self):
        random.shuffle(self.neighbours)
        super().pass_token()
"""
ALIAS = """
class Alias(Mine):
    def __init__(self, node, initial):
        super().__init__(node, initial)
        self.log = ([],)
    def on_request(self, demand):
        super().on_request(demand)
        self.log[0].append(1)
"""
LOCK = """
import threading
class Locked(Mine):
    def __init__(self, node, initial):
        super().__init__(node, initial)
        self.lock = threading.Lock()
"""
WIDE = """
class Wide(Mine):
    def hear_of(self, origin, number):
        super().hear_of(origin, number)
        if number == 12:
            self.send_all(sorted(self.neighbours), Request(origin, -(1 << 200)))
"""
HASHED = """
class Hashed(Mine):
    def hear_of(self, origin, number):
        self.asked[origin] = number
        for peer in {str(peer) for peer in self.neighbours}:
            self.send(int(peer), Request(origin, number))
"""
TELEPATH = """
ASKED = set()
class Telepath(Mine):
    def on_request(self, demand):
        ASKED.add(self.node)
        super().on_request(demand)
    def pending_requests(self):
        return [one for one in super().pending_requests() if one[0] in ASKED]
"""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(CLOCK, "a clone does something else", id="reads a clock"),
        pytest.param(DICE, "a clone does something else", id="draws from random"),
        pytest.param(ALIAS, "so they share memory", id="shares what a clone should have"),
        pytest.param(LOCK, "an agent may not keep a lock", id="keeps a lock"),
        pytest.param(WIDE, "does not fit in 128 bits", id="sends what no station can"),
        pytest.param(HASHED, "two runs with the same seed differ", id="depends on the order of a set"),
        pytest.param(TELEPATH, "a replay of node", id="shares memory between nodes"),
    ],
)
def test_a_breach_of_the_contract_is_found(code: str, words: str, tmp_path: Path) -> None:
    """Although every one of these is safe and live in the simulator."""
    found = contract(variant(tmp_path, code))
    assert found.verdict == "failed"
    assert any(words in line for line in found.offences), found.offences


def test_every_message_makes_its_journey_as_bytes(tmp_path: Path) -> None:
    """Also those that the driver, which looks at one in a thousand, would not look at."""
    kind = twin_class(variant(tmp_path, WIDE).agent)
    agent: Any = kind.start(1, kind.initial({0: [1], 1: [0]}, None)[1], None, Random(1))
    agent.asked[1] = 11
    with pytest.raises(NotTheSame, match="does not fit in 128 bits"):
        agent.on_request(ONE_UNIT)


def test_the_contract_is_all_that_this_step_judges() -> None:
    """Safety is for the runs after it."""
    assert contract(in_zoo("barges-in")).verdict == "ok"


# -- random runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("barges-in", "safety: "),
        ("loses-on-release", "loses 1 unit in on_release()"),
        ("loses-wake-up", "starvation: "),
        ("never-asks", "progress: "),
        ("lowest-first", "longer than the patience"),
        ("permits-one-too-many", "2 units of 1 in use"),
        ("raises-on-timer", "ZeroDivisionError"),
    ],
)
def test_random_runs_catch(name: str, words: str, tmp_path: Path) -> None:
    """Wrong algorithms of the zoo, with the offence, and a log of it that can be replayed."""
    found = group(in_zoo(name), IDEAL, tmp_path)
    assert found.verdict == "failed"
    assert any(words in line for line in found.offences), found.offences
    (log,) = tmp_path.iterdir()
    assert found.replay is not None
    assert found.replay.startswith(f"testbed replay {log} --repetition 0 --node ")


def test_a_group_that_fails_ends_early(tmp_path: Path) -> None:
    """A broken algorithm is reported soon: after a few failures, and what the workers had begun by then."""
    assert group(in_zoo("never-asks"), IDEAL, tmp_path, runs=60).runs < 20


def test_one_large_demand_among_small_ones(tmp_path: Path) -> None:
    """An algorithm that lets small demands go first starves it."""
    found = group(in_zoo("small-first"), IDEAL, tmp_path, runs=120)
    assert found.verdict == "failed"
    assert "longer than the patience" in found.offences[0]


DEAF = "class Deaf(Mine):\n    survives = {survives!r}\n    def on_link_{way}(self, peer):\n        pass\n"
BOAST = "from agents.{module} import {name}\nclass Boastful({name}):\n    survives = ({fault!r},)\n"


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("link changes", DEAF.format(survives=("link changes",), way="down")),
        ("cut", DEAF.format(survives=("cut",), way="down")),
        (RADIO, DEAF.format(survives=("link changes",), way="up")),
        ("crash", BOAST.format(module="bv", name="BV", fault="crash")),
        ("restart", BOAST.format(module="suzuki_kasami", name="SuzukiKasami", fault="restart")),
        ("lose", BOAST.format(module="rl", name="ReverseLink", fault="lose")),
    ],
)
def test_what_it_does_not_survive_is_found(title: str, code: str, tmp_path: Path) -> None:
    """Each in the group of its fault; without the fault it passes."""
    path = tmp_path / "variant.py"
    subject = variant(tmp_path, code) if "Mine" in code else find_subject(str(_written(path, code)))
    assert group(subject, title, tmp_path / "out").verdict == "failed"
    assert group(subject, IDEAL, tmp_path / "out", runs=6).verdict == "ok"


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_an_algorithm_that_ends_its_process_is_reported(tmp_path: Path) -> None:
    """It costs worker processes, and not the check-up."""
    code = "import os\nclass Quits(Mine):\n    def on_release(self):\n        os._exit(7)\n"
    found = group(variant(tmp_path, code), IDEAL, tmp_path / "out", runs=6)
    assert found.verdict == "failed"
    assert any("its worker process ended with exit code 7" in line for line in found.offences)


def test_a_storm_of_messages_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that does not end shows nothing: it could be a slow machine."""
    monkeypatch.setattr(trials, "RUN_LIMIT_S", 1.0)
    code = """
class Storm(Mine):
    def on_request_message(self, origin, number):
        super().on_request_message(origin, number)
        for _ in range(2):
            self.send_all(sorted(self.neighbours), Request(origin, number))
"""
    found = group(variant(tmp_path, code), IDEAL, tmp_path / "out", runs=6)
    assert found.verdict == "inconclusive"
    assert "did not end within 1 s" in found.detail


# -- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_is_declared_is_tried(name: str) -> None:
    """A group for each fault that concerns it; all scenarios are valid; radio links for all of these."""
    subject = find_subject(name)
    plan = Plan.draw(subject, 1, quick=True, every=False)
    concerns = [fault for fault in FAULTS if fault != "link changes" or subject.agent.needs is Needs.LINKS]
    declared = [fault for fault in concerns if fault in subject.agent.survives]
    assert list(plan.groups) == [IDEAL, *declared, RADIO]
    for title in declared:
        kinds = {fault.kind for scenario in plan.groups[title] for fault in scenario.faults}
        assert title == "link changes" or title in kinds
    assert plan.left_out == {}
    assert scenario_on(subject, "loopback", 1).backend == "loopback"


def test_links_that_may_not_change() -> None:
    """Radio links form and fall, so they mean nothing for an algorithm that does not survive that."""
    plan = Plan.draw(in_zoo("walking-token"), 1, quick=False, every=False)
    assert list(plan.groups) == [IDEAL]
    assert list(plan.left_out) == [RADIO, "loopback"]
    assert plan.real_time == []


def test_draws_depend_on_the_seed_only() -> None:
    """The same seed, the same scenarios."""
    subject = find_subject("krl")
    assert draw(subject, "crash", 3, seed=5) == draw(subject, "crash", 3, seed=5)
    assert draw(subject, "crash", 3, seed=5) != draw(subject, "crash", 3, seed=6)


def test_sizes_loads_and_units_differ() -> None:
    """From the smallest network on, up to 15 nodes, with all values of k and demands for several units."""
    scenarios = [draw(find_subject("hk"), IDEAL, number, seed=1) for number in range(60)]
    assert [scenario.nodes for scenario in scenarios[:2]] == [1, 2]
    assert max(scenario.nodes for scenario in scenarios) == 15
    assert {scenario.model_dump()["algorithm"]["k"] for scenario in scenarios} == {1, 2, 3, 4}
    assert any(max(scenario.workload.units.values) == 4 for scenario in scenarios)


def test_parameters_that_are_set_are_kept() -> None:
    """And networks are as large as they need."""
    scenario = draw(find_subject("krl", settings=["k=20"]), "crash", 0, seed=1)
    assert (scenario.nodes, scenario.model_dump()["algorithm"]["k"]) == (21, 20)


def test_a_file_that_changes_is_checked_as_it_was(tmp_path: Path) -> None:
    """Scenarios have the code that was loaded first."""
    subject = variant(tmp_path, "")
    assert subject.loaded is not None
    subject.loaded.path.write_text(subject.loaded.path.read_text() + "class Other(Mine):\n    pass\n")
    assert draw(subject, IDEAL, 0, seed=1).algorithm.agent.__name__ == "Mine"


@pytest.mark.parametrize(
    ("what", "name", "settings", "words"),
    [
        ("nosuch", None, [], "'nosuch'; allowed: a file (.py), or one of rl"),
        ("rll", None, [], "did you mean rl?"),
        ("rl", None, ["k=3"], "--set k=3: k: found unknown key"),
        ("krl", None, ["k=x"], "--set k=x: k: found 'x'; allowed: a whole number"),
        ("krl", None, ["k"], "found no key=value"),
        ("rl", "other", [], "--name other: found with rl"),
        ("gone.py", None, [], "gone.py: cannot be read"),
        (str(FILES["barges-in"]), None, [], "allowed: one of them, by --name: lent-token"),
        (str(FILES["barges-in"]), "nosuch", [], "found no 'nosuch'"),
    ],
)
def test_wrong_input(what: str, name: str | None, settings: list[str], words: str) -> None:
    """One line that says what is allowed."""
    with pytest.raises(InputError) as error:
        find_subject(what, name, settings)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_parameters_that_allow_no_network() -> None:
    """Are wrong input too."""
    with pytest.raises(InputError, match="krl: its parameters allow no network"):
        Plan.draw(find_subject("krl", settings=["k=70"]), 1, quick=True, every=False)


# -- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("stations")
def test_as_processes(tmp_path: Path) -> None:
    """A correct algorithm does not fail; a busy machine shows nothing."""
    scenario = scenario_on(variant(tmp_path, ""), "loopback", 1)
    found = try_in_real_time(scenario.model_copy(update={"duration": 30.0}), tmp_path / "out", no_report)
    assert found.verdict in ("ok", "inconclusive"), found
    assert found.verdict == "ok" or "timing" in found.detail


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("rl", ["raymond-tree"]),
        ("maekawa", ["suzuki-kasami", "ricart-agrawala"]),
        ("krlf", ["krl", "bv"]),
        ("klme", []),
    ],
)
def test_costs_are_beside_those_of_its_kind(name: str, others: list[str], tmp_path: Path) -> None:
    """On the same scenario, and with as many units."""
    costs = measure_costs(find_subject(name), 1, tmp_path, no_report)
    assert [row["algorithm"] for row in costs.rows] == [name, *others]
    assert all(row["messages_per_cs"] > 0 and row["waiting_time"] > 0 for row in costs.rows)
    assert costs.failures == []


def test_exit_codes() -> None:
    """A failure counts more than a step that shows nothing."""
    assert exit_code_of([Finding("a"), Finding("b", "not applicable")]) == 0
    assert exit_code_of([Finding("a"), Finding("b", "inconclusive")]) == 4
    assert exit_code_of([Finding("a", "inconclusive"), Finding("b", "failed")]) == 1
