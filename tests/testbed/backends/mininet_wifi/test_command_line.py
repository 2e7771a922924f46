"""The command line on a real terminal. A replacement for Mininet-WiFi's own leaves the terminal in raw mode."""

from __future__ import annotations

import os
import pty
import select
import sys
import time

from testbed.checkout import PROJECT
from tests.testbed.tiny import interruptible

SCRIPT = """
import os, signal, sys, termios, tty, types
from testbed.backends.mininet_wifi.terminal import Terminal
from testbed.backends.mininet_wifi.network import open_command_line

class CLI:
    def __init__(self, net, stdin):
        try:
            while (line := input(f"{net}> ")) != "exit":
                print("got", line, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        tty.setraw(0)

sys.modules["mininet"] = types.ModuleType("mininet")
sys.modules["mininet.log"] = types.ModuleType("mininet.log")
sys.modules["mininet.log"].setLogLevel = lambda level: None
sys.modules["mn_wifi"] = types.ModuleType("mn_wifi")
sys.modules["mn_wifi.cli"] = types.ModuleType("mn_wifi.cli")
sys.modules["mn_wifi.cli"].CLI = CLI

terminal, before = Terminal(), termios.tcgetattr(0)
network = os.fork()
if network == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    open_command_line("net", [0, 1])
    os._exit(0)
_, status = os.waitpid(network, 0)
terminal.take_back()
same = termios.tcgetattr(0)[:4] == before[:4]
print("back", status, os.tcgetpgrp(0) == os.getpgrp(), same, flush=True)
"""


class Terminal:
    """A terminal with the script on it."""

    def __init__(self) -> None:
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            interruptible()
            os.chdir(PROJECT)
            os.execv(sys.executable, [sys.executable, "-c", SCRIPT])
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait_for(self, text: str, typing: str = "") -> None:
        """Wait until a text has been printed after the previous one. `typing` is repeated, as it may come too early."""
        give_up = time.monotonic() + 20
        while text not in self._seen:
            assert time.monotonic() < give_up, f"no {text!r} in {self._seen!r}"
            if select.select([self._end], [], [], 0.5)[0]:
                self._seen += os.read(self._end, 4096).decode()
            else:
                self.type(typing)
        self._seen = self._seen.partition(text)[2]

    def close(self) -> int:
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        os.close(self._end)
        return code


def test_a_user_can_type_and_the_terminal_is_restored() -> None:
    terminal = Terminal()
    terminal.wait_for("net> ")
    terminal.type("\x1ahello\n")  # Ctrl-Z first: if it stopped the command line, no shell could continue it
    terminal.wait_for("got hello")
    terminal.type("exit\n")
    terminal.wait_for("back 0 True True")
    assert terminal.close() == 0


def test_ctrl_c_goes_to_the_command_line_only() -> None:
    terminal = Terminal()
    terminal.wait_for("net> ")
    terminal.wait_for("interrupted", typing="\x03")
    terminal.wait_for("back 0 True True")
    assert terminal.close() == 0, "the process that waits for the command line was not interrupted"
