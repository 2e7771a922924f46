"""One short run of every backend in real time, for the tests that open its pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from testbed.backends.in_guest import run_in_guest
from testbed.errors import BackendError, InconclusiveError
from testbed.experiments.runner import no_report, run
from testbed.guest.host import Guest
from testbed.guest.images import prepare
from testbed.scenario.loader import loads
from tests.emulation.conftest import cannot as cannot_boot
from tests.testbed.tiny import only_run, tiny

REAL_TIME = ("loopback", "hwsim")
MOVING = """\
trace: events
drain: 12
time_unit: 0.5
delays: {hop: 0.02}
area: [200, 200]
placement: uniform
mobility: {kind: random-waypoint, speed: [10, 20]}
radio: {range: 150}
links: {kind: radio, hello: 1.0}
faults: [{at: 4, kind: crash, node: 3}, {at: 6, kind: restart, node: 3}]
"""
WORKLOAD = "{rate: 0.2, cs_time: 0.5}"


class Runs(dict[str, Path]):
    """Run directories by name. A run is made when it is first asked for, and then not to be changed."""

    def __init__(self, make: Callable[[str], Path]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Path:
        self[name] = self._make(name)
        return self[name]


def real_time_run(backend: str, out: Path) -> Path:
    """Five stations that move for eight seconds at most; how much they get done depends on the machine."""
    scenario = loads(tiny(f"backend: {backend}\n" + MOVING, topology="geometric", workload=WORKLOAD, duration="8"))
    if backend != "hwsim":
        return run(scenario, out).path
    try:
        prepare()
    except BackendError as error:
        cannot_boot(str(error))
    # It ends with the run, so that it takes nothing from the tests that follow.
    with Guest() as guest, suppress(InconclusiveError):  # its clock may be wrong; the pages show the run all the same
        run_in_guest(scenario, out, no_report, guest=guest)
    return only_run(out)
