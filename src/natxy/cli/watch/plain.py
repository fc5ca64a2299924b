# SPDX-License-Identifier: Apache-2.0
"""Prints the progress of a run as lines, for a log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from natxy.cli.watch.position import Position
from natxy.cli.watch.time_left import TimeLeft
from natxy.cli.watch.wording import ending_text, result_text, transfers_text
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.model.units import counted
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import FinishedTrial
from natxy.results.records import State
from natxy.results.statistics import Summary
from natxy.run.events import RunListener
from natxy.tcp.hosts import Transfer


class PlainWatch(RunListener):
    """Prints a line for each event."""

    def __init__(self, plan: ResolvedPlan, console: Console) -> None:
        self._position = Position(plan)
        self._time_left = TimeLeft(plan)
        self._console = console
        self._experiment: Experiment | None = None
        self._repetition = 1

    def run_started(self, folder: Path) -> None:
        self._print(f"results: {folder}")

    def block_started(self, number: int, experiments: int) -> None:
        self._position.block_started(number, experiments)
        self._print(f"block {self._position.block}: {counted(experiments, 'experiment')}")

    def repetition_started(self, experiment: Experiment, number: int) -> None:
        self._experiment, self._repetition = experiment, number
        position = self._position
        position.repetition_begun(experiment)
        which = f"experiment {position.experiment(experiment)}"
        if position.block:
            which = f"block {position.block}, {which}: {experiment.title}"
        else:
            which += f": {experiment.title}, repetition {position.repetition(experiment, number)}"
        self._print(f"{which}; {self._time_left.text(experiment, 1)} left")

    def trial_finished(self, trial: FinishedTrial) -> None:
        assert self._experiment
        self._time_left.step_finished(self._experiment, self._repetition, trial.attempt.step)
        streams = trial.result.streams
        sent, received = sum(s.sent for s in streams), sum(s.received for s in streams)
        attempt = trial.attempt
        again = f", attempt {attempt.number}" if attempt.number > 1 else ""
        self._print(
            f"  step {attempt.step}{again}: {trial.title}: "
            f"{trial.result.verdict} ({trial.result.reason}); sent {sent:,}, received {received:,}"
        )

    def test_finished(self, number: int, found: Mapping[str, Transfer]) -> None:
        assert self._experiment
        self._time_left.step_finished(self._experiment, self._repetition, number)
        self._print(f"  test {number}: {transfers_text(found)}")

    def repetition_finished(self, experiment: Experiment, number: int, result: ProcedureResult) -> None:
        self._time_left.repetition_finished(experiment)
        self._position.repetition_begun(experiment)
        self._print(f"  {experiment.title}, repetition {number}: {result_text(result, experiment)}")

    def experiment_finished(self, experiment: Experiment, state: State, reason: str, summary: Summary | None) -> None:
        self._time_left.experiment_finished(experiment)
        self._position.experiment_finished(experiment)
        ending = ending_text(experiment, state, reason, summary)
        self._print(f"finished {self._position.finished}: {experiment.title}: {ending}")

    def _print(self, line: str) -> None:
        """Prints one line, whatever a title contains."""
        line = " ".join(line.splitlines())
        self._console.print(line, soft_wrap=True)
