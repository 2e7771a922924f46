"""Every backend by the name a scenario uses, with the module that holds it. Imported only when used."""

BACKENDS: dict[str, str] = {
    "sim": "testbed.backends.sim.simulation",
    "loopback": "testbed.backends.loopback.backend",
    "hwsim": "testbed.backends.hwsim.backend",
    "mininet-wifi": "testbed.backends.mininet_wifi.backend",
}
"""Each module has `SUMMARY`, `REAL_TIME`, `missing()` (None, or one line on what to install) and `run_repetition(...)`.

What differs between worlds of real time and virtual time is in `REAL_TIME`: whether links can only be found by radio,
and whether runs must be alone on the machine.
"""
