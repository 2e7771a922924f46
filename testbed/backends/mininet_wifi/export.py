"""Writes a scenario as a script for Mininet-WiFi that a user can read and change.

The script uses nothing of the testbed but its command: it builds the network, moves the stations along the scenario's
trajectories, and starts `testbed run --attach`, which runs the agents on them.
"""

from __future__ import annotations

from pprint import pformat
from typing import Any

from testbed.backends.mininet_wifi.plan import WMEDIUMD, name_of, plan_network
from testbed.backends.repetition import Repetition
from testbed.errors import InputError
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

_SCRIPT = '''\
#!/usr/bin/env python3
"""{title}

Written by `testbed export`. It needs root, Mininet-WiFi and wmediumd, and the command `testbed` for the agents. In the
folder of the testbed, after `./setup.sh --mininet-wifi SOURCE`:

    sudo ./setup.sh python {file}            run the experiment and print its table
    sudo ./setup.sh python {file} --cli      the same, then open Mininet-WiFi's command line

At its end Mininet-WiFi cleans up the whole machine: it removes all virtual radios, not only its own.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
import time

from mininet.log import info, setLogLevel
from mn_wifi.cli import CLI
from mn_wifi.link import adhoc, wmediumd
from mn_wifi.net import Mininet_wifi
from mn_wifi.wmediumdConnector import interference

# The stations: their addresses, their positions at the start, and their power in dBm.
STATIONS = {stations}

# The ad hoc network that all stations are in.
LINK = {link}

# The radio model of wmediumd.
PROPAGATION = {propagation}

# How each station moves: (seconds of the run, x, y, z), in a straight line from one to the next.
WAYPOINTS = {waypoints}

# The experiment, for the agents.
SCENARIO = """\\
{scenario}"""


def build(net):
    """All stations, in one ad hoc cell."""
    stations = [net.addStation(name, **arguments) for name, arguments in STATIONS.items()]
    net.setPropagationModel(**PROPAGATION)
    net.configureNodes()
    for station in stations:
        net.addLink(station, cls=adhoc, intf=station.name + "-wlan0", **LINK)
    net.build()
    return stations


def position(waypoints, t):
    """Where a station is at a time."""
    before = waypoints[0]
    for after in waypoints:
        if after[0] > t:
            share = (t - before[0]) / (after[0] - before[0]) if t > before[0] else 0.0
            return [a + share * (b - a) for a, b in zip(before[1:], after[1:])]
        before = after
    return list(before[1:])


def place(stations, t):
    """Put all stations where they are at a time."""
    for station in stations:
        station.setPosition("%.3f,%.3f,%.3f" % tuple(position(WAYPOINTS[station.name], t)))


def move(stations, began):
    """Move the stations, five times a second, from when the run began (in seconds of time.monotonic)."""
    end = max(waypoints[-1][0] for waypoints in WAYPOINTS.values())
    while time.monotonic() - began < end + 1:
        place(stations, max(0.0, time.monotonic() - began))
        time.sleep(0.2)


def run_agents(stations):
    """Have the testbed run an agent in every station; it prints when the run begins, and at the end the results."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as scenario:
        scenario.write(SCENARIO)
        scenario.flush()
        pids = ",".join(str(station.pid) for station in stations)
        command = ["testbed", "run", scenario.name, "--attach", pids] + [one for one in sys.argv[1:] if one != "--cli"]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in run.stdout:
            if line.startswith("began "):
                threading.Thread(target=move, args=(stations, float(line.split()[1])), daemon=True).start()
            else:
                print(line, end="")
        return run.wait()


def main():
    setLogLevel("info")
    net = Mininet_wifi(link=wmediumd, wmediumd_mode=interference)
    code = 0
    try:
        stations = build(net)
        place(stations, 0.0)
        time.sleep(2)  # until all radios have joined the cell
        if shutil.which("testbed"):
            code = run_agents(stations)
        else:
            info("*** no agents: there is no command `testbed`\\n")
        if "--cli" in sys.argv or not shutil.which("testbed"):
            CLI(net)
    finally:
        net.stop()
    return code


if __name__ == "__main__":
    sys.exit(main())
'''


def export(scenario: Scenario, file: str = "script.py") -> str:
    """The script of a scenario with wmediumd; `InputError` if Mininet-WiFi cannot do what the scenario needs."""
    assert scenario.medium == WMEDIUMD, "a script cannot start the testbed's own medium"
    repetition = Repetition(scenario, Streams(scenario.seed, 0))
    try:
        plan = plan_network(repetition)
    except InputError as error:
        raise InputError(f"export: the script's medium is wmediumd: {error}") from None
    assert repetition.geometry is not None, "or the plan would have been refused"
    waypoints = {
        name_of(node): [tuple(round(value, 3) for value in waypoint) for waypoint in path.waypoints]
        for node, path in enumerate(repetition.geometry.trajectories)
    }
    return _SCRIPT.format(
        title=scenario.name,
        file=file,
        stations=_shown(plan.stations),
        link=_shown(plan.link),
        propagation=_shown(plan.propagation),
        waypoints=_shown(waypoints),
        scenario=scenario.to_yaml().replace("\\", "\\\\").replace('"', '\\"'),
    )


def _shown(value: dict[str, Any]) -> str:
    """A dictionary, with one entry on each line."""
    lines = [f"    {key!r}: {pformat(one, width=200, compact=True, sort_dicts=False)},\n" for key, one in value.items()]
    return "{\n" + "".join(lines) + "}"
