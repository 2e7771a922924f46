"""The name of the page of a repetition: who makes the page and who links to it must agree."""

from __future__ import annotations

from pathlib import Path


def page_file(run: Path, repetition: int) -> Path:
    """The file that `testbed view` writes if it is not told another one: every repetition has its own."""
    return run / ("view.html" if repetition == 0 else f"view-{repetition}.html")
