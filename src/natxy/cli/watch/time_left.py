# SPDX-License-Identifier: Apache-2.0
"""Estimates the time that a run still takes."""

from __future__ import annotations

import time

from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.run.estimate import expected_steps, experiment_s


class TimeLeft:
    """Corrects the estimate for the whole run by the time that the finished steps took.

    Experiments that were measured before a resume, or end early, shorten the rest without changing the pace.
    """

    def __init__(self, plan: ResolvedPlan) -> None:
        self._started = time.monotonic()
        self._expected_s = {experiment.name: experiment_s(plan, experiment) for experiment in plan.experiments}
        self._left_s = sum(self._expected_s.values())
        self._measured_s = 0.0
        self._measured: tuple[str, int, int] | None = None

    def step_finished(self, experiment: Experiment, repetition: int, step: int) -> None:
        """Counts a step: a trial, or a test between hosts."""
        if self._measured != (measured := (experiment.name, repetition, step)):
            self._measured = measured
            self._measured_s += self._expected_s[experiment.name] / (experiment.repeat * expected_steps(experiment))

    def experiment_finished(self, experiment: Experiment) -> None:
        self._left_s -= self._expected_s[experiment.name]

    def seconds(self, experiment: Experiment, repetition: int, step: int) -> float:
        """Returns the seconds left while this repetition and step, counted from 1, are in progress."""
        within = min(1.0, (step - 1) / expected_steps(experiment))
        done_s = self._expected_s[experiment.name] * (repetition - 1 + within) / experiment.repeat
        # The first seconds do not show the pace.
        pace = (time.monotonic() - self._started) / self._measured_s if self._measured_s > 5 else 1.0
        return max(0.0, (self._left_s - done_s) * pace)
