"""A fingerprint of the code that decides a result: the agent, the engine, the backend, the metrics and the checks.

It covers the modules that a repetition imports, directly or not, found by reading their source. So a change to one
algorithm makes only its own results stale, and a change to a command or a figure none.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

from agents.registry import ALGORITHMS
from testbed.backends.registry import BACKENDS, find_backend
from testbed.scenario.schema import Scenario

OURS = ("agents", "analysis", "testbed")
ENGINE = "testbed.experiments.measure"
"""What runs and judges one repetition."""
STATIONS = "testbed.backends.stations"
_DISTRIBUTIONS = {"ns3": "ns3"}
"""Backends whose results depend on the version of another distribution."""
_COMPILED = ".cc"
"""Files beside a module that are compiled when it is loaded."""


def fingerprint_of(scenario: Scenario, engine: str = ENGINE) -> str:
    """Of the code that decides the results of a scenario, which the module `engine` runs and judges."""
    choice = scenario.algorithm
    if choice.loaded is None:
        return _fingerprint((engine, ALGORITHMS[choice.name].__module__), scenario.backend, "")
    ours = [name for name in _imports(choice.loaded.source, "") if name.partition(".")[0] in OURS]
    return _fingerprint((engine, *ours), scenario.backend, choice.loaded.digest)


@cache
def _fingerprint(modules: tuple[str, ...], backend: str, file: str) -> str:
    """Of modules, of a backend, and of the file of an algorithm, by its digest."""
    digest = hashlib.sha256(file.encode())
    for name, source in sorted(closure([*_backend_modules(backend), *modules]).items()):
        digest.update(f"{name} ".encode() + _digest(source))
    if backend in _DISTRIBUTIONS:
        try:
            digest.update(version(_DISTRIBUTIONS[backend]).encode())
        except PackageNotFoundError:  # a store may be read where the backend cannot run
            digest.update(b"-")
    return digest.hexdigest()


def _backend_modules(backend: str) -> list[str]:
    """The modules of a backend; in real time all of them, for its stations load some by name."""
    module = BACKENDS[backend].partition(":")[0]
    packages = [module.rpartition(".")[0], STATIONS] if find_backend(backend).real_time else []
    return [module, *(f"{package}.{one.name}" for package in packages for one in iter_modules(_folders(package)))]


def _folders(package: str) -> list[str]:
    spec = find_spec(package)
    return list(spec.submodule_search_locations or []) if spec is not None else []


def closure(roots: Iterable[str]) -> dict[str, Path]:
    """The source files of these modules and of all that they import, by name, without those of libraries."""
    waiting, files, seen = list(roots), dict[str, Path](), set[str]()
    families = {*OURS, *(root.partition(".")[0] for root in waiting)} - sys.stdlib_module_names
    while waiting:
        module = waiting.pop()
        if module in seen or module.partition(".")[0] not in families:
            continue
        seen.add(module)
        file = _file_of(module)
        if file is None:  # a name in a module, not a module
            continue
        files[module] = file
        files.update((str(other.name), other) for other in file.parent.glob(f"*{_COMPILED}"))
        waiting += _imports_of(file, module)
    return files


@cache
def _file_of(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return None if spec is None or spec.origin is None or not spec.origin.endswith(".py") else Path(spec.origin)


@cache
def _imports_of(file: Path, module: str) -> list[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return [*_imports(file.read_bytes(), package), module.rpartition(".")[0]]


def _imports(source: bytes, package: str) -> list[str]:
    """What a module in a package imports, anywhere in it: modules, and names that may be modules."""
    found: list[str] = []
    for node in _nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            start = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes except those that only a type checker reads."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield from _nodes(child)


@cache
def _digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()
