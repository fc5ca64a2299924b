# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of all tests."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The time that an example takes depends on the machine, not on the code.
settings.register_profile("natxy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("natxy")

# Hundreds of small databases would spend most of the tests' time waiting for a disk. A container may have little of
# this memory.
_MEMORY = Path("/dev/shm")
_ENOUGH_BYTES = 1 << 30
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# A process that a shell starts in the background ignores Ctrl-C, and so would the processes that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _no_self_test_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hides the results of self-tests that the machine's user made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


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
