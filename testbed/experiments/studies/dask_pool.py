"""A Dask cluster as the place where the jobs of a study run. Its workers share no files with this machine.

Dask sees to it that a job whose worker is lost runs on another one. What the workers must have is this package, with
the same code: each is asked before anything runs on it, and whenever it gets a job.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from testbed.backends.registry import find_backend
from testbed.experiments.failed import MAX_KEPT, FailedLogs
from testbed.experiments.grid import real_seconds
from testbed.experiments.measure import RepetitionJob
from testbed.experiments.runner import Result, brought
from testbed.experiments.studies.remote import MAX_BYTES, SentScenario, send, unpack
from testbed.experiments.workers import Done, Failure
from testbed.files import make_directory, results_in, write_json
from testbed.interrupts import interrupts_held
from testbed.progress import Report
from testbed.scenario.schema import Scenario

if TYPE_CHECKING:
    from distributed import Client, Future

REAL_TIME = "realtime"
"""The resource of workers that may run in real time: `dask worker ... --resources realtime=1`."""
_POLL_S = 0.2
_LOOK_S = 1.0
"""So often it is looked which workers there are."""
CONNECT_S = 6.0
_NO_WORKER_S = 30.0
"""So long a study waits when all workers have gone: some may be restarted."""
_PER_THREAD = 2
"""Jobs under way for every thread of a worker: one that runs, and the next one."""


class ClusterError(Exception):
    """The cluster cannot go on with the study. No job is to blame, so this is no error of a job."""


@dataclass
class _Submitted:
    """A job that Dask has."""

    future: Future
    workers: frozenset[str] | None
    """The workers that may run it; None for all."""


@dataclass
class _Workers:
    """What is known of the workers of a cluster."""

    threads: dict[str, int] = field(default_factory=dict)
    """Of those that are there."""
    resources: dict[str, dict[str, float]] = field(default_factory=dict)
    able: dict[str, set[str]] = field(default_factory=dict)
    """Those that have a backend."""
    lacking: dict[str, str] = field(default_factory=dict)
    """What one that does not have a backend says about it."""


class DaskPool:
    """The workers of a cluster."""

    def __init__(self, client: Client, address: str) -> None:
        self._client, self._address = client, address
        self._samples: dict[str, tuple[Scenario, SentScenario, list[bytes]]] = {}
        """One scenario for each code that is needed: its hash is the key."""
        self._workers = _Workers()
        self._files: dict[str, Future] = {}
        self._looked_at = self._seen_at = 0.0
        self._prefix = f"testbed-{uuid.uuid4().hex[:8]}"
        self._number = 0

    # -- the workers -------------------------------------------------------------------------------------------------

    def prepare(self, scenarios: Iterable[Scenario], report: Callable[[str], None]) -> None:
        """See that all workers have the same code, and that some have what each backend needs."""
        samples = {
            (one.backend, one.algorithm.name, one.algorithm.loaded and one.algorithm.loaded.digest): one
            for one in scenarios
        }
        report("asking the workers ...")
        new = False
        for scenario in samples.values():
            sent, contents = send(scenario)
            if sent["code"] not in self._samples:
                self._samples[sent["code"]] = (scenario, sent, [contents[file["digest"]] for file in sent["files"]])
                new = True
        if new:
            self._workers = _Workers()
        self._wait_for_a_worker()
        for scenario in samples.values():
            self._check_backend(scenario.backend)

    def _wait_for_a_worker(self) -> None:
        with self._talking():
            try:
                self._client.wait_for_workers(1, timeout=CONNECT_S)
            except TimeoutError:
                how = f"start one with: dask worker {self._address}"
                raise ClusterError(f"{self._address}: the scheduler has no worker; {how}") from None
        self._look(at_once=True)

    def _check_backend(self, backend: str) -> None:
        able = self._workers.able.get(backend, set())
        if not able:
            lacking = self._workers.lacking.get(backend, f"backend {backend}: none of them has it")
            raise ClusterError(f"{self._address}: no worker can run this: {lacking}")
        if find_backend(backend).real_time and not self._real_time_workers(backend):
            how = f'start one with: dask worker {self._address} --nthreads 1 --resources "{REAL_TIME}=1"'
            raise ClusterError(f"{self._address}: backend {backend} needs a worker for real time; {how}")

    def _real_time_workers(self, backend: str) -> set[str]:
        known = self._workers
        return {one for one in known.able.get(backend, set()) if known.resources[one].get(REAL_TIME, 0) >= 1}

    def _look(self, *, at_once: bool = False) -> None:
        """See which workers there are, and ask those that are new."""
        now = time.monotonic()
        if not at_once and now - self._looked_at < _LOOK_S:
            return
        known = self._workers
        with self._talking():
            known.threads = self._client.nthreads()
            new = [one for one in known.threads if one not in known.resources]
            samples = [(sent, contents) for _, sent, contents in self._samples.values()]
            from testbed.experiments.studies.dask_worker import probe

            found = self._client.run(probe, samples, workers=new, on_error="return") if new else {}
        for worker, said in found.items():
            self._learn(worker, said)
        for able in known.able.values():
            able &= known.threads.keys()
        self._looked_at = time.monotonic()
        if known.threads:
            self._seen_at = self._looked_at
        elif self._looked_at - self._seen_at > _NO_WORKER_S:
            raise ClusterError(f"{self._address}: all workers have gone; what has ended is in the store")

    def _learn(self, worker: str, said: Any) -> None:
        if isinstance(said, OSError):  # it has gone meanwhile
            return
        if isinstance(said, BaseException):
            raise ClusterError(f"worker {worker}: has no such testbed ({type(said).__name__}: {said}); update it")
        self._workers.resources[worker] = said["resources"]
        for (scenario, _, _), answer in zip(self._samples.values(), said["answers"], strict=True):
            self._refuse(worker, answer)
            if "unable" in answer:
                self._workers.lacking[scenario.backend] = f"worker {worker}: {answer['unable']}"
            else:
                self._workers.able.setdefault(scenario.backend, set()).add(worker)

    def _refuse(self, worker: str, answer: dict[str, Any]) -> None:
        if "refused" in answer:
            raise ClusterError(f"worker {worker}: {answer['refused']}; update it")

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Errors of the connection to the scheduler are one error."""
        try:
            yield
        except OSError as error:
            raise self._gone() from error
        except RuntimeError as error:  # the client has been closed, because it could not connect again
            if self._client.status == "running":
                raise
            raise self._gone() from error

    def _gone(self) -> ClusterError:
        return ClusterError(f"{self._address}: the scheduler has gone; what has ended is in the store")

    # -- jobs --------------------------------------------------------------------------------------------------------

    def spread(
        self, jobs: Sequence[RepetitionJob], order: Iterable[int], report: Callable[[dict[int, float], str], None]
    ) -> Generator[Done, None, None]:
        """On all workers. A job is asked for when it is sent; each worker has one more than it can run at a time."""
        waiting, again = iter(order), deque[int]()
        under_way: dict[int, _Submitted] = {}
        ended: SimpleQueue[tuple[int, Future]] = SimpleQueue()
        try:
            while True:
                self._look()
                again += self._take_back(under_way)
                while len(under_way) < _PER_THREAD * max(1, sum(self._workers.threads.values())):
                    index = again.popleft() if again else next(waiting, None)
                    if index is None:
                        break
                    under_way[index] = self._submit_job(jobs[index])
                    under_way[index].future.add_done_callback(lambda future, index=index: ended.put((index, future)))
                if not under_way:
                    return
                report(dict.fromkeys(under_way, 0.0), f"{len(self._workers.threads)} workers")
                try:
                    index, future = ended.get(timeout=_POLL_S)
                except Empty:
                    continue
                if index not in under_way or under_way[index].future is not future:
                    continue  # it was taken back
                done = self._done(index, jobs[index], future)
                del under_way[index]
                if done is None:
                    again.append(index)
                else:
                    yield done
        finally:
            self._cancel([one.future for one in under_way.values()])

    def _take_back(self, under_way: dict[int, _Submitted]) -> list[int]:
        """Jobs that wait for workers which have all gone."""
        there = self._workers.threads.keys()
        stuck = [index for index, one in under_way.items() if one.workers is not None and not one.workers & there]
        self._cancel([under_way.pop(index).future for index in stuck])
        return stuck

    def _submit_job(self, job: RepetitionJob) -> _Submitted:
        assert job.folder is None, "a study logs failed repetitions only"
        failed = job.failed.name if job.failed is not None and _has_room(job.failed) else None
        return self._submit(job.scenario, {"what": "repetition", "repetition": job.repetition, "failed": failed})

    def _submit(self, scenario: Scenario, request: dict[str, Any], **options: Any) -> _Submitted:
        from testbed.experiments.studies.dask_worker import file_content, run_on_worker

        sent, contents = send(scenario)
        self._check_backend(scenario.backend)
        able = self._workers.able[scenario.backend]
        only = None if able >= self._workers.threads.keys() else frozenset(able)
        self._number += 1
        key = f"{self._prefix}-{self._number}"  # never used again, so no job is ever taken for another
        with self._talking():
            for digest, content in contents.items():
                if digest not in self._files:
                    name = f"{self._prefix}-file-{digest}"
                    self._files[digest] = self._client.submit(file_content, content, key=name)
            files = [self._files[file["digest"]] for file in sent["files"]]
            where = None if only is None else sorted(only)
            whole = {**request, "scenario": sent}
            return _Submitted(self._client.submit(run_on_worker, whole, files, key=key, workers=where, **options), only)

    def _done(self, index: int, job: RepetitionJob, future: Future) -> Done | None:
        """A job that has ended; None if it is to be sent again."""
        answer = self._answer(future)
        if answer is None:
            return None
        if "failure" in answer:
            return Done(index, Failure(**answer["failure"]), answer.get("seconds"))
        outcome = answer["outcome"]
        if answer["has_log"] and job.failed is not None:
            path = job.failed.out / f"{job.failed.name}-rep-{job.repetition:03d}"
            if answer["log"] is None:
                _note(f"worker {answer['worker']}: the log of a failed repetition stays there, for it is too large")
            elif _has_room(job.failed):
                with results_in(path):
                    unpack(answer["log"], path)
                outcome["log"] = str(path)
        return Done(index, outcome, answer["seconds"])

    def _answer(self, future: Future) -> dict[str, Any] | None:
        """What a worker has answered; None if it is not able to run the job, and another one may be."""
        from distributed import KilledWorker

        status = future.status
        if status in ("cancelled", "lost"):
            raise self._gone()
        with self._talking():
            error = future.exception() if status == "error" else None
            if error is None:
                answer: dict[str, Any] = future.result()
        if isinstance(error, KilledWorker):
            times = error.allowed_failures + 1
            text = f"{times} workers were lost that ran it, the last was {error.last_worker.address}"
            return {"failure": {"text": text, "is_lost": True}}
        if error is not None:
            raise ClusterError(
                f"a worker could not run a job ({type(error).__name__}: {error}); does it have this code?"
            )
        self._refuse(answer["worker"], answer)
        if "unable" in answer:  # it has come later than the others
            self._look(at_once=True)
            return None
        return answer

    def _cancel(self, futures: list[Future]) -> None:
        with interrupts_held(), suppress(OSError, RuntimeError, ClusterError):
            self._client.cancel(futures, force=True)

    # -- real time ---------------------------------------------------------------------------------------------------

    def run(self, scenario: Scenario, first: int, out: Path, report: Report) -> Result:
        """On a worker that has the resource for it, one run at a time. Its directory comes here, into `out`."""
        began, expected = time.monotonic(), max(1.0, scenario.repeat * real_seconds(scenario))
        while True:
            self._look(at_once=True)
            submitted = self._submit(scenario, {"what": "run", "first": first}, resources={REAL_TIME: 1})
            future = submitted.future
            try:
                while not future.done():
                    share = min(0.99, (time.monotonic() - began) / expected)
                    report(share, f"{scenario.name}: {scenario.repeat} repetitions in real time")
                    self._look()
                    self._check_backend(scenario.backend)
                    time.sleep(_POLL_S)
                answer = self._answer(future)
            finally:
                self._cancel([future])
            if answer is not None:
                break
        if "failure" in answer:
            raise Failure(**answer["failure"]).error()
        return _brought(answer, out)


def _has_room(logs: FailedLogs) -> bool:
    return len(list(logs.out.glob(f"{logs.name}-rep-*"))) < MAX_KEPT


def _brought(answer: dict[str, Any], runs: Path) -> Result:
    """A run that was made on a worker: its directory is here now."""
    path, summary = runs / answer["name"], answer["summary"]
    with results_in(path):
        if answer["directory"] is not None:
            unpack(answer["directory"], path)
        else:
            make_directory(path, exist_ok=True)
            size = f"{MAX_BYTES // 1_000_000} MB"
            _note(
                f"worker {answer['worker']}: only the summary of {answer['name']} comes back: it has more than {size}"
            )
        write_json(path / "summary.json", summary)
        return brought(path)


def _note(line: str) -> None:
    print(f"testbed: {line}", file=sys.stderr)
