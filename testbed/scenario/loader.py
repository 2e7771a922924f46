"""Reads a file into a checked scenario, and writes a scenario into a folder from which it can be run again.

Any error in a file is raised as a `ScenarioError`, which names the file, the line and the key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from testbed.errors import ScenarioError
from testbed.files import copy_with_hash
from testbed.input_errors import KeyPath, allowed_by, nearest, shown
from testbed.scenario import yaml_reader
from testbed.scenario.overrides import KINDS, apply_override
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document


def load(path: Path, overrides: list[str] | None = None) -> Scenario:
    """Read a scenario file with `key=value` overrides applied."""
    return build(yaml_reader.read(path), overrides)


def loads(text: str, overrides: list[str] | None = None, name: str = "scenario") -> Scenario:
    """Read a scenario from a string."""
    return build(yaml_reader.parse(text, name), overrides)


def build(document: Document, overrides: list[str] | None = None) -> Scenario:
    """Check a document and turn it into a scenario."""
    if document.data is None:
        raise ScenarioError(document.file, None, "", "nothing in the file", "a mapping of keys")
    if not isinstance(document.data, dict):
        found = "a list" if isinstance(document.data, list) else shown(document.data)
        raise ScenarioError(document.file, 1, "", found, "a mapping of keys")
    _locate_trace(document)
    origins = {apply_override(document.data, override): override for override in overrides or []}
    try:
        return Scenario.model_validate(document.data)
    except ValidationError as error:
        raise explain(error, document, origins) from None


def write_scenario(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """Write a scenario and its trace into a folder, so that it can be run from there; returns the trace's hash."""
    trace, hashes = scenario.trace_file, {}
    if trace is not None:
        hashes = {"traces": {trace.name: copy_with_hash(trace, folder / trace.name)}}
        scenario = scenario.with_trace_file(trace.name)
    (folder / "scenario.yaml").write_text(scenario.to_yaml(), encoding="utf-8")
    return hashes


def _locate_trace(document: Document) -> None:
    """A relative path of a trace starts from the folder of the scenario that names it."""
    mobility = document.data.get("mobility")
    if isinstance(mobility, dict) and isinstance(mobility.get("file"), str):
        mobility["file"] = str((Path(document.file).parent / mobility["file"]).absolute())


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
