"""Every registered backend against the one interface, and a new one that a test registers with one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest

from agents.contract import TICKS
from analysis.events import LEVELS
from analysis.listener import Listener
from analysis.load import load_run
from analysis.metric_names import METRICS
from testbed.backends.base import MAX_TIME_UNIT, MIN_TIME_UNIT, Backend, Refusal, RunOptions
from testbed.backends.registry import BACKENDS, find_backend, usable_backend
from testbed.backends.repetition import Repetition
from testbed.backends.rules import first_refusal
from testbed.cli.main import main
from testbed.errors import BackendError, InputError, ScenarioError
from testbed.experiments.measure import measure
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from testbed.scenario.links import IdealChoice, RadioChoice
from testbed.scenario.loader import load, loads
from testbed.scenario.schema import Scenario
from tests.testbed.simulate import ALL_OK, verdicts_of
from tests.testbed.tiny import is_one_line, only_run, tiny, write_tiny

ROUTINGS = get_args(Scenario.model_fields["routing"].annotation)
MEDIA = get_args(Scenario.model_fields["medium"].annotation)
RATE_CONTROLS = get_args(Radio.model_fields["rate_control"].annotation)
CAPTURES = {"air", "flows"}
SHORT = "time_unit: 0.05\ndelays: {hop: 0.05}\nwarmup: 6\ndrain: 1200\ntrace: events\n"
"""Less than two seconds in real time: links are found in the warmup, and the run ends when every request is served."""

every = pytest.mark.parametrize("name", BACKENDS)


def a_scenario(name: str, algorithm: str = "raymond-tree", **changes: Any) -> Scenario:
    """A scenario that every backend accepts, then changed without being checked again."""
    return loads(tiny(f"backend: {name}\n", algorithm=algorithm)).model_copy(update=changes)


# -- what a backend declares ------------------------------------------------------------------------------------------


@every
def test_it_is_the_backend_that_the_registry_names(name: str) -> None:
    """One object, which knows its own name and sums itself up in one line."""
    backend = find_backend(name)
    assert Backend in type(backend).__mro__
    assert find_backend(name) is backend
    assert backend.name == name
    assert is_one_line(f"{backend.summary}\n")
    assert 10 < len(backend.summary) <= 120
    assert backend.summary.isprintable()


@every
def test_declarations_fit_the_schema_and_each_other(name: str) -> None:
    """What a backend can do is what a scenario or a user can ask for."""
    backend = find_backend(name)
    assert set(backend.routings) <= set(ROUTINGS)
    assert set(backend.media) <= set(MEDIA)
    assert set(backend.rate_controls) <= set(RATE_CONTROLS)
    assert set(backend.captures) <= CAPTURES
    assert "builtin" in backend.routings, "the default"
    assert "ours" in backend.media, "the default"
    assert "constant" in backend.rate_controls, "the default"
    for declared in (backend.routings, backend.media, backend.rate_controls, backend.captures):
        assert len(set(declared)) == len(declared)
    if not backend.real_time:
        assert not backend.may_run_elsewhere, "virtual time needs no other kernel"
        assert not backend.has_command_line, "there is nothing to type at"
    assert backend.may_run_elsewhere or backend.runs_here()
    assert name != "sim" or not backend.captures, "there is no air"


@every
def test_what_is_missing_is_one_line(name: str) -> None:
    """And the same line is the error of a command that needs the backend."""
    lacking = find_backend(name).missing()
    if lacking is None:
        assert usable_backend(name) is find_backend(name)
        return
    assert is_one_line(f"{lacking}\n")
    with pytest.raises(BackendError) as refused:
        usable_backend(name)
    assert str(refused.value) == f"backend {name}: {lacking}"


@every
@pytest.mark.parametrize("option", ["pcap", "flows", "cli", "attach"])
def test_options_are_checked_by_what_is_declared(name: str, option: str) -> None:
    """An option that a backend cannot serve is one line that names the option, before anything is started."""
    backend, scenario = find_backend(name), a_scenario(name)
    options = RunOptions(attach=(1,)) if option == "attach" else RunOptions(**{option: True})
    can = {
        "pcap": "air" in backend.captures,
        "flows": "flows" in backend.captures,
        "cli": backend.has_command_line,
        "attach": False,
    }[option]
    backend.check(scenario, RunOptions())
    if can:
        backend.check(scenario, options)
        assert options.as_arguments() == [f"--{option}"]
    else:
        with pytest.raises(InputError, match=rf"^--{option}: .*{name}") as refused:
            backend.check(scenario, options)
        assert is_one_line(f"{refused.value}\n")
    assert backend.attached().name == name


# -- what it refuses --------------------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[str, dict[str, Any], Callable[[Backend], bool]]] = {
    **{
        f"routing {routing}": ("routing", {"routing": routing}, lambda one, routing=routing: routing in one.routings)
        for routing in ROUTINGS
    },
    **{
        f"medium {medium}": ("medium", {"medium": medium}, lambda one, medium=medium: medium in one.media)
        for medium in MEDIA
    },
    "ideal links": ("links", {"links": IdealChoice()}, lambda one: one.has_ideal_links),
    "radio links": ("links", {"links": RadioChoice()}, lambda one: True),
    "a short time unit": ("time_unit", {"time_unit": MIN_TIME_UNIT / 2}, lambda one: not one.real_time),
    "a long time unit": ("time_unit", {"time_unit": MAX_TIME_UNIT * 2}, lambda one: not one.real_time),
    "the shortest time unit": ("time_unit", {"time_unit": MIN_TIME_UNIT}, lambda one: True),
    "the longest time unit": ("time_unit", {"time_unit": MAX_TIME_UNIT}, lambda one: True),
}
"""The key that is changed, how, and whether a backend accepts that, by what it declares."""


def refusal_of(backend: Backend, scenario: Scenario) -> Refusal | None:
    """What the check of a scenario asks."""
    return first_refusal(backend, scenario) or backend.refuses(scenario)


@every
@pytest.mark.parametrize("change", CHANGES)
def test_keys_are_refused_by_what_is_declared(name: str, change: str) -> None:
    """None, or a refusal of that key; loading a file with it gives the same as an error with the key's line."""
    key, update, accepts = CHANGES[change]
    backend = find_backend(name)
    scenario = a_scenario(name, **update)
    refusal = refusal_of(backend, scenario)
    if accepts(backend):
        assert refusal is None
        return
    assert isinstance(refusal, Refusal)
    assert refusal.key == key
    assert name in refusal.allowed
    with pytest.raises(ScenarioError) as refused:
        loads(scenario.to_yaml())
    assert (refused.value.key, refused.value.found) == (refusal.key, refusal.found)
    assert refused.value.allowed == refusal.allowed
    assert refused.value.line is not None


