# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run on a terminal: a live view below the lines of finished experiments."""

from __future__ import annotations

import time
from typing import Final

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.table import Table
from rich.text import Text

from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import BlockStarted, ExperimentFinished, RepetitionStarted, RunStarted, Warned
from natxy.events.trials import AttemptStarted, TransfersFinished, TrialFinished, TrialProgress
from natxy.plan.model.units import counted, format_duration, format_quantity
from natxy.results.records import State as ExperimentState
from natxy.results.trials import KIND_WORDS
from natxy.system.interrupts import interrupts_held_back
from natxy.watch.state import State
from natxy.watch.wording import ending_text, quantity_text, transfers_text

# Drawing takes CPU time from the measurement.
REFRESH_S: Final = 0.4

_VERDICT_STYLE: Final = {"pass": "green", "fail": "red", "invalid": "yellow", "disturbed": "yellow"}
_STATE_STYLE: Final = {
    ExperimentState.DONE: "green",
    ExperimentState.TESTER_LIMIT: "yellow",
    ExperimentState.HOST_FAILED: "yellow",
    ExperimentState.SKIPPED: "yellow",
}


class LiveWatch(RunListener):
    """Prints a line for each finished experiment, and below them a live view of the current one.

    It is a context manager.
    """

    def __init__(self, console: Console) -> None:
        self._state = State()
        # A thread that refreshes would run at normal priority, on any core.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown_at = 0.0
        self._block: BlockStarted | None = None

    def __enter__(self) -> LiveWatch:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_held_back():
            self._live.__exit__(None, None, None)

    def receive(self, event: Event) -> None:
        if isinstance(event, BlockStarted):
            self._print_block(event)
        self._state.receive(event)
        super().receive(event)

    def warned(self, event: Warned) -> None:
        self._print(Text(f"warning: {event.text}", style="yellow"))

    def run_started(self, event: RunStarted) -> None:
        # Broken by the terminal alone, a path can be copied.
        self._print(Text(f"results: {event.folder}"), soft_wrap=True)

    def _print_block(self, following: BlockStarted) -> None:
        """Prints how long the block took that has ended."""
        if self._block:
            took = format_duration(round(following.clock_s - self._block.clock_s))
            count = counted(self._block.experiments, "experiment")
            self._print(Text(f"block {self._state.position.block}: {count} in {took}", style="dim"))
        self._block = following

    def repetition_started(self, event: RepetitionStarted) -> None:
        self._show(at_once=True)

    def attempt_started(self, event: AttemptStarted) -> None:
        self._show()

    def trial_progress(self, event: TrialProgress) -> None:
        self._show()

    def trial_finished(self, event: TrialFinished) -> None:
        self._show()

    def transfers_finished(self, event: TransfersFinished) -> None:
        self._show()

    def experiment_finished(self, event: ExperimentFinished) -> None:
        experiment = self._state.planned(event.experiment)
        line = Text(f"finished {self._state.position.finished}: {experiment.title}: ")
        line.append(ending_text(experiment, event), style=_STATE_STYLE.get(event.state, "red"))
        self._print(line)

    def _print(self, line: Text, *, soft_wrap: bool = False) -> None:
        with interrupts_held_back():
            self._live.console.print(line, soft_wrap=soft_wrap)

    def _show(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._shown_at >= REFRESH_S:
            self._shown_at = now
            # A half-drawn view could not be cleared, nor one whose last line is broken by an echoed ^C: its height on
            # the terminal would be unknown.
            with interrupts_held_back():
                self._live.update(Constrain(self._view(), self._live.console.width - len("^C")), refresh=True)

    def _view(self) -> RenderableType:
        state = self._state
        experiment, attempt, progress, position = state.experiment, state.attempt, state.progress, state.position
        if experiment is None:
            return ""
        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="dim", justify="right")
        rows.add_column()
        if position.block:
            rows.add_row("block", position.block)
        rows.add_row("experiment", Text(f"{position.experiment(experiment)}: {experiment.title}", style="bold"))
        if attempt is None:
            rows.add_row("", "setting up")
            return rows
        unit = experiment.step_unit
        interval = ""
        if attempt.lower is not None and attempt.upper is not None:
            interval = f", between {format_quantity(attempt.lower, unit)} and {format_quantity(attempt.upper, unit)}"
        again = f", attempt {attempt.attempt}" if attempt.attempt > 1 else ""
        if not position.block:
            rows.add_row("repetition", position.repetition(experiment, state.repetition))
        if experiment.between_hosts:
            rows.add_row("test", f"{attempt.step} of {experiment.steps}")
        else:
            rows.add_row(
                "search" if interval else "", f"step {attempt.step} of about {experiment.steps}{again}{interval}"
            )
            rows.add_row("rate", quantity_text(attempt.rate, unit))
        if progress:
            # The two counters are read at different instants, and every received frame was sent.
            sent = max(progress.sent, progress.received)
            lost = sent - progress.received
            counts = f"sent {sent:,} of {progress.planned:,}, received {progress.received:,}, missing {lost:,}"
            rows.add_row(KIND_WORDS[progress.kind], counts)
        rows.add_row(f"last {'test' if experiment.between_hosts else 'trial'}", self._last())
        if state.trials or not experiment.between_hosts:
            disturbed = f", {state.disturbed:,} disturbed" if state.disturbed else ""
            rows.add_row("trials", f"{state.trials:,}, {state.invalid:,} of them invalid{disturbed}")
        if state.tests:
            rows.add_row("tests", f"{state.tests:,} between hosts")
        rows.add_row("time left", state.time_left_text)
        return rows

    def _last(self) -> Text:
        last = self._state.last
        if isinstance(last, TrialFinished):
            return Text(f"{last.title}: {last.verdict}, {last.reason}", style=_VERDICT_STYLE[last.verdict])
        return Text(transfers_text(last.transfers) if last else "")
