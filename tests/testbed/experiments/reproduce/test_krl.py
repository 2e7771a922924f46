"""`testbed reproduce krl`: every figure and every claim is there, and a claim is judged by what was measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agents.krl import KReverseLink
from agents.krlf import KReverseLinkForwarding
from agents.registry import ALGORITHMS
from testbed.cli.main import main
from testbed.experiments.grid import PointResult
from testbed.experiments.reproduce import krl
from testbed.experiments.reproduce.cells import Cell, CellResult
from testbed.experiments.reproduce.krl import cells
from testbed.experiments.reproduce.krl_claims import CLAIMS, Measured, claims_of
from tests.testbed.experiments.reproduce.shortened import Shortened, check_figures, reproduce
from tests.testbed.tiny import killed

pytestmark = pytest.mark.xdist_group("reproduce krl")  # they share one reproduction


@pytest.fixture(scope="session")  # a fixture of the module would be made again if tests of other modules came between
def quick(tmp_path_factory: pytest.TempPathFactory) -> Shortened:
    """`testbed reproduce krl --quick`, shortened."""
    return reproduce("krl", tmp_path_factory.mktemp("reproduce"))


def test_every_point_of_every_figure_is_there(quick):
    """Figures 6-9 of three algorithms at three mobilities, with intervals and run lengths."""
    assert quick.document["paper"] == "krl"
    rows = quick.document["rows"]
    keys = {(r["figure"], r["algorithm"], r["mobility"], r["connectivity"], r["rate"]) for r in rows}
    assert len(keys) == len(rows)
    for figure, points in {6: 2 * 4, 7: 2 * 4, 8: 3, 9: 3}.items():
        assert len([row for row in rows if row["figure"] == figure]) == 3 * 3 * points
    assert all(row["measured"] > 0 and row["ci95"] is not None and row["duration"] > 0 for row in rows)
    assert not quick.document["failures"]


def test_the_whole_thing_is_what_the_paper_ran():
    """k = 3; loads from 0.001 to 1; 10 to 80 %; static, one change in 500 units and one in 50; five repetitions."""
    every = cells(quick=False)
    assert {cell.k for cell in every} == {3}
    assert {cell.repeat for cell in every} == {5}
    assert {cell.change_rate for cell in every} == {0, 1 / 500, 1 / 50}
    assert (min(cell.rate for cell in every), max(cell.rate for cell in every)) == (1e-3, 1.0)
    at_fixed_load = {cell.connectivity for cell in every if cell.rate == 0.1}
    assert at_fixed_load == {tenth / 10 for tenth in range(1, 9)}


def test_claims_have_verdicts(quick):
    """Those of the forwarding's gain and cost hold even in a quick run."""
    claims = {one["paper"]: one for one in quick.document["claims"]}
    assert len(claims) == len(CLAIMS)
    assert all(one["claim"] and one["measured"] and isinstance(one["holds"], bool) for one in claims.values())
    assert claims["the KRLF algorithm is not sensitive to network connectivity at this load"]["holds"]
    assert claims["at the lowest loads, KRLF uses more messages due to the continuous circulation of tokens"]["holds"]


def test_figures_and_report(quick):
    """Figures 6-9; the report states the run lengths and the verdict on every claim."""
    check_figures(quick, {f"figure-{figure}" for figure in (6, 7, 8, 9)})
    assert quick.printed == f"{(quick.folder / 'report.md').read_text()}\ndirectory: {quick.folder}\n"
    assert "3000 at load 0.001" in quick.printed
    assert "KRLF-adaptive, high mobility, 80%" in quick.printed
    for claim in quick.document["claims"]:
        (line,) = [line for line in quick.printed.splitlines() if line.startswith(f"| {claim['claim']} ")]
        assert line.endswith("holds |" if claim["holds"] else "DOES NOT HOLD |")


def invented_point(cell: Cell, waiting: float, messages: float) -> CellResult:
    metrics = {"waiting_time": {"mean": waiting}, "messages_per_cs": messages}
    return CellResult(cell, PointResult(cell.point(), [{"repetition": 0, "checks": {}, "metrics": metrics}]))


def invented(waiting, messages) -> Measured:
    """Points with values made up from algorithm, mobility, connectivity and rate."""
    points = [
        invented_point(
            Cell(algorithm, connectivity, rate, 100.0, repeat=1, mobility=mobility),
            waiting(algorithm, mobility, connectivity, rate),
            messages(algorithm, mobility, connectivity, rate),
        )
        for algorithm in ("krl", "krlf")
        for mobility in ("zero", "low", "high")
        for connectivity in (0.1, 0.2, 0.8)
        for rate in (1e-3, 1e-1, 1.0)
    ]
    return Measured(points)


def as_claimed_waiting(algorithm: str, mobility: str, connectivity: float, rate: float) -> float:
    krl = {1e-3: 5.0, 1e-1: 40.0, 1.0: 25.0}[rate] * {"zero": 1.0, "low": 0.98, "high": 0.96}[mobility]
    return krl if algorithm == "krl" else krl * {1e-3: 0.9, 1e-1: 0.4, 1.0: 0.8}[rate]


