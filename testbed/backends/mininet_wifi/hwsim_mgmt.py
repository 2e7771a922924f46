"""Replaces `hwsim_mgmt`, a program in C with which Mininet-WiFi makes its radios: `-c -n NAME` and `-x NAME`.

The radio is made in the network namespace that the program is called in.
"""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

from testbed.backends.hwsim import messages, netlink
from testbed.backends.hwsim.netlink import attribute, generic, text, u32
from testbed.errors import BackendError

NAME = "hwsim_mgmt"
USAGE = "usage: hwsim_mgmt -c -n NAME | -x NAME (a replacement: it makes and deletes radios, and nothing else)"


def main(arguments: list[str]) -> int:
    """Make or delete one radio; returns the exit code."""
    match arguments:
        case ["-c", "-n", name]:
            wanted = attribute(messages.RADIO_NAME, text(name)), attribute(messages.REG_CUSTOM_REG, u32(0))
            order = generic(messages.NEW_RADIO, *wanted)
        case ["-x", name]:
            order = generic(messages.DEL_RADIO, attribute(messages.RADIO_NAME, name.encode()))
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    try:
        with netlink.Socket(netlink.NETLINK_GENERIC) as asking:
            number = asking.ask_number(netlink.family(asking, messages.FAMILY), order)
            if arguments[0] == "-c":
                print(f"Created radio {name} with ID {number}")
    except (OSError, BackendError) as error:
        print(f"hwsim_mgmt: {error}", file=sys.stderr)
        return 1
    return 0


def stand_in(project: str, python: str = sys.executable) -> str:
    """The program as a shell script, given the project's folder."""
    # -S and -E make Python start sooner; the program is called once for every radio.
    code = f"import sys; sys.path.insert(0, {project!r}); from testbed.backends.mininet_wifi.hwsim_mgmt import main"
    return f'exec {quote(python)} -S -E -c {quote(code + "; sys.exit(main(sys.argv[1:]))")} "$@"'


def write_stand_in(folder: Path) -> None:
    """Write the program into a folder."""
    program = folder / NAME
    program.write_text(f"#!/bin/sh\n{stand_in(str(Path(__file__).resolve().parents[3]))}\n")
    program.chmod(0o755)


if __name__ == "__main__":
    write_stand_in(Path(sys.argv[1]))
