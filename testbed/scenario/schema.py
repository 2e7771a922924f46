"""The scenario: everything that changes a result, checked and typed before anything starts.

`load` reads a file, applies overrides and returns a frozen `Scenario`; `Scenario.to_yaml` writes it back with every
default spelled out, and running that again gives the same run.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from agents.contract import Agent, Needs, Parameters
from agents.pacing import PacedParameters
from agents.registry import ALGORITHMS
from analysis.audit import Audit
from analysis.checks import CHECKS
from analysis.events import LEVELS
from testbed import input_errors
from testbed.scenario import yaml_reader
from testbed.backends.registry import BACKENDS
from testbed.durations import MAX_UNITS, Duration, parse_duration, to_ticks
from testbed.errors import InputError, ScenarioError
from testbed.scenario.links import IdealChoice, LinkChoice
from testbed.mobility.area import Area, parse_area
from testbed.mobility.registry import Mobility, Placement
from testbed.mobility.replay import Replay
from testbed.mobility.static import Static
from testbed.radio.altitude import trouble_with_heights
from testbed.radio.radio import Radio
from testbed.section import Section, refuse_unknown
from testbed.randomness import Streams
from testbed.scenario.topology import ExplicitTopology, GeometricTopology, Node, RandomTopology, Topology

MIN_TIME_UNIT, MAX_TIME_UNIT = 0.001, 1000.0
"""Seconds to a time unit where time is real: in less nothing happens, and with more a tick is too coarse."""


@dataclass(frozen=True)
class AlgorithmChoice:
    """An algorithm by its registered name, with its parameters."""

    name: str
    parameters: Parameters

    @property
    def agent(self) -> type[Agent]:
        """The class to make agents of."""
        return ALGORITHMS[self.name]


def _parse_algorithm(value: Any) -> AlgorithmChoice:
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, dict):
        raise PydanticCustomError("allowed", "{allowed}", {"allowed": "{name: ..., and its parameters}"})
    name = value.get("name")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise input_errors.not_one_of(list(ALGORITHMS), name, "name")
    declared = ALGORITHMS[name].parameters
    known = {field.name: field.type for field in dataclasses.fields(declared)}
    given = {key: item for key, item in value.items() if key != "name"}
    refuse_unknown(value, ["name", *known])
    for key, item in given.items():
        given[key] = _parse_parameter(declared, key, item)
    try:
        return AlgorithmChoice(name, declared(**given))
    except (ValueError, TypeError) as error:
        raise PydanticCustomError("allowed", "{allowed}", {"allowed": str(error)}) from None


def _parse_parameter(declared: type[Parameters], key: str, item: Any) -> Any:
    hint = get_type_hints(declared)[key]
    try:
        return TypeAdapter(hint).validate_python(item, strict=True)
    except ValidationError as error:
        allowed = input_errors.allowed_by(error.errors()[0])
        raise input_errors.found_instead(input_errors.shown(item), allowed, key) from None


def _dump_algorithm(choice: AlgorithmChoice) -> dict[str, Any]:
    return {"name": choice.name, **dataclasses.asdict(choice.parameters)}


def _parse_backend(value: Any) -> str:
    if not isinstance(value, str) or value not in BACKENDS:
        raise input_errors.not_one_of(list(BACKENDS), value)
    return value


Algorithm = Annotated[AlgorithmChoice, PlainValidator(_parse_algorithm), PlainSerializer(_dump_algorithm)]
Time = Annotated[Duration, PlainValidator(parse_duration), PlainSerializer(Duration.dump)]
Backend = Annotated[str, PlainValidator(_parse_backend)]
Rate = Annotated[float, Field(ge=1 / MAX_UNITS, le=MAX_UNITS)]
Units = Annotated[float, Field(ge=0, le=MAX_UNITS)]
"""An amount of time."""


class Delays(Section):
    """What a message costs in time: `send` and `receive` occupy the node, `hop` passes between the nodes."""

    hop: Time = Duration("fixed", (1.0,))
    send: Units = 0.0
    receive: Units = 0.0


class Workload(Section):
    """What the applications do: think for an exponential time, ask, stay in the critical section, leave."""

    rate: Rate
    """Requests per time unit of a thinking node: the mean time from leaving the CS to the next request is 1/rate."""
    cs_time: Time = Duration("fixed", (1.0,))
    units: Annotated[int, Field(ge=1)] = 1
    priority: int = 0


class Fault(Section):
    """Something that goes wrong at a time: to a node by number, or to whichever node holds a token then."""

    at: Units
    kind: Literal["crash", "restart", "cut", "heal", "lose"]
    node: Node | None = None
    holder: bool = False
    peer: Node | None = None
    """For cut and heal: only the link between `node` and this one."""
    group: list[Node] | None = None
    """For cut and heal: the links between these nodes and all others."""
    message: str | None = None
    """For lose: only a message of this type."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Fault:
        subjects = (self.node is not None) + self.holder + (self.group is not None)
        wanted = {
            "crash": "node or holder",
            "restart": "node",
            "cut": "node, holder or group",
            "heal": "node, group, or none of them for all",
            "lose": "node or holder",
        }[self.kind]
        fits = {
            "crash": subjects == 1 and self.group is None,
            "restart": subjects == 1 and self.node is not None,
            "cut": subjects == 1,
            "heal": subjects <= 1 and not self.holder,
            "lose": subjects == 1 and self.group is None,
        }[self.kind]
        if not fits:
            raise input_errors.found_instead(f"a {self.kind} with {subjects} subjects or the wrong one", wanted)
        if self.peer is not None and (self.kind not in ("cut", "heal") or self.node is None):
            raise input_errors.found_instead("peer", "with cut or heal and a node", key="peer")
        if self.peer is not None and self.peer == self.node:
            raise input_errors.found_instead(f"{self.peer}", "another node than the fault's own", key="peer")
        if self.message is not None and self.kind != "lose":
            raise input_errors.found_instead("message", "with lose", key="message")
        return self