def as_claimed_messages(algorithm: str, mobility: str, connectivity: float, rate: float) -> float:
    krl = 10.0 * {"zero": 1.0, "low": 1.1, "high": 1.2}[mobility]
    return krl if algorithm == "krl" else krl * (20 if rate == 1e-3 else 0.9)


def test_measurements_as_the_paper_claims():
    """Every claim holds."""
    claims = claims_of(invented(as_claimed_waiting, as_claimed_messages))
    assert [one.claim for one in claims if not one.holds] == []


def test_measurements_opposite_to_the_paper():
    """No claim holds."""

    def waiting(algorithm, mobility, connectivity, rate):
        slow = {"zero": 1.0, "low": 2.0, "high": 3.0}[mobility]
        krl = {1e-3: 150.0, 1e-1: 40.0, 1.0: 5.0}[rate] * slow
        return krl if algorithm == "krl" else krl * (1.5 if rate == 1e-3 else 2 + connectivity)

    def messages(algorithm, mobility, connectivity, rate):
        krl = 10.0 / {"zero": 1.0, "low": 2.0, "high": 3.0}[mobility]
        return krl if algorithm == "krl" else krl * (0.5 if rate == 1e-3 else 3.0)

    assert [one.claim for one in claims_of(invented(waiting, messages)) if one.holds] == []


# -- worker processes that are killed ---------------------------------------------------------------------------------


def reproduce_killed(repeat, krl_lost, krlf_lost, tmp_path, capsys, monkeypatch) -> tuple[str, dict, Path]:
    """A very short reproduction in which these repetitions are killed: what it prints, rows.json and the directory."""

    def few(quick: bool) -> list[Cell]:
        lengths = {1e-3: 600.0, 0.1: 60.0, 1.0: 60.0}
        return [
            replace(cell, duration=lengths[cell.rate], repeat=repeat)
            for cell in cells(quick)
            if cell.algorithm in ("krl", "krlf") and cell.rate in lengths and cell.connectivity >= 0.2
        ]

    monkeypatch.setattr(krl, "cells", few)
    monkeypatch.setattr("analysis.plots.draw_panels", lambda figure, path: [path.touch()])
    monkeypatch.setitem(ALGORITHMS, "krl", killed(KReverseLink, *krl_lost))
    monkeypatch.setitem(ALGORITHMS, "krlf", killed(KReverseLinkForwarding, *krlf_lost))
    assert main(["reproduce", "krl", "--quick", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    (folder,) = tmp_path.iterdir()
    return out, json.loads((folder / "rows.json").read_text()), folder


def test_killed_workers_cost_their_repetitions_only(tmp_path, capsys, monkeypatch):
    """One of the two repetitions of every KRL cell: a line for each; points and claims use the one that is left."""
    printed, document, folder = reproduce_killed(2, [1], [], tmp_path, capsys, monkeypatch)
    count = len({(row["mobility"], row["connectivity"], row["rate"]) for row in document["rows"]})
    lines = [line for line in printed.splitlines() if line.startswith("FAILED: ")]
    assert len(lines) == count
    assert lines[0] == (
        "FAILED: krl (ideal links, 20% connectivity, zero mobility, load 0.001, 600 time units), repetition 1: "
        "its worker process was killed by signal 9; is there enough memory?"
    )
    assert all(row["measured"] > 0 for row in document["rows"])
    assert all((row["ci95"] is None) is (row["algorithm"] == "krl") for row in document["rows"])
    assert all(isinstance(claim["holds"], bool) for claim in document["claims"])
    assert len(list(folder.glob("figure-*"))) == 4


def test_an_algorithm_without_any_results(tmp_path, capsys, monkeypatch):
    """All repetitions of KRLF: its points are empty, claims on it are not judged, those on KRL alone are."""
    printed, document, folder = reproduce_killed(1, [], [0], tmp_path, capsys, monkeypatch)
    assert all((row["measured"] is None) is (row["algorithm"] == "krlf") for row in document["rows"])
    claims = {claim["paper"]: claim["holds"] for claim in document["claims"]}
    assert claims["the KRLF algorithm is not sensitive to network connectivity at this load"] is None
    assert isinstance(
        claims["the KRL algorithm performs better in terms of time per CS entry as mobility increases"], bool
    )
    assert len([line for line in printed.splitlines() if line.endswith(" not judged |")]) == sum(
        holds is None for holds in claims.values()
    )
    assert "no value of krlf at zero mobility" in printed
    assert (folder / "report.md").read_text() in printed


def test_a_reproduction_without_any_results(tmp_path, capsys, monkeypatch):
    """Every repetition of every algorithm was killed: no claim is judged, no figure is drawn, and it says so."""
    printed, document, folder = reproduce_killed(1, [0], [0], tmp_path, capsys, monkeypatch)
    assert {row["measured"] for row in document["rows"]} == {None}
    assert {claim["holds"] for claim in document["claims"]} == {None}
    assert printed.count("its worker process was killed") == len(document["failures"]) > 0
    assert {file.name for file in folder.iterdir()} == {"report.md", "rows.json", "figures.json"}
