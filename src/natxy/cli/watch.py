# SPDX-License-Identifier: Apache-2.0
"""What a run shows while it measures: a live view on a terminal, a line a step elsewhere."""

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

from natxy.engine.messages.results import Progress, Verdict
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.model.units import Unit, format_duration, format_quantity
from natxy.plan.procedures.figures import Figure, applies
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import KIND_WORDS, FinishedTrial
from natxy.report.words.states import STATE_WORDS
from natxy.results.records import State, TrialKind
from natxy.results.statistics import Summary
from natxy.run.estimate import expected_steps, experiment_s
from natxy.run.events import RunListener
from natxy.search.outcome import Attempt
from natxy.system.interrupts import interrupts_held_back
from natxy.tcp.hosts import Transfer

# Drawing costs time on a machine that measures at the same moment.
REFRESH_S: Final = 0.4

_VERDICT_STYLE: Final = {"pass": "green", "fail": "red", "invalid": "yellow"}
_STATE_STYLE: Final = {
    State.DONE: "green",
    State.TESTER_LIMIT: "yellow",
    State.HOST_FAILED: "yellow",
    State.SKIPPED: "yellow",
}


class TimeLeft:
    """From the estimate of the whole, corrected by how long what was measured until now has taken.

    What a resumed run had measured before, and experiments that end early, only make the rest less.
    """

    def __init__(self, plan: ResolvedPlan) -> None:
        self._started = time.monotonic()
        self._expected_s = {experiment.name: experiment_s(plan, experiment) for experiment in plan.experiments}
        self._left_s = sum(self._expected_s.values())
        self._measured_s = 0.0
        self._measured: tuple[str, int, int] | None = None

    def step_finished(self, experiment: Experiment, repetition: int, step: int) -> None:
        """A trial of it, or a test between hosts."""
        if self._measured != (measured := (experiment.name, repetition, step)):
            self._measured = measured
            self._measured_s += self._expected_s[experiment.name] / (experiment.repeat * expected_steps(experiment))

    def experiment_finished(self, experiment: Experiment) -> None:
        self._left_s -= self._expected_s[experiment.name]

    def seconds(self, experiment: Experiment, repetition: int, step: int) -> float:
        """`repetition` and `step` under way, from 1."""
        within = min(1.0, (step - 1) / expected_steps(experiment))
        done_s = self._expected_s[experiment.name] * (repetition - 1 + within) / experiment.repeat
        # The first seconds say little about the pace.
        pace = (time.monotonic() - self._started) / self._measured_s if self._measured_s > 5 else 1.0
        return max(0.0, (self._left_s - done_s) * pace)


