"""The README's picture of the viewer can be made again, and shows what the text beside it says."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from testbed.experiments.runner import run
from testbed.scenario.loader import loads
from tests.conftest import PROJECT

pytestmark = pytest.mark.xdist_group("browser")
IMAGES = PROJECT / "docs" / "images"
SCRIPT = IMAGES / "make_viewer.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_viewer", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def size_of(picture: Path) -> tuple[int, int]:
    """The width and the height of a PNG."""
    begin = picture.read_bytes()[:24]
    assert begin.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", begin[16:])
    return width, height


def test_the_script_makes_a_picture_like_the_one_that_is_shown(
    script: ModuleType, browser: Any, tmp_path: Path
) -> None:
    """In a process of its own, because Playwright runs once in a process."""
    file = tmp_path / "viewer.png"
    subprocess.run([sys.executable, SCRIPT, file], cwd=PROJECT, capture_output=True, timeout=120, check=True)
    for picture in (file, IMAGES / "viewer.png"):
        assert size_of(picture) == (script.DENSITY * script.WIDTH, script.DENSITY * script.HEIGHT)
        assert 50_000 < picture.stat().st_size < 400_000
    assert "](docs/images/viewer.png)" in (PROJECT / "README.md").read_text()


def test_its_moment_has_much_to_see(script: ModuleType, tmp_path: Path) -> None:
    """Two nodes inside, a token on its way to a node that waits, and two components."""
    path = run(loads(script.SCENARIO), tmp_path).path
    moment = dict(one.split("=") for one in script.MOMENT[1:].split("&"))
    inside, waiting, underway, components = set(), set(), {}, 1
    for line in (path / "rep-000/events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["t"] > int(moment["t"]):
            break
        match event["kind"]:
            case "request":
                waiting.add(event["node"])
            case "enter":
                waiting.remove(event["node"])
                inside.add(event["node"])
            case "exit":
                inside.remove(event["node"])
            case "send" if event["tokens"]:
                underway[event["id"], event["node"]] = event["peer"]
            case "recv":
                underway.pop((event["id"], event["peer"]), None)
            case "partition":
                components = event["parts"]
    assert (len(inside), list(underway.values()), components) == (2, [int(moment["node"])], 2)
    assert {int(moment["node"])} < waiting
