# SPDX-License-Identifier: Apache-2.0
"""Connection tear-down rate (RFC 9693 §4.8): N connections, divided by the time that deleting all of them takes.

The time that the command takes on an empty table of the same size is subtracted.
"""

from __future__ import annotations

from typing import ClassVar

from natxy.plan.experiment import Experiment
from natxy.plan.procedures.tear_down_rate import TearDownRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.phase1 import begin_with_connections, phase1_s
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step


class TearDownRate(Procedure[TearDownRateConfig]):
    # The times of the deletions are not stored as trials.
    replayable: ClassVar[bool] = False

    def measure(self, repetition: Repetition) -> ProcedureResult:
        connections, phase1_fps = repetition.experiment.connections, repetition.phase1_fps
        assert connections is not None
        assert phase1_fps is not None
        valid_step(repetition, 1, phase1_fps, lambda attempt: begin_with_connections(repetition, attempt))
        with repetition.gateway() as gateway:
            entries = gateway.count()
        if entries is not None and entries < connections:
            return no_result(
                self.config,
                f"the table held only {entries:,} of the {connections:,} connections established; enlarge it, or its "
                "timeouts",
            )
        with repetition.gateway() as gateway:
            full_s = gateway.timed_clear()
            # Immediately after the full table, so that the gateway is in the same state for both.
            empty_s = gateway.timed_clear()
        net_s = full_s - empty_s
        figures: dict[str, float | None] = {"rate": None, "full": full_s, "empty": empty_s, "net": net_s}
        if net_s <= 0:
            return ProcedureResult(figures, remark="a full table took no longer than an empty one; load more")
        return ProcedureResult(figures | {"rate": connections / net_s})

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return phase1_s(experiment, phase1_fps)
