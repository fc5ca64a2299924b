# SPDX-License-Identifier: Apache-2.0
"""Finds the DUT's counter that rose by as many as frames are missing after a trial.

Nothing but their number joins the counter and the frames: a counter may have counted what others sent as well. So a
counter is named only if it rose by nearly as much as all streams, or one of them, lost; or several, if they did
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.results.dut_counts import CONNTRACK, DutCounts, Rise
from natxy.results.dut_load import DutLoad
from natxy.results.trials import TrialRecord

# Beside the trial's frames, a DUT has a few of its own.
_NEAR: Final = 0.05
_FEW: Final = 2
_MOST_NAMED: Final = 2

NOTHING_COUNTED: Final = "no counter rose as much"
"""Stands for the counters of a failure that they do not explain."""


def counted(result: TrialResult, load: DutLoad | None, counts: DutCounts | None) -> str:
    """Returns which counters rose by as much as a trial lost, as a text for its reason; an empty text if none did."""
    # Whether frames are missing plays no part where the tester sent them too late.
    if result.verdict == Verdict.PASS or result.cause == Cause.LATE:
        return ""
    return " and ".join(rise.text() for rise in explaining(result, load, counts))


def refused(result: TrialResult, counts: DutCounts | None) -> bool:
    """Returns True if the gateway's connection table refused every frame that a trial lost.

    Such refusals depend on the connections and not on when their frames come, so that neither a pause of the tester nor
    an absence of the gateway's core explains them.
    """
    if counts is None or any(stream.unsent or stream.timed_out for stream in result.streams):
        return False
    lost, by = sum(stream.lost for stream in result.streams), counts.rise(CONNTRACK, "insert_failed")
    return 0 < lost <= by and _as_many(by, lost)


def explaining(result: TrialResult, load: DutLoad | None, counts: DutCounts | None) -> list[Rise]:
    """Returns the counters that rose by as much as the trial lost, each or together, the nearest first."""
    lost = [max(0, stream.lost - stream.unsent - stream.timed_out) for stream in result.streams]
    wanted = [number for number in (sum(lost), *lost) if number]
    found = [*rises(load, counts)]
    near = [
        (min(abs(rise.by - number) / number for number in wanted), rise)
        for rise in found
        if any(_as_many(rise.by, number) for number in wanted)
    ]
    if near:
        ordered = [rise for _, rise in sorted(near, key=lambda each: each[0])]
        return _each_once(ordered)[:_MOST_NAMED]
    together = _each_once(found)
    return together if _as_many(sum(rise.by for rise in together), sum(lost)) else []


def outcome_or_counters(trial: TrialRecord) -> str:
    """Returns the verdict of a trial or, if the trial failed, the counters that rose as much as it lost, or the cause
    if it lost nothing."""
    if trial.verdict != Verdict.FAIL:
        return trial.verdict.value
    if not trial.lost:
        return trial.cause.value.replace("_", " ")
    found = explaining(trial.result, trial.dut_load, trial.dut_counts)
    return " and ".join(rise.counter for rise in found) or NOTHING_COUNTED


def rises(load: DutLoad | None, counts: DutCounts | None) -> Iterator[Rise]:
    """Yields every counter of lost frames that rose."""
    if counts:
        yield from counts.losses()
    if load and load.dropped:
        yield Rise("`dropped` of the cores' queues", load.dropped, "cat /proc/net/softnet_stat")
    for each in load.interfaces if load else ():
        yield from (Rise(name, by, f"ip -s -s link show {each.name}") for name, by in each.lost.items())


def _one_of_each_command(found: list[Rise]) -> list[Rise]:
    """Returns the first counter of each command: its counters may count the same frames in different ways."""
    first: dict[str, Rise] = {}
    for rise in found:
        first.setdefault(rise.shown_by, rise)
    return [*first.values()]


def _each_once(found: list[Rise]) -> list[Rise]:
    """Returns the first counter of each command and of each number: an interface counts what a core's queue drops."""
    return [*{rise.by: rise for rise in reversed(_one_of_each_command(found))}.values()][::-1]


def _as_many(rise: int, lost: int) -> bool:
    # Of very few frames, any other few would be as many.
    return lost > 0 and abs(rise - lost) <= (max(_FEW, _NEAR * lost) if lost > 10 * _FEW else 0)
