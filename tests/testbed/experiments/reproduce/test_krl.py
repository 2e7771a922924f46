"""`testbed reproduce krl`: every figure and every claim is there, and a claim is judged by what was measured."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.krl import KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.registry import ALGORITHMS
from testbed.cli.main import main
from testbed.experiments.grid import PointResult
from testbed.experiments.measure import RepetitionJob
from testbed.experiments.reproduce import krl
from testbed.experiments.reproduce.cells import Cell, CellResult
from testbed.experiments.reproduce.claims import FAILS, HOLDS, NOT_JUDGED, UNDECIDED
from testbed.experiments.reproduce.krl import render
from testbed.experiments.reproduce.krl_cells import CHOICES, RUN_LENGTHS, Measured, cells, watched_cells
from testbed.experiments.reproduce.krl_claims import CLAIMS, claims_of
from testbed.experiments.reproduce.krl_watched import watch
from tests.agents.krl_variants import UnguardedRelease
from tests.agents.rl_variants import registered
from tests.testbed.experiments.reproduce.shortened import Shortened, check_figures, reproduce
from tests.testbed.tiny import killed

pytestmark = pytest.mark.xdist_group("reproduce krl")  # they share one reproduction
RULES = {"text", "per-pair", "thinning"}


@pytest.fixture(scope="session")  # a fixture of the module would be made again if tests of other modules came between
def quick(tmp_path_factory: pytest.TempPathFactory) -> Shortened:
    """`testbed reproduce krl --quick`, shortened."""
    return reproduce("krl", tmp_path_factory.mktemp("reproduce"))


def test_every_point_of_every_figure_is_there(quick):
    """Figures 6-9 of three algorithms at three mobilities, with intervals and run lengths."""
    assert quick.document["paper"] == "krl"
    rows = quick.document["rows"]
    assert len(rows) == 5 * len(cells(quick=True))
    shown = [row for row in rows if row["metric"] in ("waiting_time", "messages_per_cs")]
    assert all(row["measured"] > 0 and row["ci95"] is not None and row["duration"] > 0 for row in shown)
    usual = {0.001: 3000.0, 0.01: 1000.0, 0.1: 1000.0, 1.0: 600.0}
    for figure, points in {6: 2 * 4, 7: 2 * 4, 8: 3, 9: 3}.items():
        in_figure = [row for row in shown if figure in row["figures"] and row["duration"] == usual[row["rate"]]]
        keys = {(row["algorithm"], row["mobility"], row["connectivity"], row["rate"]) for row in in_figure}
        assert len(keys) == len(in_figure) == 3 * 3 * points
    assert not quick.document["failures"]


def test_the_whole_thing_is_what_the_paper_ran():
    """k = 3; loads from 0.001 to 1; 10 to 80 %; static, one change in 500 units and in 50; five repetitions or more."""
    every = cells(quick=False)
    assert len({replace(cell, repeat=0) for cell in every}) == len(every), "no point twice"
    assert {cell.k for cell in every} == {3}
    assert {cell.repeat for cell in [*every, *watched_cells(quick=False)]} == {5, 10}
    assert {cell.change_rate for cell in every} == {0, 1 / 500, 1 / 50, 50**-2}
    assert (min(cell.rate for cell in every), max(cell.rate for cell in every)) == (1e-3, 1.0)
    at_fixed_load = {cell.connectivity for cell in every if cell.rate == 0.1}
    assert at_fixed_load == {tenth / 10 for tenth in range(1, 9)}


def test_what_the_paper_leaves_open_is_run_in_every_way():
    """Every reading of link changes, several run lengths, every choice of the neighbour, and networks cut in two."""
    for every in (cells(quick=False), cells(quick=True)):
        mobile = [cell for cell in every if cell.mobility == "high" and cell.rate == 0.1]
        for algorithm in ("krl", "krlf"):
            assert {cell.reading for cell in mobile if cell.algorithm == algorithm} == RULES
            static = [cell for cell in every if cell.mobility == "zero" and cell.rate == 0.1]
            assert {cell.duration for cell in static if cell.algorithm == algorithm} >= set(RUN_LENGTHS)
            assert {len(cell.cut) for cell in every if cell.algorithm == algorithm} == {0, 15}
        chosen = {dict(cell.parameters).get("forward_to", "lowest") for cell in every if cell.algorithm == "krlf"}
        assert chosen == set(CHOICES)


def test_claims_have_verdicts(quick):
    """Those of the forwarding's gain and cost hold even in a quick run, and those that no length of run changes."""
    claims = quick.document["claims"]
    assert len({one["claim"] for one in claims}) == len(claims) == len(CLAIMS)
    assert all(one["claim"] and one["paper"] and one["measured"] for one in claims)
    assert {one["verdict"] for one in claims} <= {HOLDS, FAILS, UNDECIDED}
    verdicts = {one["claim"]: one["verdict"] for one in claims}
    for start in (
        "[text] at a load of 0.1 KRLF's waiting time varies with connectivity",
        "at the lowest load KRLF uses more messages",
        "KRL: no node raises its height",
        "KRLF: no node raises its height",
        "KRL: of a network cut into halves with all three tokens",
        "at a load of 0.1 KRLF has an idle token",
    ):
        (claim,) = [claim for claim in verdicts if claim.startswith(start)]
        assert verdicts[claim] == HOLDS, claim
    (comparable,) = [claim for claim in verdicts if "within a factor of 2" in claim]
    assert comparable.endswith("the factor is ours")


