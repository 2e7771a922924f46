"""An algorithm in a file of its own: it runs like any other, from its run directory too, and bad files are one line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest
import yaml

from testbed.cli.main import main
from testbed.errors import ScenarioError
from testbed.scenario.algorithm_class import AlgorithmError
from testbed.scenario.algorithm_file import load_algorithm_file
from testbed.scenario.loader import load, loads
from tests.testbed.others import file_of
from tests.testbed.tiny import command, is_one_line, only_run, tiny

MINE = "{name: mine, file: ./mine.py}"
SECOND = """

class Second(Mine):
    summary = "the second"


class Third(Mine):
    summary = "the third"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario in a folder that is not the current one, with an algorithm that is in a file beside it."""
    folder = tmp_path / "study"
    folder.mkdir()
    file_of(folder / "mine.py")
    path = folder / "mine.yaml"
    path.write_text(tiny("trace: events\nrepeat: 2\n", algorithm=MINE))
    return path


def events(run: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(run.glob("rep-*/events.jsonl")))


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_run_directory_is_complete(scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has the file and its hash; replaying and running it again need nothing else, and give the same."""
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 0
    run = only_run(tmp_path / "runs")
    source = (scenario.parent / "mine.py").read_bytes()
    assert (run / "mine.py").read_bytes() == source
    assert yaml.safe_load((run / "scenario.yaml").read_text())["algorithm"]["file"] == "mine.py"
    recorded = json.loads((run / "meta.json").read_bytes())["algorithm"]
    assert recorded == {"mine.py": load_algorithm_file(scenario.parent / "mine.py").digest}
    for file in scenario.parent.iterdir():
        file.unlink()
    moved = run.rename(tmp_path / "elsewhere")
    capsys.readouterr()
    for node in range(5):
        assert main(["replay", str(moved), "--node", str(node)]) == 0
    assert "as recorded: every output of" in capsys.readouterr().out
    assert main(["run", str(moved / "scenario.yaml"), "--out", str(tmp_path / "again")]) == 0
    assert events(only_run(tmp_path / "again")) == events(moved) != b""


def test_stations_load_it(scenario: Path, tmp_path: Path) -> None:
    """On loopback every station is a process, which gets the scenario as text; the current folder is another one."""
    options = ("topology=geometric", "area=[50, 50]", "duration=12", "warmup=4", "time_unit=0.2", "repeat=1")
    sets = [word for option in options for word in ("--set", option)]
    done = command("run", scenario, "--backend", "loopback", "--out", tmp_path / "runs", *sets, cwd=tmp_path)
    assert done.returncode in (0, 4), done.stderr  # 4: this machine is too busy to judge it
    summary = json.loads((only_run(tmp_path / "runs") / "summary.json").read_bytes())
    assert summary["checks"]["safety"]["verdict"] == "ok"
    assert summary["metrics"]["entries"]["mean"] > 0


