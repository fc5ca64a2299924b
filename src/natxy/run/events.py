# SPDX-License-Identifier: Apache-2.0
"""Defines the events that a run reports while it measures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from natxy.engine.messages.results import Progress
from natxy.plan.experiment import Experiment
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import FinishedTrial
from natxy.results.records import State
from natxy.results.statistics import Summary
from natxy.results.trials import TrialKind
from natxy.search.outcome import Attempt
from natxy.tcp.hosts import Transfer


class RunListener:
    """Receives every event of a run and ignores it; subclasses override the methods they need.

    The run waits for each call, `progress` even in the middle of a trial: return quickly.
    """

    def run_started(self, folder: Path) -> None: ...

    def block_started(self, number: int, experiments: int) -> None:
        """Reports that a repetition of each of so many experiments follows; only in `order: blocks`."""

    def repetition_started(self, experiment: Experiment, number: int) -> None:
        """Reports a repetition before its gateway is set up."""

    def attempt_started(self, attempt: Attempt) -> None: ...

    def progress(self, kind: TrialKind, progress: Progress) -> None: ...

    def trial_finished(self, trial: FinishedTrial) -> None: ...

    def test_finished(self, number: int, found: Mapping[str, Transfer]) -> None:
        """Reports test `number` of a repetition between hosts; `found` is keyed by direction."""

    def repetition_finished(self, experiment: Experiment, number: int, result: ProcedureResult) -> None:
        """Reports the result of a repetition, also of one that was measured before the run was resumed."""

    def experiment_finished(
        self, experiment: Experiment, state: State, reason: str, summary: Summary | None
    ) -> None: ...
