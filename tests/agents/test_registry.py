"""The registry: classes are imported when they are asked for, and what is broken or another's concerns only itself."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from agents.contract import Agent
from agents.registry import ALGORITHMS, OWN, CannotImport, Registry
from testbed.cli.main import main
from testbed.scenario.algorithm_class import find_algorithm
from tests.testbed.checkout import copy_checkout, python_in
from tests.testbed.others import distribution_of
from tests.testbed.tiny import is_one_line, tiny, write_tiny

# -- a mapping ---------------------------------------------------------------------------------------------------------


def test_it_is_a_mapping_of_classes() -> None:
    """In the order of the table."""
    assert [*OWN] == [name for name in ALGORITHMS if name in OWN]
    assert len(ALGORITHMS) == len([*ALGORITHMS]) == len(ALGORITHMS.items())
    for name, agent in ALGORITHMS.items():
        assert issubclass(agent, Agent)
        assert find_algorithm(name) is ALGORITHMS[name] is agent
    assert "rl" in ALGORITHMS
    assert "none" not in ALGORITHMS
    assert ALGORITHMS.get("none") is None
    with pytest.raises(KeyError):
        ALGORITHMS["none"]


def test_set_and_deleted() -> None:
    """Tests and benchmarks do that; an algorithm that is replaced keeps its place."""
    registry = Registry({"a": "agents.rl:ReverseLink", "b": "agents.krl:KReverseLink"})

    class Own(Agent):
        """Does nothing."""

    registry["a"] = Own
    registry["c"] = Own
    assert [*registry][:3] == ["a", "b", "c"]
    assert registry["a"] is registry["c"] is Own
    del registry["c"]
    assert "c" not in registry
    with pytest.raises(KeyError):
        del registry["c"]


@pytest.mark.parametrize("place", ["agents.nowhere:Rl", "agents.rl:Nothing", "agents.rl:"])
def test_what_cannot_be_imported(place: str) -> None:
    """Only when it is asked for."""
    registry = Registry({"a": place, "b": "agents.rl:ReverseLink"})
    assert [*registry][:2] == ["a", "b"]
    assert "a" in registry
    assert issubclass(registry["b"], Agent)
    for ask in (registry.__getitem__, registry.get):
        with pytest.raises(CannotImport, match=re.escape(place)):
            ask("a")


# -- a file that is broken ---------------------------------------------------------------------------------------------

BROKEN = {
    "makki.py": ("def (:\n", "agents/makki.py:1: invalid syntax"),
    "klme.py": ("\nraise RuntimeError('unfinished')\n", "agents/klme.py:2: RuntimeError: unfinished"),
    "bv.py": ("import nowhere_at_all\n", "agents/bv.py:1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "hk.py": ("class Other:\n    pass\n", "cannot be used: agents.hk:PrioritizedHOutOfK: AttributeError: "),
}
ALSO = {"hk-fifo": "agents/hk_fifo.py:"}
"""What derives from a broken one."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which some algorithms cannot be imported."""
    checkout = copy_checkout(tmp_path_factory.mktemp("checkout"))
    shutil.rmtree(checkout / "tests")
    for file, (text, _) in BROKEN.items():
        (checkout / "agents" / file).write_text(text)
    write_tiny(checkout)
    (checkout / "makki.yaml").write_text(tiny(algorithm="makki"))
    return checkout


def test_the_list_goes_on(broken: Path) -> None:
    """One line for each that is broken, with the place, and all others as ever."""
    done = python_in(broken, "testbed.cli", "list", "algorithms")
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert [*lines] == [*OWN]
    unusable = {name for name, line in lines.items() if line.startswith("cannot be used: ")}
    assert unusable == {file.removesuffix(".py") for file in BROKEN} | set(ALSO)
    for file, (_, why) in BROKEN.items():
        assert why in lines[file.removesuffix(".py")]


