# SPDX-License-Identifier: Apache-2.0
"""Tells one boot of a DUT from another, and waits for the next one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from natxy.dut.transport.base import Transport
from natxy.errors import DutError

# Linux, and a BSD.
BOOT_SCRIPT: Final = "{ cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime; }"
_PAUSE_S: Final = 1.0


def boot_id(transport: Transport) -> str:
    """Returns what differs from boot to boot. Raises DutError as `Transport.run` does."""
    return transport.run(["sh", "-c", BOOT_SCRIPT]).stdout.strip()


def has_booted_since(before: str, read: Callable[[], str], timeout_s: float) -> bool:
    """Returns True as soon as `read` returns another boot than `before`; False when it does not within the time."""
    deadline = time.monotonic() + timeout_s
    while True:
        # It does not answer while it boots.
        with suppress(DutError):
            if read() != before:
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