def test_figures_and_report(quick):
    """Figures 6-9; the report states the run lengths and the verdict on every claim, and what fails comes first."""
    names = {f"figure-{figure}" for figure in (6, 7, 8, 9)}
    names |= {f"figure-{figure}-{rule}" for figure in (8, 9) for rule in ("per-pair", "thinning")}
    check_figures(quick, names | {"fairness", "token-fairness", "lengths"})
    assert quick.printed == f"{(quick.folder / 'report.md').read_text()}\ndirectory: {quick.folder}\n"
    assert quick.printed.startswith("## What does not hold\n")
    assert "3000 at load 0.001" in quick.printed
    for line in (
        "KRLF-adaptive, high mobility, 80%",
        "per-pair, high mobility, ratio",
        "to the lowest, at most 4 hops, 20%",
    ):
        assert f"| {line} " in quick.printed
    for claim in quick.document["claims"]:
        (line,) = [line for line in quick.printed.splitlines() if line.startswith(f"| {claim['claim']} ")]
        assert line.endswith(f" {claim['verdict']} |")


def test_a_raise_is_seen():
    """KRL with release as printed raises heights in a static network (deviation 4 of agents.krl); KRL does not."""
    cell = next(one for one in watched_cells(quick=True) if one.algorithm == "krl" and one.connectivity == 0.1)
    job = RepetitionJob(cell.scenario(), 0)
    assert watch(job, lambda share, words: None)["metrics"]["raises"] == 0
    with registered(UnguardedRelease, "krl"):
        seen = watch(job, lambda share, words: None)["metrics"]
    assert seen["raises"] > 0
    assert seen["lowerings"] > 0


# -- claims on invented measurements -----------------------------------------------------------------------------------


def invented(metrics_of, repeat: int = 2) -> Measured:
    """All points of the reproduction, with values made up from the cell and the number of the repetition."""

    def result(cell: Cell) -> CellResult:
        repetitions = [
            {"repetition": number, "checks": {}, "metrics": metrics_of(cell, number)} for number in range(repeat)
        ]
        return CellResult(
            replace(cell, repeat=repeat), PointResult(replace(cell, repeat=repeat or 1).point(), repetitions)
        )

    return Measured(*([result(cell) for cell in every(quick=False)] for every in (cells, watched_cells)))


def metrics(waiting: float, messages: float, reversals: float, *, is_even: bool, entries: int, raises: int) -> dict:
    """Of a repetition, both as the grid and as a watched run has them."""
    return {
        "waiting_time": {"mean": waiting},
        "messages_per_cs": messages,
        "messages_per_cs_by_type": {"LinkInfo": 2.0 * (1 + reversals), "Token": 2.0},
        "fairness": 0.9 if is_even else 0.5,
        "token_fairness": 0.9 if is_even else 0.5,
        "tokens_idle": 0.1 if is_even else 0.5,
        "entries": entries,
        "messages_cut_off": 100,
        "raises": raises,
        "lowerings": 10,
        "waiting_by_node": [waiting] * 29 + [None],
    }


def as_claimed(cell: Cell, repetition: int) -> dict[str, Any]:
    """Values with which every claim holds."""
    moves = {"zero": 0, "low (50^-2)": 1, "low": 2, "high": 4}[cell.mobility]
    waiting, messages = {1e-3: 5.0, 1.0: 25.0}.get(cell.rate, 40.0) * (1 - moves / 100), 10.0 * (1 + moves / 10)
    if cell.algorithm == "krlf":
        waiting *= {1e-3: 0.9, 1e-1: 0.4}.get(cell.rate, 0.8)
        messages *= 20 if cell.rate == 1e-3 else 0.9
    reversals = {"random": 2.0, "highest": 3.0}.get(dict(cell.parameters).get("forward_to", ""), 1.0)
    entries = 50 if 1 in cell.cut else 100
    return metrics(waiting, messages, reversals, is_even=cell.algorithm == "krlf", entries=entries, raises=0)


