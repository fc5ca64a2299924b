# SPDX-License-Identifier: Apache-2.0
"""Defines who is told of the events of a run."""

from __future__ import annotations

from natxy.events.base import Event
from natxy.events.run import (
    BlockStarted,
    ExperimentFinished,
    RepetitionFinished,
    RepetitionStarted,
    RunFinished,
    RunStarted,
    TestbedBuilt,
    TestbedRemoved,
    Warned,
)
from natxy.events.trials import AttemptStarted, TransfersFinished, TrialFinished, TrialProgress, TrialStarted


class RunListener:
    """Receives every event of a run and ignores it. Subclasses override the methods of the events that they need, or
    `receive` for all.

    The run waits for each call, `trial_progress` even in the middle of a trial: return quickly. An exception ends the
    run.
    """

    def receive(self, event: Event) -> None:
        """Passes the event to the method of its name."""
        getattr(self, event.event)(event)

    def warned(self, event: Warned) -> None: ...

    def run_started(self, event: RunStarted) -> None: ...

    def block_started(self, event: BlockStarted) -> None: ...

    def repetition_started(self, event: RepetitionStarted) -> None: ...

    def testbed_built(self, event: TestbedBuilt) -> None: ...

    def testbed_removed(self, event: TestbedRemoved) -> None: ...

    def attempt_started(self, event: AttemptStarted) -> None: ...

    def trial_started(self, event: TrialStarted) -> None: ...

    def trial_progress(self, event: TrialProgress) -> None: ...

    def trial_finished(self, event: TrialFinished) -> None: ...

    def transfers_finished(self, event: TransfersFinished) -> None: ...

    def repetition_finished(self, event: RepetitionFinished) -> None: ...

    def experiment_finished(self, event: ExperimentFinished) -> None: ...

    def run_finished(self, event: RunFinished) -> None: ...


class Listeners(RunListener):
    """Passes every event to several listeners, in their order."""

    def __init__(self, *listeners: RunListener) -> None:
        self._listeners = listeners

    def receive(self, event: Event) -> None:
        for listener in self._listeners:
            listener.receive(event)
