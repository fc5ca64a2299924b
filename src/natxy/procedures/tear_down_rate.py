# SPDX-License-Identifier: Apache-2.0
"""Connection tear-down rate (RFC 9693 §4.8): N connections, divided by the time that deleting all of them takes.

The time that the command takes on an empty table of the same size is subtracted: the median of several, whose spread
is what a difference has to exceed. Pairs of interfaces make N connections each.
"""

from __future__ import annotations

import statistics
from typing import ClassVar, Final

from natxy.plan.experiment import Experiment
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.tear_down_rate import TearDownRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.expiry import expiry, oldest_answered, wait_s
from natxy.procedures.common.phase1 import begin_with_connections, phase1_s
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step

EMPTY_TIMES: Final = 5
"""Counts how often the empty table is emptied."""

# The difference is known to about a fifth then. A lower bar would let through what chance made large.
_TIMES_THE_SPREAD: Final = 5


class TearDownRate(Procedure[TearDownRateConfig]):
    # The times of the deletions are not stored as trials.
    replayable: ClassVar[bool] = False

    def measure(self, repetition: Repetition) -> ProcedureResult:
        experiment, phase1_fps = repetition.experiment, repetition.phase1_fps
        assert experiment.connections is not None
        connections = experiment.pair_count * experiment.connections
        assert phase1_fps is not None
        valid_step(repetition, 1, phase1_fps, lambda attempt: begin_with_connections(repetition, attempt))
        if missing := _missing(repetition, connections):
            waited_s = wait_s(experiment.timing, connections, phase1_fps, 0.0)
            remark = expiry(repetition, waited_s) or "enlarge the table, or its timeouts"
            return no_result(self.config, f"{missing}; {remark}", explained=True)
        with repetition.gateway() as gateway:
            full_s = gateway.timed_clear()
            # Immediately after the full table, so that the gateway is in the same state for both.
            empties_s = [gateway.timed_clear() for _ in range(EMPTY_TIMES)]
        empty_s = statistics.median(empties_s)
        net_s, spread_s = full_s - empty_s, max(empties_s) - min(empties_s)
        figures: dict[str, float | None] = {"rate": None, "full": full_s, "empty": empty_s, "net": net_s}
        if net_s <= 0 or net_s < _TIMES_THE_SPREAD * spread_s:
            return ProcedureResult(figures, remark=_unresolved(full_s, empties_s))
        return ProcedureResult(figures | {"rate": connections / net_s})

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return phase1_s(experiment, phase1_fps)


def _missing(repetition: Repetition, connections: int) -> str:
    """Returns a sentence if connections are missing after phase 1, otherwise an empty text.

    Without a count, those of the first pair of interfaces that were made first are asked for replies.
    """
    with repetition.gateway() as gateway:
        entries = gateway.count()
    if entries is not None:
        held = f"the table held only {entries:,} of the {connections:,} connections established"
        return held if entries < connections else ""
    asked, answered = oldest_answered(repetition)
    return "" if answered == asked else f"only {answered} of the {asked} connections established first had a reply"


def _unresolved(full_s: float, empties_s: list[float]) -> str:
    fastest, slowest = format_duration(min(empties_s)), format_duration(max(empties_s))
    empty = f"{fastest} to {slowest}" if fastest != slowest else fastest
    return (
        f"emptying the full table took {format_duration(full_s)}, and {len(empties_s)} times the empty one took "
        f"{empty}: the difference has to be {_TIMES_THE_SPREAD} times as long as these differ; raise `connections`"
    )
