"""`testbed reproduce bv`: every figure and every claim is there, and a claim is judged by what was measured."""

import pytest

from testbed.experiments.grid import PointResult
from testbed.experiments.reproduce.bv import LOADS, cells, render
from testbed.experiments.reproduce.bv_cells import (
    BOTH,
    COMPARED,
    LAST_SEEN,
    LESS_PROCESSING,
    LONG_CS,
    MAKKI,
    NAIMI_TREHEL,
    NO_PROCESSING,
    PROCESSING,
    RANDOM,
    RAYMOND,
    SRIMANI,
    BVCell,
    Measured,
)
from testbed.experiments.reproduce.bv_claims import CLAIMS, claims_of
from testbed.experiments.reproduce.claims import NOT_JUDGED, UNDECIDED
from tests.testbed.experiments.reproduce.shortened import Shortened, check_figures, reproduce

pytestmark = pytest.mark.xdist_group("reproduce bv")  # they share one reproduction


@pytest.fixture(scope="session")  # a fixture of the module would be made again if tests of other modules came between
def quick(tmp_path_factory: pytest.TempPathFactory) -> Shortened:
    """`testbed reproduce bv --quick`, shortened."""
    return reproduce("bv", tmp_path_factory.mktemp("reproduce"))


def test_the_whole_thing_is_what_the_paper_ran():
    """N = 30, K = 3; the three kinds of times and both lengths of the CS; 5,000 entries; loads from 0.01 to 1."""
    every = cells(quick=False)
    assert len({cell.place for cell in every}) == len(every), "no point twice"
    assert {cell.setting for cell in every} == {PROCESSING, NO_PROCESSING, LESS_PROCESSING, LONG_CS}
    assert {(cell.entries, cell.repeat) for cell in every} == {(5000, 5)}
    for series in COMPARED:
        assert {cell.rate for cell in every if cell.series == series} == set(LOADS)
    assert (LOADS[0], LOADS[-1]) == (0.01, 1.0)
    for series in BOTH:
        at_usual = [cell for cell in every if (cell.series, cell.setting, cell.k) == (series, PROCESSING, 3)]
        for v in (0, 1, 2, 4):
            assert {cell.rate for cell in at_usual if cell.v == v and not cell.clusters} == set(LOADS)
    scenario = BVCell(MAKKI, 0.1).scenario()
    assert (scenario.nodes, scenario.entries, scenario.algorithm.parameters.k) == (30, 5000, 3)
    assert scenario.algorithm.parameters.window == 2 * 0.8, "2 T_t"
    divided = BVCell(LAST_SEEN, 0.1, clusters=3).scenario()
    assert (divided.clusters, divided.algorithm.parameters.k) == (3, 1)


def test_every_point_is_there(quick):
    """With intervals and what was run; the verdicts of all checks are ok."""
    rows = quick.document["rows"]
    assert {row["metric"] for row in rows} >= {"waiting_time", "messages_per_cs", "words_per_message", "words_per_cs"}
    assert len(rows) == len(cells(quick=True)) * len({row["metric"] for row in rows})
    assert all(row["measured"] > 0 and row["ci95"] is not None for row in rows)
    assert quick.document["failures"] == []


def test_claims_have_verdicts(quick):
    """Those that no length of run changes are decided even here."""
    claims = quick.document["claims"]
    assert len(claims) == len(CLAIMS)
    verdicts = {claim["claim"]: claim["verdict"] for claim in claims}
    (raymond,) = [claim for claim in verdicts if claim.startswith("Raymond's messages are between 2N - K - 1 = 56")]
    assert verdicts[raymond] == "holds"
    assert verdicts["at a load of 1 the last-seen token takes fewer messages than a random one"] == "holds"
    assert verdicts["at a load of 1 the messages of BV, random have 9 words, within 10%"] == "DOES NOT HOLD"
    assert verdicts["in 3 clusters Raymond sends fewer messages than in one system, at every load"] == "holds"


def test_figures_and_report(quick):
    """Figures 3-5, what the paper leaves out, and the verdict on every claim."""
    names = {"figure-3", "figure-4", "figure-5", "words-per-entry"}
    names |= {f"{what}-{metric}" for what in ("informs", "clusters") for metric in ("waiting_time", "messages_per_cs")}
    check_figures(quick, names, lines="series")
    assert quick.printed == f"{(quick.folder / 'report.md').read_text()}\ndirectory: {quick.folder}\n"
    for claim in quick.document["claims"]:
        lines = [line for line in quick.printed.splitlines() if line.startswith(f"| {claim['claim']} ")]
        assert any(line.endswith(f" {claim['verdict']} |") for line in lines)
    assert quick.printed.count("(reconstruction)") > 20, "it is said wherever they are named"