@every
@pytest.mark.parametrize("control", RATE_CONTROLS)
def test_rate_controls_are_refused_by_what_is_declared(name: str, control: str) -> None:
    """Nodes that have radios have places; the error has the line of the key."""
    lines = f"backend: {name}\nradio:\n  range: 100\n  rate_control: {control}\n"
    text = tiny(lines, topology="geometric", placement="uniform", area="[100, 100]")
    if control in find_backend(name).rate_controls:
        radio = loads(text).radio
        assert radio is not None
        assert radio.rate_control == control
        return
    with pytest.raises(ScenarioError) as refused:
        loads(text)
    assert (refused.value.key, refused.value.found) == ("radio.rate_control", control)
    assert refused.value.allowed == f"constant with backend {name}: only ns3 has {control}"
    assert text.splitlines()[(refused.value.line or 0) - 1] == f"  rate_control: {control}"


@every
def test_kernel_routes_are_refused_to_algorithms_that_need_none(name: str) -> None:
    """Whatever the backend: an algorithm that speaks with neighbours has nothing to route."""
    for routing in ROUTINGS[1:]:
        refusal = refusal_of(find_backend(name), a_scenario(name, "rl", routing=routing))
        assert refusal is not None
        assert (refusal.key, refusal.found) == ("routing", routing)
        assert "rl" in refusal.allowed


