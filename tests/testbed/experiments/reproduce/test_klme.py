"""`testbed reproduce klme`: Table 1, section 5, and every claim, judged by what was measured."""

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest

from analysis import plots
from testbed.cli.main import main
from testbed.experiments.grid import Point, PointResult, run_points
from testbed.experiments.reproduce import klme_costs as costs
from testbed.experiments.reproduce.claims import FAILS, HOLDS, NOT_JUDGED
from testbed.experiments.reproduce.klme import render
from testbed.experiments.reproduce.klme_cells import (
    CHURN,
    FIGURE_2,
    FIGURE_3,
    FOUR,
    GROUPS,
    HEAVY,
    HELD,
    INDEPENDENT,
    KS,
    LIGHT,
    LOADS,
    MEDIUM,
    NODES,
    ONE,
    SATURATED,
    WITH_7,
    WITHOUT_7,
    KLMECell,
    Measured,
    cells,
)
from testbed.experiments.reproduce.klme_claims import CLAIMS, Found, claims_of
from testbed.experiments.reproduce.klme_steps import Steps
from testbed.experiments.reproduce.klme_table import COLUMNS, LEADER, PAPER, illustrate
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario
from tests.testbed.experiments.reproduce.shortened import Shortened, check_figures

pytestmark = pytest.mark.xdist_group("reproduce klme")  # they share one reproduction

SHARE = 0.25
"""How long the runs of the figures are, compared with those of `--quick`."""
PROJECT = Path(__file__).parents[4]


@pytest.fixture(scope="session")  # a fixture of the module would be made again if tests of other modules came between
def quick(tmp_path_factory: pytest.TempPathFactory) -> Shortened:
    """`testbed reproduce klme --quick`, with shorter runs and only one figure drawn."""
    out = tmp_path_factory.mktemp("reproduce")
    full, draw, figures, printed = KLMECell.scenario, plots.draw_panels, {}, io.StringIO()

    def shorter(cell: KLMECell) -> Scenario:
        is_figure = cell.experiment in (FIGURE_2, FIGURE_3)
        return full(replace(cell, length=SHARE * cell.length) if is_figure else replace(cell, repeat=2))

    def note(figure: plots.Panels, path: Path) -> list[Path]:
        figures[path.name] = figure
        return draw(figure, path) if len(figures) == 1 else []

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(KLMECell, "scenario", shorter)
        patch.setattr(plots, "draw_panels", note)
        assert main(["reproduce", "klme", "--quick", "--out", str(out)]) == 0
    (folder,) = out.glob("reproduce-*")
    return Shortened(printed.getvalue(), json.loads((folder / "rows.json").read_text()), folder, figures)


# -- Table 1 -----------------------------------------------------------------------------------------------------------


def test_table_1():
    """Steps a to h: all columns come out but Node_Req_List, which has requests that no message carries."""
    table = illustrate()
    assert [row.step for row in PAPER] == list("abcdefgh") == list(table.messages)
    assert len(table.cells) == len(PAPER) * len(COLUMNS)
    assert {cell.column for cell in table.differences()} == {"Node_Req_List"}
    assert [cell.step for cell in table.differences()] == list("bcdefgh")
    assert all(cell.why for cell in table.differences())


def test_differences_in_table_1():
    """What nodes know is never more than the paper prints; the leader knows what it prints."""
    for cell in illustrate().differences():
        pairs = list(zip(cell.paper.split(), cell.here.split(), strict=True))
        assert all(theirs >= ours for paper, here in pairs for theirs, ours in zip(paper, here, strict=True))
        row = next(row for row in PAPER if row.step == cell.step)
        leader = row.nodes.index(int(row.leaders[0]))
        assert pairs[leader][0] == pairs[leader][1]


def test_messages_of_table_1():
    """As the steps are described in section 3.5, but Token before Leader_info, and Req_ack for every request."""
    messages = illustrate().messages
    assert messages["b"] == ["ReqCS 3 to 2", "ReqAck 2 to 3", "Token 2 to 3", "LeaderInfo 2 to 1 3 4"]
    assert messages["d"] == ["IAmHere 5 to 1 2 3 4", "LeaderInfo 3 to 5"]
    assert messages["f"] == ["IAmLeaving 4 to 1 2 3 5"]
    assert LEADER == 2