def opposite(cell: Cell, repetition: int) -> dict[str, Any]:
    """Values with which no claim holds."""
    moves = {"zero": 1.0, "low (50^-2)": 1.5, "low": 2.0, "high": 3.0}[cell.mobility]
    waiting, messages = {1e-3: 150.0, 1.0: 5.0}.get(cell.rate, 40.0) * moves, 10.0 / moves
    if cell.algorithm == "krlf":
        waiting *= 1.5 if cell.rate == 1e-3 else 2 + cell.connectivity
        messages *= 0.5 if cell.rate == 1e-3 else 3.0
    reversals = {"random": 2.0, "highest": 1.0}.get(dict(cell.parameters).get("forward_to", ""), 3.0)
    entries = 10 if cell.cut else 100
    return metrics(waiting, messages, reversals, is_even=cell.algorithm == "krl", entries=entries, raises=7)


def test_measurements_as_the_paper_claims():
    """Every claim holds."""
    assert [one for one in claims_of(invented(as_claimed)) if one.verdict != HOLDS] == []


def test_measurements_opposite_to_the_paper():
    """No claim holds: each changes its verdict with the sign of what it compares."""
    assert [one for one in claims_of(invented(opposite)) if one.verdict != FAILS] == []


def verdicts_of(metrics_of, repeat: int) -> tuple[set[str], set[str]]:
    """The verdicts on what varies from run to run, and on what must be so in every run."""
    claims = claims_of(invented(metrics_of, repeat))
    exact = [claim for claim in claims if "no node raises its height" in claim.claim]
    return {claim.verdict for claim in claims if claim not in exact}, {claim.verdict for claim in exact}


def test_one_raise_in_one_run_is_too_many():
    """It is a count, and the paper says none: the other runs do not make up for it."""

    def once(cell: Cell, repetition: int) -> dict[str, Any]:
        found = as_claimed(cell, repetition)
        return found | {"raises": 1} if repetition == 3 and cell.connectivity == 0.2 else found

    assert verdicts_of(once, repeat=10) == ({HOLDS}, {FAILS})


def test_extremes_that_change_places_decide_nothing():
    """Two connectivities are far apart in every run, and on average equal: no claim on the spread follows from that."""

    def swinging(cell: Cell, repetition: int) -> dict[str, Any]:
        found = as_claimed(cell, repetition)
        if cell.algorithm == "krlf" and cell.rate == 0.1 and cell.connectivity == 0.1:
            waiting = found["waiting_time"]["mean"] * (1.3 if repetition % 2 else 0.72)
            found["waiting_time"] = {"mean": waiting}
        return found

    claims = [one for one in claims_of(invented(swinging, repeat=4)) if "varies with connectivity" in one.claim]
    assert claims
    assert {claim.verdict for claim in claims} == {UNDECIDED}


def test_one_repetition_decides_nothing():
    """Of what varies from run to run. Points without results are said to be missing; the report can be written."""
    assert verdicts_of(as_claimed, repeat=1) == ({UNDECIDED}, {HOLDS})
    assert verdicts_of(opposite, repeat=1) == ({UNDECIDED}, {FAILS})
    nothing = invented(as_claimed, repeat=0)
    claims = claims_of(nothing)
    assert {claim.verdict for claim in claims} == {NOT_JUDGED}
    assert "- ± -" in render(nothing, claims)


def test_a_factor_that_is_met_by_a_hair_decides_nothing():
    """6.120 messages over 3.059 is 2.0007, but repetitions differ by far more than that."""

    def by_a_hair(cell: Cell, repetition: int) -> dict[str, Any]:
        found = as_claimed(cell, repetition)
        if (cell.rate, cell.connectivity, cell.mobility) == (1.0, 0.2, "zero"):
            found["messages_per_cs"] = 6.12 if cell.algorithm == "krlf" else (2.6, 3.2, 3.377)[repetition]
        return found

    (claim,) = [one for one in claims_of(invented(by_a_hair, repeat=3)) if "within a factor of 2" in one.claim]
    assert claim.verdict == UNDECIDED
    assert "holds at 17 of 18 points, undecided at 1; farthest 2.0" in claim.measured


def test_metrics_that_are_missing_are_not_judged():
    """An analysis without a metric leaves its claims open, and no others."""

    def without(cell: Cell, repetition: int) -> dict[str, Any]:
        return {name: value for name, value in as_claimed(cell, repetition).items() if name != "token_fairness"}

    claims = claims_of(invented(without))
    assert [one.claim for one in claims if one.verdict != HOLDS] == [claims[0].claim]
    assert claims[0].verdict == NOT_JUDGED