def test_where_a_relative_path_starts(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the folder of the scenario; in `--set`, from the current folder."""
    assert load(scenario).algorithm.file == str(scenario.parent / "mine.py")
    monkeypatch.chdir(tmp_path)
    file_of(tmp_path / "other.py")
    assert load(scenario, ["algorithm.file=other.py"]).algorithm.file == str(tmp_path / "other.py")
    assert load(scenario, ["algorithm={name: other, file: ./other.py}"]).algorithm.file == str(tmp_path / "other.py")
    assert load(scenario, ["algorithm=rl"]).algorithm.file is None
    with pytest.raises(ScenarioError, match=r"study/nowhere\.py: cannot be read"):
        loads(tiny(algorithm="{name: mine, file: study/nowhere.py}"))


def test_the_whole_scenario_is_written_and_read_back(scenario: Path) -> None:
    """With the path as it is on this machine: stations read it so."""
    one = load(scenario)
    assert loads(one.to_yaml()) == one


# -- loading -----------------------------------------------------------------------------------------------------------


def test_it_is_loaded_once_and_anew_when_it_has_changed(tmp_path: Path) -> None:
    """What a scenario was checked with stays what it runs."""
    path = file_of(tmp_path / "mine.py")
    first = loads(tiny(algorithm=f"{{name: mine, file: {path}}}"))
    agent = first.algorithm.agent
    assert loads(first.to_yaml()).algorithm.agent is agent
    stat = path.stat()
    path.write_text(path.read_text().replace('summary = "skeleton:', 'summary = "SKELETON:'))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # also an edit within the same tick of the clock
    second = loads(first.to_yaml()).algorithm.agent
    assert (agent.summary[:8], second.summary[:8]) == ("skeleton", "SKELETON")
    assert first.algorithm.agent is agent


def test_a_file_that_cannot_be_loaded_is_run_once(tmp_path: Path) -> None:
    """Several checks of a scenario ask for it, and its code may have effects."""
    path = tmp_path / "mine.py"
    path.write_text(f"open({str(tmp_path / 'count')!r}, 'a').write('x')\nraise OSError('no')\n")
    for _ in range(2):
        with pytest.raises(ScenarioError, match=r"mine\.py:2: OSError: no"):
            loads(tiny(algorithm=f"{{name: mine, file: {path}}}"))
    assert (tmp_path / "count").read_text() == "x"


def test_two_files_with_one_name(tmp_path: Path) -> None:
    """Each is a module of its own, in which the types of its messages are found."""
    modules = []
    for folder in ("a", "b"):
        agent = load_algorithm_file(file_of(tmp_path / folder / "mine.py")).agent("mine")
        assert get_type_hints(agent.messages[0]) == {"units": get_type_hints(agent.messages[0])["units"],
                                                     "tokens": get_type_hints(agent.messages[0])["tokens"],
                                                     "origin": int, "number": int}  # fmt: skip
        modules.append(agent.__module__)
    assert len(set(modules)) == 2
    assert all(sys.modules[module].__name__ == module for module in modules)


def test_the_code_of_this_project_has_no_effect_on_it(tmp_path: Path) -> None:
    """Such as its `from __future__ import annotations`."""
    path = file_of(tmp_path / "mine.py")
    path.write_text(path.read_text().replace("from __future__ import annotations\n", "") + "\nx: undefined_name = 1\n")
    with pytest.raises(AlgorithmError, match="NameError: name"):
        load_algorithm_file(path)


def test_which_class_it_is(tmp_path: Path) -> None:
    """The only one without subclasses, whatever its name; among several, the one that ALGORITHMS says."""
    path = file_of(tmp_path / "several.py", "\n\nclass Second(Mine):\n    summary = 'the second'\n")
    file = load_algorithm_file(path)
    assert file.names == ["several"]
    assert file.agent("any").__name__ == "Second"
    path = file_of(tmp_path / "named.py", SECOND + '\n\nALGORITHMS = {"mine": Mine, "third": Third}\n')
    file = load_algorithm_file(path)
    assert file.names == ["mine", "third"]
    assert [file.agent(name).__name__ for name in file.names] == ["Mine", "Third"]
    with pytest.raises(
        AlgorithmError, match=r"no 'thrid' in its ALGORITHMS; allowed: mine, third \(did you mean third"
    ):
        file.agent("thrid")


# -- what is refused ---------------------------------------------------------------------------------------------------

Change = Callable[[str], str]


def replaced(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


def added(more: str) -> Change:
    return lambda text: text + more


def instead(text: str) -> Change:
    return lambda _: text


BROKEN: dict[str, tuple[Change, str]] = {
    "syntax": (instead("x = 1\ndef f(:\n"), "mine.py:2: invalid syntax"),
    "not text": (instead("x = '\0'\n"), "mine.py"),
    "raises": (added("\n\ndef fail():\n    raise KeyError('gone')\n\n\nfail()\n"), ": KeyError: 'gone'"),
    "exits": (instead("import sys\nsys.exit()\n"), "mine.py:2: sys.exit was called"),
    "import": (
        instead("\nimport nowhere_at_all\n"),
        "mine.py:2: ModuleNotFoundError: No module named 'nowhere_at_all'",
    ),
    "neighbour": (
        instead("import beside\n"),
        "mine.py:1: ModuleNotFoundError: No module named 'beside'"
        " (an algorithm is one file: put what it needs of beside.py into it)",
    ),
    "nothing": (instead(""), "mine.py: found no class derived from agents.contract.Agent"),
    "imported only": (instead("from agents.rl import ReverseLink\n"), "mine.py: found no class derived from"),
    "several": (added(SECOND), 'allowed: one, or a line ALGORITHMS = {"second": Second, "third": Third}'),
    "table": (added("\n\nALGORITHMS = [Mine]\n"), "mine.py: ALGORITHMS: found [<class "),
    "table of others": (added("\n\nALGORITHMS = {'mine': Token}\n"), "mine.py: ALGORITHMS: mine: found <class "),
    "no request": (
        replaced("def on_request(self", "def on_ask(self"),
        ": Mine: found no on_request, which every algorithm",
    ),
    "no release": (
        replaced("def on_release", "def on_leave"),
        ": Mine: found no on_release, which every algorithm must",
    ),
    "no units": (
        replaced("def units", "def kept"),
        ": Mine: found no units, which every algorithm must have that shares",
    ),
    "message": (replaced("(Request, Token)", "(Request, Initial)"), ": Mine: messages: found <class "),
    "no tuple": (replaced("messages = (Request, Token)", "messages = Token"), ": Mine: messages: found <class "),
    "field": (
        replaced("    number: int\n", "    number: str\n"),
        ": Request: number: a message field may be int, bool, an optional or a tuple of these, not <class 'str'>",
    ),
    "unknown type": (
        replaced("    number: int\n", "    number: Nummer\n"),
        ": Request: a type cannot be found: name 'Nummer' is not defined",
    ),
    "no dataclass": (
        replaced("@dataclass(frozen=True, slots=True)\nclass Request", "class Request"),
        ": Request: a message; allowed: with @dataclass(frozen=True, slots=True)",
    ),
    "twice": (
        added(
            "\n\nOld = Token\n\n\n@dataclass(frozen=True)\nclass Token(Old):\n    x: int = 0\n"
            "\n\nMine.messages += (Token,)\n"
        ),
        ": Mine: messages: found two named Token; allowed: each name once",
    ),
    "summary": (
        replaced('summary = "skeleton', 'summary = 3  # "'),
        ": Mine: summary: found 3; allowed: text of one line",
    ),
    "survives": (
        replaced('survives = ("link changes",)', 'survives = ("storms",)'),
        ": Mine: survives: found ('storms',); allowed: a tuple of 'link changes', 'crash', 'restart', 'cut', 'lose'",
    ),
    "needs": (added("\n\nMine.needs = 'links'\n"), ": Mine: needs: found 'links'; allowed: Needs.LINKS"),
    "groups": (
        added("\n\nfrom agents.contract import Needs\n\nMine.needs = Needs.GROUPS\n"),
        ": Mine: needs Needs.GROUPS; allowed: for a class derived from agents.groups.GroupAgent",
    ),
    "parameters": (
        added("\n\nMine.parameters = dict\n"),
        ": Mine: parameters: found <class 'dict'>; allowed: a dataclass",
    ),
    "parameters without @dataclass": (
        added(
            "\n\nfrom agents.contract import Parameters\n\n\nclass Options(Parameters):\n    k: int = 3\n\n\n"
            "Mine.parameters = Options\n"
        ),
        ": Options: parameters; allowed: with @dataclass(frozen=True)",
    ),
    **{
        f"parameters: {line}": (
            added(
                "\n\nfrom agents.contract import Parameters\n\n\n@dataclass(frozen=True)\nclass Options(Parameters):\n"
                f"    {line}\n\n\nMine.parameters = Options\n"
            ),
            f": Options: {why}",
        )
        for line, why in {
            "k: int": "k: found no default; allowed: a parameter with a default",
            "file: str = ''": "file: found a parameter of this name; allowed: any but name, file, label, clusters",
            "k: Ganzzahl = 3": "a type cannot be found: name 'Ganzzahl' is not defined",
            "k: Random = None": "k: found <class 'random.Random'>; allowed: a type that YAML has, such as int",
            "__post_init__ = lambda self: 1 / 0": "its defaults are refused: ZeroDivisionError: division by zero",
        }.items()
    },
}


@pytest.mark.parametrize(("change", "why"), BROKEN.values(), ids=list(BROKEN))
def test_a_file_that_cannot_be_used(
    change: Change, why: str, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that names the scenario's line and the file's, exit code 2, and no run directory."""
    file = scenario.parent / "mine.py"
    (scenario.parent / "beside.py").write_text("")
    file.write_text(change(file.read_text()))
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert is_one_line(err), err
    assert err.startswith(f"testbed: {scenario}:2: algorithm.file: {file}")
    assert why in err
    assert not (tmp_path / "runs").exists()


def test_the_line_of_a_class_is_that_of_the_file_now(scenario: Path) -> None:
    """Also if the file was loaded before and has become longer."""
    file = scenario.parent / "mine.py"
    broken = file.read_text().replace("def on_release", "def on_leave")
    for shift in (0, 7):
        file.write_text("# a line\n" * shift + broken)
        line = next(
            number for number, text in enumerate(file.read_text().splitlines(), 1) if text.startswith("class Mine")
        )
        with pytest.raises(ScenarioError, match=rf"mine\.py:{line}: Mine: "):
            load(scenario)


@pytest.mark.parametrize(
    ("algorithm", "line"),
    [
        (
            "{name: mine, file: nowhere.py}",
            "algorithm.file: {folder}/nowhere.py: cannot be read: No such file or directory",
        ),
        (
            "{name: mine, file: mine.yaml}",
            "algorithm.file: {folder}/mine.yaml: found no Python file; allowed: a file whose",
        ),
        ("{name: mine, file: .}", "algorithm.file: {folder}: found no Python file"),
        ("{name: mine, file: 3}", "algorithm.file: found 3; allowed: the path of a Python file"),
        ("{name: mine, file: }", "algorithm.file: found None; allowed: the path of a Python file"),
        ("{file: mine.py}", "algorithm.name: found nothing; allowed: what results call the algorithm"),
        (
            "{name: a/b, file: mine.py}",
            "algorithm.name: found 'a/b'; allowed: what results call the algorithm: letters, ",
        ),
        ("{name: 3, file: mine.py}", "algorithm.name: found 3; allowed: what results call the algorithm"),
        (
            "{name: rl, file: mine.py}",
            "algorithm.name: found rl, which is an algorithm of the testbed itself; allowed: another",
        ),
        ("{name: mine, file: mine.py, k: 3}", "algorithm.k: found unknown key; allowed: one of name, file"),
        ("{name: mine}", "algorithm.name: found 'mine'; allowed: one of rl, "),
    ],
)
def test_a_scenario_that_names_it_wrongly(
    algorithm: str, line: str, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same."""
    scenario.write_text(tiny(algorithm=algorithm))
    assert main(["run", str(scenario), "--out", str(tmp_path / "runs")]) == 2
    err = capsys.readouterr().err
    assert is_one_line(err), err
    assert err.startswith(f"testbed: {scenario}:2: {line.format(folder=scenario.parent)}")
