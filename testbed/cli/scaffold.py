"""`testbed new algorithm`: writes the first files of a new algorithm, which work as they are.

The templates are in `testbed/cli/templates/`. Everything is checked before anything is written, and the registry is
written last, so a command that fails leaves the checkout as it was.
"""

from __future__ import annotations

import ast
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


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.checkout import PROJECT

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
        "Request",
        "Send",
        "Stage",
        "Status",
        "Token",
    ),
    *("Any", "ClassVar", "Random", "Self"),
}
REGISTRY = "agents/registry.py"
FOLDERS = ("agents", "tests/agents", "scenarios/smoke")


@dataclass(frozen=True)
class Names:
    """The names of an algorithm: in scenarios, of its module, of its class."""

    name: str
    module: str
    class_name: str


@dataclass(frozen=True)
class Registry:
    """The text of agents/registry.py, and its parsed imports and algorithms."""

    text: str
    imports: list[ast.ImportFrom]
    algorithms: ast.Dict

    @property
    def names(self) -> set[str]:
        """The names of the registered algorithms."""
        return {str(key.value) for key in self.algorithms.keys if isinstance(key, ast.Constant)}

    @property
    def classes(self) -> set[str]:
        """The names that it imports."""
        return {alias.asname or alias.name for line in self.imports for alias in line.names}


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
        "one more line, and its import",
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
        name=names.name, class_name=names.class_name, imports="\n".join(_test_imports(names))
    )


def _test_imports(names: Names) -> list[str]:
    """The imports of the test that depend on the name, sorted as ruff does."""
    taken = sorted((names.class_name, "Initial", "Request", "Token"), key=_member_order)
    modules = {
        "agents.contract": "ONE_UNIT, Status",
        "agents.outputs": "Enter, Output, Send",
        f"agents.{names.module}": ", ".join(taken),
    }
    return [f"from {module} import {modules[module]}" for module in sorted(modules, key=_natural)]


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
        raise InputError(f"{project}: not a checkout of the project, so there is nowhere to write an algorithm")
    if not os.access(path, os.W_OK):
        raise InputError(f"{path}: cannot be written")
    text = path.read_text(encoding="utf-8")
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: {error.msg}") from None
    imports = [line for line in body if isinstance(line, ast.ImportFrom)]
    literals = [
        line.value
        for line in body
        if isinstance(line, ast.AnnAssign)
        and ast.unparse(line.target) == "ALGORITHMS"
        and isinstance(line.value, ast.Dict)
        and text.splitlines()[(line.end_lineno or 0) - 1] == "}"
    ]
    if len(literals) != 1 or not imports:
        raise InputError(f"{path}: found no literal ALGORITHMS, one algorithm a line, to add one to")
    return Registry(text, imports, literals[0])


def _with_algorithm(registry: Registry, names: Names) -> str:
    """The registry with one more line, and the import at the place that ruff expects."""
    lines = registry.text.splitlines()
    assert registry.algorithms.end_lineno is not None, "parsed from text"
    lines.insert(registry.algorithms.end_lineno - 1, f'    "{names.name}": {names.class_name},')
    module = f"agents.{names.module}"
    before = [line for line in registry.imports if _natural(line.module or "") < _natural(module)]
    place = max((line.end_lineno or 0 for line in before), default=registry.imports[0].lineno - 1)
    lines.insert(place, f"from {module} import {names.class_name}")
    return "\n".join(lines) + "\n"
