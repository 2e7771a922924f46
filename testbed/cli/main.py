"""The commands of the command line. Results go to stdout, progress to stderr and only to a terminal.

Exit codes: 0 all well, 1 a check or an expectation failed, 2 the input is wrong, 3 this backend cannot run here,
130 interrupted.
"""

from __future__ import annotations

import io
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import overrides, parser
from testbed.errors import BackendError, InputError, TestbedError, one_line

if TYPE_CHECKING:
    from testbed.experiments.compare import Comparison
    from testbed.experiments.compare_backends import WorldComparison


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the command `testbed`."""
    arguments = parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no ± still gets its table
    try:
        code = COMMANDS[arguments.command](arguments)
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
    except MemoryError:
        print("testbed: this machine has not enough memory for that", file=sys.stderr)
        return 1
    return code


def _name_checkout(arguments: Namespace) -> None:
    if arguments.mininet_wifi is not None:
        from testbed.backends.mininet_wifi.installation import name_checkout

        name_checkout(arguments.mininet_wifi)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1))


def _locate(path: Path) -> Path:
    """A relative path is looked for here, then beside the code, so that shipped scenarios work from anywhere."""
    from testbed.experiments.run_directory import PROJECT

    try:
        return PROJECT / path if not path.exists() and (PROJECT / path).exists() else path
    except OSError:  # a name that no file can have; whoever opens it says so
        return path


def _run(arguments: Namespace) -> int:
    from testbed.progress import Progress
    from testbed.experiments.runner import Wishes, no_report, run
    from testbed.scenario.schema import load

    _name_checkout(arguments)
    scenario = load(_locate(arguments.scenario), overrides(arguments))
    with Progress() as progress:
        report = no_report if arguments.cli else progress  # the terminal is the command line's
        result = run(scenario, arguments.out, report, Wishes(arguments.pcap, arguments.cli, arguments.attach))
    if arguments.json:
        _print_json({"run_dir": str(result.path), **result.summary})
    else:
        from testbed.cli.report import render_run

        print(render_run(scenario, result), end="")
    return 0 if result.passed else 1


def _compare(arguments: Namespace) -> int:
    comparison = _compare_algorithms(arguments) if arguments.backends is None else _compare_worlds(arguments)
    if arguments.json:
        _print_json(comparison.as_dict())
    else:
        print(comparison.render(), end="")
    return 1 if comparison.failures else 0


def _compare_algorithms(arguments: Namespace) -> Comparison:
    from testbed.experiments.compare import compare, parse_algorithms
    from testbed.progress import Progress
    from testbed.scenario.schema import load

    if arguments.algorithms is None:
        raise InputError("compare: found neither --algorithms nor --backends; allowed: either or both")
    algorithms = parse_algorithms(arguments.algorithms)
    scenario = load(_locate(arguments.scenario), overrides(arguments))
    with Progress() as progress:
        return compare(scenario, algorithms, arguments.out, progress)


def _compare_worlds(arguments: Namespace) -> WorldComparison:
    from testbed.experiments.compare import parse_algorithms
    from testbed.progress import Progress
    from testbed.experiments.compare_backends import Subject, compare_worlds, parse_backends

    if arguments.backend is not None:
        raise InputError("compare: found both --backend and --backends; allowed: one of them")
    backends = parse_backends(arguments.backends)
    algorithms = None if arguments.algorithms is None else parse_algorithms(arguments.algorithms, least=1)
    subject = Subject.load(_locate(arguments.scenario), overrides(arguments))
    with Progress() as progress:
        return compare_worlds(subject, algorithms, backends, arguments.out, progress)


def _reproduce(arguments: Namespace) -> int:
    from testbed.progress import Progress
    from testbed.reproduce import reproduce

    with Progress() as progress:
        outcome = reproduce(arguments.paper, arguments.quick, arguments.out, progress)
    if arguments.json:
        _print_json(outcome.as_dict())
    else:
        print(outcome.render(), end="")
    return 1 if outcome.failures else 0


def _mobility(arguments: Namespace) -> int:
    what = arguments.what
    if what[0] == "convert" and len(what) == 3:
        from testbed.mobility.traces.formats import convert

        convert(Path(what[1]), Path(what[2]))
        return 0
    if len(what) > 1 or what[0] == "convert":
        raise InputError("mobility takes one scenario, or `convert` and two trace files")
    from analysis.plots import plots_missing
    from testbed.scenario.schema import load
    from testbed.experiments.mobility_survey import survey

    found = survey(load(_locate(Path(what[0])), overrides(arguments)))
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


def _analyze(arguments: Namespace) -> int:
    from analysis.load import RunDirectoryError
    from testbed.cli.report import analyze

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


def _replay(arguments: Namespace) -> int:
    from analysis.load import RunDirectoryError
    from testbed.replay.replayer import replay
    from testbed.cli.replay_text import as_dict, render

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


def _smoke(arguments: Namespace) -> int:
    from testbed.backends.registry import BACKENDS
    from testbed.progress import Progress
    from testbed.experiments.runner import load_backend
    from testbed.experiments.smoke import Outcome, find_scenarios, run_all, write_junit

    def tell(outcome: Outcome) -> None:
        if not arguments.json:
            progress.clear()
            print(f"{'FAIL' if outcome.problems else 'ok  '} {outcome.seconds:6.2f} s  {outcome.file}", flush=True)
            for problem in outcome.problems:
                print(f"       {problem}", flush=True)

    if arguments.backend is not None:
        if arguments.backend not in BACKENDS:
            raise InputError(f"--backend: found {arguments.backend!r}; allowed: {', '.join(BACKENDS)}")
        load_backend(arguments.backend)  # once, before every scenario says that it is missing
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


def _list(arguments: Namespace) -> int:
    from testbed.cli.report import listing

    entries = listing(arguments.what)
    if arguments.json:
        _print_json(entries)
    else:
        width = max(map(len, entries))
        for name, summary in entries.items():
            print(f"{name:{width}}  {summary}")
    return 0


def _new(arguments: Namespace) -> int:
    from testbed.cli.scaffold import new_algorithm, next_steps
    from testbed.experiments.run_directory import PROJECT

    written = new_algorithm(arguments.name, PROJECT)
    print(next_steps(written, arguments.name, PROJECT), end="")
    return 0


def _export(arguments: Namespace) -> int:
    from testbed.backends.mininet_wifi.export import export
    from testbed.scenario.schema import load

    if arguments.to != "mininet-wifi":
        raise InputError(f"--to: found {arguments.to}; allowed: mininet-wifi")
    as_it_will_run = ["backend=mininet-wifi", "medium=wmediumd", "repeat=1"]
    for said in arguments.overrides:
        for fixed in as_it_will_run:
            if said.startswith(fixed.partition("=")[0] + "=") and said != fixed:
                raise InputError(f"--set {said}: allowed: {fixed}, as an exported script has it")
    scenario = load(_locate(arguments.scenario), [*overrides(arguments), *as_it_will_run])
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


def _guest_prepare(arguments: Namespace) -> int:
    from testbed.cli.guest import prepare_guest

    facts = prepare_guest(update=arguments.update)
    if arguments.json:
        _print_json(facts)
    else:
        for name in ("kernel", "initramfs", "root"):
            print(f"{name:10} {facts[name]['bytes'] / 1e6:6.1f} MB  {facts[name]['path']}")
        print(f"ready after {facts['seconds']} s")
    return 0


def _guest_run(arguments: Namespace) -> int:
    from testbed.cli.guest import run_in_guest

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


def _clean(arguments: Namespace) -> int:
    from testbed.backends.hwsim.clean import clean

    removed = clean()
    if arguments.json:
        _print_json({"removed": removed})
    else:
        print("".join(f"removed {name}\n" for name in removed) or "nothing was left\n", end="")
    return 0


def _doctor(arguments: Namespace) -> int:
    from testbed.cli.doctor import examine, render

    facts = examine()
    if arguments.json:
        _print_json(facts)
    else:
        print(render(facts), end="")
    return 0


COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "run": _run,
    "compare": _compare,
    "reproduce": _reproduce,
    "mobility": _mobility,
    "analyze": _analyze,
    "replay": _replay,
    "smoke": _smoke,
    "list": _list,
    "export": _export,
    "new": _new,
    "guest prepare": _guest_prepare,
    "guest run": _guest_run,
    "clean": _clean,
    "doctor": _doctor,
}

if __name__ == "__main__":
    sys.exit(main())
