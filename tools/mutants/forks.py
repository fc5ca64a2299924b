# SPDX-License-Identifier: Apache-2.0
"""Runs pytest in forks of a process that has loaded all libraries, but nothing of natxy.

A fork takes milliseconds, where a new process would import the libraries again for each mutant. A mutated source stays
in memory: no file is touched.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Final, Generic, TypeVar

import hypothesis
import pytest

Subject = TypeVar("Subject")

PASSED: Final = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
FAILED: Final = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)  # the latter if tests cannot be imported
TOO_LONG: Final = (-signal.SIGXCPU, -signal.SIGALRM)
# None of pytest's exit codes.
_BROKEN: Final = 70
_OUT_OF_MEMORY: Final = 72
_MOST_BYTES: Final = 8 << 30
_MOST_EXAMPLES: Final = 20
_WAITS: Final = 10  # a job that waits takes at most so many times as long as it may be on the CPU
_LIBRARIES: Final = (
    *(
        "asyncssh",
        "hypothesis.strategies",
        "jinja2",
        "jumpavg",
        "junitparser",
        "MLRsearch",
        "mpmath",
        "pyarrow.parquet",
    ),
    *("pydantic", "rich.progress", "ruamel.yaml", "typer"),
)

# The same examples for every mutant, and no search for the simplest one that fails.
hypothesis.settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Job(Generic[Subject]):
    """Holds what a fork does about its subject: `work` returns its exit code and prints into `log`."""

    subject: Subject
    work: Callable[[], int]
    most_cpu_s: float
    log: Path = Path(os.devnull)


def load_libraries() -> None:
    for library in _LIBRARIES:
        import_module(library)


def run_tests(tests: Sequence[str]) -> int:
    """Runs tests until one fails, and returns pytest's exit code."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not lab and not long", "--hypothesis-profile=mutants"]
    options += [f"--basetemp={tempfile.mkdtemp()}", "-o", "tmp_path_retention_policy=none"]
    # The libraries are loaded before pytest.
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    # Nearly all mutants fail at one of the first examples.
    os.environ["NATXY_EXAMPLES"] = str(_MOST_EXAMPLES)
    return pytest.main([*options, *tests])


def replace_source(path: Path, code: CodeType) -> None:
    """Lets this process import `code` instead of the file."""
    get_code = SourceFileLoader.get_code

    def replaced(loader: SourceFileLoader, name: str) -> CodeType | None:
        return code if Path(loader.path) == path else get_code(loader, name)

    SourceFileLoader.get_code = replaced  # type: ignore[method-assign, assignment]


def in_forks(jobs: Iterable[Job[Subject]], at_once: int) -> Iterator[tuple[Subject, int]]:
    """Yields the exit code of each job, or minus the number of the signal that ended it, as they end."""
    running: dict[int, Subject] = {}
    try:
        for job in jobs:
            if len(running) == at_once:
                yield _next_end(running)
            running[_fork(job)] = job.subject
        while running:
            yield _next_end(running)
    finally:
        for pid in running:
            _kill_group(pid)


def _next_end(running: dict[int, Subject]) -> tuple[Subject, int]:
    pid, status = os.wait()
    while pid not in running:
        pid, status = os.wait()
    _kill_group(pid)
    code = os.waitstatus_to_exitcode(status)
    if code in (_BROKEN, pytest.ExitCode.USAGE_ERROR):
        raise RuntimeError(f"pytest could not run for {running[pid]}")
    return running.pop(pid), code


def _kill_group(pid: int) -> None:
    """Kills a job that has not ended, and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _fork(job: Job[Subject]) -> int:
    if pid := os.fork():
        return pid
    code = _BROKEN
    try:
        os.setsid()
        most_s = math.ceil(job.most_cpu_s)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))  # V8 reserves terabytes of addresses
        resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s + 1))
        signal.setitimer(signal.ITIMER_REAL, _WAITS * job.most_cpu_s)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        code = job.work()
    except MemoryError:
        code = _OUT_OF_MEMORY
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)
