"""Reads a file into a checked scenario, and writes a scenario into a folder from which it can be run again.

Any error in a file is raised as a `ScenarioError`, which names the file, the line and the key.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agents.registry import ALGORITHMS
from testbed.errors import ScenarioError
from testbed.files import copy_with_hash
from testbed.input_errors import KeyPath, allowed_by, nearest, shown
from testbed.scenario import yaml_reader
from testbed.scenario.overrides import KINDS, apply_overrides
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document

Note = Callable[[str], None]
"""Takes a line on what overrides have changed besides the keys that they name."""


def no_note(line: str) -> None:
    """Drop the line: for callers that show no lines."""


def load(path: Path, overrides: list[str] | None = None, note: Note = no_note) -> Scenario:
    """Read a scenario file with `key=value` overrides applied."""
    return build(yaml_reader.read(path), overrides, note)


def loads(text: str, overrides: list[str] | None = None, name: str = "scenario") -> Scenario:
    """Read a scenario from a string."""
    return build(yaml_reader.parse(text, name), overrides)


def build(document: Document, overrides: list[str] | None = None, note: Note = no_note) -> Scenario:
    """Check a document and turn it into a scenario."""
    if document.data is None:
        raise ScenarioError(document.file, None, "", "nothing in the file", "a mapping of keys")
    if not isinstance(document.data, dict):
        found = "a list" if isinstance(document.data, list) else shown(document.data)
        raise ScenarioError(document.file, 1, "", found, "a mapping of keys")
    locate_files(document.data, Path(document.file).parent)
    applied = apply_overrides(document.data, overrides or [])
    locate_files(document.data, Path())
    try:
        scenario = Scenario.model_validate(document.data)
    except ValidationError as error:
        raise explain(error, document, applied.origins) from None
    for line in applied.notes:
        note(line)
    return scenario


def write_scenario(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """Write a scenario and the files that it names into a folder, so that it can be run from there.

    Returns, for the record, the hashes of these files, or which distribution the algorithm comes from.
    """
    trace, choice, record = scenario.trace_file, scenario.algorithm, {}
    if trace is not None:
        record["traces"] = {trace.name: copy_with_hash(trace, folder / trace.name)}
        scenario = scenario.with_trace_file(trace.name)
    if choice.loaded is not None:
        copy = folder / choice.loaded.path.name
        copy.write_bytes(choice.loaded.source)
        record["algorithm"] = {copy.name: choice.loaded.digest}
        scenario = scenario.with_algorithm_file(copy.name)
    elif (installed := ALGORITHMS.installed(choice.name)) is not None:
        record["algorithm"] = {installed.place: str(installed)}
    (folder / "scenario.yaml").write_text(scenario.to_yaml(), encoding="utf-8")
    return record


def locate_files(data: dict[str, Any], folder: Path) -> None:
    """A relative path starts from the folder of the scenario that names it; in an override, from the current folder."""
    for key in ("algorithm", "mobility"):
        section = data.get(key)
        if isinstance(section, dict) and isinstance(section.get("file"), str):
            section["file"] = str((folder / section["file"]).absolute())


def explain(error: ValidationError, document: Document, origins: dict[KeyPath, str]) -> ScenarioError:
    """The first thing that is wrong, as one line; `origins` are the overrides by the paths that they set."""
    first = error.errors()[0]
    context = first.get("ctx", {})
    path: KeyPath = (*_stripped(first["loc"]), *context.get("path", ()))
    meant = context.get("nearest")
    if first["type"] in ("missing", "union_tag_not_found"):
        path = path if first["type"] == "missing" else (*path, "kind")
        found, allowed = "nothing", "a value: this key is required"
    elif first["type"] == "union_tag_invalid":
        path, found, allowed = (*path, "kind"), shown(context["tag"]), allowed_by(first)
        meant = nearest(context["tag"], context["expected_tags"].replace("'", "").split(", "))
    else:
        found = context.get("found_text") or shown(first["input"])
        allowed = allowed_by(first)
    key = ".".join(map(str, path))
    for start, override in origins.items():
        if path and (path[: len(start)] == start or start[: len(path)] == path or _is_made_by(start, path, document)):
            return ScenarioError(f"--set {override}", None, key, found, allowed, meant)
    return ScenarioError(document.file, _line(document, path), key, found, allowed, meant)


def _is_made_by(start: KeyPath, path: KeyPath, document: Document) -> bool:
    """Whether the error is in a mapping that the file does not have and that an override of `start` has made."""
    mapping = path[:-1]
    return bool(mapping) and start[: len(mapping)] == mapping and mapping not in document.lines


def _stripped(path: KeyPath) -> KeyPath:
    """The path without the kinds of topologies, models and so on, which pydantic adds and the file does not have."""
    kept: list[str | int] = []
    is_kind = False
    for part in path:
        if not is_kind:
            kept.append(part)
        is_kind = not is_kind and (len(kept) == 1 or kept[0] == "radio") and part in KINDS
    return tuple(kept)


def _line(document: Document, path: KeyPath) -> int | None:
    while path and path not in document.lines:
        path = path[:-1]
    return document.lines.get(path)
