# SPDX-License-Identifier: Apache-2.0
"""Keeps how far a run is, from its events: what every view of it shows."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from natxy.engine.messages.results import Verdict
from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import (
    BlockStarted,
    ExperimentFinished,
    PlannedExperiment,
    RepetitionFinished,
    RepetitionStarted,
    RunFinished,
    RunStarted,
    TestbedBuilt,
)
from natxy.events.trials import AttemptStarted, TransfersFinished, TrialFinished, TrialProgress, TrialStarted
from natxy.results.trials import Purpose
from natxy.watch.position import Position
from natxy.watch.time_left import TimeLeft

_TOLD_AFTER_S: Final = 0.1


@dataclass(frozen=True)
class Tried:
    """Holds a step that the search of the current repetition has tried, with the verdict of its last attempt.

    The rate is in the experiment's `step_unit`.
    """

    step: int
    rate: float
    verdict: Verdict


class Second(NamedTuple):
    """Holds the frames of one second of a trial."""

    sent: int
    received: int

    @property
    def missing(self) -> int:
        return max(0, self.sent - self.received)


class State(RunListener):
    """Keeps the state of a run after the events so far; before the first one it has no `run`.

    `tried` has the steps of the current repetition, and `course` the seconds of the trial that runs or, between two
    trials, of the last one, which `course_title` names. `done` counts the finished repetitions of each experiment.
    """

    def __init__(self) -> None:
        self.run: RunStarted | None = None
        self.ended: RunFinished | None = None
        self.position = Position(())
        self.time_left = TimeLeft((), 0.0)
        self.experiment: PlannedExperiment | None = None
        self.repetition = 1
        self.attempt: AttemptStarted | None = None
        self.trial: TrialStarted | None = None
        self.progress: TrialProgress | None = None
        self.last: TrialFinished | TransfersFinished | None = None
        self.tried: list[Tried] = []
        self.course: list[Second] = []
        self.course_title = ""
        self.done: Counter[str] = Counter()
        self.finished: list[tuple[PlannedExperiment, ExperimentFinished]] = []
        self.tester_cores: frozenset[int] = frozenset()
        self.trials = self.invalid = self.disturbed = self.tests = 0
        self._planned: dict[str, PlannedExperiment] = {}

    def receive(self, event: Event) -> None:
        self.time_left.now_s = event.clock_s
        super().receive(event)

    def planned(self, name: str) -> PlannedExperiment:
        return self._planned[name]

    @property
    def share_done(self) -> float:
        """Returns the share of the run's estimated time that has passed, from 0 to 1."""
        if self.experiment is None:
            return 0.0
        return self.time_left.share_done(self.experiment, self.attempt.step if self.attempt else 1)

    @property
    def share_of_experiment(self) -> float:
        """Returns the share of the current experiment's repetitions that is done, from 0 to 1."""
        if self.experiment is None:
            return 0.0
        step = self.attempt.step if self.attempt else 1
        done = self.done[self.experiment.name] + min(1.0, (step - 1) / self.experiment.steps)
        return min(1.0, done / self.experiment.repetitions)

    @property
    def seconds_left(self) -> float:
        """Returns the seconds that the run still takes; 0 before its first repetition and after its end."""
        if self.experiment is None or self.ended:
            return 0.0
        return self.time_left.seconds(self.experiment, self.attempt.step if self.attempt else 1)

    @property
    def time_left_text(self) -> str:
        """Returns the time that the run still takes, such as `about 3 min 20 s`; none before its first repetition."""
        return self.time_left.text(self.experiment, self.attempt.step if self.attempt else 1) if self.experiment else ""

    def run_started(self, event: RunStarted) -> None:
        # A session that was killed leaves a trial that never ends.
        State.__init__(self)
        self.run = event
        self._planned = {experiment.name: experiment for experiment in event.experiments}
        self.position = Position(event.experiments)
        self.time_left = TimeLeft(event.experiments, event.clock_s)

    def block_started(self, event: BlockStarted) -> None:
        self.position.block_started(event.number, event.experiments)

    def repetition_started(self, event: RepetitionStarted) -> None:
        experiment = self._planned[event.experiment]
        self.experiment, self.repetition = experiment, event.repetition
        self.attempt = self.trial = self.progress = self.last = None
        self.tried, self.course, self.course_title = [], [], ""
        self.position.repetition_begun(experiment)

    def testbed_built(self, event: TestbedBuilt) -> None:
        self.tester_cores = frozenset(event.tester_cores)

    def attempt_started(self, event: AttemptStarted) -> None:
        self.attempt, self.trial, self.progress = event, None, None

    def trial_started(self, event: TrialStarted) -> None:
        self.trial, self.progress = event, None
        self.course, self.course_title = [], f"step {event.step}: {event.title}"

    def trial_progress(self, event: TrialProgress) -> None:
        # The engine tells of a second a moment after its end.
        earlier = self.course[: max(0, math.ceil(event.elapsed_s - _TOLD_AFTER_S) - 1)]
        sent, received = (sum(counts) for counts in zip(*earlier, strict=True)) if earlier else (0, 0)
        self.course = [*earlier, Second(event.sent - sent, event.received - received)]
        self.progress = event

    def trial_finished(self, event: TrialFinished) -> None:
        self._step_finished(event.experiment, event.repetition, event.step)
        self.last, self.trial = event, None
        # After the last whole second comes a rest, which is no rate.
        whole = math.floor(event.duration_s + _TOLD_AFTER_S) or None
        self.course = [*map(Second, event.sent_per_second[:whole], event.received_per_second[:whole])]
        self.trials += 1
        self.invalid += event.verdict == Verdict.INVALID
        self.disturbed += event.verdict == Verdict.DISTURBED
        if self.attempt and (event.purpose == Purpose.MEASURE or event.verdict != Verdict.PASS):
            # A step is repeated until it decides something.
            if self.tried and self.tried[-1].step == event.step:
                self.tried.pop()
            self.tried.append(Tried(event.step, self.attempt.rate, event.verdict))

    def transfers_finished(self, event: TransfersFinished) -> None:
        self._step_finished(event.experiment, event.repetition, event.number)
        self.last = event
        self.tests += 1

    def _step_finished(self, experiment: str, repetition: int, step: int) -> None:
        self.time_left.step_finished(self._planned[experiment], repetition, step)

    def repetition_finished(self, event: RepetitionFinished) -> None:
        experiment = self._planned[event.experiment]
        self.time_left.repetition_finished(experiment)
        self.position.repetition_begun(experiment)
        self.done[event.experiment] += 1

    def experiment_finished(self, event: ExperimentFinished) -> None:
        experiment = self._planned[event.experiment]
        self.time_left.experiment_finished(experiment)
        self.position.experiment_finished(experiment)
        self.finished.append((experiment, event))

    def run_finished(self, event: RunFinished) -> None:
        self.ended, self.trial = event, None
