# SPDX-License-Identifier: Apache-2.0
"""Prints the progress of a run as lines, for a log."""

from __future__ import annotations

from rich.console import Console

from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import (
    BlockStarted,
    ExperimentFinished,
    RepetitionFinished,
    RepetitionStarted,
    RunStarted,
    Warned,
)
from natxy.events.trials import TransfersFinished, TrialFinished
from natxy.plan.model.units import counted
from natxy.watch.state import State
from natxy.watch.wording import ending_text, result_text, transfers_text


class PlainWatch(RunListener):
    """Prints a line for each event."""

    def __init__(self, console: Console) -> None:
        self._state = State()
        self._console = console

    def receive(self, event: Event) -> None:
        self._state.receive(event)
        super().receive(event)

    def warned(self, event: Warned) -> None:
        self._print(f"warning: {event.text}")

    def run_started(self, event: RunStarted) -> None:
        self._print(f"results: {event.folder}")

    def block_started(self, event: BlockStarted) -> None:
        self._print(f"block {self._state.position.block}: {counted(event.experiments, 'experiment')}")

    def repetition_started(self, event: RepetitionStarted) -> None:
        experiment, position = self._state.planned(event.experiment), self._state.position
        which = f"experiment {position.experiment(experiment)}"
        if position.block:
            which = f"block {position.block}, {which}: {experiment.title}"
        else:
            which += f": {experiment.title}, repetition {position.repetition(experiment, event.repetition)}"
        self._print(f"{which}; {self._state.time_left_text} left")

    def trial_finished(self, event: TrialFinished) -> None:
        again = f", attempt {event.attempt}" if event.attempt > 1 else ""
        self._print(
            f"  step {event.step}{again}: {event.title}: "
            f"{event.verdict} ({event.reason}); sent {event.sent:,}, received {event.received:,}"
        )

    def transfers_finished(self, event: TransfersFinished) -> None:
        self._print(f"  test {event.number}: {transfers_text(event.transfers)}")

    def repetition_finished(self, event: RepetitionFinished) -> None:
        experiment = self._state.planned(event.experiment)
        self._print(f"  {experiment.title}, repetition {event.repetition}: {result_text(event)}")

    def experiment_finished(self, event: ExperimentFinished) -> None:
        experiment = self._state.planned(event.experiment)
        self._print(f"finished {self._state.position.finished}: {experiment.title}: {ending_text(experiment, event)}")

    def _print(self, line: str) -> None:
        """Prints one line, whatever a title contains."""
        line = " ".join(line.splitlines())
        self._console.print(line, soft_wrap=True)
