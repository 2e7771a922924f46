"""The guest's first process: takes commands from the host one after the other and sends back what they print.

It says `ready` at once and then, until the first request comes, imports what the testbed's commands need. Without KVM
imports take ten times as long as on the host, so `testbed ...`, `python FILE ...` and `python -m MODULE ...` do not
start a new interpreter: this process forks, and the child carries out the command. After each command the processes
that it left running are killed.

It runs as process 1 of a guest and refuses to run anywhere else.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from testbed.guest.layout import MODULES_LOADED, PORT, WORK
from testbed.guest.protocol import CHUNK, DATA, ERR, IN, MESSAGE, OUT, Frames, frame, message

WARM = (
    "testbed.cli.main", "testbed.scenario.loader", "testbed.backends.rules", "testbed.experiments.runner",
    "testbed.interface", "testbed.cli.run_text", "testbed.backends.hwsim.backend", "testbed.backends.hwsim.medium",
    "testbed.backends.hwsim.radios", "testbed.backends.hwsim.routing", "testbed.backends.hwsim.self_test",
    "testbed.backends.hwsim.transport", "testbed.backends.hwsim.netlink_control", "testbed.backends.stations.__main__",
    "testbed.backends.stations.orchestrator", "asyncio", "testbed.backends.sim.simulation",
    "testbed.backends.mininet_wifi.network", "mn_wifi.net", "mn_wifi.cli", "agents.registry",
)  # fmt: skip
"""What `testbed run` imports on virtual radios, in this order. A module that is not installed is left out."""
ALGORITHMS = "agents.registry"
"""One of these. It names the modules of the algorithms, which are imported last."""
_RNDRESEEDCRNG = 0x5207  # linux/random.h
_CANNOT_RUN, _NOT_FOUND = 126, 127  # the shell's exit codes


class Become(BaseException):
    """Raised in a forked child: unwind the stack of this process, then carry out this command."""

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv


class Init:
    """Answers the host's requests."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._frames = Frames()
        self._cold = list(WARM)
        self._typed = -1

    def serve(self) -> NoReturn:
        """Answer requests until the host closes the port."""
        self._send(message(ready=True))
        while True:
            self._warm_up_until_asked()
            request = self._next_message()
            try:
                getattr(self, f"_do_{request.pop('do')}")(**request)
            except OSError as error:
                self._send(message(error=str(error)))

    # -- requests -----------------------------------------------------------------------------------------------------

    def _do_run(self, argv: list[str], cwd: str | None, env: dict[str, str], reads: bool) -> None:
        self._wait_for_modules()
        if is_for_us(argv):
            self._warm_up(lambda: False)
        outputs = {OUT: os.pipe(), ERR: os.pipe()}
        read_from, self._typed = os.pipe() if reads else (os.open(os.devnull, os.O_RDONLY), -1)
        child = os.fork()
        if child == 0:
            _begin(argv, cwd or WORK, env, read_from, outputs[OUT][1], outputs[ERR][1])
        for end in (read_from, *(end for _, end in outputs.values())):
            os.close(end)
        code = self._follow(child, {read: kind for kind, (read, _) in outputs.items()})
        self._type(b"")
        self._send(message(exit=code))

    def _do_warm(self) -> None:
        """Import everything, for a snapshot."""
        self._wait_for_modules()
        self._warm_up(lambda: False)
        self._send(message(error=None))

    def _do_begin(self, time: float, seed: str) -> None:
        """Set the clock, and reseed the random numbers: guests from the same snapshot would draw the same ones."""
        _set_clock(time)
        with open("/dev/urandom", "wb") as generator:
            generator.write(bytes.fromhex(seed))
            fcntl.ioctl(generator, _RNDRESEEDCRNG)
        self._send(message(error=None))

    def _do_signal(self, number: int) -> None:
        """The command that it was meant for has ended already: nothing to do."""

    def _do_put(self) -> None:
        read, write = os.pipe()
        unpacker = _spawn(["tar", "-x", "-C", "/", "-f", "-"], stdin=read)
        os.close(read)
        failed = False
        while body := self._next(DATA):
            try:
                _write_all(write, body if not failed else b"")
            except BrokenPipeError:
                failed = True
        os.close(write)
        code = os.waitstatus_to_exitcode(os.waitpid(unpacker, 0)[1])
        self._send(message(error=f"tar ended with {code}" if code or failed else None))

    def _do_get(self, path: str) -> None:
        place = Path(path)
        if not place.exists():
            self._send(message(error=f"{path}: no such file or folder in the guest"))
            return
        folder, what = (path, ".") if place.is_dir() else (str(place.parent), place.name)
        read, write = os.pipe()
        packer = _spawn(["tar", "-c", "-C", folder, "-f", "-", what], stdout=write)
        os.close(write)
        while body := os.read(read, CHUNK):
            self._send(frame(DATA, body))
        os.close(read)
        code = os.waitstatus_to_exitcode(os.waitpid(packer, 0)[1])
        self._send(message(error=f"tar ended with {code}" if code else None))

    # -- a command that runs ------------------------------------------------------------------------------------------

    def _follow(self, child: int, outputs: dict[int, bytes]) -> int:
        """Pass on what the command prints until it and all that it started have ended; returns its exit code."""
        poll = select.poll()
        ended = os.pidfd_open(child)
        for descriptor in (ended, self._port, *outputs):
            poll.register(descriptor, select.POLLIN)
        status = None
        while status is None or outputs:
            self._hear(child)  # first the frames that came together with the request
            for descriptor, _ in poll.poll(1000):
                if descriptor in outputs:
                    body = os.read(descriptor, CHUNK)
                    if body:
                        self._send(frame(outputs[descriptor], body))
                    else:
                        poll.unregister(descriptor)
                        os.close(descriptor)
                        del outputs[descriptor]
                elif descriptor == self._port:
                    self._read_port()
                elif status is None:
                    status = os.waitpid(child, 0)[1]
                    poll.unregister(ended)
                    _kill_all()  # this also closes the other ends of the pipes
            _reap(child)
        os.close(ended)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _hear(self, child: int) -> None:
        """Handle what the host has sent meanwhile: input for the command, or a signal."""
        while (heard := self._frames.next()) is not None:
            kind, body = heard
            if kind == IN:
                self._type(body)
            else:
                _signal(child, json.loads(body))

    def _type(self, data: bytes) -> None:
        """Give the command its input; no bytes mean the end of the input."""
        if self._typed < 0:
            return
        if data:
            with suppress(BrokenPipeError):
                _write_all(self._typed, data)
        else:
            os.close(self._typed)
            self._typed = -1

    # -- warming up ---------------------------------------------------------------------------------------------------

    def _warm_up_until_asked(self) -> None:
        asked = select.poll()
        asked.register(self._port, select.POLLIN)
        self._warm_up(lambda: bool(asked.poll(0)))

    def _warm_up(self, is_enough: Callable[[], bool]) -> None:
        """Import what commands will need, until all is imported or `is_enough` says so."""
        gc.disable()  # imports leave no garbage
        while self._cold and not is_enough():
            name = self._cold.pop(0)
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            if name == ALGORITHMS:
                self._cold += {place.partition(":")[0] for place in module.OWN.values()}
        if not self._cold:
            gc.freeze()  # children share these pages as long as no process writes to them
        gc.enable()

    def _wait_for_modules(self) -> None:
        for _ in range(3000):
            if os.path.exists(MODULES_LOADED):
                return
            time.sleep(0.01)

    # -- the port -----------------------------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        _write_all(self._port, data)

    def _next_message(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._next(MESSAGE))
        return content

    def _next(self, wanted: bytes) -> bytes:
        while True:
            found = self._frames.next()
            if found is None:
                self._read_port()
            elif found[0] == wanted:
                return found[1]

    def _read_port(self) -> None:
        data = os.read(self._port, CHUNK)
        if not data:
            power_off()  # the host has closed the port
        self._frames.feed(data)


