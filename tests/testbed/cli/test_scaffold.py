"""`testbed new algorithm`: what it writes works at once, and what it refuses leaves everything as it was."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.cli.scaffold import MAX_LENGTH, SKELETON, new_algorithm, new_algorithm_here
from testbed.errors import InputError
from tests.conftest import PROJECT
from tests.testbed.checkout import copy_checkout, files_in, python_in
from tests.testbed.tiny import is_one_line

AGENT = "agents/my_walk.py"
TEST = "tests/agents/test_my_walk_paper.py"
SMOKE = "scenarios/smoke/my-walk.yaml"
WRITTEN = [AGENT, TEST, SMOKE, "agents/registry.py"]
PYTEST = ("pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")
"""Without plugins that these tests do not need."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which the algorithm my-walk has been started with the command."""
    checkout = copy_checkout(tmp_path_factory.mktemp("checkout"))
    before = files_in(checkout)
    done = python_in(checkout, "testbed.cli", "new", "algorithm", "my-walk")
    assert (done.returncode, done.stderr) == (0, "")
    after = files_in(checkout)
    assert sorted(file for file, text in after.items() if before.get(file) != text) == sorted(WRITTEN)
    assert before.keys() <= after.keys()
    assert all(file in done.stdout for file in WRITTEN)
    assert f"./setup.sh test {TEST}" in done.stdout
    return checkout


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The smallest folder that counts as a checkout: the registry, and the folders that files go to."""
    for folder in ("agents", "tests/agents", "scenarios/smoke"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("agents/registry.py", "agents/contract.py", "agents/rl.py", "scenarios/smoke/static.yaml"):
        (tmp_path / file).write_bytes((PROJECT / file).read_bytes())
    return tmp_path


# -- what it writes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        (*PYTEST, TEST, "tests/agents/test_contract.py", "-k", "my_walk or my-walk"),
        ("testbed.cli", "smoke", SMOKE),
        ("ruff", "check", "--no-cache", AGENT, TEST, "agents/registry.py"),
        ("ruff", "format", "--no-cache", "--check", AGENT, TEST, "agents/registry.py"),
        ("mypy", AGENT, "agents/registry.py"),
    ],
    ids=lambda command: " ".join(word for word in command[:8] if not word.startswith(("-", "no:"))),
)
def test_everything_passes_at_once(command: tuple[str, ...], started: Path) -> None:
    """Its own tests, the contract's, its smoke scenario, the linter, the formatter and the type checker."""
    done = python_in(started, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    if command[0] == "pytest":
        passed = re.search(r"(\d+) passed", done.stdout)
        assert passed is not None
        assert int(passed[1]) > 22 + 5, "both files have tests of it"


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("            self.token_holder = False\n", ""),
        ("number > self.served.get(j, 0)", "number >= self.served.get(j, 0)"),
        ("        for origin, number in self.pending_requests():", "        for origin, number in []:"),
    ],
    ids=["two tokens", "a token that never rests", "floods that miss nodes"],
)
def test_its_tests_can_fail(line: str, instead: str, started: Path) -> None:
    """A broken skeleton is caught by the tests that come with it."""
    file = started / AGENT
    whole = file.read_text()
    assert line in whole
    file.write_text(whole.replace(line, instead))
    try:
        done = python_in(started, *PYTEST, "-x", TEST)
    finally:
        file.write_text(whole)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED" in done.stdout


def test_one_line_in_the_registry(small: Path) -> None:
    """Nothing else changes."""
    before = (small / "agents/registry.py").read_text().splitlines()
    new_algorithm("my-walk", small)
    after = (small / "agents/registry.py").read_text().splitlines()
    assert [line for line in after if line not in before] == ['    "my-walk": "agents.my_walk:MyWalk",']
    assert [line for line in after if line in before] == before


