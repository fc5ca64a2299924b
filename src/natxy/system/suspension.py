# SPDX-License-Identifier: Apache-2.0
"""Notices that this machine was suspended. natxy-engine does so itself in its trials."""

from __future__ import annotations

import time
from typing import Final

# Waking up takes longer. The two readings of a clock can be this far apart on a busy machine.
NOTICED_S: Final = 0.5


def suspended_s() -> float:
    """Returns the seconds for which this machine has been suspended since it booted."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
