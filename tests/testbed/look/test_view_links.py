"""A report's link to a moment leads to the page of its repetition, and the command beside it makes that page."""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import pytest

from agents.contract import Demand
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from testbed.cli.main import main
from testbed.look.report.writing import write_report
from testbed.randomness import Streams
from tests.testbed.tiny import only_run, write_tiny

LINK = re.compile(r'<a href="([^"]+)">See this moment in the viewer</a>')


class UnsafeLater(ReverseLink):
    """Lets every node in at once, but only in repetition 2."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
        started = super().start(node, initial, parameters, rng)
        started.is_unsafe = rng.getstate() == Streams(1, 2).of("agent", node).getstate()
        return started

    def on_request(self, demand: Demand) -> None:
        if self.is_unsafe:
            self.enter()
        else:
            super().on_request(demand)

    def on_release(self) -> None:
        if not self.is_unsafe:
            super().on_release()


@pytest.mark.parametrize("trace", ["cs", "events"])
def test_the_command_makes_the_page_that_the_link_leads_to(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also beside the page of another repetition, which is in the same run directory if that has all events."""
    monkeypatch.setitem(ALGORITHMS, "unsafe-later", UnsafeLater)
    more = f"trace: {trace}\nrepeat: 3\n"
    scenario = write_tiny(tmp_path, more, algorithm="unsafe-later", workload="{rate: 1}")
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 1
    run = only_run(tmp_path / "runs")
    assert main(["view", str(run)]) == 0
    report = write_report(run)
    assert not LINK.search(report.read_text()), "the page of repetition 0 does not show it"
    commands = {unescape(one) for one in re.findall(r"testbed view [^<]*", report.read_text())}
    (command,) = {one for one in commands if "--repetition 2" in one}
    capsys.readouterr()
    assert main(shlex.split(command)[1:]) == 0
    made = Path(capsys.readouterr().out.strip())
    assert made.name == "view-2.html"
    assert "repetition 2</title>" in made.read_text()
    link = unescape(LINK.search(write_report(run).read_text())[1])  # type: ignore[index]
    assert (report.parent / unquote(link.partition("#")[0])).samefile(made)
    assert "repetition 0</title>" in (run / "view.html").read_text(), "and the other page is still there"