def test_a_node_that_leaves_gets_no_more_messages():
    """What is on its way to it is lost, and the others go on."""
    steps = Steps(3, 1, leader=0)
    steps.settle()
    steps.request(0)
    steps.request(1)
    steps.depart(1)  # Req_CS and I_am_leaving are on their way, Req_ack comes too late
    steps.settle()
    assert sorted(steps.agents) == [0, 2]
    steps.leave_cs(0)
    steps.request(2)
    steps.settle()
    assert [node for _, node in steps.entries] == [0, 2]


# -- section 5 ---------------------------------------------------------------------------------------------------------


def test_costs_of_section_5():
    """As printed: 0, 3 (4 if every request is acknowledged), n + 2, 2 T, T and 2 T."""
    assert costs.holder_messages() == 0
    assert [costs.best_messages(ack) for ack in ("queued", "always")] == [3, 4]
    assert [costs.worst_messages(nodes) for nodes in (3, 8)] == [5, 10]
    assert costs.response_time() == 2
    assert [costs.synchronization_delay(leaves) for leaves in (0, 1)] == [1, 2]


def test_requests_that_cost_more():
    """Req_CS and Release are repeated to every new leader, so n + 2 is no bound."""
    dearest = costs.dearest_request(5, 500)
    assert dearest.total() > 7
    assert dearest["Release"] > 1


def test_best_case_in_the_simulator():
    """The scenario has the same costs as the steps: 3 messages for one of two entries, and 2 hops of 0.1."""
    scenario = load(PROJECT / "scenarios/papers/klme-best-case.yaml")
    (result,) = run_points([Point("best case", scenario)], "", Path())
    assert 2 * result.mean("messages_per_cs") == costs.best_messages("queued")
    assert 2 * result.mean("waiting_time") == pytest.approx(0.1 * costs.response_time())


# -- an independent implementation -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def saturated() -> dict[bool, PointResult]:
    """scenarios/papers/klme-saturated.yaml, with section 7 and without it."""
    data = load(PROJECT / "scenarios/papers/klme-saturated.yaml").model_dump()
    points = []
    for recover in (False, True):
        changes = {"algorithm": {**data["algorithm"], "recover": recover}, "trace": "metrics"}
        points.append(Point(f"recover {recover}", Scenario.model_validate({**data, **changes})))
    return dict(zip((False, True), run_points(points, "", Path()), strict=True))


@pytest.mark.parametrize(
    ("recover", "metric", "expected", "share"),
    [
        (False, "messages_per_cs", 13.5, 0.05),
        (False, "transmissions_per_cs", 4.12, 0.02),
        (True, "messages_per_cs", 14.2, 0.05),
        (True, "transmissions_per_cs", 4.47, 0.02),
        (False, "waiting_time", 4.5, 0.05),
        (True, "waiting_time", 4.5, 0.05),
    ],
)
def test_values_of_an_independent_implementation(saturated, recover, metric, expected, share):
    """30 nodes, k = 3, thinking 0.125 s, critical sections of 0.5 s, 5 to 15 ms a message, 150 s, 8 seeds."""
    assert saturated[recover].mean(metric) == pytest.approx(expected, rel=share)
    assert INDEPENDENT[WITH_7 if recover else WITHOUT_7][metric] == expected, "what the report shows"


def test_the_reproduction_has_that_point():
    """With and without section 7, it is the scenario file."""
    scenario = load(PROJECT / "scenarios/papers/klme-saturated.yaml")
    mine = [cell.scenario() for cell in cells(quick=False) if cell.experiment == SATURATED and cell.variant == WITH_7]
    same = ("algorithm", "nodes", "topology", "delays", "workload", "duration", "repeat", "warmup", "seed", "drain")
    for key in same:
        assert getattr(mine[0], key) == getattr(scenario, key), key
    assert mine[0].churn.groups == scenario.churn.groups == 1
    assert mine[0].churn.departures == scenario.churn.departures == 0


# -- the figures and the claims ----------------------------------------------------------------------------------------


