"""YAML as plain data, with the line of every key, and nothing that runs code or fills the memory.

Only scalars, lists and mappings are understood. Numbers are read as YAML 1.2 reads them (1e-3 is a number, `on` and
`no` are text), because scenarios are written by people who expect that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from testbed.errors import ScenarioError
from testbed.input_errors import KeyPath

MAX_BYTES = 300_000
MAX_BITS = 1023  # of a whole number: what a float can still hold
MAX_VALUES = 100_000  # after aliases are expanded


@dataclass
class Document:
    """The data of a file, and the line of every key."""

    file: str
    data: Any
    lines: dict[KeyPath, int] = field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    """The safe loader with YAML 1.2's idea of booleans and numbers."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  (the base class declares it so)


_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
for _kind, _pattern, _first_letters in (
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+", [*"-+0123456789"]),
    ("float", _FLOAT, [*"-+0123456789."]),
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), _first_letters)


class _Dumper(yaml.SafeDumper):
    """Quotes text that the loader above would otherwise read as something else."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


_SCALARS = {f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "int", "float", "null")}


def read(path: Path) -> Document:
    """Read a file. Any error in it is raised as a `ScenarioError`."""
    name = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ScenarioError(name, None, "", "no such file", "") from None
    except IsADirectoryError:
        raise ScenarioError(name, None, "", "a directory, not a scenario file", "") from None
    except OSError as error:
        raise ScenarioError(name, None, "", f"cannot be read: {error.strerror}", "") from None
    if len(raw) > MAX_BYTES:
        raise ScenarioError(name, None, "", f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(name, raw[: error.start].count(b"\n") + 1, "", "bytes that are not text", "UTF-8") from None
    return parse(text, name)


def parse(text: str, name: str) -> Document:
    """Read YAML from a string."""
    document = Document(name, None)
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is not None:
            document.data = _Converter(loader, document).convert(root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise ScenarioError(name, line, "", f"not YAML: {error.problem or error.context}", "") from None
    except yaml.YAMLError as error:
        raise ScenarioError(name, None, "", f"not YAML: {' '.join(str(error).split())}", "") from None
    except RecursionError:
        raise ScenarioError(name, None, "", "values nested too deeply", "a handful of levels") from None
    return document


def dump(data: Any) -> str:
    """Plain data as YAML that reads back the same."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Converter:
    """Turns YAML nodes into plain data, noting lines and counting values."""

    def __init__(self, loader: _Loader, document: Document) -> None:
        self._loader = loader
        self._document = document
        self._values = 0
        self._open: set[int] = set()

    def convert(self, node: yaml.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        self._document.lines.setdefault(path, line)
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._error(line, path, f"more than {MAX_VALUES} values once aliases are expanded", "fewer")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path, line)
        if id(node) in self._open:
            raise self._error(line, path, "an alias to a value that contains it", "a finite value")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
                return [self.convert(item, (*path, index)) for index, item in enumerate(node.value)]
            if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
                return self._mapping(node, path)
        finally:
            self._open.discard(id(node))
        raise self._error(line, path, f"the tag {node.tag}", "plain values, lists and mappings")

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath, line: int) -> Any:
        if node.tag not in _SCALARS:
            raise self._error(line, path, f"the tag {node.tag}", "plain values, lists and mappings")
        try:
            value = self._loader.construct_object(node)
        except (ValueError, KeyError):  # more digits than Python reads, or a tag that does not fit its value
            raise self._error(line, path, f"{node.value[:40]!r}", "a number of ordinary size") from None
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise self._error(line, path, f"{node.value[:40]!r}", "a number of ordinary size")
        return value

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(line, path, "a key that is itself a list or a mapping", "a word")
            key = key_node.value
            if key in result:
                raise self._error(line, (*path, key), "the same key a second time", "each key once")
            self._document.lines[(*path, key)] = line
            result[key] = self.convert(value_node, (*path, key))
        return result

    def _error(self, line: int, path: KeyPath, found: str, allowed: str) -> ScenarioError:
        return ScenarioError(self._document.file, line, ".".join(map(str, path)), found, allowed)