def test_any_name_is_well_formatted(tmp_path: Path) -> None:
    """Imports are sorted wherever the name comes among them, and no line becomes too long."""
    checkout = copy_checkout(tmp_path)
    names = ["a", "zz", "x1", "k-l", "k10", "k9", "contract2", "rl-2", "r1", "a" * MAX_LENGTH, "if-not", "init-x"]
    written = {file for name in names for file in new_algorithm(name, checkout)}
    python = sorted(str(file) for file in written if file.suffix == ".py")
    for action in (["check"], ["format", "--check"]):
        done = python_in(checkout, "ruff", *action, "--no-cache", *python)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_skeletons_own_names_are_known(small: Path) -> None:
    """Every class that the generated files import or define is refused as the name of an algorithm."""
    bound = set()
    for file in (*new_algorithm("my-walk", small)[:2], *new_algorithm_here("my-walk", small)[:2]):
        for node in ast.walk(ast.parse((small / file).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                bound |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ClassDef):
                bound.add(node.name)
    assert {name for name in bound if name[0].isupper() and not name.isupper()} == {*SKELETON, "MyWalk"}


# -- what it refuses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "allowed: ") for name in ("", "Walk", "my_walk", "2walk", "walk-", "my--walk", "my walk", "../walk")),
        *((name, "allowed: ") for name in ("wälk", "walk\n", "walk.py", "a" * (MAX_LENGTH + 1))),
        *((name, "keyword") for name in ("class", "is", "none")),
        *((name, "YAML") for name in ("no", "on", "null")),
        ("rl", "is in agents/registry.py already"),
        ("reverse-link", "has a ReverseLink already"),
        ("token", "has a Token already"),
        ("contract", "there is agents/contract.py already"),
        ("static", "there is scenarios/smoke/static.yaml already"),
    ],
)
def test_a_name_that_cannot_be(
    name: str, why: str, small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says why, exit code 2, and nothing is written."""
    monkeypatch.setattr("testbed.checkout.PROJECT", small)
    before = files_in(small)
    assert main(["new", "algorithm", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert is_one_line(err)
    assert err.startswith("testbed: algorithm name: found ")
    assert why in err
    assert files_in(small) == before


def test_the_same_name_twice(small: Path) -> None:
    """The second time it exists."""
    new_algorithm("my-walk", small)
    before = files_in(small)
    with pytest.raises(InputError, match=r"in agents/registry\.py already"):
        new_algorithm("my-walk", small)
    assert files_in(small) == before


@pytest.mark.parametrize("missing", ["agents/registry.py", "tests/agents", "scenarios/smoke"])
def test_not_in_a_checkout(missing: str, small: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Where the package is installed without its tests or scenarios, one line says so."""
    monkeypatch.setattr("testbed.checkout.PROJECT", small)
    (small / missing).rename(small / "elsewhere")
    before = files_in(small)
    assert main(["new", "algorithm", "my-walk"]) == 2
    err = capsys.readouterr().err
    assert is_one_line(err)
    assert err.startswith(f"testbed: {small}: not a checkout")
    assert files_in(small) == before


def test_a_registry_that_is_read_only(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and nothing is written. Root may write everything, so `os.access` is replaced."""
    monkeypatch.setattr("os.access", lambda path, mode: path != small / "agents/registry.py")
    before = files_in(small)
    with pytest.raises(InputError, match=r"registry\.py: cannot be written"):
        new_algorithm("my-walk", small)
    assert files_in(small) == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ALGORITHMS = = 1\n", r"registry\.py:1: invalid syntax"),
        ('OWN = dict(rl="agents.rl:ReverseLink")\n', "found no literal OWN"),
        ('OWN: dict = {"rl": "agents.rl:ReverseLink"}\n', "found no literal OWN"),
    ],
)
def test_a_registry_of_another_shape(text: str, why: str, small: Path) -> None:
    """A registry that cannot be edited safely is left as it is."""
    (small / "agents/registry.py").write_text(text)
    before = files_in(small)
    with pytest.raises(InputError, match=why):
        new_algorithm("my-walk", small)
    assert files_in(small) == before


@pytest.mark.parametrize("obstacle", ["agents/registry.partial", "scenarios/smoke/my-walk.yaml"])
def test_a_write_that_fails_is_undone(obstacle: str, small: Path) -> None:
    """No file of an algorithm that is not registered is left behind."""
    (small / obstacle).mkdir()
    before = files_in(small)
    with pytest.raises(InputError):
        new_algorithm("my-walk", small)
    assert files_in(small) == before


# -- in any folder -----------------------------------------------------------------------------------------------------

HERE = ["my-walk.yaml", "my_walk.py", "test_my_walk.py"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is no checkout, in which the algorithm my-walk has been started with the command."""
    folder = tmp_path_factory.mktemp("here")
    done = python_here(folder, "testbed.cli", "new", "algorithm", "my-walk", "--here")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(files_in(folder)) == HERE
    for step in ("testbed run my-walk.yaml", "testbed check my_walk.py", "pytest test_my_walk.py"):
        assert step in done.stdout
    return folder


def python_here(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the installed packages in a folder, of which nothing else is on the path."""
    command = [sys.executable, "-B", "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_what_it_writes_runs(here: Path, tmp_path: Path) -> None:
    """With every check as the scenario expects it."""
    done = python_here(here, "testbed.cli", "run", "my-walk.yaml", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^safety +ok ", done.stdout, re.MULTILINE)


def test_its_tests_pass_and_can_fail(here: Path) -> None:
    """Steps of one agent, and whole runs of the scenario: both kinds find what is broken."""
    done = python_here(here, *PYTEST, "test_my_walk.py")
    assert done.returncode == 0, done.stdout
    assert "17 passed" in done.stdout
    file = here / "my_walk.py"
    whole = file.read_text()
    file.write_text(whole.replace("            self.token_holder = False\n", ""))
    try:
        done = python_here(here, *PYTEST, "test_my_walk.py")
    finally:
        file.write_text(whole)
    assert done.returncode == 1
    assert "FAILED test_my_walk.py::test_an_idle_holder_gives_the_token_away" in done.stdout
    assert "FAILED test_my_walk.py::test_random_mobile_runs" in done.stdout


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("my_walk", "allowed: "),
        ("rl", "is an algorithm already"),
        ("agents", "agents.py would hide the Python module agents"),
        ("json", "json.py would hide the Python module json"),
        ("walk", "there is walk.yaml already"),
    ],
)
def test_here_a_name_that_cannot_be(
    name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2, and no file is written, also not those that were free."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walk.yaml").write_text("mine")
    assert main(["new", "algorithm", name, "--here"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert is_one_line(err)
    assert why in err
    assert files_in(tmp_path) == {"walk.yaml": b"mine"}
