"""An installed package has every file of the checkout that the code reads: pyproject.toml must name them."""

from __future__ import annotations

import tomllib
from glob import glob
from pathlib import Path

import pytest

from tests.conftest import PROJECT

SETUPTOOLS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]
PACKAGES = [pattern.removesuffix("*") for pattern in SETUPTOOLS["packages"]["find"]["include"]]


def files_of(package: str) -> set[Path]:
    return {path for path in (PROJECT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_that_is_not_code_is_named(package: str) -> None:
    """Patterns are those of `glob`, with `**` for any number of folders, as setuptools reads them."""
    patterns = SETUPTOOLS["package-data"][package]
    named = {Path(found) for one in patterns for found in glob(str(PROJECT / package / one), recursive=True)}
    assert {path for path in files_of(package) if path.suffix != ".py"} <= named
    unused = [one for one in patterns if not glob(str(PROJECT / package / one), recursive=True)]
    assert unused == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_with_code_is_a_package(package: str) -> None:
    """Setuptools finds only folders with an `__init__.py`."""
    folders = {path.parent for path in files_of(package) if path.suffix == ".py"}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