# -- claims on invented measurements -----------------------------------------------------------------------------------


def invented(metrics_of, repeat: int = 2) -> Measured:
    """All points of the reproduction, with made-up values that are the same in every repetition."""
    every = cells(quick=False)
    results = []
    for cell in every:
        metrics = metrics_of(cell)
        waiting = metrics.pop("waiting_time")
        one = {"metrics": {**metrics, "waiting_time": {"mean": waiting}}, "checks": {}}
        repetitions = [{**one, "repetition": number} for number in range(repeat)]
        results.append(PointResult(cell.point(), repetitions))
    return Measured(every, results)


def as_claimed(cell: BVCell) -> dict:
    """Values with which every claim holds that does not contradict another."""
    bv_waits = {0.01: 3.0, 0.03: 3.2, 0.1: 4.0, 0.2: 5.0, 0.3: 6.0, 0.4: 7.0, 0.5: 8.0, 0.7: 8.4, 1.0: 8.8}[cell.rate]
    has_costs = cell.setting.processing > 0
    waits = {LAST_SEEN: 1.0, RANDOM: 1.05, SRIMANI: 1.5, MAKKI: 30 / 8.8, NAIMI_TREHEL: 1.0}
    waits[RAYMOND] = 2.0 if has_costs else 0.7 if cell.rate == 0.01 else 1.0
    messages = {LAST_SEEN: 2.0, RANDOM: 2.4, RAYMOND: 58.0, SRIMANI: 29.0, NAIMI_TREHEL: 6.0}
    messages[MAKKI] = 3.0 + 12 * (1 - cell.rate) * (cell.rate < 1)
    words = {LAST_SEEN: 9.0, RANDOM: 9.0, RAYMOND: 4.0, SRIMANI: 6.5, MAKKI: 8.0, NAIMI_TREHEL: 4.0}
    sent, waiting = messages[cell.series], waits[cell.series] * bv_waits
    if cell.series in BOTH:
        sent, waiting = (sent * 1.2, waiting * 1.2) if cell.v == 0 else (sent, waiting)
        sent, waiting = (sent * 1.1, waiting * 1.1) if cell.clusters else (sent, waiting)
    elif cell.clusters:
        sent, waiting = {RAYMOND: 18.0, SRIMANI: 9.0}.get(cell.series, sent / 2), waiting / 2
    return {
        "waiting_time": waiting,
        "messages_per_cs": sent,
        "messages_per_cs_by_type": {"Inform": cell.v * (0.9 if cell.rate == 0.01 else 0.1)},
        "words_per_message": words[cell.series],
    }


def test_measurements_as_the_paper_claims():
    """Every claim holds but one, which contradicts the paper's own words per message."""
    claims = claims_of(invented(as_claimed))
    assert [one.claim for one in claims if not one.holds] == [
        "at a load of 1 BV's messages are 1.5 to 2 times as large as those of each of the others"
    ]


def test_measurements_opposite_to_the_paper():
    """No claim holds if what the paper says of BV is true of the others, and the loads are turned round."""

    def opposite(cell: BVCell) -> dict:
        is_bv = cell.series in BOTH
        waiting = (50.0 if is_bv else 5.0) / (1 + 10 * cell.rate) * (3.0 if cell.clusters and not is_bv else 1.0)
        reasons = (cell.series == RANDOM, is_bv and cell.v == 0, is_bv and cell.clusters is not None)
        less = 0.5 ** sum(reasons)
        waiting *= less
        waiting *= 0.05 if cell.setting == NO_PROCESSING and cell.series == LAST_SEEN else 1.0
        waiting *= 3.0 if cell.times_as_long > 1 else 1.0
        messages = (90.0 if is_bv else 20.0) * (1 + 5 * cell.rate) * (3.0 if cell.clusters and not is_bv else 1.0)
        messages *= less
        messages *= 1.0 if cell.setting == PROCESSING else 2.0
        return {
            "waiting_time": waiting,
            "messages_per_cs": messages,
            "messages_per_cs_by_type": {"Inform": cell.v * (0.1 if cell.rate == 0.01 else 0.9)},
            "words_per_message": 1.0 if cell.series == RANDOM else 1.5 if is_bv else 20.0,
        }

    assert [one.claim for one in claims_of(invented(opposite)) if one.holds] == []


def test_one_repetition_decides_nothing():
    """And points without any result are said to be missing; the report can still be written."""
    assert {claim.verdict for claim in claims_of(invented(as_claimed, repeat=1))} == {UNDECIDED}
    nothing = invented(as_claimed, repeat=0)
    claims = claims_of(nothing)
    assert {claim.verdict for claim in claims} == {NOT_JUDGED}
    assert "- ± -" in render(nothing, claims)
