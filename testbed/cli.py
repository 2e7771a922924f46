"""The command line. Results go to stdout, progress to stderr and only to a terminal.

Exit codes: 0 all well, 1 a check or an expectation failed, 2 the input is wrong, 3 this backend cannot run here,
130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed import __version__
from testbed.errors import BackendError, InputError, TestbedError, one_line

if TYPE_CHECKING:
    from testbed.compare import Comparison
    from testbed.worlds import WorldComparison

EXIT_CODES = """\
exit codes: 0 all well; 1 a check or an expectation failed; 2 the input is wrong; 3 the backend cannot run here;
130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command `testbed`."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no ± still gets its table
    try:
        code: int = arguments.command(arguments)
        sys.stdout.flush()  # here, where a full disk can still be told
    except TestbedError as error:
        print(f"testbed: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("testbed: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; there is nobody left to tell
        return 1
    except OSError as error:
        print(f"testbed: {one_line(str(error))}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="testbed",
        description="Run mutual exclusion algorithms for mobile ad hoc networks and judge what they did.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"testbed {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    one = _command(commands, "run", _run, "run a scenario, print verdicts and a table")
    one.add_argument("scenario", type=Path, metavar="SCENARIO", help="a YAML file")
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
    _add_checkout(one)

    one = _command(commands, "compare", _compare, "run several algorithms, or worlds, on one scenario, side by side")
    one.add_argument("scenario", type=Path, metavar="SCENARIO", help="a YAML file")
    one.add_argument(
        "--algorithms", metavar="A,B,...", help="without --backends, the first is what the others are held to"
    )
    one.add_argument("--backends", metavar="B,C,...",
                     help="compare worlds; sim is two of them, with ideal and with radio links")  # fmt: skip
    _add_overrides(one)
    _add_out(one)
    _add_json(one)

    one = _command(commands, "reproduce", _reproduce, "run a paper's experiments, the paper's figures beside ours")
    one.add_argument("paper", choices=("rl", "krl"), metavar="PAPER", help="rl or krl")
    one.add_argument("--quick", action="store_true", help="fewer repetitions and shorter runs, in under a minute")
    _add_out(one)
    _add_json(one)

    one = _command(commands, "mobility", _mobility, "look at the movement of a scenario, or convert a trace")
    one.usage = "testbed mobility SCENARIO [--plot] [options]\n       testbed mobility convert A B"
    one.add_argument("what", nargs="+", metavar="SCENARIO | convert A B", help="a YAML file, or two trace files")
    one.add_argument("--plot", action="store_true", help="draw the paths")
    _add_overrides(one)
    _add_out(one)
    _add_json(one)

    one = _command(commands, "analyze", _analyze, "judge and tabulate runs from what they logged")
    one.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="a run directory")
    one.add_argument("--by", metavar="KEY", help="label runs by a key of their scenarios, such as workload.rate")
    one.add_argument("--format", choices=("md", "csv", "latex"), default="md", help="of the tables (md)")
    _add_json(one)

    one = _command(commands, "replay", _replay, "do what a node did in a run again, step by step, from its log")
    one.add_argument("run", type=Path, metavar="RUN_DIR", help="a run directory, of a run with --set trace=events")
    one.add_argument("--node", type=int, required=True, metavar="I", help="the node")
    one.add_argument("--until", type=float, metavar="T", help="stop before inputs later than this, in time units")
    one.add_argument("--repetition", type=int, default=0, metavar="R", help="counted from 0 (0)")
    _add_json(one)

    one = _command(commands, "smoke", _smoke, "run scenarios and check their expectations, for CI")
    one.add_argument("folder", type=Path, nargs="?", default=Path("scenarios/smoke"), metavar="DIR",
                     help="where the scenarios are (scenarios/smoke)")  # fmt: skip
    one.add_argument("--junit", type=Path, metavar="FILE", help="also write a JUnit report")
    one.add_argument("--backend", metavar="B", help="run them in another world than they say")
    _add_out(one)
    _add_json(one)

    one = _command(commands, "list", _list, "list what scenarios can name")
    one.add_argument("what", choices=("algorithms", "backends", "checks", "mobility", "propagation"))
    _add_json(one)

    one = _command(commands, "export", _export, "write a scenario as a script for another tool, to go on from by hand")
    one.add_argument("scenario", type=Path, metavar="SCENARIO", help="a YAML file")
    one.add_argument("--to", required=True, metavar="TOOL", help="mininet-wifi")
    one.add_argument("--file", type=Path, metavar="FILE", help="where to write it (stdout)")
    _add_overrides(one)

    one = _command(commands, "new", _new, "start an algorithm: its file, its tests, a smoke scenario, its registration")
    one.add_argument("what", choices=("algorithm",))
    one.add_argument("name", metavar="NAME", help="what scenarios call it, such as my-algorithm")

    _add_guest(commands)

    one = _command(commands, "clean", _clean, "remove what a killed run on virtual radios has left, and only that")
    _add_json(one)

    one = _command(commands, "doctor", _doctor, "what can run on this machine, what is missing, how to get it")
    _add_json(one)
    return parser


def _add_guest(commands: Any) -> None:
    guest = _command(
        commands, "guest", None, "a throwaway Linux guest that has Wi-Fi radios, whatever this machine has"
    )
    actions = guest.add_subparsers(title="actions", metavar="ACTION", required=True)

    one = _command(actions, "prepare", _guest_prepare, "fetch and build what guests boot from, once, into the cache")
    one.add_argument("--update", action="store_true", help="also if a kernel is there: take the current one")
    _add_json(one)

    one = _command(actions, "run", _guest_run, "boot, run a command in the guest as root, and end with its exit code")
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


def _command(commands: Any, name: str, function: Any, summary: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + ".", epilog=EXIT_CODES
    )
    command.set_defaults(command=function)
    return command


def _add_overrides(command: argparse.ArgumentParser) -> None:
    summary = "override a key of the scenario, such as workload.rate=0.1 (may be repeated)"
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=summary)
    command.add_argument("--seed", metavar="S", help="short for --set seed=S")
    command.add_argument("--backend", metavar="B", help="short for --set backend=B")


def _processes(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: numbers of processes, such as 120,121") from None


def _add_checkout(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--mininet-wifi", metavar="CHECKOUT", type=Path, help="use this checkout of Mininet-WiFi, not the installed one"
    )


def _name_checkout(arguments: argparse.Namespace) -> None:
    if arguments.mininet_wifi is not None:
        from testbed.mininet.found import name_checkout

        name_checkout(arguments.mininet_wifi)


def _add_out(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--out", type=Path, default=Path("runs"), metavar="DIR", help="where run directories go (runs)"
    )


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1))


