"""`setup.sh` gets the extra that a command lacks, once, and starts the command again.

In the fast tests `setup.sh` and the command line are the real ones. Only two things are replaced: pip, which would
download packages, notes what it is asked for; and which modules are found depends on these notes. So they show how the
two hand over to each other, not that the extras of pyproject.toml suffice: the slow test at the end shows that.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.testbed.checkout import FOLDERS
from tests.testbed.tiny import interruptible

PYTHON = """#!/bin/bash
case "$*" in
    *"-m pip install"*) echo "${@: -1}" >>"$NOTES"; %(pip)s ;;
    *"-m testbed.extras"*) grep -qF "[${@: -1}]" "$NOTES" ;;
    *) exec %(python)s "$@" ;;
esac
"""
"""The Python of an environment, with another pip."""
TESTBED = """#!%(python)s
import os, sys
sys.path.insert(0, %(project)r)
from pathlib import Path
from testbed import extras
from testbed.cli.main import main
real = extras.find_spec
print("started", os.getpid(), file=sys.stderr)
extras.find_spec = lambda module: real(module) if "[plots]" in Path(os.environ["NOTES"]).read_text() else None
%(more)s
sys.exit(main())
"""
"""The command line, which finds modules of extras once pip was asked for plots."""
CAMPUS = PROJECT / "scenarios/mobility/campus.yaml"
PLOT = ("testbed", "mobility", str(CAMPUS), "--plot", "--set", "duration=20")


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process prints until it ends; one that does not end is killed, with all that it started."""
    try:
        return process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


class Environment:
    """A folder that `setup.sh` takes for its environment."""

    def __init__(self, folder: Path, pip: str = "exit 0", more: str = "") -> None:
        self.folder = folder
        self.notes = folder / "asked-of-pip"
        self.venv = folder / "venv"
        (self.venv / "bin").mkdir(parents=True)
        self.notes.touch()
        words = {"python": sys.executable, "project": str(PROJECT), "pip": pip, "more": more}
        for name, text in {"python": PYTHON, "testbed": TESTBED}.items():
            (self.venv / "bin" / name).write_text(text % words)
            (self.venv / "bin" / name).chmod(0o755)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start `setup.sh` with a command, in a process group of its own."""
        inherited = {
            name: value for name, value in os.environ.items() if name not in ("TESTBED_SETUP", "TESTBED_EXTRAS")
        }
        return subprocess.Popen(
            [PROJECT / "setup.sh", *words],
            cwd=self.folder,
            env={**inherited, "TESTBED_VENV": str(self.venv), "NOTES": str(self.notes), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=interruptible,
        )

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The same, to its end."""
        process = self.start(*words, **variables)
        out, err = finish(process)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def asked(self) -> list[str]:
        """What pip was asked to install."""
        return self.notes.read_text().split()


def said_by_setup(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("setup: ")]


def test_a_command_gets_its_extra_once(tmp_path: Path) -> None:
    """The command is started a second time, in the same process, and succeeds; later it has what it needs."""
    environment = Environment(tmp_path)
    process = environment.start(*PLOT)
    out, err = finish(process)
    assert (process.returncode, environment.asked()) == (0, [".", ".[plots]"])
    assert err.splitlines() == [
        "setup: installing .",
        f"started {process.pid}",
        "setup: installing .[plots], which this command needs",
        f"started {process.pid}",
    ]
    assert "runs/campus-paths.png" in out
    again = environment.run(*PLOT)
    assert (again.returncode, again.stdout, said_by_setup(again)) == (0, out, [])
    assert environment.asked() == [".", ".[plots]"]


def test_arguments_stay_as_they_are(tmp_path: Path) -> None:
    """Words with blanks, quotes and nothing in them reach the command that is started again."""
    environment = Environment(tmp_path, more="print(sys.argv[1:], file=sys.stderr)")
    words = ["mobility", "--plot", "a  b", "--out", "", "--set", "'$HOME'=*"]
    done = environment.run("testbed", *words)
    assert (done.returncode, done.stderr.splitlines().count(repr(words))) == (2, 2)


def test_an_extra_that_does_not_help_is_tried_once(tmp_path: Path) -> None:
    """The line of the command, and exit code 3."""
    environment = Environment(tmp_path, more="extras.find_spec = lambda module: None")
    done = environment.run(*PLOT)
    assert (done.returncode, done.stdout, environment.asked()) == (3, "", [".", ".[plots]"])
    elsewhere = "" if Path(sys.prefix) == PROJECT / ".venv" else f"TESTBED_VENV={sys.prefix} "
    how = f"{elsewhere}{PROJECT}/setup.sh --extra plots"
    assert done.stderr.splitlines()[-1] == f"testbed: --plot: this needs the extra plots: {how}"
    assert done.stderr.count("started") == 2


def test_an_extra_that_cannot_be_installed(tmp_path: Path) -> None:
    """The command is not started again, and nothing is taken for installed."""
    environment = Environment(tmp_path, pip='[ "${@: -1}" = . ]')
    done = environment.run(*PLOT)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, "setup: pip cannot install .[plots]")
    assert done.stderr.count("started") == 1
    assert not (environment.venv / ".installed-plots").exists()
    environment.notes.write_text("")
    assert environment.run("--extra", "plots").returncode == 3
    assert environment.asked() == [".[plots]"]


