"""Variants: an algorithm with keys of its own, to be run on a scenario beside others.

A variant is written as the value of an option, `krl k=5`, or as an item of a list in a file, `{name: krl, k: 5}`. An
algorithm that is in a file has the key `file`; one that the scenario itself has in a file, only its name. A variant
starts from a scenario: its algorithm keeps those of the scenario's parameters that it knows, and then its own keys
apply. It is named by what differs: its algorithm, and the parameters in which the variants of this algorithm differ.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.contract import Agent
from agents.registry import ALGORITHMS
from testbed.errors import InputError, ScenarioError
from testbed.experiments.grid import Point
from testbed.input_errors import KeyPath, nearest, shown
from testbed.scenario import yaml_reader
from testbed.scenario.algorithm import AlgorithmChoice, chosen_class, parameter_types
from testbed.scenario.algorithm_class import AlgorithmError, find_algorithm
from testbed.scenario.algorithm_file import load_algorithm_file
from testbed.scenario.loader import build
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document

LIST = "algorithms"
"""The key of a file under which its variants are."""
ALL = "all"
"""Stands for every registered algorithm that the scenario allows."""
SCENARIO_KEYS = ("clusters",)
"""The keys of a variant that are keys of the scenario. All others are parameters of the algorithm."""


@dataclass(frozen=True)
class Variant:
    """An algorithm, and the keys in which it departs from the scenario."""

    algorithm: str
    keys: dict[str, Any] = field(default_factory=dict)
    label: str | None = None
    """The name that it was given."""
    is_optional: bool = False
    """Whether it is left out with a note, instead of an error, if the scenario refuses it."""
    source: str = "variants"
    """Where it was written, for error lines: an option or a file."""
    lines: dict[KeyPath, int] = field(default_factory=dict)
    """In a file, the lines of its keys, by their paths in a scenario."""

    @classmethod
    def of(cls, choice: AlgorithmChoice) -> Variant:
        """The algorithm of a scenario, as the scenario runs it."""
        return cls(choice.name, {} if choice.file is None else {"file": choice.file})

    @property
    def name(self) -> str:
        """What tables and messages call it."""
        return self.label or self.algorithm

    def applied_to(self, scenario: Scenario) -> Scenario:
        """The scenario as this variant runs it."""
        try:
            known = parameter_types(_agent(self.algorithm, self.keys.get("file")))
        except AlgorithmError as error:
            raise self.refused(str(error), "") from None
        data = scenario.model_dump()
        given = parameter_types(scenario.algorithm.agent)  # of the same name and type; else it means something else
        inherited = {key: data["algorithm"][key] for key in given if given[key] == known.get(key)}
        data["algorithm"] = {"name": self.algorithm, **inherited}
        for key, value in self.keys.items():
            (data if key in SCENARIO_KEYS else data["algorithm"])[key] = value
        document = yaml_reader.parse(yaml_reader.dump(data), self.source)
        document.lines = self.lines
        try:
            return build(document)
        except ScenarioError as error:
            error.key = error.key.removeprefix("algorithm.")  # a variant's parameters are its own keys
            raise

    def on(self, data: dict[str, Any]) -> dict[str, Any]:
        """The keys of an unchecked scenario that this variant changes, with their new values.

        As in `applied_to`, but of the scenario's parameters only those that are written there are kept.
        """
        written = data.get("algorithm")
        own = {"name": written} if isinstance(written, str) else written if isinstance(written, dict) else {}
        former = chosen_class(own)
        given = {} if former is None else parameter_types(former)
        known = parameter_types(_agent(self.algorithm, self.keys.get("file")))
        inherited = {key: value for key, value in own.items() if key in given and given[key] == known.get(key)}
        mine = {key: value for key, value in self.keys.items() if key not in SCENARIO_KEYS}
        changed = {key: self.keys[key] for key in SCENARIO_KEYS if key in self.keys}
        return {"algorithm": {"name": self.algorithm, **inherited, **mine}, **changed}

    def refused(self, found: str, allowed: str) -> ScenarioError:
        """The error that it cannot be run beside the others."""
        return ScenarioError(self.source, self.lines.get(()), "", found, allowed)


def _agent(algorithm: str, file: str | None) -> type[Agent]:
    """The class of an algorithm: of that file, or a registered one."""
    return find_algorithm(algorithm) if file is None else load_algorithm_file(file).agent(algorithm)


# -- named by what differs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedVariants:
    """Variants that a scenario allows, each with a name of its own."""

    variants: list[Variant]
    points: list[Point]
    """The scenario as each variant runs it, in the same order."""
    notes: list[str]
    """A line for every optional variant that was left out."""


def name_variants(variants: Iterable[Variant], scenario: Scenario, unset: Collection[str] = ()) -> NamedVariants:
    """Apply variants to a scenario and name them by what differs. Two that are the same are an error.

    `unset` are parameters that the scenario leaves to the backend's links. They are in the name of a variant only if
    this variant sets them.
    """
    allowed, notes = _apply(variants, scenario)
    points: list[Point] = []
    for variant, applied in allowed:
        name = variant.label or _name(applied, [other for _, other in allowed], set(unset) - variant.keys.keys())
        if applied in [point.scenario for point in points]:
            values = _written(dataclasses.asdict(applied.algorithm.parameters) | _clusters(applied))
            raise variant.refused(f"a second {' '.join([variant.algorithm, *values])}", "variants that differ")
        if name in [point.name for point in points]:
            raise variant.refused(f"the name {name!r} a second time", "each name once")
        points.append(Point(name, applied))
    pairs = zip(allowed, points, strict=True)
    return NamedVariants([dataclasses.replace(one, label=point.name) for (one, _), point in pairs], points, notes)


def _apply(variants: Iterable[Variant], scenario: Scenario) -> tuple[list[tuple[Variant, Scenario]], list[str]]:
    """Every variant with what it runs, and a note on each optional one that the scenario refuses."""
    allowed, notes = [], []
    for variant in variants:
        try:
            allowed.append((variant, variant.applied_to(scenario)))
        except ScenarioError as error:
            if not variant.is_optional:
                raise
            notes.append(f"{dataclasses.replace(error, file=f'No {variant.name}', line=None)}.")
    return allowed, notes


def _name(scenario: Scenario, scenarios: Sequence[Scenario], unset: Collection[str]) -> str:
    """The algorithm, the parameters in which its variants differ, and the clusters if there are any.

    An algorithm that is a reconstruction is called so.
    """
    chosen = scenario.algorithm
    alike = [
        other.algorithm.parameters
        for other in scenarios
        if (other.algorithm.name, other.algorithm.file) == (chosen.name, chosen.file)
    ]
    own = {key: value for key, value in dataclasses.asdict(scenario.algorithm.parameters).items() if key not in unset}
    different = {key: value for key, value in own.items() if any(getattr(other, key) != value for other in alike)}
    reconstructed = ["(reconstruction)"] if scenario.algorithm.agent.is_reconstruction else []
    return " ".join([scenario.algorithm.name, *reconstructed, *_written(different | _clusters(scenario))])


def _clusters(scenario: Scenario) -> dict[str, Any]:
    return {} if scenario.clusters is None else {"clusters": scenario.clusters}


def _written(keys: dict[str, Any]) -> list[str]:
    """Keys and values as the option has them: `permuted=false`, `raise_interval=1`."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in keys.items()}
    return [f"{key}={text.removesuffix('.0')}" for key, text in texts.items()]


