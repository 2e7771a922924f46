"""The claims of the RL paper: judged by intervals that shrink with the repetitions, and by judges that can fail."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random

import pytest

from testbed.experiments.grid import PointResult
from testbed.experiments.reproduce import rl_claims
from testbed.experiments.reproduce.cells import Cell, CellResult, run_cells
from testbed.experiments.reproduce.claims import FAILS, HOLDS, UNDECIDED, Bounds, Claim, Interval
from testbed.experiments.reproduce.rl_cells import (
    CONNECTIVITIES,
    HIGH,
    LOW,
    READINGS,
    RL,
    cell,
    charged_cells,
    figure_cells,
    long_cells,
    short_cells,
)
from testbed.experiments.reproduce.rl_claims import CLAIMS, claims_of
from testbed.experiments.reproduce.rl_measured import (
    MESSAGES,
    STATIC_SCOPE,
    WAITING,
    Measured,
    Place,
    every,
    rl_over_rr,
)
from testbed.experiments.reproduce.rl_trees import TREES, TreeCell, route_lengths, tree_cells

Model = Callable[[Cell, Random], float]


METRICS = (WAITING, MESSAGES, "frames_per_cs", "fairness")


def invented(cell: Cell, model: Model, repeat: int) -> CellResult:
    """A cell whose repetitions have values of a model; the draws of a repetition depend on the cell."""
    repetitions = []
    for number in range(repeat):
        rng = Random(f"{cell} {number}")
        metrics = {metric: model(cell, rng) for metric in METRICS}
        repetitions.append({"repetition": number, "metrics": metrics, "checks": {}})
    return CellResult(cell, PointResult(replace(cell, repeat=repeat).point(), repetitions))


def measured(model: Model, repeat: int) -> Measured:
    """The cells of `--quick` with values of a model."""
    groups = [
        [invented(cell, model, repeat) for cell in cells(True)]
        for cells in (figure_cells, charged_cells, short_cells, long_cells)
    ]
    return Measured(*groups, {connectivity: [1.5] * repeat for connectivity in CONNECTIVITIES})


def rl_is_better(cell: Cell, rng: Random) -> float:
    """RL has half of what RR has, with noise of a tenth."""
    return (40.0 if cell.algorithm == RL else 80.0) * rng.gauss(1.0, 0.1)


def rl_is_better_by_little(cell: Cell, rng: Random) -> float:
    """RL has 9 % less than RR, with noise of a tenth."""
    return (91.0 if cell.algorithm == RL else 100.0) * rng.gauss(1.0, 0.1)


def verdict_on(claims: list[Claim], start: str) -> str:
    (found,) = [claim.verdict for claim in claims if claim.claim.startswith(start)]
    return found


BETTER = "static: RL waits less than RR at every point"


def test_every_claim_has_points_and_the_papers_words():
    """With all points there is none that is not judged, and none without a value to judge."""
    claims = claims_of(measured(rl_is_better, 5))
    assert len(claims) == len(CLAIMS) > 80
    assert len({claim.claim for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.points, claim
        assert claim.paper
        assert "±" in claim.measured, claim
        assert claim.verdict in (HOLDS, FAILS, UNDECIDED), claim
        assert claim.as_dict()["points"][0]["ci95"] is not None


def test_a_single_repetition_decides_nothing():
    """Whatever was measured."""
    assert {claim.verdict for claim in claims_of(measured(rl_is_better, 1))} == {UNDECIDED}


def test_more_repetitions_leave_less_undecided():
    """A difference of 9 % under noise of 10 %: at 5, 20 and 80 repetitions fewer and fewer points are open."""
    undecided, widths = [], []
    for repeat in (5, 20, 80):
        found = measured(rl_is_better_by_little, repeat)
        (claim,) = [claim for claim in claims_of(found) if claim.claim.startswith(BETTER)]
        undecided.append(sum(point.verdict == UNDECIDED for point in claim.points))
        widths.append(max(point.ci95 or math.inf for point in claim.points))
    assert undecided[0] > undecided[1] > undecided[2] == 0
    assert widths[0] > widths[1] > widths[2]
    assert claim.verdict == HOLDS


def test_more_repetitions_of_real_runs_leave_less_undecided(tmp_path):
    """RL's messages against RR's where they are close: 20 %, low load, short runs."""
    cells = [cell(algorithm, "text", "zero", 0.2, LOW, 300.0, repeat=80) for algorithm in ("rl", "raymond-tree")]
    points, failures = run_cells(cells, "", tmp_path, lambda share, what: None)
    assert not failures
    widths = []
    for repeat in (5, 20, 80):
        shorter = [
            CellResult(point.cell, replace(point.result, point=replace(point.cell, repeat=repeat).point()))
            for point in points
        ]
        _, verdict, (point,) = every(
            "", rl_over_rr(Measured(shorter), WAITING, [Place(RL, "zero", 0.2, LOW)]), Bounds(high=1)
        )
        widths.append((point.ci95, verdict))
    assert widths[0][0] > widths[1][0] > widths[2][0]
    assert widths[2][1] == HOLDS


def test_the_sign_matters(monkeypatch: pytest.MonkeyPatch):
    """A judge with the algorithms swapped gives the other verdict on data that decide it."""
    found = measured(rl_is_better, 10)
    starts = [
        BETTER,
        *(f"{reading}: RL waits less than RR" for reading in READINGS),
        "with routing charged RL sends no",
    ]
    before = [verdict_on(claims_of(found), start) for start in starts]
    assert set(before) == {HOLDS}
    ratio = Measured.ratio

    def swapped(self: Measured, metric: str, place: Place, other: Place, table: str = "ideal") -> Interval:
        return ratio(self, metric, other, place, table)

    monkeypatch.setattr(Measured, "ratio", swapped)
    after = [verdict_on(claims_of(found), start) for start in starts]
    assert set(after) == {FAILS}


def test_every_claim_that_holds_fails_with_its_bounds_turned_round(monkeypatch: pytest.MonkeyPatch):
    """No verdict is independent of the bounds."""
    found = measured(rl_is_better, 10)
    before = {claim.claim: claim.verdict for claim in claims_of(found)}
    verdict = Bounds.verdict
    other = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}
    monkeypatch.setattr(Bounds, "verdict", lambda bounds, interval: other[verdict(bounds, interval)])
    after = {claim.claim: claim.verdict for claim in claims_of(found)}
    held = [claim for claim, one in before.items() if one == HOLDS]
    assert len(held) > 20
    # A claim on some point holds already if it holds at one, so turned round it may hold at another.
    assert all(after[claim] != HOLDS or "at some point" in claim for claim in held)


def test_a_trend_of_either_sign_is_told_from_none():
    """Messages that grow in a straight line with connectivity are linear; a step is not."""

    def line(cell: Cell, rng: Random) -> float:
        return 10 + 100 * cell.connectivity * rng.gauss(1.0, 0.01)

    def step(cell: Cell, rng: Random) -> float:
        return (10.0 if cell.connectivity < 0.5 else 100.0) * rng.gauss(1.0, 0.01)

    linear = "static: RL's messages at every connectivity are within 10% of the straight line"
    assert verdict_on(claims_of(measured(line, 5)), linear) == HOLDS
    assert verdict_on(claims_of(measured(step, 5)), linear) == FAILS


@pytest.mark.parametrize(
    ("over_ideal_routes", "charged", "verdict"),
    [(0.5, 0.5, HOLDS), (0.5, 2.0, FAILS), (1.02, 2.0, UNDECIDED), (0.98, 2.0, UNDECIDED), (1.02, 0.5, HOLDS)],
)
def test_where_it_is_open_who_is_better_over_ideal_routes(over_ideal_routes, charged, verdict):
    """A point is left out only if RR is better there by its interval: a mean of 1.02 is as open as one of 0.98."""

    def model(cell: Cell, rng: Random) -> float:
        share = charged if cell.links == "radio" else over_ideal_routes
        swing = (
            0.2 * (-1) ** (next(calls) // len(METRICS)) if abs(share - 1) < 0.1 else 0.0
        )  # from repetition to repetition
        return 100.0 * (share + swing if cell.algorithm == RL else 1.0)

    calls = count()
    claims = claims_of(measured(model, 6))
    assert verdict_on(claims, "with routing charged RL waits less than RR wherever") == verdict


def test_the_factor_of_six():
    """It is reached at some point and exceeded at none."""

    def at_most(factor: float) -> Model:
        def model(cell: Cell, rng: Random) -> float:
            high = cell.rate == HIGH and cell.mobility == "high"
            return 10 * rng.gauss(1, 0.01) * (1 if cell.algorithm == RL else factor if high else 2)

        return model

    verdicts = [verdict_on(claims_of(measured(at_most(one), 5)), "text: in Figure 5") for one in (3, 6, 9)]
    assert verdicts == [FAILS, HOLDS, FAILS]


def test_points_of_the_claims_are_those_of_the_scope():
    """Static claims see no mobile point, and the other way round."""
    found = measured(rl_is_better, 2)
    assert {place.mobility for place in found.all_points(STATIC_SCOPE)} == {"zero"}
    for scope in rl_claims.MOBILE_SCOPES:
        places = found.all_points(scope)
        assert {place.reading for place in places} == {scope.reading}
        assert {place.mobility for place in places} == {"low", "high"}


# -- RR's tree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", TREES)
def test_every_reading_of_the_tree_is_a_tree(tree):
    """Following the parents from any node ends at node 0; the same graph gives the same tree."""
    scenario = TreeCell("raymond-tree", 0.2, HIGH, 100.0, tree=tree).scenario()
    graph = {
        node: tuple(sorted({(node - 1) % 30, (node + 1) % 30, (node * 7 + 3) % 30} - {node})) for node in range(30)
    }
    graph = {node: tuple(peer for peer in graph if peer in graph[node] or node in graph[peer]) for node in graph}
    agent = scenario.algorithm.agent
    parents = agent.initial(graph, scenario.algorithm.parameters)
    assert parents == agent.initial(graph, scenario.algorithm.parameters)
    for node in range(30):
        for _ in range(30):
            node = parents[node]
        assert node == 0
    if tree in ("relabelled", "not permuted", "spanning tree", "depth-first"):
        assert all(node == 0 or parent in graph[node] for node, parent in enumerate(parents))


def test_the_reading_in_use_is_that_of_the_algorithm(tmp_path):
    """The first reading is what `raymond-tree` does, run for run."""
    length = {"duration": 500.0, "warmup": 0.0, "repeat": 2}
    tree = next(one for one in tree_cells(True) if one.rate == HIGH)
    plain = replace(cell("raymond-tree", "text", "zero", tree.connectivity, HIGH, 500.0), repeat=2)
    points, _ = run_cells([replace(tree, **length), plain], "", tmp_path, lambda share, what: None)
    assert points[0].result.values(WAITING) == points[1].result.values(WAITING)


def test_routes_are_longer_where_links_are_fewer():
    """On a complete graph every route is one link."""
    assert route_lengths(1.0, 2) == [1.0, 1.0]
    sparse, dense = (sum(route_lengths(connectivity, 5)) / 5 for connectivity in CONNECTIVITIES)
    assert 1.0 < dense < sparse
