"""Every backend by the name a scenario uses. A backend's module is imported when it is first asked for."""

from __future__ import annotations

import importlib
from functools import cache

from testbed.backends.base import Backend
from testbed.errors import BackendError
from testbed.extras import MissingExtra

BACKENDS: dict[str, str] = {
    # name: its module, and the class in it
    "sim": "testbed.backends.sim.backend:SimBackend",
    "ns3": "testbed.backends.ns3.backend:Ns3Backend",
    "loopback": "testbed.backends.loopback.backend:LoopbackBackend",
    "hwsim": "testbed.backends.hwsim.backend:HwsimBackend",
    "mininet-wifi": "testbed.backends.mininet_wifi.backend:MininetWifiBackend",
}


@cache
def find_backend(name: str) -> Backend:
    """The backend of that name, whether or not it can run here."""
    module, _, kind = BACKENDS[name].partition(":")
    backend: Backend = getattr(importlib.import_module(module), kind)()
    return backend


def usable_backend(name: str) -> Backend:
    """The backend of that name, or `BackendError` if it cannot run here."""
    backend = find_backend(name)
    lacking = backend.missing()
    if lacking is None:
        return backend
    extra, what = backend.missing_extra(), f"backend {name}: {lacking}"
    raise BackendError(what) if extra is None else MissingExtra(extra, what)