@every
@pytest.mark.parametrize("nodes", [1, 5, 100_000])
def test_a_limit_of_its_own_is_refused_at_a_key_of_the_schema(name: str, nodes: int) -> None:
    """Besides the rules for all backends, one may have limits, such as on the number of stations."""
    refusal = find_backend(name).refuses(a_scenario(name, nodes=nodes))
    assert refusal is None or (refusal.key in Scenario.model_fields and is_one_line(f"{refusal.allowed}\n"))
    assert refusal is None or (refusal.key, refusal.found) == ("nodes", str(nodes))
    assert refusal is None or nodes == 100_000


# -- a run ------------------------------------------------------------------------------------------------------------

CAN_RUN = [
    pytest.param(name, marks=[pytest.mark.xdist_group("stations" if find_backend(name).real_time else name)])
    for name in BACKENDS
]


@pytest.mark.parametrize("name", CAN_RUN)
def test_a_run_that_is_measured_and_judged(name: str, tmp_path: Path) -> None:
    """A backend that says that it can run here does: every check is ok on line, and from the log as well."""
    backend = find_backend(name)
    if (lacking := backend.missing()) is not None:
        pytest.skip(f"{name}: {lacking}")
    if not backend.runs_here():
        pytest.skip(f"{name}: runs on another kernel than this machine's own")
    scenario = loads(tiny(f"backend: {name}\n{SHORT}", nodes="3", duration="25", workload="{rate: 0.2, cs_time: 0.2}"))
    reports: list[tuple[float, str]] = []
    folder = tmp_path / "rep-000"
    found = measure(scenario, 0, folder, lambda share, words: reports.append((share, words)))
    assert verdicts_of(found["checks"]) == ALL_OK, found["checks"]
    assert list(found["metrics"]) == list(METRICS)
    assert found["metrics"]["entries"] >= 3
    assert found["metrics"]["messages_per_cs"] > 0
    assert (found["metrics"]["medium_lateness"] is not None) is backend.real_time
    assert reports[0][0] == 0
    assert all(0 <= share <= 1 and is_one_line(f"{words}\n") for share, words in reports)
    (tmp_path / "meta.json").write_text(json.dumps({"status": "running"}))
    assert verdicts_of(load_run(tmp_path).verdicts()) == ALL_OK
    if not backend.real_time:
        again, other = measure(scenario, 0), measure(scenario, 1)
        for one in (found, again, other):
            del one["metrics"]["height_changes_per_cs"]  # measured where every message is written to a log
        assert again == found, "without a folder, the same run and no file"
        assert other != found


# -- a new backend ----------------------------------------------------------------------------------------------------


class ScriptedBackend(Backend):
    """One critical section of node 0, always the same: all that a backend must be able to do."""

    name = "scripted"
    summary = "a history that was written by hand"
    real_time = True
    captures = ("air",)
    lacks: ClassVar[str | None] = None
    ran: ClassVar[list[tuple[int, RunOptions]]] = []

    def missing(self) -> str | None:
        return self.lacks

    def run_repetition(
        self,
        scenario: Scenario,
        repetition: int,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path | None,
        options: RunOptions,
    ) -> None:
        self.ran.append((repetition, options))
        initial = Repetition(scenario, Streams(scenario.seed, repetition))
        units = [initial.agent(node).units for node in range(scenario.nodes)]
        initial.log_start(listener, [(one, one) for one in units], [list(link) for link in initial.graph.links()])
        listener.request(1 * TICKS, 0, 1, 0, None)
        listener.enter((2 + repetition) * TICKS, 0, 1, 0, None)
        listener.exit(5 * TICKS, 0, 1)
        report(1.0)
        listener.stop(6 * TICKS, None, "every request served", units, units)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[ScriptedBackend]]:
    """The backend above, registered as any backend is: by one line."""
    monkeypatch.setitem(BACKENDS, "scripted", f"{__name__}:ScriptedBackend")
    monkeypatch.setattr(ScriptedBackend, "ran", [])
    find_backend.cache_clear()
    yield ScriptedBackend
    find_backend.cache_clear()