class Bound(Section):
    """Limits on a metric; both ends are allowed values."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _leaves_room(self) -> Bound:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise input_errors.found_instead(f"min {self.min:g} and max {self.max:g}", "min no greater than max")
        return self


_COLUMNS = {"medium_lateness": ["mean", "p50", "p95", "p99", "max"]}
"""Of metrics that are not measured everywhere."""


def _known_metrics(value: Any) -> Any:
    """A mapping metric -> column -> bound, with the metrics and columns there are."""
    if isinstance(value, dict):
        columns = {
            name: ["mean", "p50", "p95", "max"] if isinstance(measured, dict) else _COLUMNS.get(name, ["mean"])
            for name, measured in Audit().metrics().items()
            if name not in ("messages", "messages_per_cs_by_type", "frames")  # these are by type
        }
        refuse_unknown(value, list(columns))
        for name, bounds in value.items():
            if isinstance(bounds, dict):
                for column in bounds:
                    if column not in columns[name]:
                        raise input_errors.unknown_key(columns[name], name, column)
    return value


def _known_checks(value: Any) -> Any:
    if isinstance(value, dict):
        refuse_unknown(value, [check.name for check in CHECKS])
    return value


class Expect(Section):
    """What must hold for the run to pass. A check that is not named must not fail."""

    checks: Annotated[dict[str, Literal["ok", "failed", "not checked"]], BeforeValidator(_known_checks)] = Field({})
    metrics: Annotated[dict[str, dict[str, Bound]], BeforeValidator(_known_metrics)] = Field({})


class Scenario(Section):
    """A complete experiment."""

    name: Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    description: str = ""
    algorithm: Algorithm
    nodes: Annotated[int, Field(ge=1, le=100_000)]
    topology: Topology
    time_unit: Annotated[float, Field(ge=1e-6, le=1e6)] = 1.0
    """Seconds per time unit, where nodes move or time is real."""
    area: Annotated[Area, PlainValidator(parse_area), PlainSerializer(list)] | None = None
    placement: Placement | None = None
    mobility: Mobility | None = None
    radio: Radio | None = None
    links: LinkChoice = IdealChoice()
    routing: Literal["builtin", "babel", "batman"] = "builtin"
    """Who finds the way for algorithms that address any node."""
    medium: Literal["ours", "wmediumd"] = "ours"
    """What carries frames from radio to radio, where there is a choice: on mininet-wifi."""
    delays: Delays = Delays()
    workload: Workload
    faults: list[Fault] = Field([])
    duration: Annotated[float, Field(gt=0, le=MAX_UNITS)] | None = None
    entries: Annotated[int, Field(ge=1)] | None = None
    warmup: Units = 0.0
    drain: Units = 10_000.0
    seed: Annotated[int, Field(ge=0)] = 1
    repeat: Annotated[int, Field(ge=1, le=10_000)] = 1
    trace: Literal[LEVELS] = "cs"  # type: ignore[valid-type]
    backend: Backend = "sim"
    expect: Expect = Expect()

    @model_validator(mode="before")
    @classmethod
    def _complete_geometry(cls, data: Any) -> Any:
        """Nodes with places have radios, and stay where they are if nothing else is said."""
        if isinstance(data, dict):
            topology = data.get("topology")
            if "geometric" in (topology, topology.get("kind") if isinstance(topology, dict) else None):
                defaults = {"mobility": {"kind": "static"}, "radio": {}}
                data = {**data, **{key: value for key, value in defaults.items() if data.get(key) is None}}
        return data

    @model_validator(mode="before")
    @classmethod
    def _link_by_radio(cls, data: Any) -> Any:
        """Where time is real there are no ideal links to be had."""
        if isinstance(data, dict) and data.get("links") is None and data.get("backend", "sim") != "sim":
            return {**data, "links": {"kind": "radio"}}
        return data

    @model_validator(mode="before")
    @classmethod
    def _pace_over_radio(cls, data: Any) -> Any:
        """Where links are found by radio, heights are raised no faster than hellos, unless the scenario says so."""
        links = data.get("links") if isinstance(data, dict) else None
        if "radio" not in (links, links.get("kind") if isinstance(links, dict) else None):
            return data
        algorithm = data.get("algorithm")
        chosen = {"name": algorithm} if isinstance(algorithm, str) else algorithm
        agent = ALGORITHMS.get(str(chosen.get("name"))) if isinstance(chosen, dict) else None
        if agent is None or not issubclass(agent.parameters, PacedParameters) or "raise_interval" in chosen:
            return data
        hello = links.get("hello", 1.0) if isinstance(links, dict) else 1.0
        if isinstance(hello, bool) or not isinstance(hello, int | float) or not 0 < hello <= MAX_UNITS:
            return data  # and whoever checks the links says so
        return {**data, "algorithm": {**chosen, "raise_interval": hello}}

    @model_validator(mode="after")
    def _fits_together(self) -> Scenario:
        _check_length(self)
        _check_algorithm(self)
        _check_topology(self)
        _check_geometry(self)
        _check_world(self)
        for index, fault in enumerate(self.faults):
            _check_fault(self, fault, f"faults.{index}")
        return self

    @property
    def trace_file(self) -> Path | None:
        """The file that the nodes' movements come from, if they come from one."""
        return Path(self.mobility.file) if isinstance(self.mobility, Replay) else None

    def with_trace_file(self, name: str) -> Scenario:
        """The same with another name for that file."""
        assert isinstance(self.mobility, Replay)
        return self.model_copy(update={"mobility": self.mobility.model_copy(update={"file": name})})

    def to_yaml(self) -> str:
        """The scenario with every default written out."""
        return yaml_reader.dump(self.model_dump())