def _overrides(arguments: argparse.Namespace) -> list[str]:
    short = [f"{key}={value}" for key in ("seed", "backend") if (value := getattr(arguments, key)) is not None]
    return [*arguments.overrides, *short]


def _locate(path: Path) -> Path:
    """A relative path is looked for here, then beside the code, so that shipped scenarios work from anywhere."""
    from testbed.rundir import PROJECT

    try:
        return PROJECT / path if not path.exists() and (PROJECT / path).exists() else path
    except OSError:  # a name that no file can have; whoever opens it says so
        return path


def _run(arguments: argparse.Namespace) -> int:
    from testbed.progress import Progress
    from testbed.run import Wishes, no_report, run
    from testbed.scenario import load

    _name_checkout(arguments)
    scenario = load(_locate(arguments.scenario), _overrides(arguments))
    with Progress() as progress:
        report = no_report if arguments.cli else progress  # the terminal is the command line's
        result = run(scenario, arguments.out, report, Wishes(arguments.pcap, arguments.cli, arguments.attach))
    if arguments.json:
        _print_json({"run_dir": str(result.path), **result.summary})
    else:
        from testbed.report import render_run

        print(render_run(scenario, result), end="")
    return 0 if result.passed else 1


def _compare(arguments: argparse.Namespace) -> int:
    comparison = _compare_algorithms(arguments) if arguments.backends is None else _compare_worlds(arguments)
    if arguments.json:
        _print_json(comparison.as_dict())
    else:
        print(comparison.render(), end="")
    return 1 if comparison.failures else 0


