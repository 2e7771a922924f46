"""Which code decides a result: all that a repetition runs, and nothing else."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.registry import ALGORITHMS
from testbed.experiments.studies import code
from testbed.experiments.studies.code import closure, fingerprint_of
from testbed.scenario.loader import load, loads
from tests.conftest import PROJECT
from tests.testbed.others import distribution_of, file_of
from tests.testbed.tiny import tiny

Change = Callable[..., None]


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Change:
    """Change files of the project, as the fingerprint sees them."""
    code._fingerprint.cache_clear()

    def set_changed(*names: str) -> None:
        changed = {PROJECT / name for name in names}
        assert all(file.is_file() for file in changed), names

        def digest(file: Path) -> bytes:
            return hashlib.sha256(file.read_bytes() + b"# changed" * (file in changed)).digest()

        monkeypatch.setattr(code, "_digest", digest)
        code._fingerprint.cache_clear()

    yield set_changed  # type: ignore[misc]
    monkeypatch.undo()
    code._fingerprint.cache_clear()


def is_stale(change: Change, text: str, *files: str) -> bool:
    """Whether a change to these files makes the results of a scenario stale."""
    change()
    before = fingerprint_of(loads(text))
    change(*files)
    return fingerprint_of(loads(text)) != before


@pytest.mark.parametrize(
    "file",
    [
        "agents/rl.py",
        "agents/heights.py",  # which agents/rl.py imports
        "agents/contract.py",
        "analysis/metrics.py",
        "analysis/safety.py",
        "analysis/batched.py",
        "analysis/stats.py",
        "testbed/backends/sim/simulation.py",
        "testbed/backends/sim/backend.py",
        "testbed/experiments/measure.py",
        "testbed/mobility/random_waypoint.py",
        "testbed/randomness.py",
        "testbed/runtime/driver.py",
        "testbed/scenario/schema.py",
        "testbed/runtime/__init__.py",
    ],
)
def test_code_that_decides(file: str, change: Change) -> None:
    assert is_stale(change, tiny(), file)


@pytest.mark.parametrize(
    "file",
    [
        "agents/krl.py",  # another algorithm
        "analysis/figures.py",
        "analysis/plots.py",
        "analysis/results.py",
        "analysis/store.py",
        "analysis/tables.py",
        "testbed/backends/loopback/backend.py",  # another backend
        "testbed/backends/ns3/backend.py",
        "testbed/backends/stations/station.py",
        "testbed/cli/main.py",
        "testbed/cli/sweep.py",
        "testbed/experiments/compare.py",
        "testbed/experiments/grid.py",
        "testbed/experiments/runner.py",
        "testbed/experiments/studies/code.py",
        "testbed/experiments/studies/sweep.py",
        "testbed/experiments/workers.py",
        "testbed/interface.py",
        "README.md",
    ],
)
def test_code_that_decides_nothing(file: str, change: Change) -> None:
    assert not is_stale(change, tiny(), file)


@pytest.mark.parametrize(
    ("backend", "file", "expected"),
    [
        ("loopback", "testbed/backends/loopback/backend.py", True),
        ("loopback", "testbed/backends/stations/station.py", True),  # stations are started by name
        ("loopback", "testbed/backends/hwsim/medium.py", False),
        ("hwsim", "testbed/backends/hwsim/medium.py", True),
        ("ns3", "testbed/backends/ns3/backend.py", True),
        ("ns3", "testbed/backends/sim/simulation.py", True),  # on which it is built
    ],
)
def test_code_of_a_backend(backend: str, file: str, expected: bool, change: Change) -> None:
    before = code._fingerprint((code.ENGINE, "agents.rl"), backend, "")
    change(file)
    assert (code._fingerprint((code.ENGINE, "agents.rl"), backend, "") != before) is expected


def test_what_is_compiled_counts(change: Change) -> None:
    """The C++ of ns-3 is beside a module that loads it."""
    (source,) = (PROJECT / "testbed" / "backends" / "ns3").glob("*.cc")
    before = code._fingerprint((code.ENGINE, "agents.rl"), "ns3", "")
    change(str(source.relative_to(PROJECT)))
    assert code._fingerprint((code.ENGINE, "agents.rl"), "ns3", "") != before


def test_an_algorithm_in_a_file(tmp_path: Path) -> None:
    """Its content counts, and not its place; so does a module of the project that only it imports."""
    one, moved, other = (file_of(tmp_path / folder / "mine.py") for folder in ("a", "b", "c"))
    other.write_text(other.read_text() + "# a comment is a change of the file\n")
    texts = [tiny(algorithm=f"{{name: mine, file: {path}}}") for path in (one, moved, other)]
    prints = [fingerprint_of(loads(text)) for text in texts]
    assert prints[0] == prints[1] != prints[2]


def test_a_module_that_only_the_file_imports(tmp_path: Path, change: Change) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from agents.krl import KReverseLink\nclass Mine(KReverseLink):\n    pass\n")
    text = tiny(algorithm=f"{{name: mine, file: {file}}}")
    assert is_stale(change, text, "agents/krl.py")
    assert not is_stale(change, text, "agents/maekawa.py")


def test_an_installed_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """All of its package that it imports counts."""
    folder = distribution_of(tmp_path, monkeypatch, name="lab", lab_agent="lab.inner.agent:Mine")
    (folder / "lab" / "inner" / "parts.py").write_text("")
    agent = folder / "lab" / "inner" / "agent.py"
    agent.write_text(agent.read_text().replace("from agents", "from lab.inner import parts\nfrom agents", 1))
    for kept in (code._file_of, code._imports_of):  # of another test's distribution with the same name
        kept.cache_clear()
    ALGORITHMS["lab-agent"]
    names = closure(["lab.inner.agent"])
    assert {"lab", "lab.inner", "lab.inner.agent", "lab.inner.parts", "agents.contract"} <= names.keys()


RUN = """
import sys
from pathlib import Path
from testbed.experiments.measure import measure
from testbed.scenario.loader import load
scenario = load(Path(sys.argv[1]), [*sys.argv[2:]])
measure(scenario, 0)
print(*[name for name in sys.modules if name.partition(".")[0] in ("agents", "analysis", "testbed")])
"""


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("mobility/campus.yaml", ["duration=5"]),
        ("smoke/neighbourhoods.yaml", ["duration=5"]),
        ("smoke/static.yaml", ["links=radio", "warmup=0", "duration=5"]),
    ],
)
def test_no_module_that_a_run_loads_is_left_out(scenario: str, overrides: list[str]) -> None:
    """Modules that are loaded by name are found too."""
    path = PROJECT / "scenarios" / scenario
    command = [sys.executable, "-c", RUN, str(path), *overrides]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    chosen = load(path, overrides)
    roots = [code.ENGINE, *code._backend_modules(chosen.backend), ALGORITHMS[chosen.algorithm.name].__module__]
    assert set(done.stdout.split()) <= closure(roots).keys()
