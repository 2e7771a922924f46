"""What a Dask worker does for a study: it has job servers run the jobs, and says what it can run.

Dask runs tasks in threads beside the worker's own, where no signal can be handled, and an abort of a library would end
the worker. So every job runs in a process of its own kind, see `job_server.py`. All of them end with the worker.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker

from testbed.experiments.studies.job_process import JobProcesses, NoLongerWanted, ServerLost
from testbed.experiments.studies.remote import SentScenario, code_in_words, place_files

_SERVERS = JobProcesses()


def file_content(content: bytes) -> bytes:
    """A file, as a task: Dask brings its result to every worker that needs it, and makes it again if it is lost."""
    return content


def run_on_worker(request: dict[str, Any], contents: list[bytes]) -> dict[str, Any]:
    """A task: answer a request to `job_server.py`, with the contents of the files of its scenario."""
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        """Not if the client has cancelled the task, or has gone. Dask itself lets a task that runs come to its end."""
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    try:
        answer = _SERVERS.ask(_placed(request, contents, worker), is_wanted)
    except NoLongerWanted:
        answer = {"failure": {"text": "no longer wanted"}}
    except ServerLost as lost:
        answer = {"failure": {"text": f"its worker process {lost}", "is_lost": True}}
    return {**answer, "worker": worker.address}


async def probe(scenarios: list[tuple[SentScenario, list[bytes]]], dask_worker: Worker) -> dict[str, Any]:
    """What this worker says to each of these scenarios, and its resources."""
    answers = []
    for sent, contents in scenarios:
        request = _placed({"what": "probe", "scenario": sent}, contents, dask_worker)
        try:
            answers.append(await asyncio.to_thread(_SERVERS.ask, request, lambda: True))
        except ServerLost as lost:
            answers.append({"refused": f"cannot run jobs: its job server {lost}; it has {code_in_words()}"})
    return {"answers": answers, "resources": dict(dask_worker.state.total_resources)}


def _placed(request: dict[str, Any], contents: list[bytes], worker: Worker) -> dict[str, Any]:
    """A request with its files on this machine. They are in the worker's own folder, which Dask removes."""
    folder = Path(worker.local_directory)
    return {**request, "folder": str(folder), "place": str(place_files(request["scenario"], contents, folder))}
