# SPDX-License-Identifier: Apache-2.0
"""Repeats measurements of which natxy itself says that they prove nothing, because the machine was busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

Measured = TypeVar("Measured")

ATTEMPTS: Final = 6
"""The least number of measurements."""

PATIENCE_S: Final = 90.0
"""The time over which measurements are repeated, because a disturbance of a machine lasts many seconds."""


def undisturbed(measure: Callable[[], Measured], blames: Callable[[Measured], str]) -> Measured:
    """Measures until natxy does not blame the tester or the machine; returns what was measured then.

    `blames` returns natxy's own words on a disturbance, or an empty text. Asserts that one of several attempts is free
    of it, so that a natxy that always blames the machine fails.
    """
    blamed: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while len(blamed) < ATTEMPTS or time.monotonic() < until:
        measured = measure()
        blame = blames(measured)
        if not blame:
            return measured
        blamed.append(blame)
    raise AssertionError(f"natxy blamed the machine in all of {len(blamed)} attempts: {blamed}")