def resolved(scenario: Scenario) -> dict[str, Any]:
    """What a variant has become on a scenario, for JSON."""
    return {"parameters": scenario.model_dump()["algorithm"], "clusters": scenario.clusters}


# -- as they are written ----------------------------------------------------------------------------------------------


def parse_names(option: str, text: str, known: Iterable[str], allowed: str) -> list[str]:
    """The names in `a,b,c`, the value of an option: one or more, each known and named once."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InputError(f"{option}: found {name!r}; allowed: {', '.join(known)}")
    if not names or len(set(names)) < len(names):
        raise InputError(f"{option}: found {text!r}; allowed: {allowed}")
    return names


def parse_algorithms(text: str, own: AlgorithmChoice | None = None) -> list[Variant]:
    """The value of `--algorithms`, as variants with no keys of their own; an item that ends in .py is a file.

    `own` is the algorithm of the scenario. If it is in a file, its name is known too.
    """
    if text.strip() == ALL:
        return [*_own_variants(own), *(Variant(name, is_optional=True) for name in ALGORITHMS)]
    allowed = f"one or more different algorithms, as in rl,raymond-tree, or {ALL}"
    items = [item.strip() for item in text.split(",") if item.strip()]
    in_files = {item: _in_file(item) for item in items if item.endswith(".py")}
    in_files |= {one.algorithm: [one] for one in _own_variants(own)}
    parse_names("--algorithms", text, [*in_files, *ALGORITHMS], allowed)
    return [one for item in items for one in in_files.get(item) or [Variant(item, source=f"--algorithms {item}")]]


def _own_variants(own: AlgorithmChoice | None) -> list[Variant]:
    """The scenario's own algorithm, if it is in a file."""
    return [] if own is None or own.file is None else [Variant.of(own)]


