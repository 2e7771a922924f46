"""The scenario: defaults written out, read back as it was, overridden from the command line; and its times."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
import yaml

from agents.contract import TICKS, Parameters
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from testbed.durations import Duration, parse_duration
from testbed.errors import ScenarioError
from testbed.scenario.faults import FaultSection
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario
from testbed.scenario.topology import CompleteTopology, ExplicitTopology, RandomTopology
from testbed.section import Section
from tests.testbed.tiny import tiny

NEIGHBOURHOODS = """area: [300, 300]
placement: uniform
radio: {range: 100}
neighbourhoods: [{centre: [50, 50], range: 50}, {centre: [50, 150, 0], range: 50, k: 1}]
faults: [{at: 1, kind: vanish, holder: true}]
"""
"""Two that touch, with the range of the radio and less, and a fault that only nodes in neighbourhoods have."""

# -- the resolved copy ------------------------------------------------------------------------------------------------


def test_defaults_are_written_out() -> None:
    """The resolved copy has every key there is, with the values that a run takes."""
    written = yaml.safe_load(loads(tiny()).to_yaml())
    assert list(written) == list(Scenario.model_fields)
    assert written["algorithm"] == {"name": "rl", "raise_interval": 0.0, "detect_partitions": False}
    assert written["topology"] == {"kind": "complete"}
    assert written["delays"] == {"hop": 1.0, "send": 0.0, "receive": 0.0, "processor": "fifo"}
    assert written["workload"] == {
        "rate": 0.1, "contention": None, "cs_time": 1.0, "units": 1, "priority": 0, "deadline": None, "requests": [],
    }  # fmt: skip
    assert written["expect"] == {"checks": {}, "metrics": {}}
    scalars = {key: written[key] for key in ("warmup", "drain", "seed", "repeat", "trace", "backend", "entries")}
    assert scalars == {
        "warmup": 0.0, "drain": 10_000.0, "seed": 1, "repeat": 1, "trace": "cs", "backend": "sim", "entries": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("topology", "section"),
    [
        ("{kind: random, connectivity: 1}", RandomTopology),
        ("complete", CompleteTopology),
        ("{kind: explicit, links: [[0, 1]]}", ExplicitTopology),
    ],
)
def test_sections_are_written_out(topology: str, section: type[Section]) -> None:
    """No section leaves out a key of its own."""
    written = yaml.safe_load(loads(tiny("faults: [{at: 1, kind: cut, node: 1}]\n", topology=topology)).to_yaml())
    assert list(written["topology"]) == list(section.model_fields)
    assert list(written["faults"][0]) == list(FaultSection.model_fields)


@pytest.mark.parametrize(
    "text",
    [
        tiny(),
        tiny("entries: 20\n", duration=None),
        tiny(topology="{kind: random, connectivity: 0.7, link_change_rate: 1e-3}"),
        tiny(topology="{kind: explicit, links: [[0, 1], [1, 2]]}"),
        tiny("delays: {hop: {uniform: [0.5, 1.5]}, send: 1e-9, receive: 0.1}\n"),
        tiny(workload="{rate: 1e6, cs_time: {exponential: 2}, priority: -3}"),
        *(
            tiny(algorithm="{name: hk, k: 3}", workload=f"{{rate: 1, {keys}}}")
            for keys in (
                "units: 2",
                "units: {uniform: [1, 3]}",
                "units: {uniform: [2, 2]}",
                "units: {weights: {1: 3, 2: 0.5}}",
                "units: {weights: {3: 2, 1: 2}}",
                "units: {weights: {1: 1, 2: 1}}",
                "units: {weights: {2: 7}}",
                "units: {weights: {1: 0, 2: 7, 3: 1}}",
                "priority: [5, 4, 3, 2, 1]",
                "priority: [1, 1, 1, 1, 1]",
                "priority: {uniform: [-3, 3]}",
                "priority: fewest-first",
                "priority: deadline, deadline: 5",
                "deadline: {exponential: 5}",
            )
        ),
        tiny(workload="{rate: [0, 1, 0.5, 1e-9, 1e9]}"),
        tiny(workload="{rate: 0, requests: [{node: 1, at: 2.5}, {node: 0, at: 0, units: 1, priority: -3}]}"),
        tiny(workload="{requests: [{node: 4, at: 50, deadline: 2.5, cs_time: 0}]}"),
        tiny("entries: 1\n", duration=None, workload="{requests: [{node: 4, at: 50}]}"),
        tiny("patience: 5\ngrace: 0\n", topology="{kind: random, connectivity: 0.7, max_lag: 0}"),
        tiny("faults: [{at: 1, kind: crash, holder: true}, {at: 2, kind: heal}, {at: 3, kind: cut, group: [1, 2]}]\n"),
        tiny("expect: {checks: {safety: ok, order: not checked}, metrics: {waiting_time: {p95: {max: 1e6}}}}\n"),
        tiny(workload="{contention: 0.25, cs_time: {exponential: 3}}"),
        tiny("churn: {groups: 3, departures: 0.05, away: {exponential: 2}}\n", algorithm="klme"),
        tiny("churn: {groups: 1, departures: 0, away: 0}\nnotice: 5\n", algorithm="klme"),
        tiny(NEIGHBOURHOODS, algorithm="klme", topology="geometric"),
        tiny(f"seed: {2**32}\nrepeat: 3\ntrace: events\nwarmup: 1\n"),
        tiny("description: |\n  two lines,\n  tab\t, quote ' and \" and é, ε, 🙂\n"),
        tiny("description: 'yes'\n", name="'true'"),
        tiny("description: '~'\n", name="null-1"),
        tiny("description: '1e3'\n"),
        tiny("description: '1.5e3'\n"),
        tiny("description: '2001-01-01'\n", name="'2001-01-01'"),
        tiny("description: '010'\n", name="'010'"),
        tiny(name="'1e3'"),
        tiny('description: "\\x85 \\u2028 \\ud800 \\0"\n'),
    ],
    ids=lambda text: " ".join(line for line in text.splitlines() if line not in tiny()) or "tiny",
)
def test_resolved_copy_reads_back_the_same(text: str) -> None:
    """Loading what was written gives the scenario that was written, whatever its texts look like."""
    scenario = loads(text)
    assert loads(scenario.to_yaml()) == scenario


def test_parameters_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An algorithm's own parameters are in the resolved copy with their defaults, and read back."""

    @dataclass(frozen=True)
    class Two(Parameters):
        k: int = 3
        forwarding: bool = True

    monkeypatch.setitem(ALGORITHMS, "two", type("TwoAgent", (ReverseLink,), {"parameters": Two}))
    scenario = loads(tiny(algorithm="{name: two, k: 2}"))
    assert yaml.safe_load(scenario.to_yaml())["algorithm"] == {"name": "two", "k": 2, "forwarding": True}
    assert loads(scenario.to_yaml()) == scenario


