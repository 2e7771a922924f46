"""Where things are in the guest. Both sides and the images agree on these names."""

from __future__ import annotations

PROJECT = "/testbed"
"""The project's code, fresh at every boot, and its scenarios."""
PACKAGES = "/opt/packages"
"""The Python packages that the project needs."""
START = "/sbin/start-agent"
"""What the first process becomes: the agent, started with the right environment."""
WORK = "/tmp"
"""Where commands run unless told otherwise."""
MODULES_LOADED = "/run/modules-loaded"
"""Appears when the modules for radios have been loaded."""
PORT = "testbed.control"
"""The virtio-serial port between host and agent."""
HELLO = "testbed-guest: kernel is up"
"""The first line on the console: a guest that does not get this far hangs."""