def test_an_extra_by_name(tmp_path: Path) -> None:
    """With a command and without; the core comes with it; once, unless it was removed."""
    environment = Environment(tmp_path)
    done = environment.run("--extra", "plots", *PLOT)
    assert (done.returncode, environment.asked()) == (0, [".[plots]"])
    assert said_by_setup(done) == ["setup: installing .[plots]"]
    assert environment.run("--extra", "plots").stderr == ""
    assert environment.run("true").stderr == ""
    environment.notes.write_text("")  # removed, which its stamp does not know
    assert said_by_setup(environment.run("--extra", "plots")) == ["setup: installing .[plots]"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--extra", "plot"], "setup: --extra plot: found no such extra; allowed: plots, "),
        (["--extra", "p.*"], "setup: --extra p.*: found no such extra; allowed: plots, "),
        (["--extra"], "setup: --extra: name one of: plots, "),
        (
            ["--extra", "mininet-wifi"],
            "setup: --extra mininet-wifi: Mininet-WiFi is in no extra: ./setup.sh --mininet-",
        ),
    ],
)
def test_a_wrong_extra(words: list[str], line: str, tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    done = environment.run(*words)
    assert (done.returncode, done.stdout, environment.asked()) == (2, "", [])
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_other_commands_are_left_alone(tmp_path: Path) -> None:
    """They do not learn of setup.sh, and their exit code is kept, 3 as well."""
    environment = Environment(tmp_path)
    done = environment.run("bash", "-c", "echo ${TESTBED_SETUP-none}; exit 3", TESTBED_SETUP="/old/setup.sh")
    assert (done.returncode, done.stdout) == (3, "none\n")


def test_exit_codes_are_kept(tmp_path: Path) -> None:
    done = Environment(tmp_path).run("testbed", "mobility", "nowhere.yaml")
    assert (done.returncode, done.stderr.count("started")) == (2, 1)


# -- signals ----------------------------------------------------------------------------------------------------------


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until a process has written a file."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, path
        time.sleep(0.02)


def is_empty(group: int) -> bool:
    """Whether no process of a process group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_ctrl_c_while_an_extra_is_installed(tmp_path: Path) -> None:
    """Exit code 130, nothing left; a pip that ends like any other does not hide it."""
    slow = """[ "${@: -1}" = . ] && exit; trap 'exit 1' INT; touch busy; while true; do sleep 0.05; done"""
    environment = Environment(tmp_path, pip=slow.replace("busy", str(tmp_path / "busy")))
    process = environment.start(*PLOT)
    wait_for(tmp_path / "busy", process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = finish(process)
    assert (process.returncode, is_empty(process.pid)) == (130, True)
    assert "pip cannot install" not in err
    assert not (environment.venv / ".installed-plots").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_reach_the_command_that_was_started_again(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """Sent to the one process there is, not to its group: `setup.sh` does not stand in between."""
    waits = f"""
import testbed.experiments.mobility_survey, time
def survey(scenario):
    Path({str(tmp_path / "busy")!r}).touch()
    time.sleep(60)
testbed.experiments.mobility_survey.survey = survey
"""
    environment = Environment(tmp_path, more=waits)
    process = environment.start(*PLOT)
    wait_for(tmp_path / "busy", process)
    os.kill(process.pid, number)
    _, err = finish(process)
    assert (process.returncode, is_empty(process.pid)) == (code, True)
    assert err.count("started") == 2
    assert err.splitlines()[-1].startswith("testbed: interrupted")


def test_ignored_interrupts_stay_ignored(tmp_path: Path) -> None:
    """As in a background job of a shell: the extra is installed, and the command ends by itself."""
    pip = f"""[ "${{@: -1}}" = . ] || {{ touch {tmp_path}/busy; sleep 1; }}"""
    environment = Environment(tmp_path, pip=pip)
    line = ["bash", "-c", """trap '' INT; exec "$@" """, "bash", str(PROJECT / "setup.sh"), *PLOT]
    variables = {**os.environ, "TESTBED_VENV": str(environment.venv), "NOTES": str(environment.notes)}
    process = subprocess.Popen(
        line,
        cwd=tmp_path,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(tmp_path / "busy", process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = finish(process)
    assert (process.returncode, is_empty(process.pid)) == (0, True), err
    assert "runs/campus-paths.png" in out


# -- for real ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_plot_of_the_readme_in_a_fresh_copy(tmp_path: Path) -> None:
    """Core only; `testbed` by itself names the command; under `setup.sh` it gets the extra, once."""
    project = tmp_path / "project"
    for folder in FOLDERS:
        shutil.copytree(PROJECT / folder, project / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "setup.sh"):
        shutil.copy(PROJECT / file, project)
    (shown,) = [
        line for line in (PROJECT / "README.md").read_text().splitlines() if line.startswith("testbed mobility")
    ]
    words = shown.partition("#")[0].split()
    names = ("TESTBED_VENV", "TESTBED_SETUP", "TESTBED_EXTRAS", "PYTHONPATH", "VIRTUAL_ENV")
    clean = {name: value for name, value in os.environ.items() if name not in names}

    def run(*line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, cwd=project, env=clean, capture_output=True, text=True, timeout=900)

    assert run("./setup.sh").returncode == 0
    bare = run(".venv/bin/testbed", *words[1:])
    assert (bare.returncode, bare.stdout) == (3, "")
    assert bare.stderr == "testbed: --plot: this needs the extra plots: ./setup.sh --extra plots\n"
    first = run("./setup.sh", *words)
    assert first.returncode == 0, first.stderr
    assert said_by_setup(first) == ["setup: installing .[plots], which this command needs"]
    assert (project / "runs/campus-paths.pdf").stat().st_size > 5_000
    second = run("./setup.sh", *words)
    assert (second.returncode, second.stdout, said_by_setup(second)) == (0, first.stdout, [])
    assert run(".venv/bin/testbed", *words[1:]).stdout == first.stdout
    (project / "pyproject.toml").write_text((project / "pyproject.toml").read_text() + "\n# changed\n")
    third = run("./setup.sh", *words)
    assert (third.returncode, said_by_setup(third)) == (0, ["setup: installing ."])