def test_shorthands_mean_the_mapping() -> None:
    """`algorithm: rl` and `topology: complete` are the mappings with that one key."""
    assert loads(tiny()) == loads(tiny(algorithm="{name: rl}", topology="{kind: complete}"))


def test_exponents_are_numbers() -> None:
    """1e-3 is a number, which YAML 1.1 would take for text."""
    scenario = loads(tiny(workload="{rate: 1e-3}", duration="1e3"))
    assert scenario.workload.rate == 0.001
    assert scenario.duration == 1000.0


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("units: {weights: {2: 5}}", "units: 2"),
        ("units: {weights: {3: 0, 2: 5}}", "units: 2"),
        ("units: {uniform: [2, 2]}", "units: 2"),
        ("units: {weights: {2: 1, 1: 1}}", "units: {uniform: [1, 2]}"),
        ("units: {weights: {3: 1, 1: 2}}", "units: {weights: {1: 2, 3: 1}}"),
    ],
)
def test_units_that_mean_the_same_are_the_same(written: str, meant: str) -> None:
    """However the choice is written, the same numbers are drawn."""
    one, other = (
        loads(tiny(algorithm="{name: hk, k: 3}", workload=f"{{rate: 1, {keys}}}")) for keys in (written, meant)
    )
    assert one == other


def test_weights_are_read_by_their_numbers() -> None:
    """The keys of a mapping are text in the file, and numbers of units here."""
    units = loads(
        tiny(algorithm="{name: hk, k: 3}", workload="{rate: 1, units: {weights: {1: 3, 3: 1}}}")
    ).workload.units
    assert (units.values, units.weights) == ((1, 3), (3.0, 1.0))