class PlainWatch(RunListener):
    """Lines that make sense in a log."""

    def __init__(self, plan: ResolvedPlan, console: Console) -> None:
        self._total = len(plan.experiments)
        self._console = console
        self._number = 0
        self._experiment: Experiment | None = None

    def run_started(self, folder: Path) -> None:
        self._say(f"results: {folder}")

    def experiment_started(self, experiment: Experiment) -> None:
        self._number += 1
        self._experiment = experiment
        self._say(f"experiment {self._number}/{self._total}: {experiment.title}")

    def trial_finished(self, trial: FinishedTrial) -> None:
        streams = trial.result.streams
        sent, received = sum(s.sent for s in streams), sum(s.received for s in streams)
        attempt = trial.attempt
        again = f", try {attempt.number}" if attempt.number > 1 else ""
        self._say(
            f"  step {attempt.step}{again}: {trial.title}: "
            f"{trial.result.verdict} ({trial.result.reason}); sent {sent:,}, received {received:,}"
        )

    def test_finished(self, number: int, found: Mapping[str, Transfer]) -> None:
        self._say(f"  test {number}: {_transfers(found)}")

    def repetition_finished(self, number: int, result: ProcedureResult) -> None:
        assert self._experiment is not None
        self._say(f"  repetition {number}: {_result(result, self._experiment)}")

    def experiment_finished(self, experiment: Experiment, state: State, reason: str, summary: Summary | None) -> None:
        self._say(f"  {_ending(experiment, state, reason, summary)}")

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class LiveWatch(RunListener):
    """Finished experiments scroll by as lines; below them the one under way. Use it as a context manager."""

    def __init__(self, plan: ResolvedPlan, console: Console) -> None:
        self._total = len(plan.experiments)
        self._time_left = TimeLeft(plan)
        # No thread of its own: that would run at normal priority on any core.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._shown_at = 0.0
        self._number = 0
        self._repetition = 1
        self._experiment: Experiment | None = None
        self._attempt: Attempt | None = None
        self._kind = TrialKind.TRAFFIC
        self._progress: Progress | None = None
        self._last = Text("")
        self._trials = self._invalid = self._tests = 0

    def __enter__(self) -> LiveWatch:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_held_back():
            self._live.__exit__(None, None, None)

    def run_started(self, folder: Path) -> None:
        self._print(Text(f"results: {folder}"))

    def experiment_started(self, experiment: Experiment) -> None:
        self._number += 1
        self._experiment, self._attempt, self._progress, self._last = experiment, None, None, Text("")
        self._show(at_once=True)

    def repetition_started(self, number: int) -> None:
        self._repetition = number

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
        self._last = Text(
            f"{trial.title}: {trial.result.verdict}, {trial.result.reason}",
            style=_VERDICT_STYLE[trial.result.verdict],
        )
        self._show()

    def test_finished(self, number: int, found: Mapping[str, Transfer]) -> None:
        assert self._experiment
        self._time_left.step_finished(self._experiment, self._repetition, number)
        self._tests += 1
        self._last = Text(_transfers(found))
        self._show()

    def experiment_finished(self, experiment: Experiment, state: State, reason: str, summary: Summary | None) -> None:
        self._time_left.experiment_finished(experiment)
        line = Text(f"{self._number}/{self._total} {experiment.title}: ")
        line.append(_ending(experiment, state, reason, summary), style=_STATE_STYLE.get(state, "red"))
        self._print(line)

    def _print(self, line: Text) -> None:
        with interrupts_held_back():
            self._live.console.print(line, soft_wrap=True)

    def _show(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._shown_at >= REFRESH_S:
            self._shown_at = now
            # Half drawn, or with an echoed ^C that begins a line of its own, it could not be cleared: its height would
            # not be what is on the terminal.
            with interrupts_held_back():
                self._live.update(Constrain(self._view(), self._live.console.width - len("^C")), refresh=True)

    def _view(self) -> RenderableType:
        experiment, attempt, progress = self._experiment, self._attempt, self._progress
        if experiment is None:
            return ""
        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="dim", justify="right")
        rows.add_column()
        rows.add_row("experiment", Text(f"{self._number}/{self._total}  {experiment.title}", style="bold"))
        if attempt is None:
            rows.add_row("", "setting up")
            return rows
        unit = experiment.procedure.step_unit
        bracket = ""
        if attempt.lower is not None and attempt.upper is not None:
            bracket = f", between {format_quantity(attempt.lower, unit)} and {format_quantity(attempt.upper, unit)}"
        again = f", try {attempt.number}" if attempt.number > 1 else ""
        rows.add_row("repetition", f"{self._repetition}/{experiment.repeat}")
        if experiment.procedure.between_hosts:
            rows.add_row("test", f"{attempt.step}/{expected_steps(experiment)}")
        else:
            rows.add_row(
                "search" if bracket else "", f"step {attempt.step}/~{expected_steps(experiment)}{again}{bracket}"
            )
            rows.add_row("rate", _quantity(attempt.rate, unit))
        if progress:
            # The two are not counted at the same instant, and what arrived was sent.
            sent = max(progress.sent, progress.received)
            lost = sent - progress.received
            counted = f"sent {sent:,} of {progress.planned:,}, received {progress.received:,}, missing {lost:,}"
            rows.add_row(KIND_WORDS[self._kind], counted)
        rows.add_row(f"last {'test' if experiment.procedure.between_hosts else 'trial'}", self._last)
        if self._trials or not experiment.procedure.between_hosts:
            rows.add_row("trials", f"{self._trials:,}, {self._invalid:,} of them invalid")
        if self._tests:
            rows.add_row("tests", f"{self._tests:,} between hosts")
        left_s = self._time_left.seconds(experiment, self._repetition, attempt.step)
        rows.add_row("time left", f"about {format_duration(max(1, round(left_s)))}")
        return rows


def _transfers(found: Mapping[str, Transfer]) -> str:
    return ", ".join(
        f"{direction} {format_quantity(transfer.goodput_bps, Unit.BPS)} ({transfer.retransmits:,} retransmissions)"
        for direction, transfer in found.items()
    )


def _quantity(value: float, unit: Unit) -> str:
    return format_quantity(value, unit) + (" per direction" if unit == Unit.FPS else "")


def _result(result: ProcedureResult, experiment: Experiment) -> str:
    """The headline alone where it is the only figure; with the procedure's remark. A figure that does not apply is
    missing, one without a value is `none`."""
    remark = f" ({result.remark})" if result.remark else ""
    if result.figures[experiment.procedure.headline().name] is None:
        return f"no result{remark}"
    if result.lower_bound is None and result.upper_bound is not None:
        return f"less than {_quantity(result.upper_bound, experiment.unit)}{remark}"
    figures: tuple[Figure, ...] = experiment.procedure.figures
    at_least = "at least " if result.lower_bound is not None and result.upper_bound is None else ""
    shown = []
    for figure in figures:
        if figure.name not in result.figures or not applies(figure, experiment.directions):
            continue
        value = result.figures[figure.name]
        name = f"{figure.title} " if len(figures) > 1 else ""
        bound = at_least if figure == figures[0] else ""
        shown.append(f"{name}{bound}{'none' if value is None else _quantity(value, figure.unit)}")
    return ", ".join(shown) + remark


def _ending(experiment: Experiment, state: State, reason: str, summary: Summary | None) -> str:
    words = []
    if summary is not None:
        median = summary.bounded_median.text(lambda value: _quantity(value, experiment.unit))
        median += experiment.loss_tolerance.label if experiment.loss_tolerance else ""
        words.append(f"median of {summary.count}: {median}" if summary.count > 1 else median)
    if state == State.NO_RESULT and summary is not None:
        without = experiment.repeat - summary.count
        words.append(f"{without} of {experiment.repeat} repetitions without result: {reason}")
    elif state not in (State.DONE, State.TESTER_LIMIT):
        words.append(f"{STATE_WORDS[state]}: {reason}")
    elif reason:
        words.append(reason)
    return "; ".join(words)
