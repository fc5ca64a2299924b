# SPDX-License-Identifier: Apache-2.0
"""Repeats measurements that prove nothing, because natxy says that the machine was busy, or frames are missing."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

Measured = TypeVar("Measured")
Given = ParamSpec("Given")

ATTEMPTS: Final = 6
"""The least number of measurements."""

PATIENCE_S: Final = 90.0
"""The time over which measurements are repeated, because a disturbance of a machine lasts many seconds."""


def undisturbed(measure: Callable[[], Measured], blames: Callable[[Measured], str]) -> Measured:
    """Measures until the tester or the machine is not to blame; returns what was measured then.

    `blames` returns natxy's own words on a disturbance, how many frames are missing that the machine alone may have
    lost, or an empty text. Asserts that one of several attempts is free of it, so that a natxy that always blames the
    machine, or that loses frames each time, fails.
    """
    blamed: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while len(blamed) < ATTEMPTS or time.monotonic() < until:
        measured = measure()
        blame = blames(measured)
        if not blame:
            return measured
        blamed.append(blame)
    raise AssertionError(f"the machine was to blame, or else natxy is, in all of {len(blamed)} attempts: {blamed}")


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
                return str(error)
            return ""

        undisturbed(disturbance, str)

    return until_undisturbed
