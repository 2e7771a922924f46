"""A process that runs jobs which another process sends it, one after the other: `python -m ... DESCRIPTOR PARENT`.

It runs them on its main thread, where signals and child processes work as everywhere else, and it keeps what it has
loaded, such as ns-3, for the next job. It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from testbed.backends.registry import usable_backend
from testbed.errors import BackendError, MachineError, ScenarioError
from testbed.experiments.failed import FailedLogs
from testbed.experiments.measure import RepetitionJob, run_job
from testbed.experiments.studies.host_lock import alone_on_this_host
from testbed.experiments.studies.remote import (
    SentScenario,
    code_in_words,
    code_of,
    pack,
    receive,
    with_origins,
)
from testbed.experiments.workers import Failure, attempt
from testbed.interrupts import leave_interrupts_to_parent
from testbed.processes import die_with_parent
from testbed.scenario.loader import write_scenario
from testbed.scenario.schema import Scenario

_POLL_S = 0.2
_TERMINATION_S = 20.0
"""So long a run in real time may take to end its stations."""
_RAN_TO_ITS_END = (0, 1, 4)
"""The exit codes of a run with a summary: all well, failed, inconclusive."""

Answer = dict[str, Any]


def serve(connection: Connection) -> None:
    """Answer requests until the other end is closed."""
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        connection.send(answer(request, connection))


def answer(request: dict[str, Any], connection: Connection) -> Answer:
    """Do what a request asks for. Besides results, an answer has one of these keys:

    `refused`: this machine has other code; `unable`: it lacks what the backend needs; `failure`: the job failed.
    """
    sent, place = request["scenario"], Path(request["place"])
    try:
        scenario, code = _received(sent["data"], str(place))
    except ScenarioError as error:
        return {"refused": f"refuses the scenario ({error}); it has {code_in_words()}"}
    try:
        backend = usable_backend(scenario.backend)
    except BackendError as error:
        return {"unable": str(error)}
    if code != sent["code"]:
        return {"refused": f"has other code than this machine ({code_in_words()})"}
    if request["what"] == "probe":
        return {}
    try:
        if request["what"] == "run":
            return _run(request, scenario, connection)
        backend.prepare(lambda words: None)
        return _repetition(request, scenario, connection)
    except (OSError, MemoryError) as error:
        lack = MachineError.of(error)
        return {"failure": {"text": str(lack), "exit_code": lack.exit_code, "trace": ""}}


@lru_cache(16)
def _received(data: str, place: str) -> tuple[Scenario, str]:
    """A scenario and the code of this machine for it. Repetitions of one point come one after the other."""
    scenario = receive(data, Path(place))
    return scenario, code_of(scenario)


def _repetition(request: dict[str, Any], scenario: Scenario, connection: Connection) -> Answer:
    """One repetition in virtual time; with its log, if it fails and that is wanted."""
    out = Path(request["folder"], f"failed-{uuid.uuid4().hex}")
    logs = FailedLogs(out, request["failed"]) if request["failed"] is not None else None
    began = time.perf_counter()
    try:
        value = attempt(run_job, RepetitionJob(scenario, request["repetition"], failed=logs), connection)
        seconds = time.perf_counter() - began
        if isinstance(value, Failure):
            return {"failure": _failure(value, request), "seconds": seconds}
        log = value.pop("log", None)
        if "error" in value:
            value["error"] = with_origins(value["error"], request["scenario"], Path(request["place"]))
        packed = None if log is None else pack(Path(log))
        return {"outcome": value, "seconds": seconds, "has_log": log is not None, "log": packed}
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _failure(failure: Failure, request: dict[str, Any]) -> dict[str, Any]:
    sent: SentScenario = request["scenario"]
    text, trace = (with_origins(words, sent, Path(request["place"])) for words in (failure.text, failure.trace))
    return {"text": text, "exit_code": failure.exit_code, "trace": trace}


# -- real time --------------------------------------------------------------------------------------------------------


def _run(request: dict[str, Any], scenario: Scenario, connection: Connection) -> Answer:
    """All repetitions in real time, by a `testbed run` of its own, when nothing else runs in real time here."""
    with alone_on_this_host(), TemporaryDirectory(prefix="run-", dir=request["folder"]) as folder:
        given, runs, printed, errors = (Path(folder, name) for name in ("given", "runs", "printed", "errors"))
        given.mkdir()
        write_scenario(scenario, given)
        command = ["run", str(given / "scenario.yaml"), "--out", str(runs), "--json"]
        code = _testbed([*command, "--first", str(request["first"])], printed, errors, connection)
        if code not in _RAN_TO_ITS_END or not printed.stat().st_size:
            lines = errors.read_text(errors="replace").splitlines() or [f"its run ended with exit code {code}"]
            text = with_origins(lines[-1].removeprefix("testbed: "), request["scenario"], given)
            return {"failure": {"text": text, "exit_code": code if code > 0 else 1, "trace": ""}}
        summary = json.loads(printed.read_bytes())
        path = Path(summary.pop("run_dir"))
        return {"name": path.name, "summary": summary, "directory": pack(path)}


def _testbed(arguments: list[str], printed: Path, errors: Path, connection: Connection) -> int:
    """Run the command and wait for it. If the other end of the connection is closed meanwhile, the run is ended."""
    parent = os.getpid()

    def begin() -> None:  # in the new process; this one has a single thread
        die_with_parent(parent)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    with printed.open("wb") as out, errors.open("wb") as err:
        line = [sys.executable, "-m", "testbed.cli", *arguments]
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=begin)
    while process.poll() is None:
        if connection.poll(_POLL_S):  # nothing is sent during a job, so this is the end of the connection
            process.terminate()
            try:
                process.wait(_TERMINATION_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            sys.exit(0)
    return process.returncode


if __name__ == "__main__":
    leave_interrupts_to_parent()
    die_with_parent(int(sys.argv[2]))
    serve(Connection(int(sys.argv[1])))
