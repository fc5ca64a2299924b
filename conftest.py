# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of all tests."""

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

from tests.support.apart import keep_apart, machine_held, with_what_make_built
from tests.support.undisturbed import taken_notes

# The time that an example takes depends on the machine, not on the code.
settings.register_profile("natxy", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("natxy")
# CI has time for few examples of each test, drawn anew each time. Without this, a test draws as many as it asks for.
_MOST_EXAMPLES = int(os.environ.get("NATXY_EXAMPLES", "0"))

# Hundreds of small databases would spend most of the tests' time waiting for a disk. A container may have little of
# this memory.
_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 1 << 30
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# Before any test is read: what a test needs of the machine is looked for then.
_APART = keep_apart()

# Typer makes all commands anew for each call of natxy within a process, which takes longer than most of these calls.
_command_of = cache(typer.main.get_command)
for _module, _name in ((typer.main, "get_command"), (typer.testing, "_get_command")):
    setattr(_module, _name, _command_of)

# A process that a shell starts in the background ignores Ctrl-C, and so would the processes that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# `tools/test.sh` passes only files with these words to the processes that test with labs.
_LAB = re.compile(r"needs\.LAB|mark\.lab\b")


def pytest_itemcollected(item: pytest.Item) -> None:
    test = getattr(item, "obj", None)
    asked: settings | None = getattr(test, "_hypothesis_internal_use_settings", None)
    if test and asked and 0 < _MOST_EXAMPLES < asked.max_examples:
        test._hypothesis_internal_use_settings = settings(asked, max_examples=_MOST_EXAMPLES)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for file in {item.path for item in items if item.get_closest_marker("lab")}:
        if not _LAB.search(file.read_text()):
            raise pytest.UsageError(f"{file}: say `needs.LAB` or `mark.lab` in this file, or its tests are not run")


def pytest_unconfigure() -> None:
    shutil.rmtree(_APART, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Keeps what the marks `built`, `machine` and `same_machine` promise, from before a test's fixtures are made."""
    with ExitStack() as stack:
        if item.get_closest_marker("built"):
            stack.enter_context(with_what_make_built())
        # Without root nothing of the machine can be changed, and such a test is skipped.
        alone, beside = (item.get_closest_marker(mark) is not None for mark in ("machine", "same_machine"))
        if (alone or beside) and os.geteuid() == 0:
            stack.enter_context(machine_held(alone))
        return (yield)


@pytest.fixture(autouse=True)
def _repetitions_are_noted(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Writes into the JUnit file why a test measured again."""
    taken_notes()
    yield
    for note in taken_notes():
        record_property("measured again", note)


@pytest.fixture
def own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives a test a ledger apart from the machine's; returns its folder, which is not there yet."""
    folder = tmp_path / "ledger"
    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: folder)
    return folder


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes time.sleep() return at once, and time.monotonic() count the seconds that were slept."""
    now_s = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
