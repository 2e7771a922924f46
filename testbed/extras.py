"""What is installed besides the core: which extras there are, what each must have, and the command that gets it.

A command that needs an extra asks for it with `need` before it starts anything. If the extra is missing, the command
ends with one line and exit code 3. Under `./setup.sh` it does not end: `setup.sh` has named itself in the environment,
and the command replaces itself by `setup.sh --extra NAME testbed ...` (exec), which installs the extra and starts the
command again. All this is one process, so signals reach the command and its exit code is the one that is seen.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from testbed import checkout
from testbed.errors import BackendError

DISTRIBUTION = "adhoc-mutex-testbed"
SETUP = "TESTBED_SETUP"
"""The environment variable in which `setup.sh` names itself to the command that it starts."""
INSTALLED = "TESTBED_EXTRAS"
"""The same for the extras that it has just installed or found installed, separated by spaces."""


@dataclass(frozen=True)
class Extra:
    """An extra of pyproject.toml."""

    purpose: str
    modules: tuple[str, ...]
    """Those that must be found; what they need themselves is left to pip."""


EXTRAS = {
    "plots": Extra("figures and data frames", ("seaborn", "pandas", "matplotlib")),
    "parquet": Extra("data frames as Parquet files", ("pandas", "pyarrow")),
    "distributed": Extra("studies on several machines", ("distributed",)),
    "hwsim": Extra("virtual radios on this machine's own kernel", ("pyroute2",)),
    "ns3": Extra("the backend ns3, on ns-3's models of 802.11", ("ns", "cppyy")),
    "dev": Extra("the test suite and the linters", ("pytest", "xdist", "hypothesis", "importlinter", "mypy", "simpy")),
}
"""All but `mininet-wifi`, which is of no use without a Mininet-WiFi: `testbed.backends.mininet_wifi.installation`."""


@dataclass
class MissingExtra(BackendError):
    """A command needs an extra that is not installed."""

    extra: str
    what: str
    """What is missing, in one line that says how to get it."""

    def __str__(self) -> str:
        return self.what


def need(extra: str, what: str) -> None:
    """Raise `MissingExtra` unless an extra is installed. `what` needs it: an option, or a command."""
    lacking = missing(extra)
    if lacking is not None:
        raise MissingExtra(extra, f"{what}: {lacking}")


def missing(extra: str) -> str | None:
    """None if an extra is installed, else one line that says how to get it."""
    return None if is_installed(extra) else f"this needs the extra {extra}: {how_to_get(extra)}"


def plots_missing() -> str | None:
    """The same for the plots extra: figures are left out of a comparison where it is missing."""
    return missing("plots")


def is_installed(extra: str) -> bool:
    """Whether all modules of an extra are found. None of them is imported."""
    return all(find_spec(module) is not None for module in EXTRAS[extra].modules)


def how_to_get(extra: str) -> str:
    """The command that installs an extra for the Python that runs this."""
    project = checkout.PROJECT
    if not (project / "setup.sh").is_file():
        return f"{shlex.quote(sys.executable)} -m pip install '{DISTRIBUTION}[{extra}]'"
    if sys.prefix == sys.base_prefix:  # not a virtual environment, so not one that setup.sh may write to
        return f"{shlex.quote(sys.executable)} -m pip install --editable {shlex.quote(f'{project}[{extra}]')}"
    environment = "" if Path(sys.prefix) == project / ".venv" else f"TESTBED_VENV={shlex.quote(sys.prefix)} "
    setup = "./setup.sh" if Path.cwd() == project else shlex.quote(str(project / "setup.sh"))
    return f"{environment}{setup} --extra {extra}"


def restart_with(extra: str) -> None:
    """Have `setup.sh` install an extra and start this command again, in this process.

    Returns if it was not `setup.sh` that started this command, or if it has installed the extra before.
    """
    setup, installed = os.environ.get(SETUP), os.environ.get(INSTALLED, "").split()
    if not setup or extra in installed:
        return
    options = [word for name in (*installed, extra) for word in ("--extra", name)]
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and a shell could not change that
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError):
        os.execvp("bash", ["bash", setup, *options, "testbed", *sys.argv[1:]])


if __name__ == "__main__":  # `./setup.sh` asks whether an extra is there
    sys.exit(missing(sys.argv[1]))
