"""Reads study files, and makes small studies of a scenario and options. Errors name the file, the line and the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from testbed.backends.registry import BACKENDS
from testbed.errors import InputError, ScenarioError
from testbed.experiments.studies.job import WITHOUT
from testbed.experiments.studies.repeat import Repeat
from testbed.experiments.studies.study import ALGORITHM, BACKEND, Study
from testbed.experiments.variants import Variant, read_variants
from testbed.input_errors import KeyPath, nearest, shown
from testbed.scenario import yaml_reader
from testbed.scenario.loader import locate_files
from testbed.scenario.yaml_reader import Document

KEYS = ("name", "description", "scenario", "set", "algorithms", "backends", "vary", "together", "points", "repeat")


def is_study(document: Document) -> bool:
    """Whether a file is a study: only a study has a base scenario."""
    return isinstance(document.data, dict) and "scenario" in document.data


def read_study(path: Path) -> Study:
    """The study in a file; a scenario is a study of one point."""
    document = yaml_reader.read(path)
    study = _Reader(document, path).study() if is_study(document) else Study(path.stem, document, document)
    if isinstance(study.base.data, dict):  # else the check of the scenario reports it
        locate_files(study.base.data, Path(study.base.file).parent)
    return study


def vary(study: Study, options: Sequence[str]) -> Study:
    """The study with the axes of `--vary key=a,b,c` added to its grid."""
    grid, origins = dict(study.grid), dict(study.options)
    for option in options:
        key, equals, text = option.partition("=")
        source = f"--vary {option}"
        if not key or not equals:
            raise ScenarioError(source, None, "", "no key=values", "for example workload.rate=0.1,1,10")
        try:
            values = yaml_reader.parse(f"[{text}]", source).data
        except ScenarioError as error:
            raise ScenarioError(source, None, key, error.found, "values with commas between them") from None
        wrong = partial(ScenarioError, source, None, key)
        _check_values(values, wrong)
        _check_axis(key, wrong)
        if key in study.axes or key in grid:
            raise wrong("an axis of the study already", "each key once")
        grid[key], origins[key] = values, source
    return replace(study, grid=grid, options=origins)


def _check_axis(key: str, wrong: Callable[[str, str], ScenarioError]) -> None:
    if key in (ALGORITHM, BACKEND):
        raise wrong("an axis of its own", f"the list {key}s of the study")
    if key.partition(".")[0] in WITHOUT:
        raise wrong("a key that changes no result", "keys that change one")


def _check_values(values: Any, wrong: Callable[[str, str], ScenarioError]) -> None:
    if not isinstance(values, list):
        raise wrong(shown(values), "a list of values")
    if not values:
        raise wrong("an empty list", "one or more values")
    for index, value in enumerate(values):
        if value in values[:index]:
            raise wrong(f"{shown(value)} a second time", "each value once")


class _Reader:
    """Reads one document, key by key."""

    def __init__(self, document: Document, path: Path) -> None:
        self._document = document
        self._path = path
        self._data: dict[str, Any] = document.data

    def _wrong(self, path: KeyPath, found: str, allowed: str, meant: str | None = None) -> ScenarioError:
        start = path
        while start and start not in self._document.lines:
            start = start[:-1]
        line = self._document.lines.get(start)
        return ScenarioError(self._document.file, line, ".".join(map(str, path)), found, allowed, meant)

    def study(self) -> Study:
        for key in self._data:
            if key not in KEYS:
                raise self._wrong((key,), "unknown key", f"one of {', '.join(KEYS)}", nearest(key, list(KEYS)))
        grid = self._mapping("vary", self._data.get("vary"))
        for key, values in grid.items():
            self._values(("vary", key), values)
        study = Study(
            name=self._name(),
            base=self._base(),
            source=self._document,
            overrides=self._mapping("set", self._data.get("set")),
            variants=self._variants(),
            backends=self._backends(),
            grid=grid,
            together=self._together(),
            extra=self._points(),
            repeat=None if "repeat" not in self._data else Repeat.read(self._document, self._data["repeat"]),
        )
        self._check_axes(study)
        return study

    def _check_axes(self, study: Study) -> None:
        seen: list[str] = []
        groups: dict[KeyPath, dict[str, Any]] = {("vary",): study.grid}
        groups |= {("together", index): group for index, group in enumerate(study.together)}
        for path, group in groups.items():
            for key in group:
                if key in seen:
                    raise self._wrong((*path, key), f"{key} a second time", "each key on one axis")
                seen.append(key)
        groups |= {("points", index): point for index, point in enumerate(study.extra)}
        for path, group in groups.items():
            for key in group:
                _check_axis(key, partial(self._wrong, (*path, key)))

    def _name(self) -> str:
        name = self._data.get("name", self._path.stem)
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise self._wrong(("name",), shown(name), "text of one line")
        return name

    def _base(self) -> Document:
        written = self._data["scenario"]
        if isinstance(written, str):
            return yaml_reader.read(self._path.parent / written)
        if not isinstance(written, dict):
            raise self._wrong(("scenario",), shown(written), "a file, or the keys of a scenario")
        start = ("scenario",)
        lines = {path[1:]: line for path, line in self._document.lines.items() if path[:1] == start}
        name = re.sub(r"[^A-Za-z0-9._-]", "-", f"study-{self._path.stem}")[:80]  # any file name, as a scenario's
        return Document(self._document.file, {"name": name, **written}, lines)

    def _mapping(self, key: str, value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong((key,), shown(value), "keys of the scenario, each with a value")
        for one in value:
            if not isinstance(one, str):
                raise self._wrong((key, one), f"the key {shown(one)}", "keys of the scenario")
        return value

    def _values(self, path: KeyPath, values: Any) -> None:
        _check_values(values, lambda found, allowed: self._wrong(path, found, allowed))

    def _variants(self) -> list[Variant]:
        return read_variants(self._document) if "algorithms" in self._data else []

    def _backends(self) -> list[str]:
        if "backends" not in self._data:
            return []
        values = self._data["backends"]
        self._values(("backends",), values)
        for value in values:
            if not isinstance(value, str) or value not in BACKENDS:
                meant = nearest(value, list(BACKENDS))
                raise self._wrong(("backends",), shown(value), f"one of {', '.join(BACKENDS)}", meant)
        return list(values)

    def _together(self) -> list[dict[str, list[Any]]]:
        groups = self._data.get("together") or []
        groups = [groups] if isinstance(groups, dict) else groups
        if not isinstance(groups, list):
            raise self._wrong(("together",), shown(groups), "lists of values that go together: {nodes: [5, 9], ...}")
        for index, group in enumerate(groups):
            mapping = self._mapping("together", group)
            for values in mapping.values():
                if not isinstance(values, list) or not values:
                    raise self._wrong(("together", index), "an axis without values", "lists of values")
            lengths = {key: len(values) for key, values in mapping.items()}
            if len(set(lengths.values())) > 1:
                found = ", ".join(f"{length} values of {key}" for key, length in lengths.items())
                raise self._wrong(("together", index), found, "as many of each, for they go together")
        return groups

    def _points(self) -> list[dict[str, Any]]:
        points = self._data.get("points") or []
        if not isinstance(points, list):
            raise self._wrong(("points",), shown(points), "a list of keys with values: [{nodes: 5}]")
        return [self._mapping("points", point) for point in points]


def default_store(path: Path) -> Path:
    """Where the results of a study go, unless the user says otherwise: beside it."""
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(f"{path}: found no .yaml file; allowed: a study or a scenario")
    return path.with_suffix(".store")
