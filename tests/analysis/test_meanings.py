"""The table of what each check means: complete, and the same in code and documentation."""

from pathlib import Path

from analysis.check import NOT_APPLICABLE
from analysis.checks import CHECKS
from analysis.conservation import Conservation
from analysis.events import Start
from analysis.meanings import MEANINGS, meanings_table
from testbed.cli.listing import names

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "checks.md"


def test_every_check_has_a_row():
    assert list(MEANINGS) == [check.name for check in CHECKS]


def test_every_row_says_something_for_everything_that_is_shared():
    assert all(all(meaning) for meaning in MEANINGS.values())


def test_the_documentation_has_the_table():
    assert meanings_table() in DOCUMENT.read_text(encoding="utf-8")


def test_the_verdict_has_the_words_of_the_table():
    check = Conservation()
    check.start(0, None, *Start(shares="permissions"))
    verdict = check.verdict()
    assert (verdict.verdict, verdict.detail) == (NOT_APPLICABLE, MEANINGS["conservation"].permissions)


def test_the_command_line_lists_them():
    assert names("checks") == {name: meaning.tokens for name, meaning in MEANINGS.items()}