def test_scenario_cannot_be_changed() -> None:
    """A scenario that was checked stays as it was checked."""
    with pytest.raises(ValueError, match="frozen"):
        loads(tiny()).nodes = 6  # type: ignore[misc]


@pytest.mark.parametrize(("nodes", "connectivity", "links"), [(30, 0.2, 87), (5, 0.4, 4), (2, 1, 1)])
def test_connectivity_is_a_share_of_all_links(nodes: int, connectivity: float, links: int) -> None:
    """Connectivity 0.4 is the least that connects five nodes; half a link is rounded."""
    text = tiny(nodes=str(nodes), topology=f"{{kind: random, connectivity: {connectivity}}}")
    topology = loads(text).topology
    assert isinstance(topology, RandomTopology)
    assert topology.link_count(nodes) == links


# -- overrides --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "changes"),
    [
        (["nodes=6"], {"nodes": "6"}),
        (["nodes=6", "nodes=7"], {"nodes": "7"}),
        (["workload.rate=1e-3"], {"workload": "{rate: 1e-3}"}),
        (["workload={rate: 2, units: 1}"], {"workload": "{rate: 2}"}),
        (["workload.cs_time={exponential: 2}"], {"workload": "{rate: 0.1, cs_time: {exponential: 2}}"}),
        (["workload.cs_time.uniform=[1, 2]"], {"workload": "{rate: 0.1, cs_time: {uniform: [1, 2]}}"}),
        (["algorithm=rl"], {}),
        (["algorithm.name=rl"], {}),
        (["topology={kind: random, connectivity: 1}"], {"topology": "{kind: random, connectivity: 1}"}),
        (["topology=random", "topology.connectivity=1"], {"topology": "{kind: random, connectivity: 1}"}),
        (["topology.kind=random", "topology.connectivity=1"], {"topology": "{kind: random, connectivity: 1}"}),
        (["delays.hop=2"], {"more": "delays: {hop: 2}\n"}),
        (["delays.hop=2", "delays.send=1"], {"more": "delays: {hop: 2, send: 1}\n"}),
        (["duration=null", "entries=3"], {"duration": None, "more": "entries: 3\n"}),
        (["description=a=b"], {"more": "description: a=b\n"}),
        (["description='5'"], {"more": "description: '5'\n"}),
        (["expect.checks.safety=ok"], {"more": "expect: {checks: {safety: ok}}\n"}),
    ],
)
def test_override(overrides: list[str], changes: dict[str, Any]) -> None:
    """An override is as if the file had said so."""
    assert loads(tiny(), overrides) == loads(tiny(**changes))


def test_override_in_a_list() -> None:
    """A number in the key is an index."""
    text = tiny("faults: [{at: 1, kind: crash, node: 1}, {at: 2, kind: crash, node: 2}]\n")
    scenario = loads(text, ["faults.1.at=30", "faults.0={at: 4, kind: heal}"])
    assert [fault.at for fault in scenario.faults] == [4, 30]
    assert [fault.kind for fault in scenario.faults] == ["heal", "crash"]


@pytest.mark.parametrize(
    "bound", ["expect.metrics.waiting_time.mean.max=9", "expect.metrics.waiting_time.mean={max: 9}"]
)
def test_override_of_a_metric(bound: str) -> None:
    """A metric's name has a dot in it and can be overridden all the same."""
    assert loads(tiny(), [bound]).expect.metrics["waiting_time"]["mean"].max == 9