def _compare_algorithms(arguments: argparse.Namespace) -> Comparison:
    from testbed.compare import compare, parse_algorithms
    from testbed.progress import Progress
    from testbed.scenario import load

    if arguments.algorithms is None:
        raise InputError("compare: found neither --algorithms nor --backends; allowed: either or both")
    algorithms = parse_algorithms(arguments.algorithms)
    scenario = load(_locate(arguments.scenario), _overrides(arguments))
    with Progress() as progress:
        return compare(scenario, algorithms, arguments.out, progress)


def _compare_worlds(arguments: argparse.Namespace) -> WorldComparison:
    from testbed.compare import parse_algorithms
    from testbed.progress import Progress
    from testbed.worlds import Subject, compare_worlds, parse_backends

    if arguments.backend is not None:
        raise InputError("compare: found both --backend and --backends; allowed: one of them")
    backends = parse_backends(arguments.backends)
    algorithms = None if arguments.algorithms is None else parse_algorithms(arguments.algorithms, least=1)
    subject = Subject.load(_locate(arguments.scenario), _overrides(arguments))
    with Progress() as progress:
        return compare_worlds(subject, algorithms, backends, arguments.out, progress)


def _reproduce(arguments: argparse.Namespace) -> int:
    from testbed.progress import Progress
    from testbed.reproduce import reproduce

    with Progress() as progress:
        outcome = reproduce(arguments.paper, arguments.quick, arguments.out, progress)
    if arguments.json:
        _print_json(outcome.as_dict())
    else:
        print(outcome.render(), end="")
    return 1 if outcome.failures else 0


def _mobility(arguments: argparse.Namespace) -> int:
    what = arguments.what
    if what[0] == "convert" and len(what) == 3:
        from testbed.mobility.traces.formats import convert

        convert(Path(what[1]), Path(what[2]))
        return 0
    if len(what) > 1:
        raise InputError("mobility takes one scenario, or `convert` and two trace files")
    from analysis.plots import plots_missing
    from testbed.scenario import load
    from testbed.survey import survey

    found = survey(load(_locate(Path(what[0])), _overrides(arguments)))
    lacking = plots_missing() if arguments.plot else None
    if lacking is not None:
        raise BackendError(f"no plot: {lacking}")
    files = found.draw(arguments.out) if arguments.plot else []
    if arguments.json:
        _print_json({**found.as_dict(), "files": list(map(str, files))})
    else:
        print(found.render(), end="")
        print("".join(f"{file}\n" for file in files), end="")
    return 0


def _analyze(arguments: argparse.Namespace) -> int:
    from analysis.load import RunDirectoryError
    from testbed.report import analyze

    try:
        analysis = analyze(arguments.runs, by=arguments.by)
        failed = analysis.any_failed()
        document = analysis.as_dict() if arguments.json else None
        text = None if arguments.json else analysis.render(arguments.format)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    if arguments.json:
        _print_json(document)
    else:
        print(text, end="")
    return 1 if failed else 0


def _replay(arguments: argparse.Namespace) -> int:
    from analysis.load import RunDirectoryError
    from testbed.replay import replay
    from testbed.replaytext import as_dict, render

    try:
        done = replay(arguments.run, node=arguments.node, repetition=arguments.repetition, until=arguments.until)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None
    if arguments.json:
        _print_json(as_dict(done))
    else:
        print(render(done), end="")
    if done.missing is not None and not done.failed:
        raise InputError(f"{arguments.run}: {done.missing}")
    return 1 if done.failed else 0


