# SPDX-License-Identifier: Apache-2.0
"""Waits for events, and judges times, on a machine that may pause at any moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tests.support.command import HANG_S

# Pauses of the machine lengthen some attempts, and shorten none.
_ATTEMPTS: Final = 5
_SAMPLE_S: Final = 0.1


def wait_until(condition: Callable[[], object], every_s: float = 0.01) -> None:
    """Returns once `condition` holds. Asserts that it does before anybody would call it a hang."""
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(every_s)


def takes_at_most(most_s: float, timed: Callable[[], float]) -> None:
    """Asserts that the least of a few times that `timed` returns, in seconds, is below `most_s`.

    While other programs leave this one a half of a core, it may take twice as long, and so on.
    """
    found: list[str] = []
    for _ in range(_ATTEMPTS):
        took_s = timed()
        allowed_s = most_s * max(1.0, _slowness())
        if took_s < allowed_s:
            return
        found.append(f"{took_s:.3f} s, {allowed_s:.3f} s are allowed")
    raise AssertionError(f"every attempt took too long: {found}")


def _slowness() -> float:
    """Returns the time that this process takes to use a core for a second: 1 s on an idle machine."""
    started_s, used_s = time.monotonic(), time.process_time()
    while time.process_time() - used_s < _SAMPLE_S:
        pass
    return (time.monotonic() - started_s) / _SAMPLE_S
