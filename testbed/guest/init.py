"""The guest's first process: takes commands from the host one after the other and sends back what they print.

It says `ready` at once and then, while nobody asks for anything, imports what the testbed's commands need. Imports take
a guest without KVM ten times as long as the host, so `testbed ...`, `python FILE ...` and `python -m MODULE ...` do not
start a new interpreter: the agent forks, and the child goes on from there. After each command what it left is killed.

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
    "testbed.cli.main", "testbed.scenario.schema", "testbed.experiments.runner", "testbed.cli.report", "testbed.backends.hwsim.backend", "testbed.backends.stations.__main__",
    "testbed.backends.hwsim.self_test", "asyncio", "testbed.backends.sim.simulation", "testbed.backends.mininet_wifi.network", "mn_wifi.net", "mn_wifi.cli",
)  # fmt: skip
"""Imported ahead, in this order; one that is missing is left out."""
_RNDRESEEDCRNG = 0x5207  # linux/random.h
_CANNOT_RUN, _NOT_FOUND = 126, 127  # the shell's exit codes


class Become(BaseException):
    """Raised in a forked child: leave the agent's stack and be this command."""

    def __init__(self, argv: list[str]) -> None:
        self.argv = argv


class Agent:
    """The conversation with the host."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._frames = Frames()
        self._cold = list(WARM)
        self._typed = -1

    def serve(self) -> NoReturn:
        """Answer requests until the host goes away."""
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
        """Set the clock, and make this guest draw other random numbers than all that began with the same snapshot."""
        _set_clock(time)
        with open("/dev/urandom", "wb") as generator:
            generator.write(bytes.fromhex(seed))
            fcntl.ioctl(generator, _RNDRESEEDCRNG)
        self._send(message(error=None))

    def _do_signal(self, number: int) -> None:
        """The command it was meant for has ended."""

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
        """Pass on what the command prints until it has ended and all it started is gone; returns its exit code."""
        poll = select.poll()
        ended = os.pidfd_open(child)
        for descriptor in (ended, self._port, *outputs):
            poll.register(descriptor, select.POLLIN)
        status = None
        while status is None or outputs:
            self._hear(child)  # first what came together with the request
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
                    _kill_all()  # which also closes the other ends of the pipes
            _reap(child)
        os.close(ended)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _hear(self, child: int) -> None:
        """What the host has said meanwhile: something was typed, or there is a signal for the command."""
        while (heard := self._frames.next()) is not None:
            kind, body = heard
            if kind == IN:
                self._type(body)
            else:
                _signal(child, json.loads(body))

    def _type(self, data: bytes) -> None:
        """Give the command what was typed, or, if that is nothing, the end of it."""
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
        """Import what commands will need, until there is nothing left or something else to do."""
        gc.disable()  # nothing that imports make is garbage
        while self._cold and not is_enough():
            try:
                importlib.import_module(self._cold.pop(0))
            except ImportError:
                continue
        if not self._cold:
            gc.freeze()  # children share these pages for as long as nobody writes to them
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
            power_off()  # the host has gone
        self._frames.feed(data)


def _begin(argv: list[str], cwd: str, env: dict[str, str], read: int, out: int, err: int) -> NoReturn:
    """In the child: become the command, in a session of its own."""
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
    """Python ignores these, and other programs would inherit that."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def is_for_us(argv: list[str]) -> bool:
    """Whether this interpreter can become the command; options that change Python itself need a new one."""
    if argv[0] == "python" and len(argv) > 1:
        return len(argv) > 2 if argv[1] == "-m" else not argv[1].startswith("-")
    return argv[0] == "testbed"


def _be(argv: list[str]) -> int:
    """What the command would do, in an interpreter that has imported most of what it needs."""
    os.closerange(3, 100)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)  # lines as they come: somebody may watch
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    if argv[0] == "testbed":
        from testbed.cli.main import main

        sys.argv = argv
        return main(argv[1:])
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
                os.kill(child, request["number"])  # it has not made its session yet


def _kill_all() -> None:
    """Kill every process but this one, which is what -1 means to process 1."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def _reap(child: int) -> None:
    """Orphans become children of process 1, which must wait for each that ends; `child` is waited for apart."""
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
    raise SystemExit("testbed-guest: the host's port is not there")


def power_off() -> NoReturn:
    """End the guest."""
    os.execv("/bin/busybox", ["busybox", "poweroff", "-f"])


def main() -> NoReturn:
    """Serve; a child that is to become a command of the testbed comes back here, free of the agent's stack."""
    if os.getpid() != 1 or not Path("/sys/class/virtio-ports").exists():
        raise SystemExit("testbed.guest.init runs as the first process of a guest only")
    try:
        Agent(_open_port()).serve()
    except Become as command:
        argv = command.argv
    sys.exit(_be(argv))


if __name__ == "__main__":
    main()