def _check_length(scenario: Scenario) -> None:
    if (scenario.duration is None) == (scenario.entries is None):
        found = "neither duration nor entries" if scenario.duration is None else "both duration and entries"
        raise input_errors.found_instead(found, "one of duration (time units) and entries", key="duration")
    if scenario.duration is not None and scenario.warmup >= scenario.duration:
        allowed = f"less than duration, {scenario.duration:g}"
        raise input_errors.found_instead(f"{scenario.warmup:g}", allowed, key="warmup")


def _check_algorithm(scenario: Scenario) -> None:
    choice = scenario.algorithm
    try:
        choice.parameters.check(scenario.nodes)
    except ValueError as error:
        found = repr(dataclasses.asdict(choice.parameters))
        raise input_errors.found_instead(found, str(error), key="algorithm") from None
    delays = scenario.delays
    if choice.agent.never_rests and delays.hop.fixed_ticks() == to_ticks(delays.send) == to_ticks(delays.receive) == 0:
        allowed = f"more than 0: idle tokens of {choice.name} never rest, and time would not pass"
        raise input_errors.found_instead("0", allowed, key="delays.hop")
    capacity = choice.agent.capacity(choice.parameters)
    if scenario.workload.units > capacity:
        allowed = f"at most {capacity}, which is all that {choice.name} has to give"
        raise input_errors.found_instead(str(scenario.workload.units), allowed, key="workload.units")