def test_the_doctor_reports_it(broken: Path) -> None:
    """The same lines."""
    done = python_in(broken, "testbed.cli", "doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"algorithms     {len(OWN) - len(BROKEN) - len(ALSO)} of {len(OWN)} ok" in done.stdout
    for _, why in BROKEN.values():
        assert why in done.stdout


def test_other_algorithms_run(broken: Path, tmp_path: Path) -> None:
    """A run, and a comparison of all that can be used, which notes the others."""
    assert python_in(broken, "testbed.cli", "run", "tiny.yaml", "--out", str(tmp_path)).returncode == 0
    done = python_in(broken, "testbed.cli", "compare", "tiny.yaml", "--algorithms", "all", "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "\n| rl " in done.stdout
    assert "\nNo makki: agents/makki.py:1: invalid syntax.\n" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("run", "makki.yaml"),
        ("compare", "tiny.yaml", "--algorithms", "rl,makki"),
        ("compare", "tiny.yaml", "--variant", "rl", "--variant", "makki k=2"),
        ("run", "tiny.yaml", "--set", "algorithm.name=makki"),
    ],
    ids=" ".join,
)
def test_a_command_that_asks_for_it(command: tuple[str, ...], broken: Path, tmp_path: Path) -> None:
    """One line, and exit code 2."""
    done = python_in(broken, "testbed.cli", *command, "--out", str(tmp_path / "runs"))
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_line(done.stderr), done.stderr
    assert done.stderr.rstrip().endswith("agents/makki.py:1: invalid syntax")


def test_a_line_that_goes_through_all_algorithms(broken: Path, tmp_path: Path) -> None:
    """What is allowed instead: those that can be used."""
    churn = "churn={groups: 2, departures: 0.1, away: 1}"
    done = python_in(broken, "testbed.cli", "run", "tiny.yaml", "--set", churn, "--out", str(tmp_path / "runs"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("found rl; allowed: an algorithm that runs in neighbourhoods: \n")


# -- other distributions -----------------------------------------------------------------------------------------------


def test_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """They are listed with their distribution, and run by name."""
    distribution_of(
        tmp_path, monkeypatch, lab_walk="lab.inner.agent:Mine", lab_gone="lab.nowhere:X", lab_no="lab.inner.agent:Token"
    )
    assert [*ALGORITHMS][-3:] == ["lab-gone", "lab-no", "lab-walk"]
    assert main(["list", "algorithms"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["lab-walk"].startswith("skeleton: ")
    assert lines["lab-walk"].endswith(" [lab 1.2]")
    assert (
        lines["lab-gone"]
        == "cannot be used: lab.nowhere:X: ModuleNotFoundError: No module named 'lab.nowhere' [lab 1.2]"
    )
    assert lines["lab-no"].startswith(
        "cannot be used: lab.inner.agent:Token: found <class 'lab.inner.agent.Token'>; allowed"
    )
    assert main(["run", str(write_tiny(tmp_path, algorithm="lab-walk")), "--out", str(tmp_path / "runs")]) == 0
    arguments = ["compare", str(tmp_path / "tiny.yaml"), "--algorithms", "rl,lab-walk", "--out", str(tmp_path / "runs")]
    assert main(arguments) == 0
    assert "\n| lab-walk " in capsys.readouterr().out


def test_names_that_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the testbed: it keeps its own. By two distributions: neither is used."""
    before = len(ALGORITHMS)
    distribution_of(tmp_path / "a", monkeypatch, name="lab", rl="lab.inner.agent:Mine", walk="lab.inner.agent:Mine")
    distribution_of(tmp_path / "b", monkeypatch, name="mill", walk="mill.inner.agent:Mine")
    assert len(ALGORITHMS) == before
    assert ALGORITHMS["rl"].__module__ == "agents.rl"
    assert "walk" not in ALGORITHMS
    assert main(["list", "algorithms"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "testbed: rl of lab 1.2 (lab.inner.agent:Mine) is not used: the name is taken by the testbed itself",
        "testbed: walk of mill 1.2 (mill.inner.agent:Mine) is not used: the name is taken by lab 1.2",
        "testbed: walk of lab 1.2 (lab.inner.agent:Mine) is not used: the name is taken by mill 1.2",
    ]
    assert main(["doctor"]) == 0
    assert "  rl of lab 1.2 (lab.inner.agent:Mine) is not used" in capsys.readouterr().out
