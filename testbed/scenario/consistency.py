"""Whether the keys of a scenario fit together."""

from __future__ import annotations

import dataclasses
from math import dist
from typing import TYPE_CHECKING

from agents.contract import Needs, Shares
from testbed.backends.registry import find_backend
from testbed.backends.rules import first_refusal
from testbed.durations import to_ticks
from testbed.errors import InputError
from testbed.input_errors import found_instead, not_one_of
from testbed.mobility.area import Area
from testbed.mobility.registry import Mobility, Placement
from testbed.mobility.replay import TraceReplay
from testbed.mobility.static import Static
from testbed.radio.altitude import trouble_with_heights
from testbed.randomness import Streams
from testbed.scenario.algorithm_class import usable_algorithms
from testbed.scenario.faults import FaultSection
from testbed.scenario.links import IdealChoice
from testbed.scenario.topology import (
    MAX_LINKS,
    CompleteTopology,
    ExplicitTopology,
    GeometricTopology,
    RandomTopology,
)

if TYPE_CHECKING:
    from testbed.scenario.schema import Scenario


MAX_MEMBERS = 100
"""Of a neighbourhood over radio links: so many fit into one beacon, and their requests into one token."""


def check(scenario: Scenario) -> None:
    """Raise an input error for the first keys that contradict each other."""
    _check_length(scenario)
    _check_algorithm(scenario)
    _check_delays(scenario)
    _check_workload(scenario)
    _check_topology(scenario)
    _check_geometry(scenario)
    _check_backend(scenario)
    _check_size(scenario)
    for index, fault in enumerate(scenario.faults):
        _check_fault(scenario, fault, f"faults.{index}")


def _check_length(scenario: Scenario) -> None:
    if (scenario.duration is None) == (scenario.entries is None):
        found = "neither duration nor entries" if scenario.duration is None else "both duration and entries"
        raise found_instead(found, "one of duration (time units) and entries", key="duration")
    if scenario.duration is not None and scenario.warmup >= scenario.duration:
        allowed = f"less than duration, {scenario.duration:g}"
        raise found_instead(f"{scenario.warmup:g}", allowed, key="warmup")


