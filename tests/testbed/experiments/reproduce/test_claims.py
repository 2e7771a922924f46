"""Claims are judged by intervals: within the bounds, wholly outside, or undecided."""

import pytest

from testbed.experiments.reproduce.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Bounds,
    Claim,
    Interval,
    NotMeasured,
    all_of,
    checked,
    claims_table,
    most_of,
    never,
)


@pytest.mark.parametrize(
    ("mean", "ci95", "verdict"),
    [(0.9, 0.05, HOLDS), (0.9, 0.2, UNDECIDED), (1.1, 0.05, FAILS), (1.1, 0.2, UNDECIDED), (1.0, 0.0, HOLDS)],
)
def test_an_interval_against_a_bound(mean, ci95, verdict):
    """A ratio that is to be at most 1."""
    assert Bounds(high=1.0).verdict(Interval(mean, ci95)) == verdict


def test_an_interval_between_two_bounds():
    """Too little is as wrong as too much."""
    within = Bounds(0.9, 1.1)
    assert [within.verdict(Interval(mean, 0.01)) for mean in (0.8, 1.0, 1.2)] == [FAILS, HOLDS, FAILS]


def test_a_single_repetition_decides_nothing():
    """It has no interval."""
    assert Bounds(high=1.0).verdict(Interval.of([0.1])) == UNDECIDED
    assert Interval.of([2.0, None, 4.0]).mean == 3.0
    with pytest.raises(NotMeasured):
        Interval.of([None])


@pytest.mark.parametrize(
    ("verdicts", "of_all", "of_most"),
    [
        ([HOLDS, HOLDS, HOLDS], HOLDS, HOLDS),
        ([HOLDS, HOLDS, UNDECIDED], UNDECIDED, HOLDS),
        ([HOLDS, HOLDS, FAILS], FAILS, HOLDS),
        ([HOLDS, UNDECIDED, FAILS], FAILS, UNDECIDED),
        ([HOLDS, FAILS, FAILS], FAILS, FAILS),
        ([HOLDS, HOLDS, FAILS, FAILS], FAILS, FAILS),
    ],
)
def test_claims_on_all_and_on_most_points(verdicts, of_all, of_most):
    """One point is enough against a claim on all; most are more than half."""
    assert (all_of(verdicts), most_of(verdicts)) == (of_all, of_most)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ([0.0], HOLDS),
        ([0, 0, 0], HOLDS),
        ([0, 1, 0, 0], FAILS),
        ([None, 0.0], HOLDS),
        ([None], UNDECIDED),
        ([], UNDECIDED),
    ],
)
def test_what_never_happens(counts, verdict):
    """One run in which it happened is enough, however few they are compared with the others."""
    assert never(counts) == verdict


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (["ok", "ok"], HOLDS),
        (["ok", "failed"], FAILS),
        (["ok", "not checked"], UNDECIDED),
        (["inconclusive", "ok"], UNDECIDED),
        (["inconclusive", "failed"], FAILS),
        ([], UNDECIDED),
    ],
)
def test_checks_that_must_pass(verdicts, verdict):
    """Only a check that failed is against the claim."""
    assert checked(verdicts) == verdict


def test_what_a_reader_gets():
    """The verdict in words, and as true, false or null in JSON."""
    claims = [Claim("c", "p", "m", verdict) for verdict in (HOLDS, FAILS, UNDECIDED)]
    assert [claim.as_dict()["holds"] for claim in claims] == [True, False, None]
    assert [row[-1] for row in claims_table(claims).rows] == ["holds", "DOES NOT HOLD", "undecided"]
