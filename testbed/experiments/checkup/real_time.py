"""One short run as processes in real time, on `loopback` or on another backend of this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from agents.contract import Needs
from analysis.check import FAILED, INCONCLUSIVE, NOT_CHECKED, OK
from analysis.timing import late
from testbed.errors import BackendError, InconclusiveError, TestbedError
from testbed.experiments.checkup.draws import HANDLER_LIMIT_S
from testbed.experiments.checkup.finding import Finding, offences_of, replay_of
from testbed.experiments.checkup.subject import Subject
from testbed.experiments.runner import run
from testbed.progress import Report
from testbed.scenario.schema import Scenario

SLOWER = 2
"""A run that was late is repeated with a time unit that is so many times as long."""
TIME_UNITS = {"loopback": 0.1}
EMULATED_TIME_UNIT = 0.5
NODES = 8
COLUMNS, SPACING_M, RANGE_M = 4, 80, 100


def scenario_on(subject: Subject, backend: str, seed: int) -> Scenario:
    """Eight nodes in two rows, each within range of its neighbours only; or eight that travel between two places."""
    (nodes, *_) = subject.sizes(NODES, NODES)
    parameters = subject.choices_of_k(nodes)[-1]
    keys: dict[str, Any] = {
        "name": f"check-{backend}",
        "backend": backend,
        "nodes": nodes,
        "time_unit": TIME_UNITS.get(backend, EMULATED_TIME_UNIT),
        "links": {"kind": "radio", "hello": 4.0},  # rare hellos bear stations that are somewhat late
        "delays": {"hop": 0.02},
        "workload": {"rate": 0.1, "cs_time": 0.4},
        "warmup": 16.0,
        "duration": 50.0,
        "drain": 200.0,
        "patience": 200.0,
        "handler_limit": HANDLER_LIMIT_S,
        "trace": "events",
        "seed": seed,
        "topology": {"kind": "geometric"},
    }
    if subject.agent.needs is Needs.GROUPS:
        keys |= {
            "area": [220, 80],
            "placement": "uniform",
            "mobility": {"kind": "random-waypoint", "speed": [2 / keys["time_unit"], 5 / keys["time_unit"]]},
            "radio": {"range": 240},
            "neighbourhoods": [{"centre": [50, 40], "range": 50}, {"centre": [170, 40], "range": 50}],
            "notice": 5.0,
        }
    else:
        places = [[SPACING_M * (node % COLUMNS), SPACING_M * 0.75 * (node // COLUMNS)] for node in range(nodes)]
        keys |= {
            "area": [SPACING_M * COLUMNS, SPACING_M * (nodes // COLUMNS + 1)],
            "placement": {"kind": "explicit", "places": places},
            "radio": {"range": RANGE_M, **({"propagation": "range"} if backend == "loopback" else {})},
        }
    return subject.scenario(parameters, **keys)


def try_in_real_time(scenario: Scenario, out: Path, report: Report) -> Finding:
    """Run it; if this machine was too slow, once more with twice the time for everything."""
    begin = time.monotonic()
    finding = Finding(scenario.backend, runs=1)
    checks: dict[str, Any] = {}
    for time_unit in (scenario.time_unit, SLOWER * scenario.time_unit):
        try:
            result = run(scenario.model_copy(update={"time_unit": time_unit}), out, report)
        except (InconclusiveError, BackendError) as error:
            is_unclear = isinstance(error, InconclusiveError)
            finding.verdict, finding.detail = INCONCLUSIVE if is_unclear else NOT_CHECKED, str(error)
            break
        except TestbedError as error:
            if error.exit_code != 1:
                raise
            finding.verdict, finding.offences = FAILED, [str(error)]
            break
        checks, summary = result.summary["checks"], result.summary
        finding.offences, finding.replay = offences_of(checks), replay_of(checks)
        entries = summary["metrics"]["entries"]["mean"] or 0
        finding.detail = f"{scenario.nodes} nodes as processes, {entries:.0f} entries"
        finding.verdict = FAILED if summary["unmet"] else INCONCLUSIVE if summary["inconclusive"] else OK
        if finding.verdict == INCONCLUSIVE:
            finding.detail = summary["inconclusive"][0]
        if finding.verdict != INCONCLUSIVE or not late(checks):
            break
    finding.seconds = time.monotonic() - begin
    return finding
