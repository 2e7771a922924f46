"""A guest runs commands, brings back what it should, and ends with the process that started it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import __version__
from testbed.errors import BackendError, TestbedError
from testbed.guest.host import Guest, GuestTimeout
from testbed.guest.project import ROOT
from tests.testbed.tiny import interruptible, only_run, write_tiny

pytestmark = pytest.mark.xdist_group("guest")

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(guest: Guest) -> Call:
    """Run a command in the shared guest; gives its exit code, stdout and stderr."""

    def call(*argv: str, **options) -> tuple[int, str, str]:
        out, err = bytearray(), bytearray()
        code = guest.run(argv, stdout=out.extend, stderr=err.extend, **{"timeout_s": 120, **options})
        return code, out.decode(), err.decode()

    return call


def command_line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "testbed.cli", "guest", "run", *map(str, arguments)]


def child_of(pid: int) -> int:
    """The process that a process has started: QEMU."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


def is_gone(pid: int, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            # A process that has exited stays a zombie until its new parent waits for it.
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


# -- commands ---------------------------------------------------------------------------------------------------------


def test_output_and_exit_code_come_back(call: Call) -> None:
    """Stdout and stderr stay apart."""
    assert call("sh", "-c", "echo out; echo err >&2; exit 7") == (7, "out\n", "err\n")


def test_a_command_that_a_signal_ends(call: Call) -> None:
    assert call("sh", "-c", "kill -9 $$") == (128 + 9, "", "")


def test_a_pipe_that_closes_ends_its_writer(call: Call) -> None:
    """Without a message, as in any shell."""
    assert call("sh", "-c", "yes | head -n 1") == (0, "y\n", "")


def test_a_command_that_is_not_there(call: Call) -> None:
    assert call("no-such-command") == (127, "", "no-such-command: No such file or directory\n")


def test_environment_and_folder(call: Call) -> None:
    assert call("sh", "-c", "pwd; echo $COLOUR", cwd="/run/x", env={"COLOUR": "blue"}) == (0, "/run/x\nblue\n", "")


def test_output_streams(guest: Guest) -> None:
    """Output comes when it is printed, not at the end."""
    came: list[tuple[float, bytes]] = []
    guest.run(["sh", "-c", "echo a; sleep 2; echo b"], stdout=lambda data: came.append((time.monotonic(), data)))
    assert b"".join(data for _, data in came) == b"a\nb\n"
    assert came[-1][0] - came[0][0] > 1.0


def test_a_command_reads_what_is_typed(guest: Guest) -> None:
    read, write = os.pipe()
    said: list[bytes] = []

    def type_on(data: bytes) -> None:
        """Type the second line when the first has been answered, then close the input."""
        said.append(data)
        if b"".join(said) == b"one\n":
            os.write(write, b"two\n")
            os.close(write)

    os.write(write, b"one\n")
    assert guest.run(["cat"], stdin=read, stdout=type_on, timeout_s=20) == 0
    assert b"".join(said) == b"one\ntwo\n"
    os.close(read)
    assert guest.run(["cat"], stdout=said.append, timeout_s=20) == 0, "without input"
    assert b"".join(said) == b"one\ntwo\n"


def test_much_output_is_whole(call: Call) -> None:
    _, out, err = call("sh", "-c", "seq 200000; seq 100000 >&2")
    assert out.split() == list(map(str, range(1, 200001)))
    assert err.split() == list(map(str, range(1, 100001)))


def test_what_a_command_leaves_running_is_killed(call: Call) -> None:
    """Also if it holds the command's stdout open and has a session of its own."""
    assert call("sh", "-c", "setsid sleep 1234 & echo started") == (0, "started\n", "")
    assert "sleep 1234" not in call("ps")[1]


def test_a_command_that_takes_too_long_is_ended_and_brings_back_what_it_had(guest: Guest, tmp_path: Path) -> None:
    with pytest.raises(GuestTimeout, match="longer than 1 s"):
        guest.run(
            ["sh", "-c", "mkdir /tmp/part; echo half >/tmp/part/file; sleep 100"],
            timeout_s=1,
            bring=[("/tmp/part", tmp_path)],
        )
    assert (tmp_path / "file").read_text() == "half\n"


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_go_in_and_come_back(call: Call, tmp_path: Path) -> None:
    """A folder with folders, an empty one, a file of some size and times."""
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "deep/er").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "deep/er/file").write_bytes(os.urandom(3_000_001))
    os.utime(source / "deep/er/file", (1e9, 1e9))
    code, _, _ = call("cp", "-a", "/tmp/sent", "/tmp/copied", send={"/tmp/sent": source}, bring=[("copied", target)])
    assert code == 0
    back = target / "deep/er/file"
    assert back.read_bytes() == (source / "deep/er/file").read_bytes()
    assert back.stat().st_mtime == 1e9
    assert (target / "empty").is_dir()


