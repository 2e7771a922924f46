"""Where things are in the guest. The host, the guest and the images use these names."""

from __future__ import annotations

PROJECT = "/testbed"
"""The project's code, fresh at every boot, and its scenarios."""
PACKAGES = "/opt/packages"
"""The Python packages that the project needs."""
START = "/sbin/start-init"
"""What the initramfs starts as the first process: `testbed.guest.init`, with the environment that it needs."""
WORK = "/tmp"
"""The default working directory of commands."""
MODULES_LOADED = "/run/modules-loaded"
"""Appears when the modules for radios have been loaded."""
PORT = "testbed.control"
"""The virtio-serial port between the host and the guest's first process."""
HELLO = "testbed-guest: kernel is up"
"""The first line on the console; a guest that does not print it hangs."""
