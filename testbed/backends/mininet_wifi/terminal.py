"""The user's terminal, which Mininet-WiFi's command line uses for a while."""

from __future__ import annotations

import os
import signal
import termios
from contextlib import suppress


class Terminal:
    """A terminal that another program uses for a while, and may leave with other settings."""

    def __init__(self) -> None:
        self._settings = termios.tcgetattr(0) if os.isatty(0) else None

    def take_back(self) -> None:
        """Put this process into the foreground again, and restore the settings."""
        if self._settings is None:
            return
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError, termios.error):
            os.tcsetpgrp(0, os.getpgrp())
            termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
        signal.signal(signal.SIGTTOU, before)
