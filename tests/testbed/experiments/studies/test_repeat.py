"""How often a point is run: by results alone, in batches, within limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.store import Store
from testbed.errors import ScenarioError
from testbed.experiments import workers
from testbed.experiments.studies.repeat import Repeat
from testbed.experiments.studies.study_file import read_study
from testbed.experiments.studies.sweep import Sweep
from testbed.scenario.yaml_reader import parse


def outcomes(*values: float | None) -> list[dict[str, Any]]:
    return [{"repetition": number, "metrics": {"fairness": value}} for number, value in enumerate(values)]


def repeat(text: str) -> Repeat:
    document = parse(f"repeat: {text}", "study.yaml")
    return Repeat.read(document, document.data["repeat"])


UNTIL = Repeat(4, 20, (("fairness", 0.1),))


def test_a_number_is_that_many_times() -> None:
    assert repeat("7") == Repeat.fixed(7) == Repeat(7, 7)
    assert Repeat.fixed(7).wanted([], 0) == 7


def test_defaults() -> None:
    assert repeat("{until: {waiting_time: 5 %}}") == Repeat(5, 100, (("waiting_time", 0.05),))
    assert repeat("{until: {waiting_time: 5%}, at_least: 300}") == Repeat(300, 300, (("waiting_time", 0.05),))
    assert repeat("{until: {waiting_time: 0.5 %}, at_least: 1, at_most: 1}").at_least == 2  # for an interval


def test_batches_are_half_as_large_as_what_there_is() -> None:
    """4, 6, 9, 13, 19 and, because more are not allowed, 20; looked at only when a batch is whole."""
    wide = outcomes(*([0.1, 0.9] * 10))
    seen = [UNTIL.wanted(wide[:done], done) for done in range(21)]
    assert seen == [4] * 4 + [6] * 2 + [9] * 3 + [13] * 4 + [19] * 6 + [20] * 2


def test_it_ends_with_the_first_batch_that_is_narrow_enough() -> None:
    """What comes later changes nothing: by how many run at a time, more may be there already."""
    values = [0.4, 0.6, *[0.5] * 18]
    wanted = {done: UNTIL.wanted(outcomes(*values[:done]), done) for done in range(4, 21)}
    assert [wanted[done] for done in (4, 6, 9, 20)] == [6, 9, 9, 9]  # of 9 the interval is within 10 % of the mean
    narrow = outcomes(*[0.5] * 4, *[0.1, 0.9] * 8)
    assert {UNTIL.wanted(narrow[:done], done) for done in range(4, 21)} == {4}


def test_a_mean_of_zero() -> None:
    """All zero is as narrow as can be."""
    assert UNTIL.wanted(outcomes(*[0.0] * 4), 4) == 4


@pytest.mark.parametrize("values", [[None] * 20, [0.5, *[None] * 19]])
def test_a_metric_that_is_not_measured_goes_to_the_limit(values: list[float | None]) -> None:
    """One value has no interval either."""
    assert UNTIL.wanted(outcomes(*values), 20) == 20


def test_repetitions_without_an_outcome_are_not_waited_for() -> None:
    assert UNTIL.wanted(outcomes(0.5, 0.5), 4) == 4


def test_every_metric_must_be_narrow_enough() -> None:
    both = Repeat(4, 20, (("fairness", 0.1), ("waiting_time", 0.1)))
    measured = [{**one, "metrics": {"fairness": 0.5, "waiting_time": {"mean": 3.0}}} for one in outcomes(*[0.5] * 4)]
    assert both.wanted(measured, 4) == 4
    measured[0]["metrics"]["waiting_time"]["mean"] = 9.0
    assert both.wanted(measured, 4) == 6


STUDY = """
scenario:
  algorithm: rl
  nodes: 5
  topology: complete
  workload: {rate: 0.1}
  duration: 60
vary: {workload.rate: [0.1, 1]}
repeat: {until: {waiting_time: 25 %}, at_least: 3, at_most: 30}
"""


def counts(folder: Path, cores: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many repetitions each point of the study has in the end."""
    monkeypatch.setattr(workers, "cores", lambda: cores)
    path = folder / "study.yaml"
    path.write_text(STUDY)
    with Store(None) as store:
        sweep = Sweep(read_study(path), store)
        sweep.run(lambda share, words: None)
        rows = [len(rows) for _, rows in sweep.results().points()]
        assert (sweep.status().wanted, sweep.status().missing) == (sum(rows), 0)
        sweep.run(lambda share, words: pytest.fail("nothing is to be run"))
        return rows


def test_as_many_on_one_core_as_on_five(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And at one point more than at the other."""
    found = [counts(tmp_path, cores, monkeypatch) for cores in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    assert 3 <= min(found[0]) < max(found[0]) <= 30


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("0", "repeat: found 0; allowed: 1 to 10000, or {until: "),
        ("true", "repeat: found True"),
        ("often", "repeat: found 'often'"),
        ("[5]", "repeat: found [5]"),
        ("{until: {waiting_time: 5 %}, at_leest: 5}", "repeat.at_leest: found unknown key; allowed: one of until, "
         "at_least, at_most (did you mean at_least?)"),
        ("{at_least: 5}", "repeat.until: found nothing; allowed: a metric and a share"),
        ("{until: {}}", "repeat.until: found {}"),
        ("{until: 5 %}", "repeat.until: found '5 %'"),
        ("{until: {waiting_tme: 5 %}}", "repeat.until.waiting_tme: found unknown metric"),
        ("{until: {waiting_time: 5}}", "repeat.until.waiting_time: found 5; allowed: a share of the mean, such as 5 %"),
        ("{until: {waiting_time: 0 %}}", "repeat.until.waiting_time: found '0 %'"),
        ("{until: {waiting_time: 101 %}}", "repeat.until.waiting_time: found '101 %'"),
        ("{until: {waiting_time: 1.2.3 %}}", "repeat.until.waiting_time: found '1.2.3 %'"),
        ("{until: {waiting_time: 5 %}, at_least: 0}", "repeat.at_least: found 0; allowed: 1 to 10000"),
        ("{until: {waiting_time: 5 %}, at_most: many}", "repeat.at_most: found 'many'"),
        ("{until: {waiting_time: 5 %}, at_least: 9, at_most: 8}", "repeat.at_most: found 8; allowed: at_least, 9, or"),
        ("{5: 6}", "repeat.5: found unknown key"),
        ("{until: {5: 5 %}}", "repeat.until.5: found unknown metric"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(text: str, error: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        repeat(text)
    assert str(raised.value).startswith(f"study.yaml:1: {error}")