def test_the_whole_thing():
    """n from 20 to 100, k from 2 to 5, three loads, one neighbourhood and four; and three rates of churn."""
    every = cells(quick=False)
    assert len(set(every)) == len(every), "no point twice"
    of_2, of_3 = ([cell for cell in every if cell.experiment == figure] for figure in (FIGURE_2, FIGURE_3))
    assert len(of_2) == 2 * len(LOADS) * len(KS) * len(NODES)
    assert {cell.scenario().workload.contention for cell in of_2} == {0.02, 0.5, 0.98}
    assert {(cell.network, cell.scenario().churn.groups) for cell in every} == set(GROUPS.items())
    assert {(cell.k, cell.load) for cell in of_3} == {(5, MEDIUM)}
    assert {cell.scenario().churn.departures for cell in of_3} == {CHURN[churn] for churn in (LIGHT, MEDIUM, HEAVY)}
    assert {cell.nodes for cell in of_3} == set(NODES)


def test_units_that_are_held():
    """k - 1 nodes are inside from the start to the end, with the leader among them and without it."""
    held = [cell.scenario().workload for cell in cells(quick=False) if cell.experiment == HELD]
    assert [sum(one.cs_time == 200 for one in workload.requests) for workload in held] == [1, 1, 2, 2, 3, 3, 4, 4]
    for workload in held:
        assert all(workload.rate[one.node] == 0 for one in workload.requests)


def test_claims_have_verdicts(quick):
    """The exact ones, and those that are far from their bounds, are decided even by a short run."""
    claims = quick.document["claims"]
    assert len(claims) == len(CLAIMS)
    found = {claim["claim"]: claim["verdict"] for claim in claims}
    for start, verdict in {
        "all cells of Table 1": HOLDS,
        "all cells of the column Node_Req_List": FAILS,
        "in no run more than k nodes": HOLDS,
        "in every run that ends with a drain": HOLDS,
        "a token holder enters": HOLDS,
        "in the best case a critical section takes three messages, with Req_ack only": HOLDS,
        "in the best case a critical section takes three messages, with Req_ack always": FAILS,
        "a request that comes to every other node after": HOLDS,
        "no request takes more than n + 2": FAILS,
        "a request to an idle token holder": HOLDS,
        "when the token holder leaves": HOLDS,
        "when another node leaves": HOLDS,
        "messages per CS, as transmissions, are between n/4 and n/2 at every point of Figure 2, in one": FAILS,
        "medium and heavy churn take as many messages per CS as light churn within 10%, per receiver, in one": FAILS,
    }.items():
        (claim,) = [claim for claim in found if claim.startswith(start)]
        assert found[claim] == verdict, claim
    assert quick.document["failures"] == []


def test_figures_and_report(quick):
    """Messages, transmissions and waiting of both figures; the report has every claim with its verdict."""
    shown = ("messages", "transmissions", "waiting")
    names = {f"figure-2-{what}-{network}" for what in shown for network in (ONE, FOUR)}
    check_figures(quick, names | {f"figure-3-{what}" for what in shown}, lines="series")
    assert quick.printed == f"{(quick.folder / 'report.md').read_text()}\ndirectory: {quick.folder}\n"
    for claim in quick.document["claims"]:
        (line,) = [line for line in quick.printed.splitlines() if line.startswith(f"| {claim['claim']} ")]
        assert line.endswith(f" {claim['verdict']} |")
    tables = [part for part in quick.printed.split("\n## ") if part.startswith("Figure")]
    assert all("5 to 15 ms" in part and "s from the start" in part for part in tables), "what the paper leaves open"


def invented(metrics_of, repeat: int = 2, verdict: str = "ok") -> Found:
    """All points, with made-up values that are the same in every repetition."""
    every, results = cells(quick=False), []
    for cell in every:
        messages = metrics_of(cell, "messages_per_cs")
        metrics = {
            "waiting_time": {"mean": metrics_of(cell, "waiting_time")},
            "messages_per_cs": messages,
            "transmissions_per_cs": metrics_of(cell, "transmissions_per_cs"),
            "messages_per_cs_by_type": {"ReqCS": messages},
            "longest_wait": metrics_of(cell, "longest_wait"),
            "entries": 100,
            "abandoned": 0,
        }
        checks = {
            name: {"verdict": verdict, "detail": "", "offenders": []}
            for name in ("safety", "conservation", "starvation")
        }
        one = {"metrics": metrics, "checks": checks}
        results.append(PointResult(cell.point(), [{**one, "repetition": number} for number in range(repeat)]))
    return Found(Measured(every, results), illustrate())


