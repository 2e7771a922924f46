"""`testbed new algorithm`: writes the first files of a new algorithm, which work as they are.

Into the checkout, where the algorithm is registered and tested with all others; or with `--here` into the current
folder, which needs no checkout: three files that name each other. The templates are in `testbed/cli/templates/`.
Everything is checked before anything is written, and the registry is written last, so a command that fails leaves
everything as it was.
"""

from __future__ import annotations

import ast
import importlib.util
import keyword
import os
import re
from argparse import Namespace
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from testbed.cli.arguments import add_command
from testbed.errors import InputError


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(
        commands, "new", "start an algorithm: its file, its tests, a smoke scenario, its registration", execute
    )
    one.add_argument("what", choices=("algorithm",))
    one.add_argument("name", metavar="NAME", help="what scenarios call it, such as my-algorithm")
    one.add_argument("--here", action="store_true", help="write the file, a test and a scenario into this folder only")


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.checkout import PROJECT

    if arguments.here:
        print(next_steps_here(new_algorithm_here(arguments.name, Path.cwd())), end="")
        return 0
    written = new_algorithm(arguments.name, PROJECT)
    print(next_steps(written, arguments.name, PROJECT), end="")
    return 0


MAX_LENGTH = 30  # so that the lines of the templates stay within the line length
ALLOWED = "lower-case letters and digits, dashes between them, a letter first"
SKELETON = {  # the classes that the templates import or define
    *(
        "Agent",
        "Demand",
        "Enter",
        "Graph",
        "Initial",
        "Message",
        "Output",
        "Path",
        "Request",
        "Send",
        "Stage",
        "Status",
        "Token",
    ),
    *("Any", "ClassVar", "Random", "Self"),
}
REGISTRY, TABLE = "agents/registry.py", "OWN"
FOLDERS = ("agents", "tests/agents", "scenarios/smoke")


@dataclass(frozen=True)
class Names:
    """The names of an algorithm: in scenarios, of its module, of its class."""

    name: str
    module: str
    class_name: str


@dataclass(frozen=True)
class Registry:
    """The text of agents/registry.py, and its parsed table of algorithms."""

    text: str
    algorithms: ast.Dict

    @property
    def names(self) -> set[str]:
        """The names of the registered algorithms."""
        return {str(key.value) for key in self.algorithms.keys if isinstance(key, ast.Constant)}

    @property
    def classes(self) -> set[str]:
        """The names of their classes."""
        places = [str(place.value) for place in self.algorithms.values if isinstance(place, ast.Constant)]
        return {place.partition(":")[2] for place in places}


def new_algorithm(name: str, project: Path) -> list[Path]:
    """Start an algorithm in a checkout; returns the files written, relative to it, the registry last."""
    names = parse_name(name)
    registry = _read_registry(project)
    files = _new_files(names)
    _refuse_existing(names, registry, files, project)
    _write(files, project)
    try:
        _replace(project / REGISTRY, _with_algorithm(registry, names))
    except InputError:
        _remove(list(files), project)
        raise
    return [*map(Path, files), Path(REGISTRY)]


def next_steps(written: list[Path], name: str, project: Path) -> str:
    """What was written, and the commands to try next."""
    _, test, smoke, _ = written
    purposes = (
        "the algorithm: a skeleton that works, to be replaced by your paper",
        "its tests, one per claim or figure",
        "a smoke scenario",
        "one more line",
    )
    width = max(len(str(file)) for file in written)
    wrote = "\n".join(f"  {file!s:{width}}  {purpose}" for file, purpose in zip(written, purposes, strict=True))
    return f"""\
written in {project}:
{wrote}

next, in that folder:
  ./setup.sh test {test}
  ./setup.sh test tests/agents/test_contract.py -k {name}
  ./setup.sh testbed smoke {smoke}
"""


def new_algorithm_here(name: str, folder: Path) -> list[Path]:
    """Start an algorithm in any folder; returns the files written, relative to it."""
    from agents.registry import ALGORITHMS

    names = parse_name(name)
    if name in ALGORITHMS:
        raise InputError(f"algorithm name: found {name!r}, which is an algorithm already")
    module = names.module
    if importlib.util.find_spec(module) is not None and not os.path.lexists(folder / f"{module}.py"):
        raise InputError(f"algorithm name: found {name!r}, but {module}.py would hide the Python module {module}")
    files = {
        f"{module}.py": _render("algorithm.py.tmpl", names),
        f"test_{module}.py": _render("test_here.py.tmpl", names),
        f"{name}.yaml": _render("here.yaml.tmpl", names),
    }
    _refuse_existing_files(names, files, folder)
    _write(files, folder)
    return [*map(Path, files)]


def next_steps_here(written: list[Path]) -> str:
    """The same for an algorithm in a folder of its own."""
    algorithm, test, scenario = written
    width = max(len(str(file)) for file in written)
    return f"""\
written:
  {algorithm!s:{width}}  the algorithm: a skeleton that works, to be replaced by your paper
  {test!s:{width}}  its tests
  {scenario!s:{width}}  a scenario that runs it

next:
  testbed run {scenario}
  testbed check {algorithm}
  python -m pytest {test}
"""