def test_a_new_backend_runs_scenarios(
    scripted: type[ScriptedBackend], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`testbed run` takes it by name, judges and measures what it reports, and writes the log."""
    path = write_tiny(tmp_path, f"backend: scripted\nrepeat: 2\ntrace: {LEVELS[-1]}\n")
    assert main(["run", str(path), "--out", str(tmp_path / "runs"), "--json", "--pcap"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert scripted.ran == [(0, RunOptions(pcap=True)), (1, RunOptions(pcap=True))]
    assert verdicts_of(summary["checks"]) == ALL_OK
    assert summary["checks"]["timing"]["verdict"] == "not checked", "it does not say how late it was"
    assert summary["backend"] == "scripted"
    assert summary["metrics"]["waiting_time"]["mean"] == 1.5
    run = load_run(only_run(tmp_path / "runs"))
    assert run.finished
    assert [audit.metrics() for audit in run.audits] == [one["metrics"] for one in summary["repetitions"]]
    assert load(run.path / "scenario.yaml").links.kind == "radio", "it has no ideal links, so radio is the default"


@pytest.mark.parametrize(
    ("line", "key", "allowed"),
    [
        ("links: ideal", "links", "radio: scripted is no place for ideal links"),
        ("time_unit: 0.0001", "time_unit", "0.001 to 1000 seconds, with backend scripted"),
        ("medium: wmediumd", "medium", "ours with backend scripted: only mininet-wifi has another"),
        ("routing: babel", "routing", "builtin with backend scripted: only hwsim and mininet-wifi have babel"),
        ("routing: olsr", "routing", "builtin with backend scripted: only ns3 has olsr"),
    ],
)
def test_a_new_backend_refuses_by_what_it_declares(
    line: str, key: str, allowed: str, scripted: type[ScriptedBackend], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Without a line of its own for that: exit code 2, one line, nothing has run."""
    path = write_tiny(tmp_path, f"backend: scripted\n{line}\n", algorithm="raymond-tree")
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert is_one_line(error)
    assert error.startswith(f"testbed: {path}:8: {key}: found ")
    assert f"; allowed: {allowed}" in error
    assert scripted.ran == []


def test_a_new_backend_that_cannot_run_here(
    scripted: type[ScriptedBackend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, and what is missing; what it cannot do is refused with exit code 2."""
    path = write_tiny(tmp_path, "backend: scripted\n")
    assert main(["run", str(path), "--out", str(tmp_path / "runs"), "--cli"]) == 2
    assert capsys.readouterr().err.startswith("testbed: --cli: backend scripted has no command line")
    monkeypatch.setattr(scripted, "lacks", "needs a pen: buy one")
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 3
    assert capsys.readouterr().err == "testbed: backend scripted: needs a pen: buy one\n"
    assert scripted.ran == []
    assert not (tmp_path / "runs").exists()


def test_a_new_backend_is_listed(scripted: type[ScriptedBackend], capsys: pytest.CaptureFixture[str]) -> None:
    """With its summary, after the others."""
    assert main(["list", "backends", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out).items())[-1] == ("scripted", scripted.summary)
    assert main(["list", "backends"]) == 0
    assert f"scripted      {scripted.summary}\n" in capsys.readouterr().out


def test_a_new_backend_that_breaks_the_papers_rule_is_found_out(
    scripted: type[ScriptedBackend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checks judge any backend: an entry without a request fails the run."""

    class Forgetful(Listener):
        def __init__(self, listener: Listener) -> None:
            self.start, self.stop, self.enter = listener.start, listener.stop, listener.enter  # type: ignore[method-assign]

    run = scripted.run_repetition
    monkeypatch.setattr(
        scripted,
        "run_repetition",
        lambda self, scenario, number, listener, *rest: run(self, scenario, number, Forgetful(listener), *rest),
    )
    assert main(["run", str(write_tiny(tmp_path, "backend: scripted\n")), "--out", str(tmp_path / "runs")]) == 1
    assert "node 0 enters without a request" in capsys.readouterr().out