@pytest.mark.parametrize(
    ("override", "key", "found", "nearest"),
    [
        ("nodes", "", "no key=value", None),
        ("=5", "", "no key=value", None),
        ("", "", "no key=value", None),
        ("workload..rate=1", "", "no key=value", None),
        ("nodes=", "nodes", "None", None),
        ("nodes=many", "nodes", "'many'", None),
        ("workload.rat=1", "workload.rat", "unknown key", "rate"),
        ("algorithm.k=2", "algorithm.k", "unknown key", None),
        ("algorithm=rll", "algorithm.name", "'rll'", "rl"),
        ("topology.connectivity=1", "topology.connectivity", "unknown key", None),
        ("workload.units=2", "workload.units", "2", None),
        ("warmup=60", "warmup", "60", None),
        ("faults.0.at=1", "faults.0", "no such place", None),
        ("nodes.first=1", "nodes", None, None),
        ("5=1", "5", None, None),
        ("²=1", "²", None, None),
        ("nodes=[1", "", None, None),
        ("seed=!dice 6", "", "the tag !dice", None),
        ("seed=&a [*a]", "seed.0", "an alias to a value that contains it", None),
        ("links.loss=0.1", "links.kind", "nothing", None),
        ("links={kind: radio, hello: abc}", "links.hello", "'abc'", None),
        ("links={kind: radio, hello: -1}", "links.hello", "-1", None),
        ("links={kind: radio, close_timeout: soon}", "links.close_timeout", "'soon'", None),
        ("links={kind: radio, close_timeout: 0}", "links.close_timeout", "0", None),
        ("medium=wmediumd", "medium", "wmediumd", None),
        ("expect={metrics: {frames: {mean: {max: 1}}}}", "expect.metrics.frames", "unknown key", "frames_per_cs"),
    ],
)
def test_bad_override(override: str, key: str, found: str | None, nearest: str | None) -> None:
    """What is wrong with an override is said of the override, not of the file."""
    with pytest.raises(ScenarioError) as caught:
        loads(tiny(), [override])
    error = caught.value
    assert str(error).startswith(f"--set {override}: ")
    assert error.key == key or (error.key.startswith(key) and found is None)
    assert error.found == found or found is None
    assert error.nearest == nearest


def test_tokens_that_never_rest_need_time_to_pass() -> None:
    """KRLF forwards idle tokens without end: if that takes no time, nothing else ever happens."""
    with pytest.raises(ScenarioError, match=r"delays.hop: found 0; allowed: more than 0"):
        loads(tiny(algorithm="{name: krlf, k: 1}"), ["delays={hop: 0}"])
    assert loads(tiny(algorithm="{name: krlf-adaptive, k: 1}"), ["delays={hop: 0}"]).nodes == 5
    assert loads(tiny(algorithm="{name: krlf, k: 1}"), ["delays={hop: 0, receive: 0.1}"]).nodes == 5


def test_override_that_another_key_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter that is too large for the network is the override's fault, if it set the parameter."""

    @dataclass(frozen=True)
    class Few(Parameters):
        k: int = 1

        def check(self, nodes: int) -> None:
            if self.k >= nodes:
                raise ValueError("k less than the number of nodes")

    monkeypatch.setitem(ALGORITHMS, "few", type("FewAgent", (ReverseLink,), {"parameters": Few}))
    with pytest.raises(ScenarioError) as caught:
        loads(tiny(algorithm="few"), ["algorithm.k=5"])
    assert str(caught.value).startswith("--set algorithm.k=5: algorithm: found {'k': 5}; allowed: k less than")


def test_bad_override_is_one_line() -> None:
    """An override that has line feeds in it does not make two lines of the message."""
    with pytest.raises(ScenarioError) as caught:
        loads(tiny(), ["nodes=a\n b"])
    assert len(str(caught.value).splitlines()) == 1


# -- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "duration"),
    [
        (2, Duration("fixed", (2.0,))),
        (0, Duration("fixed", (0.0,))),
        (0.5, Duration("fixed", (0.5,))),
        ({"uniform": [1, 3]}, Duration("uniform", (1.0, 3.0))),
        ({"uniform": [2, 2]}, Duration("uniform", (2.0, 2.0))),
        ({"exponential": 4}, Duration("exponential", (4.0,))),
    ],
)
def test_time_is_read_and_written(written: Any, duration: Duration) -> None:
    """A number or a distribution, and back."""
    assert parse_duration(written) == duration
    assert duration.dump() == written
    assert parse_duration(duration.dump()) == duration


def test_fixed_time_never_varies() -> None:
    """A fixed time is the same number of ticks each time, and draws nothing."""
    rng = Random(1)
    sample = Duration("fixed", (1.5,)).sampler(rng)
    assert {sample() for _ in range(10)} == {1_500_000_000}
    assert rng.getstate() == Random(1).getstate()
    assert Duration("fixed", (1.5,)).fixed_ticks() == 1_500_000_000


