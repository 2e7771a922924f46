"""An algorithm in a file of its own, anywhere: `algorithm: {name: mine, file: ./mine.py}`.

The file defines one class derived from `Agent`, which is the algorithm whatever its name in the scenario. If there are
several, a module-level `ALGORITHMS = {"mine": Mine, ...}` says which name means which. A file is loaded once in a
process, and anew when it has changed. It may import installed packages, but no files beside it, because it is copied
alone into run directories and guests.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from agents.contract import Agent
from testbed.input_errors import nearest, shown
from testbed.scenario.algorithm_class import AlgorithmError, check_class, explain_import, path_to_show, place_of

TABLE = "ALGORITHMS"
"""The name under which a file with several algorithms has them."""


@dataclass(frozen=True)
class AlgorithmFile:
    """A file that was loaded: what was in it then, and its algorithms."""

    path: Path
    source: bytes = field(repr=False)
    digest: str
    """Of the source: `sha256:...`."""
    module: ModuleType = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The names of its algorithms: those that it gives them, or its own name if it has only one algorithm."""
        table = self._table()
        return [self.path.stem.replace("_", "-")] if table is None else list(table)

    def agent(self, name: str) -> type[Agent]:
        """The algorithm that a scenario means by a name, checked."""
        table = self._table()
        if table is None:
            return check_class(self._only(), self._shown)
        if name not in table:
            meant = nearest(name, list(table))
            hint = f" (did you mean {meant}?)" if meant else ""
            raise AlgorithmError(f"{self._shown}: found no {name!r} in its {TABLE}; allowed: {', '.join(table)}{hint}")
        return check_class(table[name], f"{self._shown}: {TABLE}: {name}")

    @property
    def _shown(self) -> str:
        return path_to_show(self.path)

    def _table(self) -> dict[str, Any] | None:
        table = vars(self.module).get(TABLE)
        if table is None:
            return None
        if not isinstance(table, Mapping) or not table or not all(isinstance(name, str) for name in table):
            allowed = 'a dictionary of classes by name, {"name": Class, ...}'
            raise AlgorithmError(f"{self._shown}: {TABLE}: found {shown(table)}; allowed: {allowed}")
        return dict(table)

    def _only(self) -> type[Agent]:
        """The one class derived from Agent that is defined in the file and has no subclass there."""
        kinds = [kind for kind in vars(self.module).values() if isinstance(kind, type) and issubclass(kind, Agent)]
        defined = dict.fromkeys(kind for kind in kinds if kind.__module__ == self.module.__name__)
        leaves = [
            kind for kind in defined if not any(issubclass(other, kind) for other in defined if other is not kind)
        ]
        if not leaves:
            raise AlgorithmError(f"{self._shown}: found no class derived from agents.contract.Agent")
        if len(leaves) > 1:
            found = " and ".join(f"{kind.__name__} ({place_of(kind)})" for kind in leaves)
            entries = ", ".join(f'"{kind.__name__.lower()}": {kind.__name__}' for kind in leaves)
            raise AlgorithmError(f"{self._shown}: found {found}; allowed: one, or a line {TABLE} = {{{entries}}}")
        return leaves[0]


_loaded: dict[tuple[str, str], AlgorithmFile | AlgorithmError] = {}
"""By path and digest. What could not be loaded is kept too: the file's code is not run again until it has changed."""


def load_algorithm_file(path: str | Path) -> AlgorithmFile:
    """Load a file, or take it from memory if it is as it was; `AlgorithmError` if that fails."""
    path = Path(path).absolute()
    if path.suffix != ".py":
        raise AlgorithmError(f"{path_to_show(path)}: found no Python file; allowed: a file whose name ends in .py")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise AlgorithmError(f"{path_to_show(path)}: cannot be read: {error.strerror}") from None
    digest = f"sha256:{hashlib.sha256(source).hexdigest()}"
    key = (str(path), digest)
    if key not in _loaded:
        try:
            _loaded[key] = AlgorithmFile(path, source, digest, _module(path, source))
        except AlgorithmError as error:
            _loaded[key] = error
    found = _loaded[key]
    if isinstance(found, AlgorithmError):
        raise AlgorithmError(str(found))
    return found


def _module(path: Path, source: bytes) -> ModuleType:
    """Run a file as a module. Its name in `sys.modules` is its own: two files may have the same name."""
    stem = "".join(character if character.isalnum() else "_" for character in path.stem)
    module = ModuleType(f"algorithm_file_{stem}_{hashlib.sha256(bytes(path) + source).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and type hints of its classes look there
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:  # noqa: BLE001  (its code may raise anything)
        del sys.modules[module.__name__]
        raise AlgorithmError(explain_import(error, path_to_show(path), str(path)) + _advice(error, path)) from None
    return module


def _advice(error: BaseException, path: Path) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and (path.parent / f"{error.name}.py").is_file():
        return f" (an algorithm is one file: put what it needs of {error.name}.py into it)"
    return ""