def _in_file(item: str) -> list[Variant]:
    """The algorithms in a file."""
    file = load_algorithm_file(item)
    return [Variant(name, {"file": str(file.path)}, source=f"--algorithms {item}") for name in file.names]


def parse_variant(text: str, own: AlgorithmChoice | None = None) -> Variant:
    """The value of `--variant`: a name, then key=value pairs. A relative path starts from the current folder."""
    source = f"--variant {text!r}"
    name, *pairs = text.split() or [""]
    item = {"name": name}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise ScenarioError(source, None, "", repr(pair), "a name, then key=value pairs, as in krl k=5")
        if key in item:
            raise ScenarioError(source, None, key, "the same key a second time", "each key once")
        try:
            item[key] = yaml_reader.parse(value, source).data
        except ScenarioError as error:
            raise dataclasses.replace(error, line=None, key=key) from None  # an option has only one line
    return _read_item(Document(source, item), (), item, Path(), own)


def load_variants(path: Path, own: AlgorithmChoice | None = None) -> list[Variant]:
    """The variants in a file that has nothing else in it."""
    document = yaml_reader.read(path)
    if not isinstance(document.data, dict):
        found = "nothing in the file" if document.data is None else shown(document.data)
        raise ScenarioError(document.file, document.lines.get(()), "", found, f"a mapping with the key {LIST}")
    for key in document.data:
        if key != LIST:
            line = document.lines[key,]
            raise ScenarioError(document.file, line, key, "unknown key", LIST, nearest(key, [LIST]))
    return read_variants(document, own=own)


def read_variants(document: Document, key: str = LIST, own: AlgorithmChoice | None = None) -> list[Variant]:
    """The variants in a list of a document, which is a mapping; an item is a name, or a mapping of a name and keys.

    A relative path starts from the folder of the document.
    """
    items = document.data.get(key)
    if not isinstance(items, list) or not items:
        found = "nothing" if items is None else shown(items)
        raise ScenarioError(document.file, document.lines.get((key,)), key, found, "a list of algorithms")
    folder = Path(document.file).parent
    return [_read_item(document, (key, index), item, folder, own) for index, item in enumerate(items)]


def _read_item(document: Document, path: KeyPath, item: Any, folder: Path, own: AlgorithmChoice | None) -> Variant:
    """One variant. Its keys are checked here, and their values when it is applied to a scenario."""

    def wrong(key: str, found: str, allowed: str, meant: str | None = None) -> ScenarioError:
        line = document.lines.get((*path, key), document.lines.get(path))
        return ScenarioError(document.file, line, key, found, allowed, meant)

    if isinstance(item, str):
        item = {"name": item}
    if not isinstance(item, dict):
        raise wrong("", shown(item), "a name, or {name: ..., and its keys}")
    name, file = item.get("name"), item.get("file")
    if file is None and own is not None and name == own.name:
        file = own.file
    if file is None and (not isinstance(name, str) or name not in ALGORITHMS):
        found = "nothing" if name is None else shown(name)
        raise wrong("name", found, f"one of {', '.join(ALGORITHMS)}", nearest(name, list(ALGORITHMS)))
    if not isinstance(name, str) or not isinstance(file, str | None):
        key, value = ("file", file) if isinstance(name, str) else ("name", name)
        raise wrong(key, "nothing" if value is None else shown(value), "text")
    if file is not None:
        item = {**item, "file": str((folder / file).absolute())}
    try:
        declared = parameter_types(_agent(name, item.get("file")))
    except AlgorithmError as error:
        raise wrong("name" if file is None else "file", str(error), "") from None
    known = ["name", *(["file"] if file is not None else []), *declared, *SCENARIO_KEYS, "label"]
    for key in item:
        if key not in known:
            raise wrong(key, "unknown key", f"one of {', '.join(known)}", nearest(key, known))
    label = item.get("label")
    if "label" in item and not (isinstance(label, str) and label.strip() and label.isprintable()):
        raise wrong("label", shown(label), "text of one line")
    keys = {key: value for key, value in item.items() if key not in ("name", "label")}
    return Variant(name, keys, label, source=document.file, lines=_lines_in_scenario(document, path, keys))


def _lines_in_scenario(document: Document, path: KeyPath, keys: Iterable[str]) -> dict[KeyPath, int]:
    """The lines of a variant's keys, by the paths that these keys have in a scenario."""
    paths: dict[KeyPath, KeyPath] = {(): path}
    for key in keys:
        paths[(key,) if key in SCENARIO_KEYS else ("algorithm", key)] = (*path, key)
    return {place: document.lines[written] for place, written in paths.items() if written in document.lines}
