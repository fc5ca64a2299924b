# SPDX-License-Identifier: Apache-2.0
"""Repeats measurements that prove nothing, because natxy says that the machine was busy, or frames are missing.

Each repetition is noted with what the kernel counted meanwhile, so that a loss that only looks like the machine's stays
visible: `conftest.py` writes the notes into the JUnit file, as the property `measured again` of the test.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

Measured = TypeVar("Measured")
Given = ParamSpec("Given")

ATTEMPTS: Final = 6
"""The least number of measurements."""

PATIENCE_S: Final = 90.0
"""The time over which measurements are repeated, because a disturbance of a machine lasts many seconds."""

_noted: list[str] = []


def undisturbed(measure: Callable[[], Measured], blames: Callable[[Measured], str]) -> Measured:
    """Measures until neither the tester nor the machine is to blame; returns what was measured then.

    `blames` returns natxy's own words on a disturbance, how many frames are missing that the machine alone may have
    lost, or an empty text. Asserts that one of several attempts is free of it, so that a natxy that always blames the
    machine, or that loses frames each time, fails.
    """
    blamed: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while len(blamed) < ATTEMPTS or time.monotonic() < until:
        before = _counted()
        measured = measure()
        blame = blames(measured)
        if not blame:
            return measured
        blamed.append(f"{blame} ({_since(before)})")
        _noted.append(blamed[-1])
    raise AssertionError(f"all {len(blamed)} attempts were disturbed, by the machine or by natxy: {blamed}")


def taken_notes() -> list[str]:
    """Returns why measurements were repeated since the last call."""
    notes = [*_noted]
    _noted.clear()
    return notes


def _counted() -> dict[str, int]:
    """Returns what this machine's kernel has counted that may explain a frame that is missing."""
    stolen = Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]
    softnet = [line.split() for line in Path("/proc/net/softnet_stat").read_text().splitlines()]
    return {
        "dropped by a core's backlog": sum(int(fields[1], 16) for fields in softnet),
        "times out of a core's budget": sum(int(fields[2], 16) for fields in softnet),
        "ticks of 10 ms stolen": int(stolen),
    }


def _since(before: dict[str, int]) -> str:
    found = {name: value - before[name] for name, value in _counted().items()}
    return ", ".join(f"{value} {name}" for name, value in found.items() if value) or "the kernel counted nothing"


class DisturbedError(AssertionError):
    """Says what disturbed a test so that it proves nothing, such as a frame that the machine may have lost."""


def repeated(test: Callable[Given, None]) -> Callable[Given, None]:
    """Runs a test that raises DisturbedError again, from its beginning, within the bounds of `undisturbed`."""

    @wraps(test)
    def until_undisturbed(*arguments: Given.args, **named: Given.kwargs) -> None:
        def disturbance() -> str:
            try:
                test(*arguments, **named)
            except DisturbedError as error:
                return str(error) or "disturbed"
            return ""

        undisturbed(disturbance, str)

    return until_undisturbed
