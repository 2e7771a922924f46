"""Contract: a breach fails it, and names the algorithm, the node, the event, the output and the reason."""

from __future__ import annotations

import pytest

from analysis.check import OK
from analysis.contract import Contract
from tests.analysis.histories import start, stop
from tests.analysis.test_checks import assert_fails, judge


@pytest.mark.parametrize(
    ("node", "event", "output", "text"),
    [
        (2, "on_release()", "send(9, Ask())", "mine: node 2 in on_release(): send(9, Ask()): no neighbour"),
        (2, "on_release()", "", "mine: node 2 in on_release(): no neighbour"),
        (2, "", "", "mine: node 2: no neighbour"),
        (None, "", "", "mine: no neighbour"),
    ],
)
def test_a_breach_is_shown_in_one_line(node: int | None, event: str, output: str, text: str) -> None:
    """As much as is known; a replay needs a node."""
    verdict = judge(Contract, start(), ("breach", 3, node, "mine", event, output, "no neighbour"))
    assert_fails(verdict)
    assert verdict.offenders == [f"t=3: {text}"]
    assert verdict.first == (None if node is None else {"node": node, "t": 3 * 10**9})


@pytest.mark.parametrize("trace", ["metrics", "cs", "events"])
def test_it_is_checked_at_every_level(trace: str) -> None:
    """Also of a run that did not come to its end: that is what a breach does."""
    assert judge(Contract, start(trace=trace), stop(9, 1, 0, 0)).verdict == OK
    assert_fails(judge(Contract, start(trace=trace), ("breach", 3, 0, "mine", "on_timer('x')", "", "KeyError: 5")))
