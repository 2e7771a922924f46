"""Runs a member of the zoo in a world.

Every world has the same load. Times in a member's keys are those after the links have formed, so that a fault comes at
the same stage of the run everywhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, NOT_APPLICABLE, OK
from testbed.scenario.schema import Scenario
from tests.zoo.members import Member

LENGTH = 20
"""Time units with load, and as many to serve what is pending then."""
COMMON: dict[str, Any] = {
    "nodes": 6,
    "topology": "complete",
    "delays": {"hop": 0.05},
    "workload": {"rate": 0.5, "cs_time": 0.4},
    "drain": LENGTH,
    "patience": LENGTH / 2,
    "handler_limit": 0.3,
    "trace": "events",
}
WORLDS: dict[str, dict[str, Any]] = {
    "sim ideal": {"trace": "metrics"},  # the simulator's fast path: messages are counted and not looked at
    "sim radio": {"links": {"kind": "radio"}, "warmup": 5},
    "loopback": {"backend": "loopback", "time_unit": 0.05, "links": {"kind": "radio", "hello": 4}, "warmup": 16},
}
"""On loopback hellos are rarer: then a station may be later before the run counts as too late to be judged."""


def scenario_of(member: Member, world: str) -> Scenario:
    """The scenario of a member in a world."""
    keys = {**COMMON, **member.keys, **WORLDS[world]}
    keys["workload"] = {**COMMON["workload"], **member.keys.get("workload", {})}
    warmup = keys.get("warmup", 0)
    keys["duration"] = warmup + LENGTH
    for section, name in ((keys, "faults"), (keys["workload"], "requests")):
        section[name] = [{**one, "at": one["at"] + warmup} for one in section.get(name, ())]
    algorithm = {"name": member.algorithm, "file": str(member.file), **member.parameters}
    return Scenario.model_validate({"name": member.name, "algorithm": algorithm, **keys})


def write_scenario(member: Member, world: str, folder: Path) -> Path:
    """The scenario as a file for the command line."""
    path = folder / f"{member.name}.yaml"
    path.write_text(scenario_of(member, world).to_yaml(), encoding="utf-8")
    return path


def told(verdict: dict[str, Any]) -> str:
    """All that a verdict says, in one text."""
    return "\n".join([verdict["detail"], *verdict["offenders"]])


def complaint(member: Member, checks: dict[str, dict[str, Any]]) -> str:
    """What is wrong with the verdicts on a member; empty if they are as they must be.

    Where the machine was too slow for real time, requests that wait show nothing, so a verdict that rests on them may
    be inconclusive. It is never ok.
    """
    is_late = checks["timing"]["verdict"] == INCONCLUSIVE
    if member.check is None:
        passing = (OK, NOT_APPLICABLE, INCONCLUSIVE) if is_late else (OK, NOT_APPLICABLE)
        bad = [f"{name} {one['verdict']}: {told(one)}" for name, one in checks.items() if one["verdict"] not in passing]
        return "; ".join(bad)
    caught = checks[member.check]
    is_caught = caught["verdict"] == FAILED or (is_late and caught["verdict"] == INCONCLUSIVE)
    if not is_caught:
        return f"{member.check} is {caught['verdict']}: {checks}"
    words = [member.words, member.algorithm] if member.check == "contract" else [member.words]
    missing = [one for one in words if one not in told(caught)]
    return f"{missing} not in {told(caught)!r}" if missing else ""
