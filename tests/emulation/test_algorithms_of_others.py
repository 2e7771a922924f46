"""An algorithm that is not the testbed's own, on radios in a guest: from a file, and from another distribution."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from testbed.backends import in_guest
from testbed.cli.main import main
from testbed.experiments.runner import run
from testbed.guest.host import Guest
from testbed.scenario.loader import load
from tests.testbed.others import distribution_of, file_of
from tests.testbed.tiny import is_one_line

pytestmark = pytest.mark.xdist_group("guest")

LINE = """\
name: others
algorithm: {algorithm}
nodes: 3
topology: geometric
time_unit: 0.2
area: [200, 100]
placement: {{kind: explicit, places: [[0, 0], [80, 0], [160, 0]]}}
radio: {{range: 100}}
backend: hwsim
delays: {{hop: 0.02}}
workload: {{rate: 0.2, cs_time: 0.5}}
warmup: 6
duration: 30
trace: events
"""


@pytest.fixture(autouse=True)
def _in_the_guest(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where this machine could run radios itself, and with the guest of all tests."""
    monkeypatch.setattr("testbed.backends.hwsim.backend.HwsimBackend.runs_here", lambda self: False)
    monkeypatch.setattr(in_guest, "shared_guest", lambda: guest)


@pytest.mark.parametrize("source", ["a file", "another distribution"])
def test_it_runs_and_replays(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Safe and live, and what comes back can be replayed here."""
    if source == "a file":
        file_of(tmp_path / "mine.py")
        algorithm = "{name: mine, file: ./mine.py}"
    else:
        distribution_of(tmp_path / "packages", monkeypatch, mine="lab.inner.agent:Mine")
        algorithm = "mine"
    (tmp_path / "line.yaml").write_text(LINE.format(algorithm=algorithm))
    result = run(load(tmp_path / "line.yaml"), tmp_path / "runs")
    verdicts = {name: check["verdict"] for name, check in result.summary["checks"].items()}
    assert {name: verdicts[name] for name in ("safety", "conservation", "order")} == dict.fromkeys(
        ("safety", "conservation", "order"), "ok"
    )
    assert result.summary["metrics"]["entries"]["mean"] >= 3
    assert json.loads((result.path / "meta.json").read_bytes())["algorithm"]
    (tmp_path / "mine.py").unlink(missing_ok=True)
    assert main(["replay", str(result.path), "--node", "1"]) == 0


def test_what_the_guest_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that imports a package which only this machine has: one line with the file and the line."""
    (tmp_path / "only_here").mkdir()
    (tmp_path / "only_here" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    file_of(tmp_path / "mine.py", "import only_here\n")
    (tmp_path / "line.yaml").write_text(LINE.format(algorithm="{name: mine, file: ./mine.py}"))
    assert main(["run", str(tmp_path / "line.yaml"), "--out", str(tmp_path / "runs")]) == 2
    err = capsys.readouterr().err
    assert is_one_line(err)
    assert re.search(r"mine\.py:\d+: ModuleNotFoundError: No module named 'only_here'$", err)
