# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes, or is made, says something of the machine, not of the code.
settings.register_profile("natxy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("natxy")

# Hundreds of small databases that wait for a disk each time they are written would take most of the tests' time.
_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK):
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# A shell starts what it puts in the background deaf to Ctrl-C, and so would be what the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _no_self_test_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What somebody found out about this machine's tester is none of a test's business."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
