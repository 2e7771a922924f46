"""Which Mininet-WiFi is found. The checkouts are made up here, as the real one is installed by the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.backends.mininet_wifi import installation
from testbed.cli.main import main
from testbed.errors import BackendError


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of the right shape, with Mininet where its installer puts it; nothing else is missing."""
    for package, version in (("wifi/mn_wifi", "2.7"), ("wifi/mininet/mininet", "2.3.1b4")):
        folder = tmp_path / package
        folder.mkdir(parents=True)
        (folder / "net.py").write_text(f'"""It."""\nVERSION = "{version}"\n')
        (folder / "util.py").write_text("def fmtBps(bps):\n    pass\n")
    monkeypatch.setenv(installation.CHECKOUT, str(tmp_path / "wifi"))
    monkeypatch.setattr(installation, "_missing_modules", lambda: None)
    monkeypatch.setattr(installation, "find_program", lambda program: f"/usr/bin/{program}")
    return tmp_path / "wifi"


def test_a_checkout_that_is_named_is_used(checkout: Path) -> None:
    there = installation.found()
    assert there is not None
    assert (there.mn_wifi, there.mininet) == (checkout / "mn_wifi", checkout / "mininet/mininet")
    assert installation.describe() == "Mininet-WiFi 2.7 on Mininet 2.3.1b4"
    assert installation.lacking() is None


def test_mininet_may_be_beside_it(checkout: Path) -> None:
    (checkout / "mininet").rename(checkout.parent / "mininet")
    there = installation.found()
    assert there is not None
    assert there.mininet == checkout.parent / "mininet/mininet"


def test_versions_that_were_not_tried_are_named_as_such(checkout: Path) -> None:
    (checkout / "mn_wifi/net.py").write_text('VERSION = "2.9"\n')
    assert installation.lacking() is None
    assert (
        installation.describe()
        == f"Mininet-WiFi 2.9 on Mininet 2.3.1b4 (not tried; tried: {', '.join(installation.TRIED)})"
    )


@pytest.mark.parametrize("version", ["2.4.3", "1.9r1", "2.2.1d1"])
def test_versions_that_are_known_not_to_work(checkout: Path, version: str) -> None:
    (checkout / "mn_wifi/net.py").write_text(f'VERSION = "{version}"\n')
    why = installation.lacking()
    assert why is not None
    assert why.startswith(f"Mininet-WiFi {version} does not work here; tried: ")
    with pytest.raises(BackendError, match="does not work here"):
        installation.load()


def test_a_mininet_that_is_too_old(checkout: Path) -> None:
    (checkout / "mininet/mininet/util.py").write_text("")
    (checkout / "mininet/mininet/net.py").write_text('VERSION = "2.3.0"\n')
    assert str(installation.lacking()).startswith(
        "Mininet 2.3.0 is too old for Mininet-WiFi 2.7, which needs 2.3.1: ./setup.sh"
    )


def test_what_is_no_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (checkout / "mn_wifi/net.py").unlink()
    assert (
        installation.lacking()
        == f"{installation.CHECKOUT}={checkout}: not a checkout of Mininet-WiFi (no mn_wifi/net.py)"
    )


def test_nothing_is_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv(installation.CHECKOUT, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert installation.lacking() == (
        "Mininet-WiFi is not installed: ./setup.sh --mininet-wifi SOURCE, where SOURCE is a checkout of Mininet-WiFi"
    )
    assert installation.describe() == "not found"
    assert main(["run", "scenarios/mininet-wifi/line.yaml"]) == 3
    assert capsys.readouterr().err.startswith(
        "testbed: backend mininet-wifi: Mininet-WiFi is not installed: ./setup.sh"
    )


def test_packages_and_programs_that_are_missing(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_program", lambda program: None if program in ("mnexec", "iw") else program)
    assert str(installation.lacking()).startswith(
        "Mininet-WiFi needs the programs mnexec, iw: ./setup.sh --mininet-wifi"
    )
    monkeypatch.undo()
    monkeypatch.setenv(installation.CHECKOUT, str(checkout))
    real = installation.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "FlightRadar24" else real(name))
    monkeypatch.setattr(installation, "MODULES", {"json": "json", "FlightRadar24": "FlightRadarAPI"})
    assert installation.lacking() == (
        "Mininet-WiFi needs the Python packages FlightRadarAPI: ./setup.sh pip install -e '.[mininet-wifi]'"
    )


def test_a_checkout_named_on_the_command_line(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setenv(installation.CHECKOUT, "/nowhere")
    (tmp_path / "empty").mkdir()
    assert main(["run", "scenarios/mininet-wifi/line.yaml", "--mininet-wifi", str(tmp_path / "empty")]) == 2
    assert f"{tmp_path}/empty: not a checkout of Mininet-WiFi" in capsys.readouterr().err
