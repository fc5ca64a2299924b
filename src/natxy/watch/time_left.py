# SPDX-License-Identifier: Apache-2.0
"""Estimates the time that a run still takes."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.events.run import PlannedExperiment
from natxy.plan.model.units import format_duration


class TimeLeft:
    """Corrects the estimate for the whole run by the time that the finished steps took.

    Repetitions that were measured before a resume, and experiments that end early, shorten the rest without changing
    the pace. `started_s` and `now_s` are of the clock of the events.
    """

    def __init__(self, experiments: Sequence[PlannedExperiment], started_s: float) -> None:
        self._started_s = self.now_s = started_s
        self._expected_s = {experiment.name: experiment.repetition_s for experiment in experiments}
        self._repetitions = {experiment.name: experiment.repetitions for experiment in experiments}
        self._about = "at most" if any(each.until_precise for each in experiments) else "about"
        self._total_s = self._left_s()
        self._measured_s = 0.0
        self._measured: tuple[str, int, int] | None = None

    def step_finished(self, experiment: PlannedExperiment, repetition: int, step: int) -> None:
        """Counts a step: a trial, or a test between hosts."""
        if self._measured != (measured := (experiment.name, repetition, step)):
            self._measured = measured
            self._measured_s += self._expected_s[experiment.name] / experiment.steps

    def repetition_finished(self, experiment: PlannedExperiment) -> None:
        self._repetitions[experiment.name] = max(0, self._repetitions[experiment.name] - 1)

    def experiment_finished(self, experiment: PlannedExperiment) -> None:
        self._repetitions[experiment.name] = 0

    def seconds(self, experiment: PlannedExperiment, step: int) -> float:
        """Returns the seconds left while this step of the experiment, counted from 1, is in progress.

        Repetitions that end when the result is precise enough count as if all that are allowed followed.
        """
        done_s = self._expected_s[experiment.name] * min(1.0, (step - 1) / experiment.steps)
        # The first seconds do not show the pace.
        pace = (self.now_s - self._started_s) / self._measured_s if self._measured_s > 5 else 1.0
        return max(0.0, (self._left_s() - done_s) * pace)

    def text(self, experiment: PlannedExperiment, step: int) -> str:
        """Returns the time left, such as `about 3 min 20 s`."""
        return f"{self._about} {format_duration(max(1, round(self.seconds(experiment, step))))}"

    def share_done(self, experiment: PlannedExperiment, step: int) -> float:
        """Returns how much of the estimated time is behind, from 0 to 1, while this step is in progress."""
        done_s = self._expected_s[experiment.name] * min(1.0, (step - 1) / experiment.steps)
        return min(1.0, 1.0 - max(0.0, self._left_s() - done_s) / self._total_s) if self._total_s else 1.0

    def _left_s(self) -> float:
        return sum(count * self._expected_s[name] for name, count in self._repetitions.items())
