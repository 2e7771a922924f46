"""The replacement for a program in C. Whether its radios work is tested where the kernel has radios."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from testbed.backends.hwsim.kernel import has_hwsim
from testbed.backends.mininet_wifi import hwsim_mgmt


@pytest.fixture
def program(tmp_path: Path) -> Path:
    hwsim_mgmt.write_stand_in(tmp_path)
    return tmp_path / "hwsim_mgmt"


def test_it_runs_as_a_program(program: Path, tmp_path: Path) -> None:
    """From any folder, and without the environment of the process that wrote it."""
    ended = subprocess.run([program, "-k", "1"], capture_output=True, text=True, cwd=tmp_path, env={"PATH": "/bin"})
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", hwsim_mgmt.USAGE + "\n")


@pytest.mark.skipif(has_hwsim(), reason="this kernel has virtual radios")
def test_without_radios_it_says_so(program: Path) -> None:
    ended = subprocess.run([program, "-c", "-n", "mn00001p00s00"], capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith("hwsim_mgmt: ")
    assert ended.stderr.count("\n") == 1
