"""What a report says of a check can be understood without the table that it is from."""

from __future__ import annotations

import pytest

from analysis.meanings import MEANINGS, SAME, Meaning
from testbed.look.report.verdicts import meaning_of


@pytest.mark.parametrize("shares", Meaning._fields)
@pytest.mark.parametrize("check", MEANINGS)
def test_no_meaning_refers_to_another(check: str, shares: str) -> None:
    words = meaning_of(check, shares)
    assert words
    assert not words.startswith((SAME, "also"))
    assert getattr(MEANINGS[check], shares).removeprefix(SAME).lstrip("; ") in words


def test_what_differs_comes_after_what_is_the_same() -> None:
    order = "messages from one node to another arrive once each, in the order in which they were sent"
    assert meaning_of("order", "units") == order
    assert meaning_of("order", "neighbourhoods") == f"{order}; a message for a visit that is over is lost"
    progress = MEANINGS["progress"].tokens
    assert meaning_of("progress", "neighbourhoods") == f"{progress}; this in every neighbourhood"
    conservation = MEANINGS["conservation"]
    assert meaning_of("conservation", "neighbourhoods") == f"{conservation.tokens}; {conservation.neighbourhoods}"
    assert meaning_of("safety", "") == meaning_of("unknown", "tokens") == ""
