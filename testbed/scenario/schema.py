"""The scenario: everything that changes a result, as one frozen value.

`testbed.scenario.loader` reads it from a file; `Scenario.to_yaml` writes it back with every default spelled out, and
running that again gives the same run.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from analysis.events import LEVELS
from testbed.backends.registry import BACKENDS, find_backend
from testbed.durations import MAX_UNITS, parse_duration
from testbed.input_errors import not_one_of
from testbed.mobility.area import Area, parse_area
from testbed.mobility.registry import Mobility, Placement
from testbed.mobility.replay import TraceReplay
from testbed.radio.radio import Radio
from testbed.scenario import consistency, yaml_reader
from testbed.scenario.algorithm import Algorithm, chosen_class
from testbed.scenario.expect import Expect
from testbed.scenario.faults import FaultSection
from testbed.scenario.links import IdealChoice, LinkChoice
from testbed.scenario.neighbourhoods import DEFAULT_NOTICE, ChurnSection, NeighbourhoodSection, Notice
from testbed.scenario.topology import Topology
from testbed.scenario.workload import Delays, Units, Workload
from testbed.section import Section


def _parse_backend(value: Any) -> str:
    if not isinstance(value, str) or value not in BACKENDS:
        raise not_one_of(list(BACKENDS), value)
    return value


BackendName = Annotated[str, PlainValidator(_parse_backend)]


PACED, COLLECTING = "agents.pacing.PacedParameters", "agents.makki.MakkiParameters"
"""Parameters with a default that depends on the scenario; by name, so that no algorithm is imported needlessly."""


def _chosen_algorithm(data: Any, parameters: str) -> dict[str, Any] | None:
    """The algorithm that unchecked data choose, as a mapping, if it has parameters of the class of this name."""
    chosen = data.get("algorithm") if isinstance(data, dict) else None
    agent = chosen_class(chosen)
    if agent is None or parameters not in [f"{kind.__module__}.{kind.__name__}" for kind in agent.parameters.__mro__]:
        return None
    return {"name": chosen} if isinstance(chosen, str) else chosen


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
    routing: Literal["builtin", "babel", "batman", "olsr", "aodv", "dsdv"] = "builtin"
    """What finds routes for algorithms that address any node."""
    medium: Literal["ours", "wmediumd"] = "ours"
    """What carries frames from radio to radio, where there is a choice: on mininet-wifi."""
    clusters: Annotated[int, Field(ge=1)] | None = None
    """Run the algorithm in so many clusters of nodes, each by itself."""
    neighbourhoods: list[NeighbourhoodSection] = Field([])
    """Places whose units nodes within range share, for algorithms that run in neighbourhoods."""
    churn: ChurnSection | None = None
    """Neighbourhoods without places, between which nodes travel."""
    notice: Notice | None = None
    """How long before it leaves a neighbourhood a node learns of that."""
    delays: Delays = Delays()
    workload: Workload
    faults: list[FaultSection] = Field([])
    duration: Annotated[float, Field(gt=0, le=MAX_UNITS)] | None = None
    entries: Annotated[int, Field(ge=1)] | None = None
    warmup: Units = 0.0
    drain: Units = 10_000.0
    patience: Units = 10_000.0
    """How long a request may have been pending when requests stop."""
    grace: Units | None = None
    """How long a request must have waited before an entry ahead of it counts apart; None for two mean CS times."""
    handler_limit: Annotated[float, Field(gt=0, le=1e6)] = 10.0
    """Seconds of processor time that one handler of an agent may take."""
    seed: Annotated[int, Field(ge=0)] = 1
    repeat: Annotated[int, Field(ge=1, le=10_000)] = 1
    trace: Literal[LEVELS] = "cs"  # type: ignore[valid-type]
    backend: BackendName = "sim"
    expect: Expect = Expect()

    @model_validator(mode="before")
    @classmethod
    def _complete_geometry(cls, data: Any) -> Any:
        """By default, nodes with places have radios and do not move."""
        if isinstance(data, dict):
            topology = data.get("topology")
            if "geometric" in (topology, topology.get("kind") if isinstance(topology, dict) else None):
                defaults = {"mobility": {"kind": "static"}, "radio": {}}
                data = {**data, **{key: value for key, value in defaults.items() if data.get(key) is None}}
        return data

    @model_validator(mode="before")
    @classmethod
    def _link_by_radio(cls, data: Any) -> Any:
        """A backend without ideal links gets radio links, unless the scenario chooses links itself."""
        backend = data.get("backend") if isinstance(data, dict) else None
        is_known = isinstance(backend, str) and backend in BACKENDS
        if is_known and data.get("links") is None and not find_backend(backend).has_ideal_links:
            return {**data, "links": {"kind": "radio"}}
        return data

    @model_validator(mode="before")
    @classmethod
    def _pace_over_radio(cls, data: Any) -> Any:
        """By default, over radio links heights are raised at most once per hello interval."""
        links = data.get("links") if isinstance(data, dict) else None
        chosen = _chosen_algorithm(data, PACED)
        is_radio = "radio" in (links, links.get("kind") if isinstance(links, dict) else None)
        if not is_radio or chosen is None or "raise_interval" in chosen:
            return data
        hello = links.get("hello", 1.0) if isinstance(links, dict) else 1.0
        if isinstance(hello, bool) or not isinstance(hello, int | float) or not 0 < hello <= MAX_UNITS:
            return data  # the check of the links reports it
        return {**data, "algorithm": {**chosen, "raise_interval": hello}}

    @model_validator(mode="before")
    @classmethod
    def _collect_for_a_round_trip(cls, data: Any) -> Any:
        """By default, Makki's algorithm collects requests for the time of a message and its answer in transit."""
        chosen = _chosen_algorithm(data, COLLECTING)
        delays = data.get("delays") if isinstance(data, dict) else None
        if chosen is None or "window" in chosen or not isinstance(delays, dict) or "hop" not in delays:
            return data
        try:
            hop = parse_duration(delays["hop"])
        except PydanticCustomError:
            return data  # the check of the delays reports it
        return {**data, "algorithm": {**chosen, "window": 2 * hop.mean()}}

    @model_validator(mode="before")
    @classmethod
    def _give_notice(cls, data: Any) -> Any:
        """By default, nodes learn one time unit before that they leave their neighbourhood."""
        if isinstance(data, dict) and (data.get("neighbourhoods") or data.get("churn")) and "notice" not in data:
            return {**data, "notice": DEFAULT_NOTICE}
        return data

    @model_validator(mode="after")
    def _fits_together(self) -> Scenario:
        consistency.check(self)
        return self

    def warnings(self) -> list[str]:
        """What a reader of the results should know: lines on keys that make no difference."""
        choice = self.algorithm
        if self.workload.has_priorities() and not choice.agent.uses_priorities(choice.parameters):
            return [f"{choice.name} ignores the priorities of this workload."]
        return []

    @property
    def stations(self) -> int:
        """How many stations there are: the nodes and, after them, one at each place."""
        return self.nodes + len(self.neighbourhoods)

    @property
    def group_capacities(self) -> list[int]:
        """The units of every neighbourhood; none if there are no neighbourhoods."""
        choice = self.algorithm
        if self.churn is not None:
            return [choice.agent.capacity(choice.parameters)] * self.churn.groups
        return [place.k or choice.agent.capacity(choice.parameters) for place in self.neighbourhoods]

    @property
    def trace_file(self) -> Path | None:
        """The trace that the nodes follow, if they follow one."""
        return Path(self.mobility.file) if isinstance(self.mobility, TraceReplay) else None

    def with_trace_file(self, name: str) -> Scenario:
        """The same scenario with another name for the trace."""
        assert isinstance(self.mobility, TraceReplay)
        return self.model_copy(update={"mobility": self.mobility.model_copy(update={"file": name})})

    def with_algorithm_file(self, name: str) -> Scenario:
        """The same scenario with another name for the file of its algorithm."""
        return self.model_copy(update={"algorithm": dataclasses.replace(self.algorithm, file=name)})

    def to_yaml(self) -> str:
        """The scenario with every default written out."""
        return yaml_reader.dump(self.model_dump())
