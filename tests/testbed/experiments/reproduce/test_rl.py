"""`testbed reproduce rl`: the whole table is there, and static cells agree with the paper."""

import json
from pathlib import Path

import pytest

from testbed.experiments.reproduce import rl
from testbed.experiments.reproduce.cells import run_cells
from testbed.experiments.reproduce.claims import UNDECIDED
from testbed.experiments.reproduce.rl import TableRow
from testbed.experiments.reproduce.rl_cells import LOADS, READINGS, SHORT_RUN, cell
from testbed.experiments.reproduce.rl_claims import CLAIMS
from testbed.experiments.reproduce.rl_trees import TREES
from tests.testbed.experiments.reproduce.shortened import Shortened, check_figures, reproduce

pytestmark = pytest.mark.xdist_group("reproduce")  # they share one reproduction


@pytest.fixture(scope="session")  # a fixture of the module would be made again if tests of other modules came between
def quick(tmp_path_factory: pytest.TempPathFactory) -> Shortened:
    """`testbed reproduce rl --quick`, shortened."""
    return reproduce("rl", tmp_path_factory.mktemp("reproduce"))


def test_every_cell_is_there_under_each_reading(quick):
    """Two tables of 24 cells, three readings, the paper's value and ours with its interval."""
    assert quick.document["paper"] == "rl"
    rows = quick.document["rows"]
    assert len(rows) == 2 * 24 * 3
    keys = {(r["table"], r["algorithm"], r["reading"], r["mobility"], r["connectivity"], r["load"]) for r in rows}
    assert len(keys) == len(rows)
    assert all(row["measured"] > 0 and row["ci95"] is not None and row["paper"] > 0 for row in rows)
    assert not quick.document["failures"]


def test_claims_are_judged(quick):
    """Every claim is printed and in the JSON, with its points; what is judged by one repetition only is undecided."""
    claims = quick.document["claims"]
    assert len(claims) == len(CLAIMS)
    for claim in claims:
        assert claim["measured"] in quick.printed
        assert claim["points"] or claim["verdict"] == "not judged", claim
        assert all(point["verdict"] == UNDECIDED for point in claim["points"] if point["ci95"] is None)
    counts = {verdict: sum(one["verdict"] == verdict for one in claims) for verdict in {c["verdict"] for c in claims}}
    for verdict, count in counts.items():
        assert f"{count} of {len(claims)} {verdict}\n" in quick.printed


def test_thinning_is_shown_at_two_lengths(quick):
    """The mobile cells of both tables, each with its run length."""
    long = {
        (r["table"], r["algorithm"], r["mobility"], r["connectivity"], r["load"]): r
        for r in quick.document["long_runs"]
    }
    usual = [row for row in quick.document["rows"] if row["reading"] == "thinning" and row["mobility"] != "zero"]
    assert len(long) == len(usual) == 2 * 16
    for row in usual:
        other = long[row["table"], row["algorithm"], row["mobility"], row["connectivity"], row["load"]]
        assert other["duration"] > row["duration"]
        assert other["paper"] == row["paper"]
    assert "## The reading `thinning` at two lengths\n" in quick.printed


def test_other_readings_of_the_tree_are_listed(quick):
    """Four static cells of RR in each table, under every reading of its tree."""
    rows = quick.document["trees"]
    assert {row["tree"] for row in rows} == set(TREES)
    assert len(rows) == len(TREES) * 2 * 4
    for reading in TREES.values():
        assert f"| {reading.words} " in quick.printed


def test_routing_is_charged(quick):
    """RL over the link layer and RR over its router, with all frames on the air; the report has a line for each."""
    charged = quick.document["charged"]
    assert {row["algorithm"] for row in charged} == {"rl", "raymond-tree"}
    assert {(row["mobility"], row["connectivity"]) for row in charged} >= {("low", 0.8), ("high", 0.8), ("low", 0.2)}
    assert all(row["frames_per_cs"] > 0 and row["waiting_time"] > 0 for row in charged)
    _, _, section = quick.printed.partition("## RL against RR with routing charged\n")
    for row in charged:
        shown = f"{row['waiting_time']:.4g}", f"{row['frames_per_cs']:.4g}"
        assert any(all(value in line for value in shown) for line in section.splitlines()), row


