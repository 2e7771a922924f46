"""Random scenarios for an algorithm, drawn from a seed: what it needs, with loads, delays and faults of every kind.

Runs are short, so that many fit into a minute: most mistakes show in small networks, with few requests, in an unlucky
order of events. Two in a group are as small as can be, and one in six has a heavy load for long, in which no request
may wait for half of the time.
"""

from __future__ import annotations

from random import Random
from typing import Any

from agents.contract import Needs, Shares
from testbed.experiments.checkup.subject import Subject
from testbed.scenario.schema import Scenario

HOPS = (1.0, {"uniform": [0.1, 2.0]}, {"exponential": 1.0})
SHORT_HOPS = ({"uniform": [0.01, 0.2]}, {"exponential": 0.1}, {"exponential": 0.4})
RATES = (0.03, 0.1, 0.3, 1.0)
CS_TIMES = (1.0, {"exponential": 0.5})
HEAVY_EVERY = 6
HANDLER_LIMIT_S = 2.0
PATIENT = {"drain": 1000.0, "patience": 1000.0, "handler_limit": HANDLER_LIMIT_S, "trace": "metrics"}
FAULTY_FROM, FAULTY_UNTIL, REPAIRED_AFTER = (10.0, 60.0), 100.0, (5.0, 30.0)


def draw(subject: Subject, group: str, number: int, seed: int) -> Scenario:
    """Run `number` of a group: `ideal links`, `radio links`, or a fault of `agents.contract.FAULTS`."""
    rng = Random(f"{seed} {group} {number}")
    nodes = _size(subject, group, number, rng)
    parameters = rng.choice(subject.choices_of_k(nodes))
    keys: dict[str, Any] = {
        "name": f"{group.replace(' ', '-')}-{number:03d}",
        "nodes": nodes,
        "duration": 100.0,
        "seed": rng.randrange(2**32),
        **PATIENT,
        "workload": {"rate": rng.choice(RATES), "cs_time": rng.choice(CS_TIMES), **_demands(subject, parameters)},
        "delays": {"hop": rng.choice(HOPS)},
    }
    is_radio = group == "radio links"
    if number % HEAVY_EVERY == HEAVY_EVERY - 1 and not is_radio:
        keys |= {"duration": 400.0, "patience": 200.0}
        keys["workload"] |= _heavy_load(keys["workload"], nodes, rng)
    if is_radio:
        keys |= {"links": {"kind": "radio", "loss": 0.1, "duplicate": 0.05}, "warmup": 10.0, "duration": 60.0}
        keys["delays"] = {"hop": rng.choice(SHORT_HOPS)}
    keys |= _network(subject, group, nodes, rng)
    if group in ("crash", "restart", "cut", "lose"):
        keys["faults"] = _faults(subject, group, nodes, rng)
    return subject.scenario(parameters, **keys)


def _size(subject: Subject, group: str, number: int, rng: Random) -> int:
    if group == "ideal links":
        is_heavy = number % HEAVY_EVERY == HEAVY_EVERY - 1
        sizes = subject.sizes(1, 6 if is_heavy else 15)
        return sizes[number] if number < min(2, len(sizes)) else rng.choice(sizes)
    return rng.choice(subject.sizes(3, 10))


def _demands(subject: Subject, parameters: dict[str, Any]) -> dict[str, Any]:
    """Units and priorities, for an algorithm that knows them."""
    values = subject.agent.parameters(**{**subject.fixed, **parameters})
    largest = subject.agent.largest_demand(values)
    units = {} if largest == 1 else {"units": {"uniform": [1, largest]}}
    priority = {"priority": {"uniform": [0, 9]}} if subject.agent.uses_priorities(values) else {}
    return {**units, **priority}


def _heavy_load(workload: dict[str, Any], nodes: int, rng: Random) -> dict[str, Any]:
    """All nodes ask again soon. Where demands differ, perhaps one for all units among many for one unit."""
    if "units" not in workload or nodes == 1 or rng.random() < 0.5:
        return {"rate": 1.0}
    largest = workload["units"]["uniform"][1]
    script = [{"node": nodes - 1, "at": at, "units": largest} for at in (20.0, 120.0)]
    return {"rate": [5.0] * (nodes - 1) + [0.0], "units": 1, "requests": script}


# -- networks ---------------------------------------------------------------------------------------------------------


def _network(subject: Subject, group: str, nodes: int, rng: Random) -> dict[str, Any]:
    """Sparse or dense. Links change where that is the question, and below routes, which must hide it."""
    needs = subject.agent.needs
    if needs is Needs.GROUPS:
        return _places(rng) if group == "radio links" else _churn(rng)
    least = 2 / nodes if nodes > 1 else 0.5
    sparse, dense = min(1.0, least + 0.02), min(1.0, max(least + 0.02, 0.7))
    changes = group == "link changes" or (needs is Needs.ANY_NODE and group == "ideal links" and rng.random() < 0.3)
    return {
        "topology": {
            "kind": "random",
            "connectivity": rng.choice((sparse, rng.uniform(sparse, dense), 1.0)) if nodes > 1 else 1.0,
            "link_change_rate": rng.uniform(0.05, 0.5) if changes else 0.0,
        }
    }


def _churn(rng: Random) -> dict[str, Any]:
    """Groups that nodes come into and leave; so long a notice that no node has to leave before it is ready."""
    return {
        "topology": {"kind": "complete"},
        "churn": {
            "groups": rng.randint(1, 3),
            "departures": rng.choice((0.02, 0.1, 0.3)),
            "away": rng.choice((0.05, {"exponential": 0.5}, {"exponential": 3.0})),
        },
        "notice": 1000.0,
        "delays": {"hop": rng.choice(SHORT_HOPS)},
    }


def _places(rng: Random) -> dict[str, Any]:
    """Two places, between which nodes travel within hearing of each other."""
    return {
        "nodes": rng.randint(4, 8),
        "topology": {"kind": "geometric"},
        "area": [220, 80],
        "placement": "uniform",
        "mobility": {"kind": "random-waypoint", "speed": [5, 15]},
        "radio": {"range": 240},
        "neighbourhoods": [{"centre": [50, 40], "range": 50}, {"centre": [170, 40], "range": 50}],
        "notice": 3.0,
        "delays": {"hop": 0.02},
    }


# -- faults -----------------------------------------------------------------------------------------------------------


def _faults(subject: Subject, kind: str, nodes: int, rng: Random) -> list[dict[str, Any]]:
    """Two faults of a kind, at random times and places; those that end, end before the run does."""
    found: list[dict[str, Any]] = []
    has_tokens = subject.agent.shares is Shares.TOKENS
    for node in rng.sample(range(nodes), 2):
        at = rng.uniform(*FAULTY_FROM)
        later = min(FAULTY_UNTIL, at + rng.uniform(*REPAIRED_AFTER))
        if kind == "crash" and has_tokens and rng.random() < 0.3:
            found.append({"at": at, "kind": "crash", "holder": True})
        elif kind in ("crash", "restart"):
            found.append({"at": at, "kind": "crash", "node": node})
        if kind == "restart":
            found.append({"at": later, "kind": "restart", "node": node})
        if kind == "cut":
            group = rng.sample(range(nodes), rng.randint(1, nodes // 2))
            found += [{"at": at, "kind": "cut", "group": group}, {"at": later, "kind": "heal", "group": group}]
        if kind == "lose":
            found.append({"at": at, "kind": "lose", "node": node})
    return sorted(found, key=lambda fault: float(fault["at"]))
