# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run on a terminal: a live view below the lines of finished experiments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.table import Table
from rich.text import Text

from natxy.cli.watch.position import Position
from natxy.cli.watch.time_left import TimeLeft
from natxy.cli.watch.wording import ending_text, quantity_text, transfers_text
from natxy.engine.messages.results import Progress, Verdict
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.model.units import counted, format_duration, format_quantity
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import KIND_WORDS, FinishedTrial
from natxy.results.records import State
from natxy.results.statistics import Summary
from natxy.results.trials import TrialKind
from natxy.run.estimate import expected_steps
from natxy.run.events import RunListener
from natxy.search.outcome import Attempt
from natxy.system.interrupts import interrupts_held_back
from natxy.tcp.hosts import Transfer

# Drawing takes CPU time from the measurement.
REFRESH_S: Final = 0.4

_VERDICT_STYLE: Final = {"pass": "green", "fail": "red", "invalid": "yellow", "disturbed": "yellow"}
_STATE_STYLE: Final = {
    State.DONE: "green",
    State.TESTER_LIMIT: "yellow",
    State.HOST_FAILED: "yellow",
    State.SKIPPED: "yellow",
}


class LiveWatch(RunListener):
    """Prints a line for each finished experiment, and below them a live view of the current one.

    It is a context manager.
    """

    def __init__(self, plan: ResolvedPlan, console: Console) -> None:
        self._position = Position(plan)
        self._time_left = TimeLeft(plan)
        # A thread that refreshes would run at normal priority, on any core.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown_at = 0.0
        self._block_size = 0
        self._block_started_at = 0.0
        self._repetition = 1
        self._experiment: Experiment | None = None
        self._attempt: Attempt | None = None
        self._kind = TrialKind.TRAFFIC
        self._progress: Progress | None = None
        self._last = Text("")
        self._trials = self._invalid = self._disturbed = self._tests = 0

    def __enter__(self) -> LiveWatch:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_held_back():
            self._live.__exit__(None, None, None)

    def run_started(self, folder: Path) -> None:
        # Broken by the terminal alone, a path can be copied.
        self._print(Text(f"results: {folder}"), soft_wrap=True)

    def block_started(self, number: int, experiments: int) -> None:
        now = time.monotonic()
        if last := self._position.block:
            took = format_duration(round(now - self._block_started_at))
            self._print(Text(f"block {last}: {counted(self._block_size, 'experiment')} in {took}", style="dim"))
        self._position.block_started(number, experiments)
        self._block_size, self._block_started_at = experiments, now

    def repetition_started(self, experiment: Experiment, number: int) -> None:
        self._experiment, self._attempt, self._progress, self._last = experiment, None, None, Text("")
        self._repetition = number
        self._position.repetition_begun(experiment)
        self._show(at_once=True)

    def repetition_finished(self, experiment: Experiment, number: int, result: ProcedureResult) -> None:
        self._time_left.repetition_finished(experiment)
        self._position.repetition_begun(experiment)

    def attempt_started(self, attempt: Attempt) -> None:
        self._attempt, self._progress = attempt, None
        self._show()

    def progress(self, kind: TrialKind, progress: Progress) -> None:
        self._kind, self._progress = kind, progress
        self._show()

    def trial_finished(self, trial: FinishedTrial) -> None:
        assert self._experiment
        self._time_left.step_finished(self._experiment, self._repetition, trial.attempt.step)
        self._trials += 1
        self._invalid += trial.result.verdict == Verdict.INVALID
        self._disturbed += trial.result.verdict == Verdict.DISTURBED
        self._last = Text(
            f"{trial.title}: {trial.result.verdict}, {trial.result.reason}",
            style=_VERDICT_STYLE[trial.result.verdict],
        )
        self._show()

    def test_finished(self, number: int, found: Mapping[str, Transfer]) -> None:
        assert self._experiment
        self._time_left.step_finished(self._experiment, self._repetition, number)
        self._tests += 1
        self._last = Text(transfers_text(found))
        self._show()

    def experiment_finished(self, experiment: Experiment, state: State, reason: str, summary: Summary | None) -> None:
        self._time_left.experiment_finished(experiment)
        self._position.experiment_finished(experiment)
        line = Text(f"finished {self._position.finished}: {experiment.title}: ")
        line.append(ending_text(experiment, state, reason, summary), style=_STATE_STYLE.get(state, "red"))
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
        experiment, attempt, progress = self._experiment, self._attempt, self._progress
        if experiment is None:
            return ""
        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="dim", justify="right")
        rows.add_column()
        if block := self._position.block:
            rows.add_row("block", block)
        rows.add_row("experiment", Text(f"{self._position.experiment(experiment)}: {experiment.title}", style="bold"))
        if attempt is None:
            rows.add_row("", "setting up")
            return rows
        unit = experiment.procedure.step_unit
        interval = ""
        if attempt.lower is not None and attempt.upper is not None:
            interval = f", between {format_quantity(attempt.lower, unit)} and {format_quantity(attempt.upper, unit)}"
        again = f", attempt {attempt.number}" if attempt.number > 1 else ""
        if not block:
            rows.add_row("repetition", self._position.repetition(experiment, self._repetition))
        if experiment.procedure.between_hosts:
            rows.add_row("test", f"{attempt.step} of {expected_steps(experiment)}")
        else:
            rows.add_row(
                "search" if interval else "",
                f"step {attempt.step} of about {expected_steps(experiment)}{again}{interval}",
            )
            rows.add_row("rate", quantity_text(attempt.rate, unit))
        if progress:
            # The two counters are read at different instants, and every received frame was sent.
            sent = max(progress.sent, progress.received)
            lost = sent - progress.received
            counted = f"sent {sent:,} of {progress.planned:,}, received {progress.received:,}, missing {lost:,}"
            rows.add_row(KIND_WORDS[self._kind], counted)
        rows.add_row(f"last {'test' if experiment.procedure.between_hosts else 'trial'}", self._last)
        if self._trials or not experiment.procedure.between_hosts:
            disturbed = f", {self._disturbed:,} disturbed" if self._disturbed else ""
            rows.add_row("trials", f"{self._trials:,}, {self._invalid:,} of them invalid{disturbed}")
        if self._tests:
            rows.add_row("tests", f"{self._tests:,} between hosts")
        rows.add_row("time left", self._time_left.text(experiment, attempt.step))
        return rows