def _begin(argv: list[str], cwd: str, env: dict[str, str], read: int, out: int, err: int) -> NoReturn:
    """In the child: carry out the command, in a session of its own."""
    os.setsid()
    os.dup2(read, 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    try:
        os.makedirs(cwd, exist_ok=True)
        os.chdir(cwd)
        os.environ.update(env)
        if is_for_us(argv):
            raise Become(argv)
        _restore_signals()
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_RUN)


def _restore_signals() -> None:
    """Python ignores these signals, and programs that it starts would inherit that."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def is_for_us(argv: list[str]) -> bool:
    """Whether this interpreter can carry out the command; options that change Python itself need a new one."""
    if argv[0] == "python" and len(argv) > 1:
        return len(argv) > 2 if argv[1] == "-m" else not argv[1].startswith("-")
    return argv[0] == "testbed"


def _carry_out(argv: list[str]) -> int:
    """Do what a new interpreter would do, in one that has imported most of what the command needs."""
    os.closerange(3, 100)
    asked = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path += [folder for folder in asked if folder and folder not in sys.path]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)  # line by line, as a user may watch
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    if argv[0] == "testbed":
        sys.argv = argv
        code: int = importlib.import_module("testbed.cli.main").main(argv[1:])
        return code
    import runpy

    if argv[1] == "-m":
        sys.argv = argv[2:]
        sys.modules.pop(argv[2], None)
        sys.path.insert(0, os.getcwd())
        runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
    else:
        sys.argv = argv[1:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(argv[1])))
        runpy.run_path(argv[1], run_name="__main__")
    return 0


def _set_clock(seconds: float) -> None:
    time.clock_settime(time.CLOCK_REALTIME, seconds)


def _spawn(argv: list[str], **descriptors: int) -> int:
    """Start a program with some of its standard streams replaced."""
    child = os.fork()
    if child == 0:
        for name, descriptor in descriptors.items():
            os.dup2(descriptor, ("stdin", "stdout", "stderr").index(name))
        try:
            os.closerange(3, 100)
            _restore_signals()
            os.execvp(argv[0], argv)
        finally:
            os._exit(_NOT_FOUND)
    return child


def _signal(child: int, request: dict[str, Any]) -> None:
    if request["number"] == signal.SIGKILL:
        _kill_all()
    else:
        try:
            os.killpg(child, request["number"])
        except ProcessLookupError:
            with suppress(ProcessLookupError):  # it has ended
                os.kill(child, request["number"])  # it has not started its session yet


def _kill_all() -> None:
    """Kill every process but this one: that is what -1 means for process 1."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def _reap(child: int) -> None:
    """Wait for orphans that have ended, which become children of process 1; `child` is waited for elsewhere."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid == child:
            return
        os.waitpid(found.si_pid, 0)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _open_port() -> int:
    for _ in range(500):
        for port in Path("/sys/class/virtio-ports").iterdir():
            if (port / "name").read_text().strip() == PORT:
                return os.open(f"/dev/{port.name}", os.O_RDWR)
        time.sleep(0.02)
    raise SystemExit("testbed-guest: the port to the host does not appear")


def power_off() -> NoReturn:
    """End the guest."""
    os.execv("/bin/busybox", ["busybox", "poweroff", "-f"])


def main() -> NoReturn:
    """Serve. A child that carries out a command of the testbed comes back here, with the stack unwound."""
    if os.getpid() != 1 or not Path("/sys/class/virtio-ports").exists():
        raise SystemExit("testbed.guest.init runs as the first process of a guest only")
    try:
        Init(_open_port()).serve()
    except Become as command:
        argv = command.argv
    sys.exit(_carry_out(argv))


if __name__ == "__main__":
    main()