def _smoke(arguments: argparse.Namespace) -> int:
    from testbed.progress import Progress
    from testbed.smoke import Outcome, find_scenarios, run_all, write_junit

    def tell(outcome: Outcome) -> None:
        if not arguments.json:
            progress.clear()
            print(f"{'FAIL' if outcome.problems else 'ok  '} {outcome.seconds:6.2f} s  {outcome.file}", flush=True)
            for problem in outcome.problems:
                print(f"       {problem}", flush=True)

    folder = _locate(arguments.folder)
    if not folder.exists():
        raise InputError(f"{folder}: no such folder")
    with Progress() as progress:
        overrides = [] if arguments.backend is None else [f"backend={arguments.backend}"]
        outcomes = run_all(find_scenarios(folder), arguments.out, tell, progress, overrides)
    if arguments.junit:
        write_junit(outcomes, arguments.junit)
    failed = sum(bool(one.problems) for one in outcomes)
    if arguments.json:
        rows = [{"scenario": str(one.file), "seconds": one.seconds, "problems": one.problems} for one in outcomes]
        _print_json({"passed": len(outcomes) - failed, "failed": failed, "scenarios": rows})
    else:
        print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _list(arguments: argparse.Namespace) -> int:
    from testbed.report import listing

    entries = listing(arguments.what)
    if arguments.json:
        _print_json(entries)
    else:
        width = max(map(len, entries))
        for name, summary in entries.items():
            print(f"{name:{width}}  {summary}")
    return 0


def _new(arguments: argparse.Namespace) -> int:
    from testbed.new import new_algorithm, next_steps
    from testbed.rundir import PROJECT

    written = new_algorithm(arguments.name, PROJECT)
    print(next_steps(written, arguments.name, PROJECT), end="")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from testbed.mininet.export import export
    from testbed.scenario import load

    if arguments.to != "mininet-wifi":
        raise InputError(f"--to: found {arguments.to}; allowed: mininet-wifi")
    as_it_will_run = ["backend=mininet-wifi", "medium=wmediumd", "repeat=1"]
    scenario = load(_locate(arguments.scenario), [*_overrides(arguments), *as_it_will_run])
    if arguments.file is None:
        print(export(scenario), end="")
    else:
        script = export(scenario, arguments.file.name)
        try:
            arguments.file.write_text(script, encoding="utf-8")
            arguments.file.chmod(0o755)
        except OSError as error:
            raise InputError(f"--file {arguments.file}: {error.strerror}") from None
    return 0


def _guest_prepare(arguments: argparse.Namespace) -> int:
    from testbed.guest.command import prepare_guest

    facts = prepare_guest(update=arguments.update)
    if arguments.json:
        _print_json(facts)
    else:
        for name in ("kernel", "initramfs", "root"):
            print(f"{name:10} {facts[name]['bytes'] / 1e6:6.1f} MB  {facts[name]['path']}")
        print(f"ready after {facts['seconds']} s")
    return 0


def _guest_run(arguments: argparse.Namespace) -> int:
    from testbed.guest.command import run_in_guest

    return run_in_guest(
        arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv,
        cpus=arguments.cpus,
        memory_mb=arguments.memory,
        accel=arguments.accel,
        snapshot=not arguments.cold,
        timeout_s=arguments.timeout,
        send=arguments.send,
        bring=arguments.bring,
        verbose=arguments.verbose,
        mininet_wifi=arguments.mininet_wifi,
    )


def _clean(arguments: argparse.Namespace) -> int:
    from testbed.hwsim.clean import clean

    removed = clean()
    if arguments.json:
        _print_json({"removed": removed})
    else:
        print("".join(f"removed {name}\n" for name in removed) or "nothing was left\n", end="")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from testbed.doctor import examine, render

    facts = examine()
    if arguments.json:
        _print_json(facts)
    else:
        print(render(facts), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
