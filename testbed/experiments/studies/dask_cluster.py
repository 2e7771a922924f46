"""Connects to a Dask cluster that is up, or starts one on this machine."""

from __future__ import annotations

import asyncio
import logging
import re
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from testbed.errors import BackendError, InputError
from testbed.experiments.studies.dask_pool import CONNECT_S, REAL_TIME, ClusterError, DaskPool
from testbed.experiments.studies.pool import Pool
from testbed.extras import need
from testbed.interrupts import interrupts_held

if TYPE_CHECKING:
    from distributed import Client

_CLOSE_S = 5.0
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):[0-9]{1,5}")
_LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")


@contextmanager
def cluster(scheduler: str | None, workers: int | None) -> Iterator[Pool]:
    """The cluster of a scheduler, or one of so many processes on this machine, which ends with this context."""
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        allowed = "the address of a Dask scheduler, such as tcp://HOST:8786"
        raise InputError(f"--scheduler: found {scheduler!r}; allowed: {allowed}")
    need("distributed", "--workers" if scheduler is None else f"--scheduler {scheduler}")
    with ExitStack() as opened:
        opened.enter_context(_quiet())
        address = scheduler if scheduler is not None else opened.enter_context(_local_cluster(workers or 1))
        client = opened.enter_context(_connected(address))
        try:
            yield DaskPool(client, address)
        except ClusterError as error:
            raise BackendError(str(error)) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own messages stay off the terminal: what concerns the user, we say. And it gives up in seconds."""
    import dask

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    import distributed  # noqa: F401  (it sets the levels of its loggers)

    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings(), dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_S}s"}):
            warnings.filterwarnings("ignore", module=r"(distributed|dask)\b")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    """A cluster of processes on this machine, reached from this machine only."""
    import dask
    from distributed import LocalCluster

    # The scheduler takes its folder from the settings, the workers theirs from an argument.
    with TemporaryDirectory(prefix="testbed-dask-") as folder, dask.config.set({"temporary-directory": folder}):
        made = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # its HTTP server cannot be left out: on any port, and without pages
            scheduler_kwargs={"dashboard": False},
            dashboard=False,
            memory_limit=0,  # jobs run in processes of their own, whose memory Dask does not see
            silence_logs=logging.CRITICAL + 1,
            local_directory=folder,
            resources={REAL_TIME: 1},
            preload=["testbed.experiments.studies.dask_preload"],
        )
        try:
            yield made.scheduler_address
        finally:
            with interrupts_held():
                made.close(timeout=_CLOSE_S)


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    from distributed import Client

    no_answer = f"{address}: no Dask scheduler answers there; start one with: dask scheduler --host HOST --port 8786"
    with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop of its own in this one
        is_there = thread.submit(asyncio.run, _answers(address)).result()
    if not is_there:
        raise BackendError(no_answer)
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False, name="testbed")
    except OSError:
        raise BackendError(no_answer) from None
    try:
        yield client
    finally:
        with interrupts_held(), suppress(OSError):  # a time-out is one
            client.close(timeout=_CLOSE_S)


async def _answers(address: str) -> bool:
    """Whether a Dask process answers at an address. A `Client` would wait very long for one of another kind."""
    from distributed.comm import connect
    from distributed.security import Security

    try:
        options = Security().get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, timeout=CONNECT_S, **options), CONNECT_S)
    except Exception:  # noqa: BLE001  (what another kind of server sends can be read as anything)
        return False
    comm.abort()
    return True