def test_the_report_is_printed_and_kept(quick):
    """With the run lengths, which the paper does not give, and how many cells agree under each reading."""
    assert quick.printed == f"{(quick.folder / 'report.md').read_text()}\ndirectory: {quick.folder}\n"
    assert "- 800, 2 repetitions: low load, high mobility, per-pair\n" in quick.printed
    assert "- 600 of which 150 do not count, 3 repetitions: high load, zero mobility; " in quick.printed
    for reading in READINGS:
        rows = [TableRow(**{key: one[key] for key in one if key != "ratio"}) for one in quick.document["rows"]]
        mobile = [row for row in rows if (row.reading, row.algorithm) == (reading, "rl") and row.mobility != "zero"]
        agreeing = sum(row.agrees(rl.AGREES) for row in mobile)
        assert f"- {reading}: {agreeing} of {len(mobile)} mobile cells of RL agree\n" in quick.printed


def test_figures(quick):
    """Figures 5-8 under three readings, and the data of their points."""
    check_figures(quick, {f"figure-{figure}-{reading}" for figure in (5, 6, 7, 8) for reading in READINGS})
    records = json.loads((quick.folder / "figures.json").read_text())
    assert len(records) > 100
    assert {record["algorithm"] for record in records} == {"RL", "RR"}


def measured(algorithm: str, connectivity: float, rate: float, duration: float, warmup: float = 0.0):
    one = cell(algorithm, "text", "zero", connectivity, rate, duration, warmup)
    (point,), failures = run_cells([one], "", Path(), lambda share, what: None)
    assert not failures
    return point.mean("waiting_time"), point.mean("messages_per_cs")


@pytest.mark.parametrize("column", [0, 1], ids=["20 %", "80 %"])
@pytest.mark.parametrize(
    ("load", "duration", "warmup", "waiting"), [("high", 2000.0, 500.0, 85), ("low", 15_000.0, 0.0, None)]
)
def test_static_cells_of_rl(column, load, duration, warmup, waiting):
    """Within 10 % of the paper's tables; high-load waiting at its steady state of 85."""
    found = measured("rl", rl.CONNECTIVITIES[column], LOADS[load], duration, warmup)
    assert found[0] == pytest.approx(waiting or rl.TABLES[1]["rl", load][column], rel=0.1)
    assert found[1] == pytest.approx(rl.TABLES[2]["rl", load][column], rel=0.1)


def test_short_runs_of_rl():
    """A run as short as the paper's seems to have been gives the paper's value, ramp-up included."""
    assert measured("rl", 0.2, 1.0, SHORT_RUN)[0] == pytest.approx(rl.TABLES[1]["rl", "high"][0], rel=0.1)


def test_raymond_on_a_clique_needs_four_messages():
    """Section 6.2: "approximately 4 messages per CS entry cited by Raymond at high load"."""
    assert measured("raymond-tree", 1.0, 1.0, 1500.0, 300.0)[1] == pytest.approx(4, rel=0.1)


def test_rl_waits_less_than_rr():
    """Section 6.1: RL has better waiting time than RR, at both connectivities."""
    for connectivity in (0.2, 0.8):
        assert measured("rl", connectivity, 1.0, 1000.0)[0] < measured("raymond-tree", connectivity, 1.0, 1000.0)[0]


def test_agreement_is_ten_per_cent_or_rounding():
    """What the report calls agreement."""
    row = TableRow(1, "rl", "text", "zero", 0.2, "low", 4, 4.45, 0.1, 100.0)
    assert row.agrees(0.10)
    assert not TableRow(1, "rl", "text", "zero", 0.2, "high", 75, 85, 0.1, 100.0).agrees(0.10)