def test_what_is_not_there_cannot_be_brought(guest: Guest, tmp_path: Path) -> None:
    """This is an error, unless the command itself has failed."""
    with pytest.raises(TestbedError, match="cannot bring /nowhere back"):
        guest.run(["true"], bring=[("/nowhere", tmp_path / "x")])
    assert guest.run(["false"], bring=[("/nowhere", tmp_path / "x")]) == 1
    assert not (tmp_path / "x").exists()


def test_what_is_not_there_cannot_be_sent(call: Call, guest: Guest, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        guest.send({"/tmp/x": tmp_path / "nothing"})
    assert call("true") == (0, "", "")


# -- what the guest has -----------------------------------------------------------------------------------------------


def test_a_scenario_runs_as_on_the_host(call: Call, tmp_path: Path) -> None:
    """The same command line, and the same log, byte by byte."""
    scenario = write_tiny(tmp_path, "trace: events\n")
    run = ("run", str(scenario), "--out", str(tmp_path / "here"))
    subprocess.run([sys.executable, "-m", "testbed.cli", *run], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    code, out, err = call(
        "testbed", "run", "s.yaml", "--out", "/tmp/runs",
        send={"/tmp/s.yaml": scenario}, bring=[("/tmp/runs", tmp_path / "there")],
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert re.search(r"^safety +ok", out, re.MULTILINE)
    logs = [only_run(tmp_path / where) / "rep-000/events.jsonl" for where in ("here", "there")]
    assert logs[0].read_bytes() == logs[1].read_bytes()


def test_mistakes_look_as_on_the_host(call: Call) -> None:
    expected = (2, "", "testbed: nothing.yaml: no such file\n")
    assert call("testbed", "run", "nothing.yaml") == expected
    assert call("python", "-m", "testbed.cli", "run", "nothing.yaml") == expected


def test_forked_commands_look_like_new_interpreters(call: Call, tmp_path: Path) -> None:
    """Arguments, `__main__`, modules beside the script, how it ends; and a shell finds `testbed`, too."""
    (tmp_path / "beside.py").write_text("HERE = 'beside'")
    (tmp_path / "script.py").write_text(
        "import atexit, sys, beside\natexit.register(print, 'bye')\nprint(sys.argv, __name__, beside.HERE)\nsys.exit(9)"
    )
    code, out, err = call("python", "s/script.py", "-x", send={"s": tmp_path})
    assert (code, out, err) == (9, "['s/script.py', '-x'] __main__ beside\nbye\n", "")
    code, out, err = call("python", "-m", "s.script")
    assert code == 1
    assert err.endswith("ModuleNotFoundError: No module named 'beside'\n")
    assert call("sh", "-c", "testbed --version") == (0, f"testbed {__version__}\n", "")


def test_modules_are_loaded_on_demand(call: Call) -> None:
    """By name, and by the kernel when a device of that kind is asked for."""
    assert call("sh", "-c", "modprobe batman-adv && modprobe tun && test -c /dev/net/tun")[0] == 0
    code, _, err = call("sh", "-c", "ip link add one type veth peer name two && test -d /sys/class/net/two")
    assert (code, err) == (0, "")


# -- ends -------------------------------------------------------------------------------------------------------------


def test_each_guest_has_the_time_and_its_own_random_numbers(guest: Guest, call: Call) -> None:
    """Also if they were restored from the same snapshot."""
    read = ("cat", "/proc/sys/kernel/random/uuid")
    with Guest() as other:
        out = bytearray()
        other.run(["sh", "-c", f"date +%s; {' '.join(read)}"], stdout=out.extend)
        clock, number = out.decode().split()
    assert abs(int(clock) - time.time()) < 5
    assert number != call(*read)[1].strip()
    assert other.is_restored or other.accel == "kvm"
    assert is_gone(other.pid)


def test_ctrl_c_ends_the_command_brings_back_what_it_had_and_leaves_nothing(guest: Guest, tmp_path: Path) -> None:
    # With `exec`, because a shell may put off a Ctrl-C until its child ends.
    script = "mkdir /tmp/part; echo half >/tmp/part/file; echo begun; exec sleep 100"
    command = command_line("--bring", f"/tmp/part:{tmp_path / 'part'}", "--", "sh", "-c", script)
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        qemu = child_of(running.pid)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (130, "testbed: interrupted\n")
    assert (tmp_path / "part/file").read_text() == "half\n"
    assert is_gone(qemu)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)])
def test_being_killed_leaves_nothing(guest: Guest, number: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        command_line("--", "sh", "-c", "echo begun; exec sleep 100"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        qemu = child_of(running.pid)
        running.send_signal(number)
        assert running.wait(timeout=30) == code
    assert is_gone(qemu)


def test_a_guest_that_is_killed_is_a_one_line_error(guest: Guest) -> None:
    with Guest() as other:
        os.kill(other.pid, signal.SIGKILL)
        with pytest.raises(BackendError, match="the guest has ended by itself"):
            other.run(["true"])
