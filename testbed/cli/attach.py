"""For scripts of ns-3: run the agents of a scenario on the script's network, as `testbed run` would on its own.

`testbed export SCENARIO --to ns3` writes such a script.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from testbed.cli.main import carry_out


def run_agents(scenario: str | Path, nodes: Any, devices: Any, out: str | Path = "runs") -> int:
    """Run a scenario's agents, applications, link layers and faults on nodes of ns-3; returns the exit code.

    `scenario` is its text, or its file. `nodes` is a NodeContainer and `devices` a NetDeviceContainer, of which station
    i is the i-th of both; there may be more. Positions, propagation and losses are those of the network. ns-3's clock
    runs until the scenario ends. What `testbed run` prints is printed, and the run directory is under `out`.
    """
    return carry_out(lambda: _run(scenario, nodes, devices, Path(out)))


def _run(source: str | Path, nodes: Any, devices: Any, out: Path) -> int:
    from testbed.backends.base import RunOptions
    from testbed.cli.output import print_note
    from testbed.cli.run_text import render_run
    from testbed.errors import InputError
    from testbed.experiments.runner import run
    from testbed.progress import Progress
    from testbed.scenario.loader import load, loads

    scenario = load(source) if isinstance(source, Path) else loads(source, name="SCENARIO")
    if scenario.backend != "ns3":
        raise InputError(f"run_agents: found backend {scenario.backend}; allowed: ns3")
    with Progress() as progress:
        result = run(scenario, out, progress, RunOptions(attach=(nodes, devices)))
    for line in result.summary["lost"]:
        print_note(line)
    print(render_run(scenario, result), end="", flush=True)
    return result.exit_code