# -- worker processes that are killed ---------------------------------------------------------------------------------


def reproduce_killed(repeat, krl_lost, krlf_lost, tmp_path, capsys, monkeypatch) -> tuple[str, dict, Path]:
    """A very short reproduction in which these repetitions are killed: what it prints, rows.json and the directory."""

    def few(quick: bool) -> list[Cell]:
        lengths = {1e-3: 600.0, 0.1: 60.0, 1.0: 60.0}
        chosen = [
            replace(cell, duration=lengths[cell.rate], repeat=repeat)
            for cell in cells(quick)
            if cell.algorithm in ("krl", "krlf") and cell.rate in lengths and cell.connectivity >= 0.2
            if cell.reading == "text" and cell.mobility in ("zero", "low", "high") and not cell.parameters
        ]
        return list(dict.fromkeys(chosen))

    def few_watched(quick: bool) -> list[Cell]:
        return [replace(cell, duration=60.0, repeat=repeat) for cell in watched_cells(quick)]

    monkeypatch.setattr(krl, "cells", few)
    monkeypatch.setattr(krl, "watched_cells", few_watched)
    monkeypatch.setattr("analysis.plots.draw_panels", lambda figure, path: [path.touch()])
    monkeypatch.setitem(ALGORITHMS, "krl", killed(KReverseLink, *krl_lost))
    monkeypatch.setitem(ALGORITHMS, "krlf", killed(KReverseLinkForwarding, *krlf_lost))
    assert main(["reproduce", "krl", "--quick", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    (folder,) = tmp_path.glob("reproduce-*")
    return out, json.loads((folder / "rows.json").read_text()), folder


def test_killed_workers_cost_their_repetitions_only(tmp_path, capsys, monkeypatch):
    """One of the two repetitions of every KRL cell: a line for each, also for those that are watched."""
    printed, document, folder = reproduce_killed(2, [1], [], tmp_path, capsys, monkeypatch)
    count = len({(row["mobility"], row["connectivity"], row["rate"]) for row in document["rows"]})
    lines = [line for line in printed.splitlines() if line.startswith("FAILED: ")]
    assert len(lines) == count + 3
    assert lines[0] == (
        "FAILED: krl (ideal links, 20% connectivity, zero mobility, load 0.001, 600 time units), repetition 1: "
        "its worker process was killed by signal 9; is there enough memory?"
    )
    rows = [row for row in document["rows"] if row["metric"] == "waiting_time"]
    assert all(row["measured"] > 0 for row in rows)
    assert all((row["ci95"] is None) is (row["algorithm"] == "krl") for row in rows)
    verdicts = {claim["claim"]: claim["verdict"] for claim in document["claims"]}
    assert verdicts["KRLF waits less than KRL, at every load, mobility and connectivity"] == UNDECIDED
    assert len(list(folder.glob("figure-*"))) == 4


def test_an_algorithm_without_any_results(tmp_path, capsys, monkeypatch):
    """All repetitions of KRLF: its points are empty, claims on it are not judged, those on KRL alone are."""
    printed, document, folder = reproduce_killed(1, [], [0], tmp_path, capsys, monkeypatch)
    rows = [row for row in document["rows"] if row["metric"] == "waiting_time"]
    assert all((row["measured"] is None) is (row["algorithm"] == "krlf") for row in rows)
    verdicts = {claim["claim"]: claim["verdict"] for claim in document["claims"]}
    assert verdicts["KRLF waits less than KRL, at every load, mobility and connectivity"] == NOT_JUDGED
    assert verdicts["at a load of 0.001 at most 3 of 30 requests are pending on average"] == UNDECIDED
    assert printed.count(" not judged |") == list(verdicts.values()).count(NOT_JUDGED)
    assert (folder / "report.md").read_text() in printed


def test_a_reproduction_without_any_results(tmp_path, capsys, monkeypatch):
    """Every repetition of every algorithm was killed: no claim is judged, no figure is drawn, and it says so."""
    printed, document, folder = reproduce_killed(1, [0], [0], tmp_path, capsys, monkeypatch)
    assert {row["measured"] for row in document["rows"]} == {None}
    assert {claim["verdict"] for claim in document["claims"]} == {NOT_JUDGED}
    assert printed.count("its worker process was killed") == len(document["failures"]) > 0
    assert {file.name for file in folder.iterdir()} == {"report.md", "rows.json", "figures.json"}
