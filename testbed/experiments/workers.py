"""Jobs spread over the cores: worker processes that take one job after the other.

A worker that exits in the middle of a job, for any reason, loses only that job; another worker takes its place. If a
library ended it, and wrote why to `processes.last_words_fd`, that is the reason given. All workers end with this
process, however it ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from testbed import processes
from testbed.errors import MachineError, TestbedError
from testbed.interrupts import interrupts_held, leave_interrupts_to_parent
from testbed.processes import die_with_parent
from testbed.runtime.breach import AgentError

_CONTEXT = multiprocessing.get_context("fork")
_POLL_S = 0.2
_EXIT_TIMEOUT_S = 5.0
_MAX_LAST_WORDS = 2000

Work = Callable[[Any, Callable[[float, str], None]], Any]
"""Does a job; takes the job and a function to report the share that is done and a few words."""


class JobFailed(TestbedError):
    """Raised for a `Failure`. The exception of the worker is not used: some exceptions cannot be pickled."""

    def __init__(self, text: str, exit_code: int, trace: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.trace = trace


@dataclass(frozen=True)
class Failure:
    """A job without a result: it raised an exception, or its worker process exited."""

    text: str
    exit_code: int = 1
    """What the command ends with."""
    trace: str = ""
    """The traceback as Python prints it; empty for an error that its text explains."""
    is_lost: bool = False
    """Whether the worker process exited."""

    def of(self, job: str) -> Failure:
        """The same, with the job named in its text."""
        return replace(self, text=f"{job}: {self.text}")

    def error(self) -> JobFailed:
        """The exception to raise for it in this process."""
        return JobFailed(self.text, self.exit_code, self.trace)


@dataclass(frozen=True)
class Done:
    """A job that has ended."""

    index: int
    """Its place in the list of jobs."""
    result: Any
    """What it returned, or a `Failure`."""
    seconds: float | None = None
    """How long it took; None if its worker process exited."""


@dataclass(frozen=True)
class _Progress:
    """What a worker sends while its job runs."""

    share: float = 0.0
    words: str = ""


@dataclass(frozen=True)
class _Result:
    """What a worker sends when its job has ended."""

    value: Any
    seconds: float


class Worker:
    """One process, and the job that it is working on."""

    def __init__(self, work: Work, jobs: Sequence[Any]) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self._last_words = os.memfd_create("last words")  # a file without a name: none is left behind
        self.job: int | None = None
        self.progress = _Progress()
        arguments = (work, jobs, theirs, self.connection, self._last_words, os.getpid())
        self.process: BaseProcess = _CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def ending(self) -> str:
        """Why the process has ended: in its own last words, or by its exit code."""
        self.process.join(_EXIT_TIMEOUT_S)
        said = os.pread(self._last_words, _MAX_LAST_WORDS, 0).decode(errors="replace").strip()
        return said or f"its worker process {ending(self.process.exitcode)}"

    def close(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        os.close(self._last_words)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def spread(
    work: Work, jobs: Sequence[Any], order: Iterable[int], report: Callable[[dict[int, float], str], None]
) -> Generator[Done, None, None]:
    """Do the jobs that `order` names, in that order, as many at a time as there are cores; yields them as they end.

    The next of the order is asked for when a worker is free, and after the caller has taken the result before it.
    `report` takes the share that is done of each job in progress, and the words of one of them. Closing the iterator
    ends the workers: a caller must do so if it stops early or is interrupted.
    """
    waiting = iter(order)
    workers: list[Worker] = []
    try:
        for _, index in zip(range(min(cores(), len(jobs))), waiting, strict=False):
            with interrupts_held():  # so that every worker that was started is known
                workers.append(Worker(work, jobs))
            _assign(workers[-1], index)
        while busy := [worker for worker in workers if worker.job is not None]:
            shares = {worker.job: worker.progress.share for worker in busy if worker.job is not None}
            report(shares, busy[-1].progress.words)
            for connection in wait([worker.connection for worker in busy], _POLL_S):
                worker = next(one for one in busy if one.connection is connection)
                done = _read(worker)
                if done is None:
                    continue
                worker.job = None
                is_lost = isinstance(done.result, Failure) and done.result.is_lost
                if is_lost:
                    with interrupts_held():
                        worker.close()
                        workers.remove(worker)
                yield done  # the caller has the result before the next job is chosen
                following = next(waiting, None)
                if following is None:
                    continue
                if is_lost:
                    with interrupts_held():
                        workers.append(worker := Worker(work, jobs))
                _assign(worker, following)
    finally:
        with interrupts_held():  # so that none is left
            for worker in workers:
                worker.process.kill()
            for worker in workers:
                worker.close()


def _assign(worker: Worker, index: int) -> None:
    worker.job, worker.progress = index, _Progress()
    with suppress(OSError):  # the worker has exited, which is noticed when its answer is read
        worker.connection.send(index)


def _read(worker: Worker) -> Done | None:
    """Read what a worker has sent; None if its job goes on."""
    assert worker.job is not None
    try:
        received = worker.connection.recv()
    except (EOFError, OSError):
        return Done(worker.job, Failure(worker.ending(), is_lost=True))
    if isinstance(received, _Progress):
        worker.progress = received
        return None
    assert isinstance(received, _Result)
    return Done(worker.job, received.value, received.seconds)


def ending(exit_code: int | None) -> str:
    """How a process ended, in words."""
    if exit_code is None:
        return "closed its connection"
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    hint = "; is there enough memory?" if -exit_code == signal.SIGKILL else ""
    return f"was killed by signal {-exit_code}{hint}"


def _serve(
    work: Work, jobs: Sequence[Any], connection: Connection, parents_end: Connection, last_words: int, parent: int
) -> None:
    """The worker process. It has the jobs from the fork."""
    leave_interrupts_to_parent()
    die_with_parent(parent)
    processes.last_words_fd = last_words
    parents_end.close()
    while True:
        try:
            index = connection.recv()
        except EOFError:
            return
        connection.send(_attempt(work, jobs[index], connection))


def _attempt(work: Work, job: Any, connection: Connection) -> _Result:
    began = time.perf_counter()
    value = attempt(work, job, connection)
    return _Result(value, time.perf_counter() - began)


def attempt(work: Work, job: Any, connection: Connection) -> Any:
    """Do a job; returns what it returns, or a `Failure`. Progress goes to the connection."""

    def report(share: float, words: str) -> None:
        connection.send(_Progress(share, words))

    try:
        return work(job, report)
    except AgentError as error:
        return Failure(str(error), error.exit_code, _trace(error))
    except TestbedError as error:
        return Failure(str(error), error.exit_code)
    except (OSError, MemoryError) as error:
        lack = MachineError.of(error)
        return Failure(str(lack), lack.exit_code)
    except Exception as error:  # noqa: BLE001  (the parent reports it, with the traceback)
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"a worker process failed: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        return Failure(text, 1, _trace(error))


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))
