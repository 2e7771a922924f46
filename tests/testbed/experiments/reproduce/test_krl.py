"""`testbed reproduce krl`: every figure and every claim is there, and a claim is judged by what was measured."""

import json
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.experiments.reproduce.cells import Cell, Point
from testbed.experiments.reproduce.krl import cells
from testbed.experiments.reproduce.krl_claims import CLAIMS, Measured, claims_of
from tests.conftest import PROJECT

pytestmark = pytest.mark.xdist_group("reproduce krl")  # they share one reproduction


@pytest.fixture(scope="session")  # a module's would be made anew when another module's test comes between
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Path]:
    """One quick reproduction, as JSON."""
    out = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda *words, **more: printed.append(" ".join(map(str, words))))
        assert main(["reproduce", "krl", "--quick", "--json", "--out", str(out)]) == 0
    (document,) = printed
    return json.loads(document), next(out.glob("reproduce-krl-*"))


def test_every_point_of_every_figure_is_there(quick):
    """Figures 6-9 of three algorithms at three mobilities, with intervals and run lengths."""
    document, _ = quick
    assert document["paper"] == "krl"
    rows = document["rows"]
    keys = {(r["figure"], r["algorithm"], r["mobility"], r["connectivity"], r["rate"]) for r in rows}
    assert len(keys) == len(rows)
    for figure, points in {6: 2 * 4, 7: 2 * 4, 8: 3, 9: 3}.items():
        assert len([row for row in rows if row["figure"] == figure]) == 3 * 3 * points
    assert all(row["measured"] > 0 and row["ci95"] is not None and row["duration"] > 0 for row in rows)
    assert not document["failures"]


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
    document, _ = quick
    claims = {one["paper"]: one for one in document["claims"]}
    assert len(claims) == len(CLAIMS)
    assert all(one["claim"] and one["measured"] and isinstance(one["holds"], bool) for one in claims.values())
    assert claims["the KRLF algorithm is not sensitive to network connectivity at this load"]["holds"]
    assert claims["at the lowest loads, KRLF uses more messages due to the continuous circulation of tokens"]["holds"]


def test_figures_and_report_are_written(quick):
    """Figures 6-9 in three formats; the report states the run lengths."""
    _, folder = quick
    for figure in (6, 7, 8, 9):
        for suffix in ("png", "svg", "pdf"):
            assert (folder / f"figure-{figure}.{suffix}").stat().st_size > 5_000
    report = (folder / "report.md").read_text()
    assert "3000 at load 0.001" in report
    assert "KRLF-adaptive, high mobility, 80%" in report
    assert ("DOES NOT HOLD" in report) == any(not one["holds"] for one in quick[0]["claims"])


def invented(waiting, messages) -> Measured:
    """Points with values made up from algorithm, mobility, connectivity and rate."""
    points = [
        Point(
            Cell(algorithm, connectivity, rate, 100.0, repeat=1, mobility=mobility),
            [waiting(algorithm, mobility, connectivity, rate)],
            [messages(algorithm, mobility, connectivity, rate)],
            [0.0],
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


def test_a_world_as_the_paper_claims():
    """Everything holds in it."""
    claims = claims_of(invented(as_claimed_waiting, as_claimed_messages))
    assert [one.claim for one in claims if not one.holds] == []


def test_a_world_the_other_way_round():
    """Nothing holds in it."""

    def waiting(algorithm, mobility, connectivity, rate):
        slow = {"zero": 1.0, "low": 2.0, "high": 3.0}[mobility]
        krl = {1e-3: 150.0, 1e-1: 40.0, 1.0: 5.0}[rate] * slow
        return krl if algorithm == "krl" else krl * (1.5 if rate == 1e-3 else 2 + connectivity)

    def messages(algorithm, mobility, connectivity, rate):
        krl = 10.0 / {"zero": 1.0, "low": 2.0, "high": 3.0}[mobility]
        return krl if algorithm == "krl" else krl * (0.5 if rate == 1e-3 else 3.0)

    assert [one.claim for one in claims_of(invented(waiting, messages)) if one.holds] == []


def test_the_readme_shows_the_command():
    """What a reader would type."""
    assert "testbed reproduce krl" in (PROJECT / "README.md").read_text()