def test_uniform_times_fill_their_range() -> None:
    """Uniform times are whole ticks between low and high, and halfway in the mean."""
    sample = Duration("uniform", (1.0, 3.0)).sampler(Random(1))
    times = [sample() for _ in range(10_000)]
    assert all(type(time) is int for time in times)
    assert 1 * TICKS <= min(times) < 1.01 * TICKS
    assert 2.99 * TICKS < max(times) <= 3 * TICKS
    assert sum(times) / len(times) == pytest.approx(2 * TICKS, rel=0.02)
    assert Duration("uniform", (1.0, 3.0)).fixed_ticks() is None


def test_exponential_times_have_their_mean() -> None:
    """The number given is the mean, not the rate, and the standard deviation equals it."""
    sample = Duration("exponential", (4.0,)).sampler(Random(1))
    times = [sample() / TICKS for _ in range(20_000)]
    mean = sum(times) / len(times)
    assert mean == pytest.approx(4, rel=0.03)
    assert (sum((time - mean) ** 2 for time in times) / len(times)) ** 0.5 == pytest.approx(4, rel=0.05)
    assert Duration("exponential", (4.0,)).fixed_ticks() is None


@pytest.mark.parametrize("duration", [Duration("uniform", (0.0, 1.0)), Duration("exponential", (1.0,))])
def test_times_follow_from_the_seed(duration: Duration) -> None:
    """The same generator gives the same times, another gives others."""

    def draw(seed: int) -> list[int]:
        sample = duration.sampler(Random(seed))
        return [sample() for _ in range(5)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@pytest.mark.parametrize(
    "written",
    [-1, True, "1", None, float("nan"), float("inf"), [], [1, 2], {}, {"uniform": 1}, {"uniform": [1]},
     {"uniform": [1, 2, 3]}, {"uniform": [2, 1]}, {"uniform": [-1, 1]}, {"uniform": [0, True]}, {"exponential": 0},
     {"exponential": -1}, {"exponential": [1]}, {"normal": 1}, {"exponential": 1, "uniform": [0, 1]}],
)  # fmt: skip
def test_bad_time_is_refused(written: Any) -> None:
    """What is no time says what one looks like."""
    with pytest.raises(ScenarioError) as caught:
        loads(tiny(workload=yaml.safe_dump({"rate": 1.0, "cs_time": written}, default_flow_style=True).strip()))
    assert caught.value.key == "workload.cs_time"
    assert caught.value.allowed.startswith("a number, {uniform: [low, high]} or {exponential: mean}")


# -- neighbourhoods ---------------------------------------------------------------------------------------------------


def test_neighbourhoods_have_units_of_their_own() -> None:
    """As many as the place says, or else the algorithm; every place has a station."""
    scenario = loads(tiny(NEIGHBOURHOODS, algorithm="{name: klme, k: 4}", topology="geometric"))
    assert (scenario.group_capacities, scenario.stations) == ([4, 1], 7)
    churned = loads(tiny("churn: {groups: 3, departures: 1, away: 1}\n", algorithm="{name: klme, k: 2}"))
    assert (churned.group_capacities, churned.stations) == ([2, 2, 2], 5)
    assert (loads(tiny()).group_capacities, loads(tiny()).stations) == ([], 5)


def test_notice_by_default() -> None:
    """One time unit, where nodes leave neighbourhoods; written out as every default is."""
    churn = "churn: {groups: 3, departures: 1, away: 1}\n"
    assert loads(tiny(churn, algorithm="klme")).notice == 1.0
    assert loads(tiny(NEIGHBOURHOODS, algorithm="klme", topology="geometric")).notice == 1.0
    assert loads(tiny(f"{churn}notice: 0.25\n", algorithm="klme")).notice == 0.25
    assert loads(tiny()).notice is None


@pytest.mark.parametrize(
    ("contention", "cs_time", "rate"), [(0.5, "1", 1.0), (0.5, "4", 0.25), (0.2, "{exponential: 2}", 0.125)]
)
def test_contention_is_a_share_of_time(contention: float, cs_time: str, rate: float) -> None:
    """The mean CS time over the sum of that and the mean time that a node thinks, which is one over the rate."""
    workload = loads(tiny(workload=f"{{contention: {contention}, cs_time: {cs_time}}}")).workload
    assert [workload.rate_of(node) for node in range(5)] == [pytest.approx(rate)] * 5
