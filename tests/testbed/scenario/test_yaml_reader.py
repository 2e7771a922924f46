"""YAML as plain data: what is read, where it was, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from testbed.errors import ScenarioError
from testbed.scenario import yaml_reader


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("1E6", 1e6),
        (".5", 0.5),
        ("5.", 5.0),
        ("-2.5e+3", -2500.0),
        ("12", 12),
        ("0x1f", 31),
        ("-3", -3),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("'5'", "5"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
    ],
)
def test_values_are_read_as_yaml_1_2_reads_them(text: str, value: Any) -> None:
    """Numbers with exponents are numbers; what YAML 1.1 takes for booleans, sixties and dates is not."""
    read = yaml_reader.parse(text, "file").data
    assert read == value
    assert type(read) is type(value)


def test_every_key_has_its_line() -> None:
    """The lines of keys and of list items are known by their paths."""
    document = yaml_reader.parse("a: 1\nb:\n  c: 2\n  d:\n    - x\n    - y\n", "file")
    assert document.data == {"a": 1, "b": {"c": 2, "d": ["x", "y"]}}
    assert document.lines[("a",)] == 1
    assert document.lines[("b", "c")] == 3
    assert document.lines[("b", "d")] == 4
    assert document.lines[("b", "d", 1)] == 6


def test_keys_are_text() -> None:
    """A key that looks like a number or a boolean stays what was written."""
    assert yaml_reader.parse("5: a\ntrue: b\n", "file").data == {"5": "a", "true": "b"}


def test_aliases_are_expanded() -> None:
    """An alias stands for its anchor's value."""
    assert yaml_reader.parse("a: &x [1, 2]\nb: *x\n", "file").data == {"a": [1, 2], "b": [1, 2]}


def test_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    """A file saved with a byte order mark reads like one without."""
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: \xc3\xa9\r\n")
    assert yaml_reader.read(path).data == {"a": 1, "b": "é"}


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("a: 1\na: 2\n", 2, "a"),
        ("a:\n  b: 1\n  b: 1\n", 3, "a.b"),
        ("a:\n - !dice 6\n", 2, "a.0"),
        ("a: 1\nb: &x [*x]\n", 2, "b.0"),
        ("a: 1\n? [b]\n: 2\n", 2, ""),
        ("a: 1\nb: [1\nc: 2\n", 3, ""),
    ],
)
def test_errors_know_their_place(text: str, line: int, key: str) -> None:
    """What is refused is refused with the line and the key."""
    with pytest.raises(ScenarioError) as caught:
        yaml_reader.parse(text, "file")
    assert (caught.value.file, caught.value.line, caught.value.key) == ("file", line, key)


def test_more_values_than_allowed_are_refused() -> None:
    """The limit counts what aliases expand to."""
    items = ", ".join(["x"] * 1000)
    fits, exceeds = (f"a: &a [{items}]\nb: [{', '.join(['*a'] * times)}]\n" for times in (90, 110))
    assert len(yaml_reader.parse(fits, "file").data["b"]) == 90
    with pytest.raises(ScenarioError, match="more than 100000 values"):
        yaml_reader.parse(exceeds, "file")


def test_size_limit_is_exact(tmp_path: Path) -> None:
    """A file of just the allowed size is read, one byte more is refused."""
    path = tmp_path / "large.yaml"
    path.write_bytes(b"a: 1\n#" + b"x" * (yaml_reader.MAX_BYTES - 6))
    assert yaml_reader.read(path).data == {"a": 1}
    path.write_bytes(b"a: 1\n#" + b"x" * (yaml_reader.MAX_BYTES - 5))
    with pytest.raises(ScenarioError, match="more than 300000 bytes"):
        yaml_reader.read(path)
