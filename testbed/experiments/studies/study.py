"""A study: a base scenario, and the axes along which it is varied. Its points are all the scenarios that result.

    scenario: ../mobility/campus.yaml     # the base: a file, or the keys of a scenario
    set: {nodes: 20}                      # changes to the base
    algorithms: [rl, {name: krl, k: 3}]   # as `testbed compare --variants` has them
    backends: [sim, ns3]
    vary: {workload.rate: [0.1, 1]}       # a grid: every combination of the values of these keys
    together: [{nodes: [10, 20], area: [[100, 100], [140, 140]]}]   # values that go together, one axis for each item
    points: [{workload.rate: 5, nodes: 3}]                          # more points, beside those of the grid
    repeat: 5                             # or {until: {waiting_time: 5 %}, at_least: 5, at_most: 100}

Every point is run with every algorithm and on every backend. All points have the seed of the base, so repetition r has
the same draws in all of them, as far as they draw the same things.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from testbed.errors import InputError, ScenarioError
from testbed.experiments.studies.job import StoredPoint
from testbed.experiments.studies.repeat import Repeat
from testbed.experiments.variants import Variant, name_variants
from testbed.input_errors import KeyPath
from testbed.scenario.loader import build
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document

ALGORITHM, BACKEND = "algorithm", "backend"
MAX_POINTS = 100_000
AXES = ("vary", "together", "points")
"""The sections of a study that have axes."""


@dataclass(frozen=True)
class StudyPoint:
    """One point of a study."""

    axes: dict[str, Any]
    """Its value on every axis."""
    stored: StoredPoint

    @property
    def scenario(self) -> Scenario:
        """What is run."""
        return self.stored.scenario

    @property
    def label(self) -> str:
        """What lines and messages call it."""
        return label_of(self.axes) or self.scenario.name


@dataclass(frozen=True)
class Study:
    """A base scenario and its axes, as a study file has them."""

    name: str
    base: Document
    """The base scenario, not checked."""
    source: Document
    """Where the study is written, for error lines."""
    overrides: dict[str, Any] = field(default_factory=dict)
    """Changes to the base."""
    variants: list[Variant] = field(default_factory=list)
    backends: list[str] = field(default_factory=list)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    together: list[dict[str, list[Any]]] = field(default_factory=list)
    extra: list[dict[str, Any]] = field(default_factory=list)
    repeat: Repeat | None = None
    """None for the base scenario's own."""
    options: dict[str, str] = field(default_factory=dict)
    """The options of the command line that axes come from, by the keys of these axes."""

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The names of the axes."""
        named = [ALGORITHM] * bool(self.variants) + [BACKEND] * bool(self.backends)
        keys = (key for group in [self.grid, *self.together, *self.extra] for key in group)
        return tuple(dict.fromkeys([*named, *keys]))

    @cached_property
    def points(self) -> list[StudyPoint]:
        """All points, checked. An error names the key and the value that a scenario refuses."""
        variants: list[Variant | None] = [*self._named_variants()] or [None]
        backends: list[str | None] = [*self.backends] or [None]
        found: dict[str, StudyPoint] = {}
        for keys in self._combinations():
            for backend in backends:
                for variant in variants:
                    point = self._point(keys, backend, variant)
                    found.setdefault(point.stored.name, point)  # an extra point may be one of the grid
                    if len(found) > MAX_POINTS:
                        raise InputError(f"{self.source.file}: more than {MAX_POINTS} points")
        return list(found.values())

    @property
    def repetitions(self) -> Repeat:
        """How often every point is run."""
        return self.repeat or Repeat.fixed(self.points[0].scenario.repeat)

    def _combinations(self) -> Iterator[dict[str, Any]]:
        """The keys that each point changes, beside the algorithm and the backend."""
        axes: list[list[dict[str, Any]]] = [[{key: value} for value in values] for key, values in self.grid.items()]
        for group in self.together:
            rows = zip(*group.values(), strict=True)
            axes.append([dict(zip(group, row, strict=True)) for row in rows])
        if axes or not self.extra:
            for combination in product(*axes):
                yield {key: value for part in combination for key, value in part.items()}
        yield from self.extra

    def _named_variants(self) -> list[Variant]:
        """The variants with names by what differs, found on the base scenario."""
        if not self.variants:
            return []
        backend = {BACKEND: self.backends[0]} if self.backends else {}
        plain = self._build(self.base.data, {**self.overrides, **backend}, {})
        return name_variants(self.variants, plain).variants

    def _point(self, keys: dict[str, Any], backend: str | None, variant: Variant | None) -> StudyPoint:
        named: dict[str, Any] = {} if backend is None else {BACKEND: backend}
        data = self.base.data
        if variant is not None:
            data = {**data, **variant.on(data)}
        try:
            scenario = self._build(data, {**self.overrides, **keys, **named}, keys)
        except ScenarioError as error:
            if variant is not None and error.file == self.base.file and error.key.partition(".")[0] == ALGORITHM:
                raise replace(error, file=variant.source, line=variant.lines.get(())) from None
            raise
        if variant is not None:
            named[ALGORITHM] = variant.name
        dump = None
        axes = {}
        for axis in self.axes:
            if axis in named or axis in keys:
                axes[axis] = named.get(axis, keys.get(axis))
            else:  # another of the extra points sets it
                dump = dump or scenario.model_dump()
                axes[axis] = _value_at(dump, axis)
        return StudyPoint(axes, StoredPoint(scenario))

    def _build(self, data: Any, overrides: dict[str, Any], keys: dict[str, Any]) -> Scenario:
        document = replace(self.base, data=deepcopy(data))
        texts = {f"{key}={json.dumps(value)}": key for key, value in overrides.items()}
        try:
            return build(document, list(texts))
        except ScenarioError as error:
            key = texts.get(error.file.removeprefix("--set "))
            if key is None:
                is_by_axes = keys and not self._is_refused(data, error)
                found = f"{error.found} with {label_of(keys)}" if is_by_axes else error.found
                raise replace(error, found=found) from None
            found = error.found if error.key == key else f"{error.found} with {key}={json.dumps(overrides[key])}"
            if key in self.options:
                raise replace(error, file=self.options[key], line=None, found=found) from None
            sections = AXES if key in keys else ("backends",) if key == BACKEND else ("set",)
            line = self._line(sections, key, overrides[key])
            raise replace(error, file=self.source.file, line=line, found=found) from None

    def _is_refused(self, data: Any, error: ScenarioError) -> bool:
        """Whether the same is wrong without the axes."""
        try:
            self._build(data, self.overrides, {})
        except ScenarioError as plain:
            return (plain.key, plain.found) == (error.key, error.found)
        return False

    def _line(self, sections: Sequence[str], key: str, value: Any) -> int | None:
        """Where these sections of the study give a key this value: the line of the value, or else of the key."""
        lines = self.source.lines
        places = [path for path in lines if path and path[0] in sections and path[-1] in (key, f"{key}s")]
        for path in places:
            written = _at(self.source.data, path)
            if written == value:
                return lines[path]
            if isinstance(written, list) and value in written:
                return lines.get((*path, written.index(value)), lines[path])
        return lines[places[0]] if places else None


def label_of(axes: dict[str, Any]) -> str:
    """What lines and messages call the point at these values of the axes."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in axes.items()}
    return ", ".join(text if key == ALGORITHM else f"{key}={text}" for key, text in texts.items())


def _at(data: Any, path: KeyPath) -> Any:
    for part in path:
        data = data[part]
    return data


def _value_at(data: Any, key: str) -> Any:
    for part in key.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    return data