def _check_topology(scenario: Scenario) -> None:
    topology, n = scenario.topology, scenario.nodes
    if isinstance(topology, RandomTopology) and topology.links(n) < n - 1:
        least = 2 / n if n > 1 else 1
        found = f"{topology.connectivity:g}, which gives {topology.links(n)} links"
        allowed = f"at least {least:.4g}: {n} nodes are connected by no fewer than {n - 1} links"
        raise input_errors.found_instead(found, allowed, key="topology.connectivity")
    if isinstance(topology, ExplicitTopology):
        seen = set()
        for index, (a, b) in enumerate(topology.links):
            if a == b or max(a, b) >= n or frozenset((a, b)) in seen:
                allowed = f"two different nodes of 0..{n - 1}, each pair once"
                raise input_errors.found_instead(f"{[a, b]}", allowed, key=f"topology.links.{index}")
            seen.add(frozenset((a, b)))


def _check_geometry(scenario: Scenario) -> None:
    if not isinstance(scenario.topology, GeometricTopology):
        for key in ("area", "placement", "mobility", "radio"):
            if getattr(scenario, key) is not None:
                allowed = "with topology geometric only: other topologies know no places"
                raise input_errors.found_instead(key, allowed, key=key)
        return
    assert scenario.mobility is not None
    assert scenario.radio is not None
    moves = not isinstance(scenario.mobility, Static)
    if scenario.area is None and not isinstance(scenario.mobility, Replay):
        raise input_errors.found_instead(
            "no area", "[width, height] or [width, height, depth] in metres", key="area"
        )
    if moves and scenario.duration is None:
        allowed = "duration, where nodes move: their paths are known in advance"
        raise input_errors.found_instead("entries", allowed, key="entries")
    if scenario.radio.propagation.is_fading and isinstance(scenario.links, IdealChoice):
        found = f"{scenario.radio.propagation.kind}, which gives each frame a power of its own"
        raise input_errors.found_instead(
            found, "a propagation without fading, with ideal links", "radio.propagation"
        )
    _try_geometry(scenario, scenario.placement, scenario.mobility, scenario.area or Area(0.0, 0.0))


def _try_geometry(scenario: Scenario, placement: Placement | None, mobility: Mobility, area: Area) -> None:
    """Whether nodes can be placed and moved as asked does not depend on the seed: a moment of it tells.

    A trace is looked at as a whole, since it does not depend on the seed either. What other models do about heights
    later than that moment, each repetition finds out for itself (`Geometry`).
    """
    streams, key, seconds = Streams(0, 0), "placement", 1e-3
    if isinstance(mobility, Replay):
        seconds = (scenario.duration or 0.0) * scenario.time_unit
    try:
        starts = None if placement is None else placement.positions(scenario.nodes, area, streams.of("placement"))
        key = "mobility"
        paths = mobility.trajectories(starts, scenario.nodes, area, seconds, streams)
    except (ValueError, InputError) as error:
        raise input_errors.found_instead(str(error), "", key=key) from None
    assert scenario.radio is not None
    if trouble := trouble_with_heights(scenario.radio.propagation, paths):
        raise input_errors.found_instead(*trouble, key="mobility")


