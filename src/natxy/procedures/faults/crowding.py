# SPDX-License-Identifier: Apache-2.0
"""Judges whether a trial failed because frames of other programs filled the queue of the gateway's core.

Frames of all network namespaces that arrive on a core wait in the same queue of the kernel (`net.core.
netdev_max_backlog`). If another program on the machine sends through it as well, the kernel drops frames of the trial
that the gateway has never seen. A failed trial is *disturbed* if

- the cores' queues dropped no fewer frames than were lost, and
- the cores processed or dropped more than four times as many frames as arrived at the gateway's interfaces. Each of
  those passes the receive path of a core once or twice, and again each time that it arrives.

A gateway that sends frames in circles within itself looks the same. It is not excused for that: its failures are
disturbed in every attempt, and the last one of a step stands.
"""

from __future__ import annotations

from typing import Final

from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.results.dut_load import DutLoad

# At its interface, behind a tunnel, on the core that it is steered to, and at the tester.
_MOST_PASSES: Final = 4


def crowding(result: TrialResult, load: DutLoad | None) -> str:
    """Returns a text on the frames of others if they explain why the trial failed, otherwise an empty one."""
    if result.verdict != Verdict.FAIL or result.cause != Cause.LOSS or load is None or not load.interfaces:
        return ""
    dropped = load.dropped or 0
    processed = dropped + sum(core.frames or 0 for core in load.cores)
    own = sum(
        each.received + sum(lost for cause, lost in each.lost.items() if cause.startswith("rx_"))
        for each in load.interfaces
    )
    lost = sum(stream.lost for stream in result.streams)
    failed_otherwise = any(stream.corrupt or stream.misrouted or stream.timed_out for stream in result.streams)
    if failed_otherwise or dropped < lost or processed <= _MOST_PASSES * own:
        return ""
    return (
        f"the kernel dropped {dropped:,} of {processed:,} frames on the gateway's cores, most of them of other "
        f"traffic: only {own:,} came to the gateway"
    )
