"""What can be said on the command line: commands, their options, their help.

A parsed line's `command` is the name of what to do, such as `run` or `guest prepare`; `testbed.cli.main` does it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from testbed import __version__
from testbed.errors import one_line

EXIT_CODES = """\
exit codes: 0 all well; 1 a check or an expectation failed; 2 the input is wrong; 3 the backend cannot run here;
130 interrupted"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"testbed: {one_line(message)} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the command `testbed`."""
    whole = _Parser(
        prog="testbed",
        description="Run mutual exclusion algorithms for mobile ad hoc networks and judge what they did.",
        epilog=EXIT_CODES,
    )
    whole.add_argument("--version", action="version", version=f"testbed {__version__}")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        _add_run, _add_compare, _add_reproduce, _add_mobility, _add_analyze, _add_replay, _add_smoke, _add_list,
        _add_export, _add_new, _add_guest, _add_clean, _add_doctor,
    ):  # fmt: skip
        add(commands)
    return whole


def overrides(arguments: argparse.Namespace) -> list[str]:
    """The keys of the scenario that a command line overrides, each as KEY=VALUE."""
    short = [f"{key}={value}" for key in ("seed", "backend") if (value := getattr(arguments, key, None)) is not None]
    return [*arguments.overrides, *short]


# -- the commands, in the order of the help ------------------------------------------------------------------------


def _add_run(commands: Any) -> None:
    one = _command(commands, "run", "run a scenario, print verdicts and a table")
    _add_scenario(one)
    _add_overrides(one)
    _add_out(one)
    _add_json(one)
    one.add_argument("--pcap", action="store_true", help="capture the air into the run directory, where there is any")
    one.add_argument(
        "--attach",
        metavar="PID,...",
        type=_processes,
        default=(),
        help="run on stations of a Mininet-WiFi network that is up: a process in each, in order",
    )
    one.add_argument("--cli", action="store_true", help="open Mininet-WiFi's command line while the agents are alive")
    one.add_argument(
        "--mininet-wifi", metavar="CHECKOUT", type=Path, help="use this checkout of Mininet-WiFi, not the installed one"
    )


def _add_compare(commands: Any) -> None:
    one = _command(commands, "compare", "run several algorithms, or worlds, on one scenario, side by side")
    _add_scenario(one)
    one.add_argument(
        "--algorithms", metavar="A,B,...", help="without --backends, the first is what the others are held to"
    )
    one.add_argument("--backends", metavar="B,C,...",
                     help="compare worlds; sim is two of them, with ideal and with radio links")  # fmt: skip
    _add_overrides(one)
    _add_out(one)
    _add_json(one)


def _add_reproduce(commands: Any) -> None:
    one = _command(commands, "reproduce", "run a paper's experiments, the paper's figures beside ours")
    one.add_argument("paper", choices=("rl", "krl"), metavar="PAPER", help="rl or krl")
    one.add_argument("--quick", action="store_true", help="fewer repetitions and shorter runs, in under a minute")
    _add_out(one)
    _add_json(one)


def _add_mobility(commands: Any) -> None:
    one = _command(commands, "mobility", "look at the movement of a scenario, or convert a trace")
    one.usage = "testbed mobility SCENARIO [--plot] [options]\n       testbed mobility convert A B"
    one.add_argument("what", nargs="+", metavar="SCENARIO | convert A B", help="a YAML file, or two trace files")
    one.add_argument("--plot", action="store_true", help="draw the paths")
    _add_overrides(one)
    _add_out(one)
    _add_json(one)


def _add_analyze(commands: Any) -> None:
    one = _command(commands, "analyze", "judge and tabulate runs from what they logged")
    one.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="a run directory")
    one.add_argument("--by", metavar="KEY", help="label runs by a key of their scenarios, such as workload.rate")
    one.add_argument("--format", choices=("md", "csv", "latex"), default="md", help="of the tables (md)")
    _add_json(one)


def _add_replay(commands: Any) -> None:
    one = _command(commands, "replay", "do what a node did in a run again, step by step, from its log")
    one.add_argument("run", type=Path, metavar="RUN_DIR", help="a run directory, of a run with --set trace=events")
    one.add_argument("--node", type=int, required=True, metavar="I", help="the node")
    one.add_argument("--until", type=float, metavar="T", help="stop before inputs later than this, in time units")
    one.add_argument("--repetition", type=int, default=0, metavar="R", help="counted from 0 (0)")
    _add_json(one)


def _add_smoke(commands: Any) -> None:
    one = _command(commands, "smoke", "run scenarios and check their expectations, for CI")
    one.add_argument("folder", type=Path, nargs="?", default=Path("scenarios/smoke"), metavar="DIR",
                     help="where the scenarios are (scenarios/smoke)")  # fmt: skip
    one.add_argument("--junit", type=Path, metavar="FILE", help="also write a JUnit report")
    one.add_argument("--backend", metavar="B", help="run them in another world than they say")
    _add_out(one)
    _add_json(one)


def _add_list(commands: Any) -> None:
    one = _command(commands, "list", "list what scenarios can name")
    one.add_argument("what", choices=("algorithms", "backends", "checks", "mobility", "propagation"))
    _add_json(one)


def _add_export(commands: Any) -> None:
    one = _command(commands, "export", "write a scenario as a script for another tool, to go on from by hand")
    _add_scenario(one)
    one.add_argument("--to", required=True, metavar="TOOL", help="mininet-wifi")
    one.add_argument("--file", type=Path, metavar="FILE", help="where to write it (stdout)")
    _add_overrides(one, backend=False)


def _add_new(commands: Any) -> None:
    one = _command(commands, "new", "start an algorithm: its file, its tests, a smoke scenario, its registration")
    one.add_argument("what", choices=("algorithm",))
    one.add_argument("name", metavar="NAME", help="what scenarios call it, such as my-algorithm")


def _add_guest(commands: Any) -> None:
    guest = _command(commands, "guest", "a throwaway Linux guest that has Wi-Fi radios, whatever this machine has")
    actions = guest.add_subparsers(title="actions", metavar="ACTION", required=True)

    one = _command(actions, "prepare", "fetch and build what guests boot from, once, into the cache", of="guest ")
    one.add_argument("--update", action="store_true", help="also if a kernel is there: take the current one")
    _add_json(one)

    one = _command(actions, "run", "boot, run a command in the guest as root, and end with its exit code", of="guest ")
    one.usage = "testbed guest run [options] -- COMMAND..."
    one.add_argument("--cpus", type=int, default=2, metavar="N", help="processors of the guest (2)")
    one.add_argument("--memory", type=int, default=1024, metavar="MB", help="memory of the guest (1024)")
    one.add_argument(
        "--accel", choices=("auto", "kvm", "tcg"), default="auto", help="kvm if it works, or as said (auto)"
    )
    one.add_argument(
        "--timeout", type=float, metavar="S", help="end the command after so many seconds, with exit code 124"
    )
    one.add_argument("--send", action="append", default=[], metavar="PATH[:GUEST_PATH]",
                     help="put a file or folder into the guest first (may be repeated)")  # fmt: skip
    one.add_argument("--bring", action="append", default=[], metavar="GUEST_PATH:DIR",
                     help="put what is in a folder of the guest into DIR afterwards (may be repeated)")  # fmt: skip
    one.add_argument("--cold", action="store_true", help="boot, even if a guest that was ready has been kept")
    one.add_argument("--verbose", action="store_true", help="say on stderr how long the guest took to come up")
    one.add_argument("--mininet-wifi", metavar="CHECKOUT",
                     help="a guest with Mininet-WiFi: this checkout of it, or the `installed` one")  # fmt: skip
    one.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND", help="and its arguments")


def _add_clean(commands: Any) -> None:
    _add_json(_command(commands, "clean", "remove what a killed run on virtual radios has left, and only that"))


def _add_doctor(commands: Any) -> None:
    _add_json(_command(commands, "doctor", "what can run on this machine, what is missing, how to get it"))


# -- what several of them take -------------------------------------------------------------------------------------


def _command(commands: Any, name: str, summary: str, *, of: str = "") -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", epilog=EXIT_CODES
    )
    one.set_defaults(command=of + name)
    return one


def _add_scenario(one: argparse.ArgumentParser) -> None:
    one.add_argument("scenario", type=Path, metavar="SCENARIO", help="a YAML file")


def _add_overrides(one: argparse.ArgumentParser, *, backend: bool = True) -> None:
    summary = "override a key of the scenario, such as workload.rate=0.1 (may be repeated)"
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=summary)
    one.add_argument("--seed", metavar="S", help="short for --set seed=S")
    if backend:
        one.add_argument("--backend", metavar="B", help="short for --set backend=B")


def _add_out(one: argparse.ArgumentParser) -> None:
    one.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR", help="where run directories go (runs)")


def _add_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def _processes(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: numbers of processes, such as 120,121") from None
