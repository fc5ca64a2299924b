# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.campaign.attempt.task import Outcome, Task
from natxy.campaign.certificates import AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE, make_certificates
from natxy.campaign.jobs.queue import Ending
from natxy.errors import PlanError
from tests.support.campaign_tasks import until_asked
from tests.support.command import HANG_S
from tests.support.timing import wait_until

# Dask brings it.
psutil = pytest.importorskip("psutil", reason="dask is not installed")
cluster = pytest.importorskip("natxy.campaign.cluster", reason="dask is not installed")


REFUSED = r"timed out|reset|closed|SSL|TLS|certificate"


def task(key: str) -> Task:
    return Task(key, Path("/nowhere"), "")


# Dask passes functions by their names.
both, release, begun, ended = threading.Barrier(2), threading.Event(), threading.Event(), threading.Event()


def carry_out(given: Task, wanted: Callable[[], bool]) -> Outcome:
    match given.key:
        case "first":
            both.wait(HANG_S)
            assert release.wait(HANG_S)
        case "second":
            both.wait(HANG_S)
        case "bug":
            raise ZeroDivisionError("oh")
        case "long":
            begun.set()
            while wanted():
                time.sleep(0.01)
            ended.set()
    assert wanted() != (given.key == "long")
    return Outcome(Ending.DONE, 0, given.key)


def test_workers_of_this_process_do_not_listen() -> None:
    with cluster.workers(["a"], carry_out):
        assert [each for each in psutil.Process().net_connections() if each.status == psutil.CONN_LISTEN] == []


def test_each_testbed_has_a_worker_and_an_outcome_comes_as_soon_as_it_is_there() -> None:
    with cluster.workers(["a", "b"], carry_out) as used:
        used.submit("a", task("first"))
        used.submit("b", task("second"))
        assert used.next() == ("b", Outcome(Ending.DONE, 0, "second"))
        used.submit("b", task("third"))
        assert used.next() == ("b", Outcome(Ending.DONE, 0, "third"))
        release.set()
        assert used.next() == ("a", Outcome(Ending.DONE, 0, "first"))


def test_jobs_end_before_the_workers_do_and_a_bug_fails_one_job() -> None:
    with cluster.workers(["a", "b"], carry_out) as used:
        used.submit("a", task("long"))
        used.submit("b", task("bug"))
        assert used.next() == ("b", Outcome(Ending.FAILED, None, "the worker failed: oh"))
        assert begun.wait(HANG_S)
    assert ended.is_set()


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_ANSWER_S", 0.5)
    with (
        pytest.raises(PlanError, match=r"--scheduler tcp://127\.0\.0\.1:1: no scheduler of Dask answers there"),
        cluster.workers(["a"], lambda *_: None, "tcp://127.0.0.1:1"),
    ):
        pass


def test_the_job_of_a_killed_worker_goes_to_the_next_one_of_its_testbed_or_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_WORKERS_LOOK_S", 0.05)
    options = {"host": "127.0.0.1", "port": 0, "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    own = {"cls": cluster.Scheduler, "options": options}
    with ExitStack() as stack:
        scheduler = stack.enter_context(cluster.SpecCluster(scheduler=own)).scheduler_address

        def start() -> subprocess.Popen[bytes]:
            words = ["worker", scheduler, "--nthreads", "1", "--resources", "testbed:a=1", "--no-nanny"]
            command = [sys.executable, "-m", "dask", *words, "--no-dashboard", "--local-directory", str(tmp_path)]
            process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            stack.callback(process.kill)
            return process

        first = start()
        wait_until(lambda: len(_offered(scheduler)) == 1)
        used = stack.enter_context(cluster.workers(["a"], until_asked, scheduler))
        used.submit("a", Task("x", tmp_path, ""))
        wait_until(lambda: (tmp_path / f"begun-{first.pid}").exists())
        first.kill()
        second = start()
        wait_until(lambda: (tmp_path / f"begun-{second.pid}").exists())
        (tmp_path / "end").touch()
        assert used.next() == ("a", Outcome(Ending.DONE, 0, str(second.pid)))
        monkeypatch.setattr(cluster, "_WORKER_RETURNS_S", 0.2)
        second.kill()
        wait_until(lambda: not _offered(scheduler))
        used.submit("a", Task("y", tmp_path, ""))
        assert used.next() == ("a", Outcome(Ending.FAILED, None, "no worker for 0.2 s"))
        used.submit("a", Task("y", tmp_path, ""))
        third = start()
        monkeypatch.setattr(cluster, "_WORKER_RETURNS_S", HANG_S)
        assert used.next() == ("a", Outcome(Ending.DONE, 0, str(third.pid)))


def _offered(scheduler: str) -> dict[str, object]:
    with cluster.Client(scheduler) as client:
        found: dict[str, object] = client.scheduler_info(n_workers=-1)["workers"]
        return found


def test_only_who_has_the_key_reaches_a_scheduler_and_its_workers(tmp_path: Path) -> None:
    ours, others, file = tmp_path / "ours", tmp_path / "others", tmp_path / "scheduler.json"
    for folder in (ours, others):
        make_certificates(folder)
        assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    # As the manual has them.
    parts = {"ca-file": AUTHORITY_FILE, "cert": CERTIFICATE_FILE, "key": KEY_FILE}
    own = [word for name, each in parts.items() for word in (f"--tls-{name}", str(ours / each))]
    own += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--host", "127.0.0.1"]
    with ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "dask", *words, *own]
            process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            stack.callback(process.kill)
            return process

        start("scheduler", "--protocol", "tls", "--port", "0", "--scheduler-file", str(file))
        wait_until(file.exists)
        scheduler = json.loads(file.read_text())["address"]
        named = ["--resources", "testbed:a=1", "--no-nanny", "--local-directory", str(tmp_path)]
        process = start("worker", scheduler, "--nthreads", "1", *named)
        with cluster.Client(scheduler, security=cluster._security(ours)) as client:
            client.wait_for_workers(1, timeout=HANG_S)
            [worker] = client.scheduler_info(n_workers=-1)["workers"]
        (tmp_path / "end").touch()
        with cluster.workers(["a"], until_asked, scheduler, ours) as asked:
            asked.submit("a", Task("x", tmp_path, ""))
            assert asked.next() == ("a", Outcome(Ending.DONE, 0, str(process.pid)))
        for address in (scheduler, worker):
            with pytest.raises(OSError, match=REFUSED):
                cluster.Client(address, security=cluster._security(others), timeout=2)
            with pytest.raises(TypeError, match="expects a `ssl_context`"):
                cluster.Client(address, timeout=2)
            with pytest.raises(OSError, match=REFUSED):
                cluster.Client(address.replace("tls", "tcp"), timeout=2)
