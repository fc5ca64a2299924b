# SPDX-License-Identifier: Apache-2.0
"""Estimates the time that a run still takes."""

from __future__ import annotations

import time

from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.model.units import format_duration
from natxy.run.estimate import expected_steps, repetition_s


class TimeLeft:
    """Corrects the estimate for the whole run by the time that the finished steps took.

    Repetitions that were measured before a resume, and experiments that end early, shorten the rest without changing
    the pace.
    """

    def __init__(self, plan: ResolvedPlan) -> None:
        self._started = time.monotonic()
        self._expected_s = {experiment.name: repetition_s(plan, experiment) for experiment in plan.experiments}
        self._repetitions = {experiment.name: experiment.repeat.at_most for experiment in plan.experiments}
        self._about = "at most" if any(each.repeat.until for each in plan.experiments) else "about"
        self._measured_s = 0.0
        self._measured: tuple[str, int, int] | None = None

    def step_finished(self, experiment: Experiment, repetition: int, step: int) -> None:
        """Counts a step: a trial, or a test between hosts."""
        if self._measured != (measured := (experiment.name, repetition, step)):
            self._measured = measured
            self._measured_s += self._expected_s[experiment.name] / expected_steps(experiment)

    def repetition_finished(self, experiment: Experiment) -> None:
        self._repetitions[experiment.name] = max(0, self._repetitions[experiment.name] - 1)

    def experiment_finished(self, experiment: Experiment) -> None:
        self._repetitions[experiment.name] = 0

    def seconds(self, experiment: Experiment, step: int) -> float:
        """Returns the seconds left while this step of the experiment, counted from 1, is in progress.

        Repetitions that end when the result is precise enough count as if all that are allowed followed.
        """
        left_s = sum(count * self._expected_s[name] for name, count in self._repetitions.items())
        done_s = self._expected_s[experiment.name] * min(1.0, (step - 1) / expected_steps(experiment))
        # The first seconds do not show the pace.
        pace = (time.monotonic() - self._started) / self._measured_s if self._measured_s > 5 else 1.0
        return max(0.0, (left_s - done_s) * pace)

    def text(self, experiment: Experiment, step: int) -> str:
        """Returns the time left, such as `about 3 min 20 s`."""
        return f"{self._about} {format_duration(max(1, round(self.seconds(experiment, step))))}"
