"""Options and reports of the whole suite."""

from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent

settings.register_profile("suite", deadline=None)  # how long an example takes says more of the machine than of the code
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write golden transcripts again; read the diff")


def pytest_terminal_summary(terminalreporter) -> None:  # the type is pytest's own and private
    """Print what tests report of the runs they made, such as the distribution of their sizes."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {name}: {value}")


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Compare a text with the golden file of that name beside the test, or write it with --rewrite."""

    def compare(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--rewrite"):
            path.write_text(text)
        assert text == path.read_text(), f"{path} differs; if you can explain the change, run with --rewrite"

    return compare
