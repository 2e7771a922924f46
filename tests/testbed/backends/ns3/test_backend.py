"""What backend `ns3` refuses, and what it says where ns-3 is missing; nothing of this loads ns-3."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from testbed.backends.ns3 import installation
from testbed.backends.registry import find_backend
from testbed.cli.main import main
from testbed.extras import how_to_get
from tests.testbed.tiny import is_one_line, write_tiny

GEOMETRIC = {"topology": "geometric", "duration": "50"}


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ("links: {kind: radio, duplicate: 0.2}", "links.duplicate: found 0.2; allowed: 0 with backend ns3"),
        ("radio: {propagation: itu-indoor}", "radio.propagation: found itu-indoor; allowed: another model"),
        ("links: ideal", "links: found ideal; allowed: radio: ns3 is no place for ideal links"),
        ("medium: wmediumd", "medium: found wmediumd; allowed: ours with backend ns3"),
        ("routing: olsr", "routing: found olsr; allowed: builtin: rl speaks with neighbours only"),
    ],
)
def test_what_has_no_counterpart_is_refused(
    lines: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with the line of the file."""
    changes = {"placement": "uniform", "area": "[100, 100]", **GEOMETRIC}
    path = write_tiny(tmp_path, f"backend: ns3\n{lines}\n", **changes)
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert is_one_line(said)
    assert said.startswith(f"testbed: {path}:10: {error}")


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (
            "routing: babel",
            "routing: found babel; allowed: builtin or olsr or aodv or dsdv with backend ns3: "
            "only hwsim and mininet-wifi have babel",
        ),
        (
            "links: {kind: radio, hello: 0.02}\nrouting: olsr",
            "links.hello: found 0.02, or 0.02 seconds; allowed: 0.021 to 500 seconds, "
            "which the messages of olsr can carry",
        ),
    ],
)
def test_routing_that_cannot_be(lines: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By another backend's protocols, or with hellos that OLSR has no number for."""
    path = write_tiny(tmp_path, f"backend: ns3\n{lines}\n", algorithm="raymond-tree")
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert is_one_line(said)
    assert said.startswith(f"testbed: {path}:8: {error}")


def test_too_many_stations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line."""
    path = write_tiny(tmp_path, "backend: ns3\n", nodes="1001")
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    assert "nodes: found 1001; allowed: at most 1000 stations with backend ns3" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["wheel", "C++", "Python"])
def test_what_is_missing(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the wheel, or with it and without headers: exit code 3 and how to get it."""
    has_wheel = part != "wheel"
    monkeypatch.setattr("testbed.extras.find_spec", lambda name: object() if has_wheel else None)
    headers = tmp_path / "include"
    (headers / "c++" / "12").mkdir(parents=True)
    (headers / "Python.h").touch()
    if part != "C++":
        (headers / "c++" / "12" / "vector").touch()
    if part == "Python":
        (headers / "Python.h").unlink()
    monkeypatch.setattr(installation, "INCLUDES", (headers,))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(headers))
    lacking = find_backend("ns3").missing()
    assert lacking is not None
    assert how_to_get("ns3") in lacking
    assert {"wheel": "not installed", "C++": "headers of C++", "Python": "Python's headers"}[part] in lacking
    path = write_tiny(tmp_path, "backend: ns3\n")
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 3
    assert capsys.readouterr().err == f"testbed: backend ns3: {lacking}\n"


def test_nothing_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the wheel and all headers."""
    (tmp_path / "c++" / "12").mkdir(parents=True)
    (tmp_path / "c++" / "12" / "vector").touch()
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr("testbed.extras.find_spec", lambda name: object())
    monkeypatch.setattr(installation, "INCLUDES", (tmp_path,))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert installation.missing() is None


@pytest.mark.parametrize("arguments", [["--help"], ["list", "backends"], ["run", "--help"]])
def test_it_is_loaded_only_to_run(arguments: list[str]) -> None:
    """Not for help, not for lists, and not to check a scenario."""
    import subprocess
    import sys

    code = f"""
import sys
from testbed.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
assert "cppyy" not in sys.modules and "ns" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
