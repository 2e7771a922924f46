"""`testbed reproduce rl`: the whole table is there, and what must come out does."""

import json
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.experiments.reproduce import rl
from testbed.experiments.reproduce.cells import run_cells
from testbed.experiments.reproduce.rl import Row, cell
from tests.conftest import PROJECT

pytestmark = pytest.mark.xdist_group("reproduce")  # they share one reproduction


@pytest.fixture(scope="session")  # a module's would be made anew when another module's test comes between
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Path]:
    """One quick reproduction, as JSON."""
    out = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda *words, **more: printed.append(" ".join(map(str, words))))
        assert main(["reproduce", "rl", "--quick", "--json", "--out", str(out)]) == 0
    (document,) = printed
    return json.loads(document), next(out.glob("reproduce-rl-*"))


def test_every_cell_is_there_under_each_reading(quick):
    """Two tables of 24 cells, three readings, the paper's value and ours with its interval."""
    document, _ = quick
    assert document["paper"] == "rl"
    rows = document["rows"]
    assert len(rows) == 2 * 24 * 3
    keys = {(r["table"], r["algorithm"], r["reading"], r["mobility"], r["connectivity"], r["load"]) for r in rows}
    assert len(keys) == len(rows)
    assert all(row["measured"] > 0 and row["ci95"] is not None and row["paper"] > 0 for row in rows)
    assert not document["failures"]


def test_routing_is_charged(quick):
    """RL over the link layer and RR over its router, with all that goes over the air."""
    document, folder = quick
    charged = document["charged"]
    assert {row["algorithm"] for row in charged} == {"rl", "raymond-tree"}
    assert all(row["frames_per_cs"] > 0 and row["waiting_time"] > 0 for row in charged)
    assert "RL against RR with routing charged" in (folder / "report.md").read_text()


def test_the_readme_shows_the_command_tried_here():
    """`testbed reproduce rl --quick`, which the fixture runs."""
    assert "testbed reproduce rl --quick" in (PROJECT / "README.md").read_text()


def test_the_papers_values_are_the_papers():
    """A few cells against the printed tables."""
    assert rl.TABLES[1]["rl", "high"][0] == 75
    assert rl.TABLES[2]["rl", "low"] == (13, 17, 189, 180, 1900, 1825)
    assert rl.TABLES[1]["raymond-tree", "low"][5] == 35


def test_figures_and_report_are_written(quick):
    """Figures 5-8 in three formats and the report, with every axis labelled with its unit."""
    _, folder = quick
    for figure in (5, 6, 7, 8):
        for suffix in ("png", "svg", "pdf"):
            assert (folder / f"figure-{figure}-text.{suffix}").stat().st_size > 5_000
    report = (folder / "report.md").read_text()
    assert "Which reading agrees" in report
    assert "Run lengths, which the paper does not give" in report
    assert "800 (low load, high mobility, per-pair)" in report
    assert len(json.loads((folder / "figures.json").read_text())) > 100


def measured(algorithm: str, connectivity: float, rate: float, duration: float, warmup: float = 0.0):
    one = cell(algorithm, "text", "zero", connectivity, rate, duration, warmup)
    (point,), failures = run_cells([one], "", lambda share, what: None)
    assert not failures
    return point.mean("waiting_time"), point.mean("messages_per_cs")


@pytest.mark.parametrize(
    ("connectivity", "rate", "duration", "warmup", "waiting", "messages"),
    [
        (0.2, 1.0, 2000.0, 500.0, 85, 10),
        (0.8, 1.0, 2000.0, 500.0, 85, 27),
        (0.2, 1e-3, 15_000.0, 0.0, 7, 13),
        (0.8, 1e-3, 15_000.0, 0.0, 4, 17),
    ],
    ids=["high 20 %", "high 80 %", "low 20 %", "low 80 %"],
)
def test_static_cells_of_rl(connectivity, rate, duration, warmup, waiting, messages):
    """Within 10 % of the paper; high-load waiting at its steady state of 85."""
    found_waiting, found_messages = measured("rl", connectivity, rate, duration, warmup)
    assert found_waiting == pytest.approx(waiting, rel=0.1)
    assert found_messages == pytest.approx(messages, rel=0.1)


def test_short_runs_of_rl():
    """A run as short as the paper's seems to have been gives the paper's 75, ramp-up included."""
    assert measured("rl", 0.2, 1.0, rl.SHORT_RUN)[0] == pytest.approx(75, rel=0.1)


def test_raymond_on_a_clique_needs_four_messages():
    """Section 6.2: "approximately 4 messages per CS entry cited by Raymond at high load"."""
    assert measured("raymond-tree", 1.0, 1.0, 1500.0, 300.0)[1] == pytest.approx(4, rel=0.1)


def test_rl_waits_less_than_rr():
    """Section 6.1: RL has better waiting time than RR, at both connectivities."""
    for connectivity in (0.2, 0.8):
        assert measured("rl", connectivity, 1.0, 1000.0)[0] < measured("raymond-tree", connectivity, 1.0, 1000.0)[0]


def test_agreement_is_ten_per_cent_or_rounding():
    """What the report calls agreement."""
    row = Row(1, "rl", "text", "zero", 0.2, "low", 4, 4.45, 0.1, 100.0)
    assert row.agrees(0.10)
    assert not Row(1, "rl", "text", "zero", 0.2, "high", 75, 85, 0.1, 100.0).agrees(0.10)
