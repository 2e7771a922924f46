"""`testbed reproduce hk`: every claim is there, and judged by what was measured."""

import pytest

from testbed.experiments.grid import PointResult
from testbed.experiments.reproduce.claims import HOLDS, NOT_JUDGED, UNDECIDED
from testbed.experiments.reproduce.hk import render
from testbed.experiments.reproduce.hk_cells import AGINGS, FIFO, THINK, HKCell, Measured, cells
from testbed.experiments.reproduce.hk_claims import CLAIMS, claims_of
from tests.testbed.experiments.reproduce.shortened import Shortened, reproduce

pytestmark = pytest.mark.xdist_group("reproduce hk")  # they share one reproduction


@pytest.fixture(scope="session")  # a fixture of the module would be made again if tests of other modules came between
def quick(tmp_path_factory: pytest.TempPathFactory) -> Shortened:
    """`testbed reproduce hk --quick`, as it is: it takes seconds."""
    return reproduce("hk", tmp_path_factory.mktemp("reproduce"))


def verdicts(claims: list[dict]) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in claims}


def test_the_whole_thing():
    """The introduction, 100 bursts, a star for every aging, five loads, static and mobile, beside KRL and RL."""
    every = cells(quick=False)
    assert len({(cell.experiment, cell.series, cell.x) for cell in every}) == len(every), "no point twice"
    assert {cell.repeat for cell in every if cell.experiment == "bursts"} == {100}
    assert [cell.series for cell in every if cell.experiment == "star"] == list(AGINGS)
    for network in ("static", "mobile"):
        for experiment in ("load", "deadlines"):
            assert {cell.x for cell in every if cell.experiment == f"{experiment}, {network}"} == set(THINK)
    mobile = [cell.scenario().topology for cell in every if cell.experiment.endswith("mobile")]
    assert all(topology.link_change_rate > 0 and topology.max_lag is not None for topology in mobile)
    assert {cell.series for cell in every if cell.experiment.endswith("h = 1")} == {
        "hk",
        FIFO,
        "krl",
        "krlf",
        "rl",
    }


def test_claims_have_verdicts(quick):
    """The exact ones, and those that are far from their bounds, are decided even by a quick run."""
    claims = quick.document["claims"]
    assert len(claims) == len(CLAIMS)
    found = verdicts(claims)
    for start, verdict in {
        "in the example hk lets b and c in at 12 and 14": "holds",
        "in the example hk-fifo lets a in at 103": "holds",
        "no run has more than k units in use": "holds",
        "a burst of requests": "holds",
        "under load no node enters": "DOES NOT HOLD",
        "aging exit (as printed)": "DOES NOT HOLD",
        "aging entry (the default)": "holds",
        "aging stamp": "holds",
        "with link changes": "holds",
    }.items():
        (claim,) = [claim for claim in found if claim.startswith(start)]
        assert found[claim] == verdict, claim
    assert quick.document["failures"] == []


def test_figures_and_report(quick):
    """Deadlines, concurrency and messages, static and mobile, and the generalisation."""
    names = {"deadlines-missed", "idle-though-fitting", "messages"}
    names |= {f"generalisation-{metric}" for metric in ("waiting_time", "messages_per_cs")}
    assert set(quick.figures) == names
    assert quick.printed == f"{(quick.folder / 'report.md').read_text()}\ndirectory: {quick.folder}\n"
    for claim in quick.document["claims"]:
        (line,) = [line for line in quick.printed.splitlines() if line.startswith(f"| {claim['claim']} ")]
        assert line.endswith(f" {claim['verdict']} |")


def invented(metrics_of, repeat: int = 2) -> Measured:
    """All points, with made-up values that are the same in every repetition."""
    every = cells(quick=False)
    results = []
    for cell in every:
        metrics = {"waiting_time": {"mean": metrics_of(cell, "waiting_time")}}
        names = ("longest_wait", "messages_per_cs", "nodes_inside", "idle_though_fitting", "inversions_per_cs",
                 "deadlines_missed", "utilisation", "inversions_after_grace_per_cs")  # fmt: skip
        metrics |= {name: metrics_of(cell, name) for name in names}
        checks = {
            name: {"verdict": "ok", "detail": "", "offenders": []} for name in ("safety", "conservation", "order")
        }
        one = {"metrics": metrics, "checks": checks}
        results.append(PointResult(cell.point(), [{**one, "repetition": number} for number in range(repeat)]))
    return Measured(every, results)


def as_claimed(cell: HKCell, metric: str) -> float:
    is_fifo = cell.series == FIFO
    if cell.experiment == "introduction":
        waits = (2, 98, 104, 106) if is_fifo else (2, 98, 2, 4)
        return max(waits) if metric == "longest_wait" else sum(waits) / 4
    if cell.experiment.endswith("h = 1"):
        return 10.0
    better = {"nodes_inside": 2.0, "idle_though_fitting": 0.1, "messages_per_cs": 5.0, "deadlines_missed": 0.1}
    worse = {"nodes_inside": 1.0, "idle_though_fitting": 0.2, "messages_per_cs": 9.0, "deadlines_missed": 0.3}
    default = {"longest_wait": 50.0, "inversions_per_cs": 0.0}.get(metric, 1.0)
    return (worse if is_fifo else better).get(metric, default)


def test_measurements_as_the_paper_claims():
    """Every claim holds."""
    assert [one.claim for one in claims_of(invented(as_claimed)) if not one.holds] == []


def test_measurements_opposite_to_the_paper():
    """No claim holds, but that on safety, which is judged by the checks."""

    def opposite(cell: HKCell, metric: str) -> float:
        is_fifo = cell.series == FIFO
        if cell.experiment.endswith("h = 1"):
            return 10.0 if cell.series == "hk" else 100.0
        better = {"nodes_inside": 1.0, "idle_though_fitting": 0.2, "messages_per_cs": 9.0, "deadlines_missed": 0.3}
        worse = {"nodes_inside": 2.0, "idle_though_fitting": 0.1, "messages_per_cs": 5.0, "deadlines_missed": 0.1}
        default = {"longest_wait": 5000.0, "inversions_per_cs": 1.0}.get(metric, 1.0)
        return (worse if is_fifo else better).get(metric, default)

    holds = [one.claim for one in claims_of(invented(opposite)) if one.holds]
    assert holds == [
        "no run has more than k units in use, and none loses a unit",
        "with link changes, and links that break under messages, the checks of safety, conservation and order pass",
    ]


def test_one_repetition_decides_nothing():
    """But what must be so in every run: the example, the checks, and that nothing happens out of order."""
    claims = claims_of(invented(as_claimed, repeat=1))
    exact = ("in the example", "no run", "a burst of requests", "under load no node", "with link changes")
    assert {claim.verdict for claim in claims if claim.claim.startswith(exact)} == {HOLDS}
    assert {claim.verdict for claim in claims if not claim.claim.startswith(exact)} == {UNDECIDED}


def test_without_results():
    """Points without any result are said to be missing; the report can still be written."""
    nothing = invented(as_claimed, repeat=0)
    claims = claims_of(nothing)
    assert {claim.verdict for claim in claims} == {NOT_JUDGED, UNDECIDED}
    assert render(nothing, claims)


def test_figures_have_both_panels(quick):
    """With units on the axes."""
    for figure in quick.figures.values():
        assert figure.x_label.endswith(")")
        assert figure.y_label.endswith(")")
        assert {record[figure.panel] for record in figure.records} == set(figure.panels)
        assert len({record["series"] for record in figure.records}) >= 3