def _check_algorithm(scenario: Scenario) -> None:
    choice = scenario.algorithm
    _check_clusters(scenario)
    _check_neighbourhoods(scenario)
    try:
        choice.parameters.check(scenario.nodes // (scenario.clusters or 1))
    except ValueError as error:
        found = repr(dataclasses.asdict(choice.parameters))
        where = "" if scenario.clusters is None else " in a cluster"
        raise found_instead(found, f"{error}{where}", key="algorithm") from None
    delays = scenario.delays
    if choice.agent.never_rests and delays.hop.fixed_ticks() == to_ticks(delays.send) == to_ticks(delays.receive) == 0:
        allowed = f"more than 0: idle tokens of {choice.name} never rest, and time would not pass"
        raise found_instead("0", allowed, key="delays.hop")
    largest = choice.agent.largest_demand(choice.parameters)
    workload, allowed = scenario.workload, f"at most {largest}, which is all that {choice.name} gives to one request"
    if max(workload.units.values) > largest:
        raise found_instead(str(max(workload.units.values)), allowed, key="workload.units")
    for index, request in enumerate(workload.requests):
        if request.units is not None and request.units > largest:
            raise found_instead(str(request.units), allowed, key=f"workload.requests.{index}.units")


def _check_delays(scenario: Scenario) -> None:
    processor = scenario.delays.processor
    if processor != "fifo" and not isinstance(scenario.links, IdealChoice):
        allowed = "fifo, with radio links: what their stations send goes out at once"
        raise found_instead(processor, allowed, key="delays.processor")


def _check_workload(scenario: Scenario) -> None:
    workload, nodes = scenario.workload, scenario.nodes
    if workload.contention is not None and workload.rate is not None:
        raise found_instead("both rate and contention", "one of them", key="workload.contention")
    if workload.contention is not None and not workload.cs_time.mean():
        allowed = "with a cs_time of more than 0, of which it is a share"
        raise found_instead("contention", allowed, key="workload.contention")
    if workload.rate is None and workload.contention is None and not workload.requests:
        raise found_instead(
            "nothing", "requests per time unit, or workload.requests, a script of them", key="workload.rate"
        )
    priorities = workload.priority.values if workload.priority.kind == "per node" else None
    for key, values in (("rate", workload.rate), ("priority", priorities)):
        if isinstance(values, list | tuple) and len(values) != nodes:
            raise found_instead(f"{len(values)} values", f"one for each of {nodes} nodes", key=f"workload.{key}")
    scripted, is_scripted_only = len(workload.requests), not any(map(workload.rate_of, range(nodes)))
    if is_scripted_only and not scripted:
        raise found_instead("0", "more than 0 for some node, or a script of requests", key="workload.rate")
    if is_scripted_only and scenario.entries is not None and scenario.entries > scripted:
        allowed = f"at most the number of scripted requests, {scripted}: no node asks of itself"
        raise found_instead(str(scenario.entries), allowed, key="entries")
    if workload.priority.kind == "deadline" and workload.deadline is None:
        raise found_instead("deadline", "with workload.deadline, the time that a request has", key="workload.priority")
    for index, request in enumerate(workload.requests):
        if request.node >= nodes:
            raise found_instead(str(request.node), f"a node of 0..{nodes - 1}", key=f"workload.requests.{index}.node")
        if scenario.duration is not None and request.at > scenario.duration:
            allowed = f"at most duration, {scenario.duration:g}"
            raise found_instead(f"{request.at:g}", allowed, key=f"workload.requests.{index}.at")
        if not isinstance(scenario.links, IdealChoice) and request.at < scenario.warmup:
            allowed = f"at least warmup, {scenario.warmup:g}: over radio links the load starts then"
            raise found_instead(f"{request.at:g}", allowed, key=f"workload.requests.{index}.at")


def _check_clusters(scenario: Scenario) -> None:
    """Clusters are for algorithms with one unit; on links their sizes are known only when the network is."""
    choice = scenario.algorithm
    if scenario.clusters is None:
        return
    if scenario.clusters > scenario.nodes:
        raise found_instead(str(scenario.clusters), f"at most the number of nodes, {scenario.nodes}", key="clusters")
    capacity = choice.agent.capacity(choice.parameters)
    if capacity > 1:
        found = f"{scenario.clusters}, and {choice.name} with {capacity} units"
        raise found_instead(found, "an algorithm that has one unit, to run in each cluster", key="clusters")


def _check_neighbourhoods(scenario: Scenario) -> None:
    """Neighbourhoods are for algorithms that run in them; places need positions and do not overlap."""
    choice, places, churn = scenario.algorithm, scenario.neighbourhoods, scenario.churn
    needs_groups = choice.agent.needs is Needs.GROUPS
    key = "neighbourhoods" if places else "churn"
    if needs_groups and not places and churn is None:
        allowed = f"neighbourhoods (places) or churn (groups without places): {choice.name} runs in them"
        raise found_instead("neither neighbourhoods nor churn", allowed, key="neighbourhoods")
    if places and churn is not None:
        raise found_instead("both neighbourhoods and churn", "one of them", key="churn")
    if (places or churn is not None) and not needs_groups:
        able = ", ".join(name for name, agent in usable_algorithms().items() if agent.needs is Needs.GROUPS)
        raise found_instead(choice.name, f"an algorithm that runs in neighbourhoods: {able}", key=key)
    if not needs_groups:
        if scenario.notice is not None:
            raise found_instead("notice", "with neighbourhoods or churn only", key="notice")
        return
    if scenario.notice is None:
        raise found_instead("nothing", "more than 0: nodes learn before that they leave", key="notice")
    if scenario.clusters is not None:
        raise found_instead(str(scenario.clusters), f"none: {choice.name} runs in neighbourhoods", key="clusters")
    if churn is not None and not isinstance(scenario.links, IdealChoice):
        allowed = "with ideal links only: over radio, a node hears the beacon of a place (neighbourhoods)"
        raise found_instead("churn", allowed, key="churn")
    _check_places(scenario)


def _check_places(scenario: Scenario) -> None:
    places = scenario.neighbourhoods
    if places and not isinstance(scenario.topology, GeometricTopology):
        raise found_instead("places", "with topology geometric only", key="neighbourhoods")
    if places and not isinstance(scenario.links, IdealChoice) and scenario.nodes > MAX_MEMBERS:
        allowed = f"at most {MAX_MEMBERS} with neighbourhoods over radio links: a beacon names all members of its place"
        raise found_instead(str(scenario.nodes), allowed, key="nodes")
    for index, place in enumerate(places):
        assert scenario.radio is not None
        height = place.centre[2] if len(place.centre) > 2 else 0.0
        reach = scenario.radio.reach_m(0.0, height, height)
        if place.range > reach:
            allowed = f"at most the radio's range of {reach:.4g} m: its members hear the place"
            raise found_instead(f"{place.range:g}", allowed, key=f"neighbourhoods.{index}.range")
        for other, earlier in enumerate(places[:index]):
            distance = dist([*place.centre, 0.0][:3], [*earlier.centre, 0.0][:3])
            if distance < place.range + earlier.range:
                found = f"{distance:g} m from neighbourhood {other}"
                allowed = f"at least {place.range + earlier.range:g} m, the sum of their ranges: they do not overlap"
                raise found_instead(found, allowed, key=f"neighbourhoods.{index}.centre")


def _check_topology(scenario: Scenario) -> None:
    topology, n = scenario.topology, scenario.nodes
    if isinstance(topology, RandomTopology) and topology.link_count(n) < n - 1:
        least = 2 / n if n > 1 else 1
        found = f"{topology.connectivity:g}, which gives {topology.link_count(n)} links"
        allowed = f"at least {least:.4g}: {n} nodes are connected by no fewer than {n - 1} links"
        raise found_instead(found, allowed, key="topology.connectivity")
    if isinstance(topology, ExplicitTopology):
        seen = set()
        for index, (a, b) in enumerate(topology.links):
            if a == b or max(a, b) >= n or frozenset((a, b)) in seen:
                allowed = f"two different nodes of 0..{n - 1}, each pair once"
                raise found_instead(f"{[a, b]}", allowed, key=f"topology.links.{index}")
            seen.add(frozenset((a, b)))


def _check_size(scenario: Scenario) -> None:
    """Links that are known in advance must fit into memory. Those of geometric networks depend on where nodes go."""
    topology, nodes = scenario.topology, scenario.nodes
    links = 0 if isinstance(topology, GeometricTopology) else topology.link_count(nodes)
    if links > MAX_LINKS:
        allowed = f"at most {MAX_LINKS} links: each of them takes about a kilobyte of memory"
        key = "nodes" if isinstance(topology, CompleteTopology) else "topology"
        raise found_instead(f"{nodes} nodes with {links} links", allowed, key=key)


def _check_geometry(scenario: Scenario) -> None:
    if not isinstance(scenario.topology, GeometricTopology):
        for key in ("area", "placement", "mobility", "radio"):
            if getattr(scenario, key) is not None:
                allowed = "with topology geometric only: other topologies know no places"
                raise found_instead(key, allowed, key=key)
        return
    assert scenario.mobility is not None
    assert scenario.radio is not None
    moves = not isinstance(scenario.mobility, Static)
    if scenario.area is None and not isinstance(scenario.mobility, TraceReplay):
        raise found_instead("no area", "[width, height] or [width, height, depth] in metres", key="area")
    if moves and scenario.duration is None:
        allowed = "duration, where nodes move: their paths are known in advance"
        raise found_instead("entries", allowed, key="entries")
    if scenario.radio.propagation.is_fading and isinstance(scenario.links, IdealChoice):
        found = f"{scenario.radio.propagation.kind}, which gives each frame a power of its own"
        raise found_instead(found, "a propagation without fading, with ideal links", "radio.propagation")
    _try_geometry(scenario, scenario.placement, scenario.mobility, scenario.area or Area(0.0, 0.0))


def _try_geometry(scenario: Scenario, placement: Placement | None, mobility: Mobility, area: Area) -> None:
    """Whether nodes can be placed and moved as asked does not depend on the seed, so it is tried for a moment.

    A trace is checked as a whole, since it does not depend on the seed either. Heights that other models reach later
    are checked in each repetition (`Geometry`).
    """
    streams, key, seconds = Streams(0, 0), "placement", 1e-3
    if isinstance(mobility, TraceReplay):
        seconds = (scenario.duration or 0.0) * scenario.time_unit
    try:
        starts = None if placement is None else placement.positions(scenario.nodes, area, streams.of("placement"))
        key = "mobility"
        paths = mobility.trajectories(starts, scenario.nodes, area, seconds, streams)
    except (ValueError, InputError) as error:
        raise found_instead(str(error), "", key=key) from None
    assert scenario.radio is not None
    if trouble := trouble_with_heights(scenario.radio.propagation, paths):
        raise found_instead(*trouble, key="mobility")


def _check_backend(scenario: Scenario) -> None:
    """Whether the backend can run the scenario."""
    backend = find_backend(scenario.backend)
    refusal = first_refusal(backend, scenario) or backend.refuses(scenario)
    if refusal is not None:
        raise found_instead(refusal.found, refusal.allowed, refusal.key)


def _check_fault(scenario: Scenario, fault: FaultSection, key: str) -> None:
    for name in ("node", "peer", "group"):
        value = getattr(fault, name)
        for node in value if isinstance(value, list) else [value]:
            if node is not None and node >= scenario.nodes:
                raise found_instead(str(node), f"a node of 0..{scenario.nodes - 1}", f"{key}.{name}")
    if fault.group is not None and not 0 < len(set(fault.group)) < scenario.nodes:
        allowed = "some of the nodes, but not all"
        raise found_instead(f"{fault.group}", allowed, key=f"{key}.group")
    if scenario.duration is not None and fault.at > scenario.duration:
        allowed = f"at most duration, {scenario.duration:g}"
        raise found_instead(f"{fault.at:g}", allowed, key=f"{key}.at")
    if fault.holder and scenario.algorithm.agent.shares is Shares.PERMISSIONS:
        allowed = f"a node by its number: {scenario.algorithm.name} shares permissions, which no node holds"
        raise found_instead("holder", allowed, key=f"{key}.holder")
    if fault.kind == "vanish" and scenario.algorithm.agent.needs is not Needs.GROUPS:
        allowed = "with neighbourhoods or churn only: a node leaves its neighbourhood without notice"
        raise found_instead("vanish", allowed, key=f"{key}.kind")
    if fault.kind == "lose" and not isinstance(scenario.links, IdealChoice):
        allowed = "with ideal links only: over radio links, what is lost is sent again"
        raise found_instead("lose", allowed, key=f"{key}.kind")
    names = [message.__name__ for message in scenario.algorithm.agent.messages]
    if fault.message is not None and fault.message not in names:
        raise not_one_of(names, fault.message, f"{key}.message")
