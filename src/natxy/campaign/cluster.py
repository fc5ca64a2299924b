# SPDX-License-Identifier: Apache-2.0
"""Has jobs carried out by Dask's workers, one for each testbed; only this file knows Dask.

A worker has one unit of the resource `testbed:NAME`, so that it never has two jobs at a time. Dask knows a name only as
the address of the worker that has it now, but a resource also as that of one which is started later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

import dask
from distributed import Client, Future, Scheduler, Security, SpecCluster, Worker, get_worker

from natxy.campaign.attempt.task import Outcome, Task
from natxy.campaign.certificates import AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE
from natxy.campaign.jobs.queue import Ending
from natxy.errors import PlanError
from natxy.system.temporary_folder import temporary_folder

CarryOut = Callable[[Task, Callable[[], bool]], Outcome]

_LOOK_S: Final = 0.05
_ANSWER_S: Final = 10
_WORKERS_LOOK_S: Final = 5.0
# A killed worker is started again before that, or another testbed has its job.
_WORKER_RETURNS_S: Final = 60.0
# Workers that look after themselves take time from what is measured on the same machine: a third of a core for 100.
_QUIET: Final = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.work-stealing": False,
}

# The jobs that workers in this process carry out at the moment.
_under_way: set[str] = set()


class Workers:
    """Passes tasks to workers, and returns their outcomes as they come."""

    def __init__(self, client: Client, carry_out: CarryOut, *, may_vanish: bool) -> None:
        self._client = client
        self._carry_out = carry_out
        self._may_vanish = may_vanish
        self._futures: dict[str, tuple[str, Future]] = {}
        self._finished: SimpleQueue[Future] = SimpleQueue()
        self._missing_since_s: dict[str, float] = {}

    def submit(self, testbed: str, task: Task) -> None:
        """Has a testbed's worker carry out a task; the testbed has no other one."""
        future = self._client.submit(
            partial(_on_worker, self._carry_out), task, resources=_resource(testbed), pure=False, retries=0
        )
        self._futures[future.key] = testbed, future
        self._missing_since_s.pop(testbed, None)
        future.add_done_callback(self._finished.put)

    def next(self) -> tuple[str, Outcome]:
        """Waits for an outcome; returns it with its testbed. Raises PlanError when the scheduler is lost."""
        while True:
            try:
                future = self._finished.get(timeout=_WORKERS_LOOK_S if self._may_vanish else None)
            except Empty:
                if testbed := self._without_worker():
                    return testbed, Outcome(Ending.FAILED, None, f"no worker for {_WORKER_RETURNS_S:g} s")
                continue
            # One that was given up comes too.
            if found := self._futures.pop(future.key, None):
                return found[0], _outcome(future)

    def _without_worker(self) -> str | None:
        """Gives up a task whose testbed has had no worker for too long; returns the testbed."""
        try:
            offered = _offered(self._client)
        except OSError:
            # Dask connects again, or cancels all tasks.
            return None
        now_s = time.monotonic()
        for key, (testbed, future) in self._futures.items():
            if offered.issuperset(_resource(testbed)):
                self._missing_since_s.pop(testbed, None)
            elif now_s - self._missing_since_s.setdefault(testbed, now_s) >= _WORKER_RETURNS_S:
                del self._futures[key]
                self._client.cancel([future], force=True)
                return testbed
        return None

    def cancel(self) -> None:
        """Asks the workers to end their jobs, and waits for those in this process."""
        # Without its scheduler, Dask has cancelled them already.
        if self._client.status == "running":
            self._client.cancel([future for _, future in self._futures.values()], force=True)
        while _under_way:
            time.sleep(_LOOK_S)


@contextmanager
def workers(
    testbeds: Sequence[str], carry_out: CarryOut, scheduler: str | None = None, certificates: Path | None = None
) -> Iterator[Workers]:
    """Yields the workers of the testbeds: those of a scheduler at an address, or else threads of this process.

    Jobs that are under way when the context ends are ended too. Raises PlanError when a testbed has no worker.
    """
    for name in ("distributed", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with dask.config.set(_QUIET):
        if scheduler is None:
            with (
                temporary_folder("natxy-campaign-") as scratch,
                _own(testbeds, scratch) as cluster,
                Client(cluster) as client,
            ):
                yield from _used(client, carry_out, may_vanish=False)
        else:
            try:
                client = Client(scheduler, timeout=_ANSWER_S, security=_security(certificates))
            except (OSError, TimeoutError, ValueError) as error:
                raise PlanError(f"--scheduler {scheduler}: no scheduler of Dask answers there: {error}") from error
            with client:
                _check_workers(client, testbeds)
                yield from _used(client, carry_out, may_vanish=True)


def _used(client: Client, carry_out: CarryOut, *, may_vanish: bool) -> Iterator[Workers]:
    found = Workers(client, carry_out, may_vanish=may_vanish)
    try:
        yield found
    finally:
        found.cancel()


def _security(certificates: Path | None) -> Security | None:
    if certificates is None:
        return None
    files = [str(certificates / name) for name in (AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE)]
    authority, certificate, key = files
    return Security(tls_ca_file=authority, tls_client_cert=certificate, tls_client_key=key, require_encryption=True)


def _resource(testbed: str) -> dict[str, float]:
    return {f"testbed:{testbed}": 1}


class _Silent:
    """Opens no HTTP port, by which Dask tells every local user about itself, with a dashboard or without."""

    def start_http_server(self, *_: object, **__: object) -> None:
        """Does nothing."""


class _SilentScheduler(_Silent, Scheduler):  # type: ignore[misc]
    pass


class _SilentWorker(_Silent, Worker):  # type: ignore[misc]
    pass


def _own(testbeds: Sequence[str], scratch: Path) -> SpecCluster:
    within = {"protocol": "inproc://", "dashboard": False}
    options = within | {"nthreads": 1, "memory_limit": 0, "local_directory": str(scratch)}
    own = {name: options | {"resources": _resource(name)} for name in testbeds}
    return SpecCluster(
        workers={name: {"cls": _SilentWorker, "options": each} for name, each in own.items()},
        scheduler={"cls": _SilentScheduler, "options": within},
        silence_logs=logging.CRITICAL,
    )


def _outcome(future: Future) -> Outcome:
    """Returns what a worker returned, or why it did not. Raises PlanError when the scheduler is lost."""
    if future.status == "finished":
        found: Outcome = future.result()
        return found
    if future.status in ("cancelled", "lost"):
        raise PlanError("Dask's scheduler was lost; start it again, then the same command goes on")
    return Outcome(Ending.FAILED, None, f"the worker failed: {future.exception()}")


def _offered(client: Client) -> set[str]:
    """Returns the resources of the workers that there are."""
    found: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return {name for worker in found.values() for name in worker["resources"]}


def _check_workers(client: Client, testbeds: Sequence[str]) -> None:
    offered = _offered(client)
    if missing := [testbed for testbed in testbeds if not offered.issuperset(_resource(testbed))]:
        raise PlanError(
            f"no worker of the scheduler is for the testbed {missing[0]}: start one on its tester by `dask worker "
            f"ADDRESS --nthreads 1 --resources testbed:{missing[0]}=1 --no-nanny`"
        )


def _on_worker(carry_out: CarryOut, task: Task) -> Outcome:
    worker = get_worker()
    key = worker.get_current_task()
    own = f"{threading.get_ident()}-{key}"

    def wanted() -> bool:
        state = worker.state.tasks.get(key)
        return state is not None and state.state != "cancelled"

    _under_way.add(own)
    try:
        return carry_out(task, wanted)
    finally:
        _under_way.discard(own)