# -- names -------------------------------------------------------------------------------------------------------------


def parse_name(name: str) -> Names:
    """The names of an algorithm, or an error that says why it cannot have that name."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > MAX_LENGTH:
        raise InputError(f"algorithm name: found {name!r}; allowed: {ALLOWED}, at most {MAX_LENGTH} characters")
    class_name = "".join(part.capitalize() for part in name.split("-"))
    names = Names(name, name.replace("-", "_"), class_name)
    if keyword.iskeyword(names.module) or keyword.iskeyword(class_name):
        raise InputError(f"algorithm name: found {name!r}, which is a keyword of Python")
    import yaml  # only here: it takes long to import

    if yaml.safe_load(name) != name:
        raise InputError(f"algorithm name: found {name!r}, which YAML does not read as a name")
    if class_name in SKELETON:
        raise InputError(f"algorithm name: found {name!r}, but the skeleton has a {class_name} already")
    return names


def _refuse_existing(names: Names, registry: Registry, files: dict[str, str], project: Path) -> None:
    if names.name in registry.names:
        raise InputError(f"algorithm name: found {names.name!r}, which is in {REGISTRY} already")
    if names.class_name in registry.classes:
        raise InputError(f"algorithm name: found {names.name!r}, but {REGISTRY} has a {names.class_name} already")
    _refuse_existing_files(names, files, project)


def _refuse_existing_files(names: Names, files: dict[str, str], project: Path) -> None:
    for file in files:
        if os.path.lexists(project / file):
            raise InputError(f"algorithm name: found {names.name!r}, but there is {file} already")


# -- files -------------------------------------------------------------------------------------------------------------


def _new_files(names: Names) -> dict[str, str]:
    return {
        f"agents/{names.module}.py": _render("algorithm.py.tmpl", names),
        f"tests/agents/test_{names.module}_paper.py": _render("paper_test.py.tmpl", names),
        f"scenarios/smoke/{names.name}.yaml": _render("smoke.yaml.tmpl", names),
    }


def _render(template: str, names: Names) -> str:
    text = (resources.files("testbed.cli") / "templates" / template).read_text(encoding="utf-8")
    return Template(text).substitute(
        name=names.name,
        module=names.module,
        class_name=names.class_name,
        imports="\n".join(_test_imports(names)),
        taken=_taken(names),
    )


def _test_imports(names: Names) -> list[str]:
    """The imports of the test that depend on the name, sorted as ruff does."""
    modules = {
        "agents.contract": "ONE_UNIT, Status",
        "agents.outputs": "Enter, Output, Send",
        f"agents.{names.module}": _taken(names),
    }
    return [f"from {module} import {modules[module]}" for module in sorted(modules, key=_natural)]


def _taken(names: Names) -> str:
    """What the test imports from the algorithm."""
    return ", ".join(sorted((names.class_name, "Initial", "Request", "Token"), key=_member_order))


def _member_order(name: str) -> tuple[bool, list[int | str]]:
    is_constant = len(name) > 1 and name.isupper()  # for ruff, KL is a constant
    return not is_constant, _natural(name.lower())


def _natural(text: str) -> list[int | str]:
    """A key that puts k9 before k10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _write(files: dict[str, str], project: Path) -> None:
    """Write files that are not there; all or none."""
    done: list[str] = []
    for file, text in files.items():
        try:
            with open(project / file, "x", encoding="utf-8") as out:
                done.append(file)
                out.write(text)
        except OSError as error:
            _remove(done, project)
            raise InputError(f"{project / file}: cannot be written: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    """Replace a file in one step, so that the old one stays if the disk is full."""
    partial = path.with_suffix(".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def _remove(files: list[str], project: Path) -> None:
    for file in files:
        (project / file).unlink(missing_ok=True)


# -- the registry ------------------------------------------------------------------------------------------------------


def _read_registry(project: Path) -> Registry:
    path = project / REGISTRY
    if not all((project / folder).is_dir() for folder in FOLDERS) or not path.is_file():
        raise InputError(f"{project}: not a checkout of the project; `--here` writes the algorithm into this folder")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path}: cannot be written")
    text = path.read_text(encoding="utf-8")
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: {error.msg}") from None
    literals = [
        line.value
        for line in body
        if isinstance(line, ast.AnnAssign)
        and ast.unparse(line.target) == TABLE
        and isinstance(line.value, ast.Dict)
        and text.splitlines()[(line.end_lineno or 0) - 1] == "}"
    ]
    if len(literals) != 1:
        raise InputError(f"{path}: found no literal {TABLE}, one algorithm a line, to add one to")
    return Registry(text, literals[0])


def _with_algorithm(registry: Registry, names: Names) -> str:
    """The registry with one more line."""
    lines = registry.text.splitlines()
    assert registry.algorithms.end_lineno is not None, "parsed from text"
    line = f'    "{names.name}": "agents.{names.module}:{names.class_name}",'
    lines.insert(registry.algorithms.end_lineno - 1, line)
    return "\n".join(lines) + "\n"
