"""The benchmark of judging runs and measures, and leaves everything as it was."""

import analysis.audit
from benchmarks.verdicts import PARTS, measure
from testbed.backends.sim.simulation import Simulation
from testbed.runtime import driver


def test_every_part_is_measured_and_switched_on_again():
    before = (analysis.audit.BATCHED_CHECKS, Simulation._compare, driver.INSPECTED_FIRST, driver.INSPECTED_EVERY)
    found = measure(entries=50, rounds=1)
    assert list(found) == list(PARTS)
    assert all(seconds > 0 for seconds in found.values())
    after = (analysis.audit.BATCHED_CHECKS, Simulation._compare, driver.INSPECTED_FIRST, driver.INSPECTED_EVERY)
    assert after == before
