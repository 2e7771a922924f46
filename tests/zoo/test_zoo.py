"""No wrong algorithm passes anywhere, and every correct one does.

Each member runs as a user runs it: with its verdicts, its exit code, without a traceback, and with the command that
replays the offence.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from analysis.check import FAILED, INCONCLUSIVE
from testbed.cli.main import main
from tests.testbed.tiny import command, is_one_line, only_run
from tests.zoo.members import CORRECT, FILES, KINDS, MEMBERS, REFUSED, STOPPED, WRONG, Member
from tests.zoo.runs import complaint, write_scenario

QUICK_ON_LOOPBACK = (
    "lent-token",
    "textbook",
    "barges-in",
    "keeps-and-sends",
    "never-asks",
    "more-units-one-token",
    "deadlock-before-a-crash",
    "token-again",
    "raises-on-receive",
    "loops-in-handler",
)
"""Of each kind of mistake one, and two correct ones; all others take minutes."""
BY_COMMAND = ("lent-units", "barges-in", "hides-in-use", "never-asks", "raises-on-timer", "starts-nothing")


def in_world(world: str) -> list[Member]:
    """The members that live there."""
    return [member for member in MEMBERS.values() if world in member.worlds]


def exit_code_of(member: Member) -> int:
    """What the command must end with."""
    return 0 if member.check is None else 1


# -- the zoo itself ---------------------------------------------------------------------------------------------------


def test_no_algorithm_is_left_out() -> None:
    """Every class of the zoo is a member, and no name is used twice."""
    listed = [name for kind in KINDS for name in kind.ALGORITHMS]
    assert len(set(listed)) == len(listed)
    assert {member.algorithm for member in MEMBERS.values()} == set(FILES) - set(REFUSED) - set(STOPPED)
    assert len(MEMBERS) == len(CORRECT) + len(WRONG)
    assert len(CORRECT) >= 4
    assert len(WRONG) >= 45


def verdicts(**said: str) -> dict[str, dict[str, Any]]:
    """The verdicts of a run in which nothing is wrong, except what is said."""
    words = {"safety": "ok", "conservation": "not applicable", "progress": "ok", "timing": "ok", **said}
    return {
        name: {"verdict": word, "detail": "2 offences", "offenders": ["no node has entered"]}
        for name, word in words.items()
    }


def test_the_zoo_complains() -> None:
    """Of a wrong algorithm that passes, that is caught in other words, or by another check; and of a correct one."""
    assert not complaint(MEMBERS["never-asks"], verdicts(progress="failed"))
    assert not complaint(MEMBERS["never-asks"], verdicts(progress="inconclusive", timing="inconclusive"))
    assert "progress is ok" in complaint(MEMBERS["never-asks"], verdicts())
    assert "progress is ok" in complaint(MEMBERS["never-asks"], verdicts(safety="failed"))
    assert "progress is ok" in complaint(MEMBERS["never-asks"], verdicts(timing="inconclusive"))
    assert "progress is inconclusive" in complaint(MEMBERS["never-asks"], verdicts(progress="inconclusive"))
    assert "['enters with'] not in" in complaint(MEMBERS["barges-in"], verdicts(safety="failed"))
    assert not complaint(MEMBERS["textbook"], verdicts())
    assert not complaint(MEMBERS["textbook"], verdicts(progress="inconclusive", timing="inconclusive"))
    for word in ("failed", "inconclusive", "not checked"):
        assert f"progress {word}" in complaint(MEMBERS["textbook"], verdicts(progress=word))


# -- everywhere -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", in_world("sim ideal"), ids=str)
def test_with_ideal_links(member: Member, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In virtual time, where messages are counted and most are not looked at; what failed is run again with a log."""
    check_by_command_line(member, "sim ideal", tmp_path, capsys)


@pytest.mark.parametrize("member", in_world("sim radio"), ids=str)
def test_with_radio_links(member: Member, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In virtual time, with a log of every event."""
    check_by_command_line(member, "sim radio", tmp_path, capsys)


@pytest.mark.xdist_group("stations")
@pytest.mark.parametrize("name", QUICK_ON_LOOPBACK)
def test_on_loopback(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As processes in real time."""
    check_by_command_line(MEMBERS[name], "loopback", tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.xdist_group("stations")
@pytest.mark.parametrize("member", [one for one in in_world("loopback") if one.name not in QUICK_ON_LOOPBACK], ids=str)
def test_all_others_on_loopback(member: Member, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All others."""
    check_by_command_line(member, "loopback", tmp_path, capsys)


def check_by_command_line(member: Member, world: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a member as a user does: verdicts, exit code, what is printed, and the replay that is offered."""
    code = main(["run", str(write_scenario(member, world, folder)), "--out", str(folder / "out")])
    printed = capsys.readouterr()
    run = only_run(folder / "out")
    checks = json.loads((run / "summary.json").read_bytes())["checks"]
    assert not complaint(member, checks)
    is_late = checks["timing"]["verdict"] == INCONCLUSIVE
    assert code in ({exit_code_of(member), 4} if is_late else {exit_code_of(member)})
    assert "Traceback" not in printed.out + printed.err
    replays = re.findall(r"^ +replay: testbed (replay .*)$", printed.out, re.MULTILINE)
    if any(check["verdict"] == FAILED and check["first"] is not None for check in checks.values()):
        assert replays, printed.out
    for replay in dict.fromkeys(replays):
        assert main(shlex.split(replay)) in (0, 1), replay
        capsys.readouterr()
    assert main(["analyze", str(run)]) in (0, 1, 4), capsys.readouterr().err


@pytest.mark.parametrize("name", BY_COMMAND)
def test_by_the_command_in_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    """What a user sees: a verdict, an exit code, and on stderr no traceback."""
    member = MEMBERS[name]
    done = command("run", write_scenario(member, "sim ideal", tmp_path), "--out", tmp_path / "out")
    assert done.returncode == exit_code_of(member), done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    if member.check is not None:
        assert f"\n{member.check:13} failed" in done.stdout
        assert member.words in done.stdout


# -- what does not start, and what does not end -----------------------------------------------------------------------


def run_of_another(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The scenario of a correct algorithm, with another one of the same file."""
    path = write_scenario(MEMBERS["lender"], "sim ideal", folder)
    path.write_text(path.read_text(encoding="utf-8").replace("lender", name), encoding="utf-8")
    return command("run", path, "--out", folder / "out")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_judged_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    """Before anything runs."""
    done = run_of_another(name, tmp_path)
    assert done.returncode == 2, done.stderr
    assert is_one_line(done.stderr)
    assert REFUSED[name] in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", STOPPED)
def test_what_catches_everything_is_stopped_with_its_process(name: str, tmp_path: Path) -> None:
    """One line that says why."""
    done = run_of_another(name, tmp_path)
    assert done.returncode == 1, done.stderr
    assert is_one_line(done.stderr)
    assert STOPPED[name] in done.stderr
