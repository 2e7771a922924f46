"""Destroys the radios of a run that was killed.

Usually the kernel does: radios end with their namespaces, and these with the last process in them. But a radio keeps
each frame that it has sent until the medium reports the outcome; the frame keeps the socket that it came from, and the
socket keeps the namespace that the radio is in. If a run is killed while a frame is on the air, none of them is freed.
So there is a process that outlives the run by a moment. It is in a session of its own, so that signals for the run do
not reach it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress

from testbed.backends.hwsim import messages, netlink
from testbed.backends.hwsim.netlink import attribute, attributes_of, generic

_LAST_DESCRIPTOR = 1 << 16


class RadioReaper:
    """Waits for the end of a pipe that the run holds; a run that ends in order ends it first."""

    def __init__(self, namespaces: Sequence[netlink.Socket]) -> None:
        """Fork it, with a generic netlink socket in each namespace."""
        read, self._write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _be_alone([read, *(one.raw.fileno() for one in namespaces)])
                while os.read(read, 1):
                    pass
                for one in namespaces:
                    with suppress(OSError):  # it is gone already
                        destroy_radios(one)
            finally:
                os._exit(0)
        os.close(read)

    def dismiss(self) -> None:
        """The run has destroyed its radios itself."""
        if self._write >= 0:
            self.forget()
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def forget(self) -> None:
        """Close our end of the pipe: in a forked process, which must not keep the reaper waiting."""
        if self._write >= 0:
            os.close(self._write)
            self._write = -1


def destroy_radios(asking: netlink.Socket) -> None:
    """All radios in the namespace of a socket."""
    family = netlink.family(asking, messages.FAMILY)
    for body in asking.ask(family, generic(messages.GET_RADIO), flags=netlink.DUMP):
        number = attributes_of(body, 4)[messages.RADIO_ID]
        asking.ask(family, generic(messages.DEL_RADIO, attribute(messages.RADIO_ID, number)))


def _be_alone(needed: Iterable[int]) -> None:
    """Leave the run's session, take no notice of signals that can be ignored, and hold nothing but what is needed."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    begin = 0
    for descriptor in sorted(needed):
        os.closerange(begin, descriptor)
        begin = descriptor + 1
    os.closerange(begin, _LAST_DESCRIPTOR)