def _check_world(scenario: Scenario) -> None:
    """Whether the backend can be the scenario's world."""
    _check_routing(scenario)
    if scenario.medium != "ours" and scenario.backend != "mininet-wifi":
        allowed = f"ours with backend {scenario.backend}: only mininet-wifi has another"
        raise input_errors.found_instead(scenario.medium, allowed, key="medium")
    if scenario.backend == "sim":
        return
    if isinstance(scenario.links, IdealChoice):
        allowed = f"radio: {scenario.backend} is no place for ideal links"
        raise input_errors.found_instead("ideal", allowed, key="links")
    if not MIN_TIME_UNIT <= scenario.time_unit <= MAX_TIME_UNIT:
        allowed = f"{MIN_TIME_UNIT:g} to {MAX_TIME_UNIT:g} seconds, with backend {scenario.backend}: its time is real"
        raise input_errors.found_instead(f"{scenario.time_unit:g}", allowed, key="time_unit")


def _check_routing(scenario: Scenario) -> None:
    if scenario.routing == "builtin":
        return
    if scenario.algorithm.agent.needs is not Needs.ANY_NODE:
        allowed = f"builtin: {scenario.algorithm.name} speaks with neighbours only, and needs no routes"
        raise input_errors.found_instead(scenario.routing, allowed, key="routing")
    if scenario.backend not in ("hwsim", "mininet-wifi"):
        allowed = f"builtin with backend {scenario.backend}: only hwsim and mininet-wifi have a kernel that routes"
        raise input_errors.found_instead(scenario.routing, allowed, key="routing")


def _check_fault(scenario: Scenario, fault: Fault, key: str) -> None:
    for name in ("node", "peer", "group"):
        value = getattr(fault, name)
        for node in value if isinstance(value, list) else [value]:
            if node is not None and node >= scenario.nodes:
                raise input_errors.found_instead(str(node), f"a node of 0..{scenario.nodes - 1}", f"{key}.{name}")
    if fault.group is not None and not 0 < len(set(fault.group)) < scenario.nodes:
        allowed = "some of the nodes, but not all"
        raise input_errors.found_instead(f"{fault.group}", allowed, key=f"{key}.group")
    if scenario.duration is not None and fault.at > scenario.duration:
        allowed = f"at most duration, {scenario.duration:g}"
        raise input_errors.found_instead(f"{fault.at:g}", allowed, key=f"{key}.at")
    if fault.kind == "lose" and not isinstance(scenario.links, IdealChoice):
        allowed = "with ideal links only: over radio links, what is lost is sent again"
        raise input_errors.found_instead("lose", allowed, key=f"{key}.kind")
    names = [message.__name__ for message in scenario.algorithm.agent.messages]
    if fault.message is not None and fault.message not in names:
        raise input_errors.not_one_of(names, fault.message, f"{key}.message")


def load(path: Path, overrides: list[str] | None = None) -> Scenario:
    """Read a scenario file with `key=value` overrides applied; whatever is wrong is a `ScenarioError`."""
    return build(yaml_reader.read(path), overrides)


def loads(text: str, overrides: list[str] | None = None, name: str = "scenario") -> Scenario:
    """Read a scenario from a string."""
    return build(yaml_reader.parse(text, name), overrides)


def _locate_trace(document: yaml_reader.Document) -> None:
    """A trace is looked for beside the scenario that names it."""
    mobility = document.data.get("mobility")
    if isinstance(mobility, dict) and isinstance(mobility.get("file"), str):
        mobility["file"] = str((Path(document.file).parent / mobility["file"]).absolute())


def build(document: yaml_reader.Document, overrides: list[str] | None = None) -> Scenario:
    """Check a document and turn it into a scenario."""
    if document.data is None:
        raise ScenarioError(document.file, None, "", "nothing in the file", "a mapping of keys")
    if not isinstance(document.data, dict):
        found = "a list" if isinstance(document.data, list) else input_errors.shown(document.data)
        raise ScenarioError(document.file, 1, "", found, "a mapping of keys")
    _locate_trace(document)
    origins = {input_errors.apply_override(document.data, override): override for override in overrides or []}
    try:
        return Scenario.model_validate(document.data)
    except ValidationError as error:
        raise input_errors.explain(error, document, origins) from None
