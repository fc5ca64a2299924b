# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

import os
import tempfile
from pathlib import Path

from hypothesis import settings

# How long an example takes says something of the machine, not of the code.
settings.register_profile("natxy", deadline=None)
settings.load_profile("natxy")

# Hundreds of small databases that wait for a disk each time they are written would take most of the tests' time.
_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK):
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
