# SPDX-License-Identifier: Apache-2.0
"""Limits a DUT by a token bucket of the kernel's, so that the throughput that natxy has to find is known."""

from __future__ import annotations

from typing import Final

RATE_FPS: Final = 4000
BURST: Final = 200
TRIAL_S: Final = 0.5
LATE_S: Final = 0.05
"""The longest pause of a valid trial on a busy machine, and the time that its last frame may be late."""

LIMIT: Final = f"""
table inet limited {{
    chain forwarded {{
        type filter hook forward priority 0
        meta l4proto udp limit rate over {RATE_FPS}/second burst {BURST} packets drop
    }}
}}
"""
"""The rules of nftables, for all frames together."""


def bounds_fps(search_error: float) -> tuple[float, float]:
    """Returns the lowest and the highest throughput of one direction that is right, for a search with this error.

    The bucket is refilled by wall time: a full one gains nothing while the tester pauses, and goes on gaining until the
    last frame.
    """
    return _limit_fps(TRIAL_S - LATE_S) * (1 - search_error), _limit_fps(TRIAL_S + LATE_S)


def connection_bounds(connections: int, search_error: float) -> tuple[float, float]:
    """Returns the lowest and the highest rate that is right at which so many connections are made."""
    takes_s = (connections - BURST) / RATE_FPS
    return connections / (takes_s + LATE_S) * (1 - search_error), connections / (takes_s - LATE_S)


def _limit_fps(refilled_s: float) -> float:
    """Returns the rate of one direction at which the bucket, full at first, lets a whole trial pass."""
    return (BURST + RATE_FPS * refilled_s) / TRIAL_S / 2