EXACT = {
    "all cells of the column Node_Req_List of Table 1 come out",
    "in the best case a critical section takes three messages, with Req_ack always, as event C has it (`ack: always`)",
    "no request takes more than n + 2 messages",
}
"""Claims that do not hold whatever the simulations measure."""


def as_claimed(cell: KLMECell, metric: str) -> float:
    """Values with which the paper would be right: n/4 to n/2, fewer with more units, little waiting."""
    if metric == "waiting_time":
        falls = -0.01 if cell.load in (LIGHT, MEDIUM) else 0.01
        waiting = 2.0 + falls * cell.nodes + {2: 0.6, 3: 0.4, 4: 0.2, 5: 0.0}[cell.k]
        return 1.0 + (cell.churn == LIGHT) if cell.experiment == FIGURE_3 else waiting
    if metric == "longest_wait":
        return 10.0
    if cell.experiment == FIGURE_3:
        return 20.0
    return cell.nodes * (0.26 if cell.load == LIGHT else {2: 0.45, 3: 0.4, 4: 0.35, 5: 0.3}[cell.k])


def test_measurements_as_the_paper_claims():
    """Every claim of the figures holds, but the reference, which is not the paper's."""
    failing = {one.claim for one in claims_of(invented(as_claimed)) if not one.holds}
    (reference,) = [claim for claim in failing - EXACT if claim.startswith("under heavy load messages per CS are n/k")]
    assert failing == EXACT | {reference}


def test_the_reference_for_saturation():
    """It holds for what it says."""

    def saturated(cell: KLMECell, metric: str) -> float:
        return cell.nodes / cell.k + 4 - 1 / cell.k

    (claim,) = [one for one in claims_of(invented(saturated)) if "n/k" in one.claim]
    assert claim.holds


def test_measurements_opposite_to_the_paper():
    """No claim of the figures holds, nor those that the checks judge."""

    def opposite(cell: KLMECell, metric: str) -> float:
        if metric == "longest_wait":
            return 150.0
        if metric == "waiting_time":
            more_nodes = -0.1 if cell.load == HEAVY else 0.1
            waiting = 30.0 + more_nodes * cell.nodes + cell.k
            return cell.nodes * (1 + CHURN[cell.churn]) if cell.experiment == FIGURE_3 else waiting
        steep = {LIGHT: 2.0, MEDIUM: 10.0, HEAVY: 2.0}[cell.load]
        per_unit = cell.k if cell.load == LIGHT else 1
        return cell.nodes * steep * per_unit + 1000 * CHURN[cell.churn] * (cell.experiment == FIGURE_3)

    claims = claims_of(invented(opposite, verdict="failed"))
    start = next(number for number, one in enumerate(claims) if one.claim.startswith("messages per CS, per receiver"))
    assert [one.claim for one in claims[start:] if one.holds is not False] == []
    correctness = [one for one in claims if one.claim.startswith(("in no run", "in every run", "with k - 1 units"))]
    assert [one.holds for one in correctness] == [False] * 3


def test_without_results():
    """Points without any result are said to be missing; the report can still be written."""
    nothing = invented(as_claimed, repeat=0)
    claims = claims_of(nothing)
    assert NOT_JUDGED in {claim.verdict for claim in claims}
    assert render(nothing, claims)


def test_too_few_repetitions_decide_nothing():
    """One repetition has no interval."""
    claims = claims_of(invented(as_claimed, repeat=1))
    first = next(number for number, one in enumerate(claims) if one.claim.startswith("messages per CS, per receiver"))
    assert {one.verdict for one in claims[first:]} == {"undecided"}


@pytest.mark.parametrize("verdict", ["not checked", "inconclusive"])
def test_checks_that_were_not_made_decide_nothing(verdict):
    """Only a check that failed is against the paper."""
    claims = [one for one in claims_of(invented(as_claimed, verdict=verdict)) if one.claim.startswith("in no run")]
    assert [one.verdict for one in claims] == ["undecided"]
