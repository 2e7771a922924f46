"""Which way imports point: the contracts in pyproject.toml hold, and can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT

PACKAGES = ("agents", "analysis", "testbed")
LINTER = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The contracts, held against the packages of a folder."""
    command = [str(LINTER), "--config", str(folder / "pyproject.toml"), "--no-cache"]
    return subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages, to break them."""
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("agents/rl.py", "testbed.errors"),
        ("agents/message.py", "analysis.stats"),
        ("analysis/stats.py", "testbed.errors"),
        ("testbed/runtime/driver.py", "testbed.backends.registry"),
        ("testbed/runtime/application.py", "testbed.scenario.workload"),
        ("testbed/mobility/model.py", "testbed.scenario.schema"),
        ("testbed/network/graph.py", "testbed.runtime.channel"),
        ("testbed/backends/stations/clock.py", "testbed.backends.hwsim.names"),
        ("testbed/guest/needs.py", "testbed.backends.mininet_wifi.installation"),
        ("testbed/errors.py", "testbed.section"),
    ],
)
def test_an_import_that_points_up_is_found(copy: Path, module: str, forbidden: str) -> None:
    """One line in the wrong place, and the contract names it."""
    file = copy / module
    line = f"import {forbidden}\n"
    text = file.read_text()
    at = text.index("\nfrom ") + 1 if "\nfrom " in text else 0
    after_future = text.index("\n", at) + 1
    file.write_text(text[:after_future] + line + text[after_future:])
    done = lint(copy)
    assert done.returncode == 1
    importer = module.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {forbidden}" in done.stdout


def test_every_module_has_its_place() -> None:
    """Outside the packages of `testbed` there are only the leaves, and the contract lists every package and leaf."""
    listed = (PROJECT / "pyproject.toml").read_text().partition("importlinter")[2]
    places = {
        path.stem
        for path in (PROJECT / "testbed").iterdir()
        if path.name not in ("__init__.py", "__pycache__", "py.typed")
    }
    places -= {"backends"}
    places |= {
        f"backends.{path.stem}" for path in (PROJECT / "testbed/backends").iterdir() if not path.stem.startswith("__")
    }
    assert {place for place in places if f"testbed.{place}" not in listed} == set()


def test_the_contracts_hold() -> None:
    """As `./setup.sh test` checks before the suite."""
    done = lint(PROJECT)
    assert done.returncode == 0, done.stdout
