"""`testbed check`: a new user's path from a skeleton to a verdict, what is printed, and the exit codes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from testbed.cli.main import main

RELEASE = """\
        self.require(Status.CRITICAL, "release")
        self.status = Status.REMAINDER
"""


def test_a_new_users_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Start an algorithm, break it, see it caught with a replay of the step, mend it, see it pass."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "algorithm", "mine", "--here"]) == 0
    whole = Path("mine.py").read_text()
    assert RELEASE in whole
    Path("mine.py").write_text(whole.replace(RELEASE, f"{RELEASE}        self.token_holder = False\n"))
    capsys.readouterr()

    assert main(["check", "mine.py", "--quick"]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"^contract +ok ", printed, re.MULTILINE)
    assert re.search(r"^ideal links +FAILED ", printed, re.MULTILINE)
    assert re.search(r"conservation: t=\S+: node \d+ loses 1 unit in on_release\(\)", printed)
    assert re.search(r"^check: mine FAILED: ideal links", printed, re.MULTILINE)
    replay = re.findall(r"^ +replay: testbed (replay .*)$", printed, re.MULTILINE)[0]
    assert main(shlex.split(replay)) == 0
    assert "token_holder=False" in capsys.readouterr().out

    Path("mine.py").write_text(whole)
    assert main(["check", "mine.py", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "FAILED" not in printed
    assert "not declared to survive, and not tried: crash, restart, cut, lose" in printed
    assert re.search(r"^\| mine +\| .*\n\| rl +\| .*\n\| raymond-tree ", printed, re.MULTILINE)
    assert re.search(r"\ncheck: mine is safe and live in \d+ runs \(\d+ s\)\n$", printed)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, with the exit code; only logs of failures are left."""
    assert main(["check", "raymond-k", "--set", "k=2", "--quick", "--json", "--out", str(tmp_path)]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["algorithm"], done["exit"]) == ("raymond-k", 0)
    assert [step["title"] for step in done["steps"]] == [
        "declarations",
        "contract",
        "ideal links",
        "cut",
        "radio links",
    ]
    assert {step["verdict"] for step in done["steps"]} == {"ok"}
    assert [row["algorithm"] for row in done["costs"]] == ["raymond-k", "bv"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("broken.py", "broken.py:1: "),
        ("empty.py", "found no class derived from agents.contract.Agent"),
        ("nosuch", "allowed: a file (.py), or one of rl"),
        ("rl --seed -1", "allowed: a whole number from 0"),
        ("rl --quick --all", "found both --quick"),
    ],
)
def test_wrong_input(
    words: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2, and no directory."""
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("class\n")
    Path("empty.py").write_text("")
    try:
        code = main(["check", *words.split()])
    except SystemExit as error:  # of the parser
        code = error.code
    assert code == 2
    printed = capsys.readouterr()
    assert line in printed.err
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""
    assert not Path("runs").exists()
