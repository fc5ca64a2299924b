# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run on a terminal: a live view below the lines of finished experiments."""

from __future__ import annotations

import time
from typing import Final

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import BlockStarted, ExperimentFinished, PlannedExperiment, RepetitionStarted, RunStarted, Warned
from natxy.events.trials import AttemptStarted, TransfersFinished, TrialFinished, TrialProgress
from natxy.plan.model.units import counted, format_duration, format_quantity
from natxy.results.records import State as ExperimentState
from natxy.results.trials import KIND_WORDS
from natxy.system.interrupts import interrupts_held_back
from natxy.watch.sparkline import Bar, Sparkline
from natxy.watch.state import State
from natxy.watch.wording import ending_text, quantity_text, transfers_text, trial_text

# Drawing takes CPU time from the measurement.
REFRESH_S: Final = 0.4

_LABEL: Final = len("experiment")
_LEAST_BAR: Final = 8
_MOST_BAR: Final = 60
_ON_THEIR_WAY: Final = 0.001
# A terminal that knows these shows what is between them at once, so that the view does not flicker; others ignore them
# (Synchronized Output, private mode 2026).
_BEGIN_UPDATE: Final = "\x1b[?2026h"
_END_UPDATE: Final = "\x1b[?2026l"

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
            width = self._live.console.width - len("^C")
            with interrupts_held_back(), self._live.console:
                self._send(_BEGIN_UPDATE)
                self._live.update(Constrain(self._view(width), width), refresh=True)
                self._send(_END_UPDATE)

    def _send(self, sequence: str) -> None:
        """Sends the terminal what takes no room on it."""
        control = Control()
        control.segment = Segment(sequence, control=[])
        self._live.console.control(control)

    def _view(self, width: int) -> RenderableType:
        state = self._state
        experiment, attempt = state.experiment, state.attempt
        if experiment is None:
            return ""
        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="dim", justify="right", width=_LABEL, no_wrap=True)
        # A line that is broken on one trial and not on the next would make the view jump.
        rest = max(_LEAST_BAR, width - _LABEL - 2)
        rows.add_column(width=rest, no_wrap=True, overflow="ellipsis")
        far = f"{100 * state.share_done:.0f} %, {state.time_left_text} left"
        rows.add_row("plan", _bar(state.share_done, rest, far))
        if state.position.block:
            rows.add_row("block", state.position.block)
        which = state.position.experiment(experiment)
        rows.add_row("experiment", Text(f"{which}: {experiment.title}", style="bold"))
        if attempt is None:
            rows.add_row("", "setting up")
            return rows
        which = state.position.repetition(experiment, state.repetition)
        rows.add_row("repetition", _bar(state.share_of_experiment, rest, which))
        if experiment.between_hosts:
            rows.add_row("test", f"{attempt.step} of {experiment.steps}")
        else:
            self._add_search(rows, experiment, attempt, rest)
        rows.add_row(f"last {'test' if experiment.between_hosts else 'trial'}", self._last())
        if state.trials or not experiment.between_hosts:
            disturbed = f", {state.disturbed:,} disturbed" if state.disturbed else ""
            rows.add_row("trials", f"{state.trials:,}, {state.invalid:,} of them invalid{disturbed}")
        if state.tests:
            rows.add_row("tests", f"{state.tests:,} between hosts")
        return rows

    def _add_search(self, rows: Table, experiment: PlannedExperiment, attempt: AttemptStarted, rest: int) -> None:
        state, unit = self._state, experiment.step_unit
        again = f", attempt {attempt.attempt}" if attempt.attempt > 1 else ""
        rows.add_row("step", f"{attempt.step} of about {experiment.steps}: {quantity_text(attempt.rate, unit)}{again}")
        between = ""
        if attempt.lower is not None and attempt.upper is not None:
            between = f"between {format_quantity(attempt.lower, unit)} and {format_quantity(attempt.upper, unit)}"
        tried = [Bar(each.rate, _VERDICT_STYLE[each.verdict]) for each in state.tried]
        rows.add_row("search" if between else "tried", Sparkline(tried, between, _most(rest, between)))
        progress = state.progress
        if progress is None:
            rows.add_row(KIND_WORDS[state.trial.kind] if state.trial else "", "")
            rows.add_row("", "")
            return
        share = progress.sent / progress.planned if progress.planned else 0.0
        sent = f"{progress.sent:,} of {progress.planned:,} sent"
        rows.add_row(KIND_WORDS[progress.kind], _bar(share, rest, sent))
        # The two counters are read at different instants, and every received frame was sent.
        missing = f"{max(0, progress.sent - progress.received):,}"
        # Frames on their way are not lost.
        lost = [each.missing if each.missing > _ON_THEIR_WAY * each.sent else 0 for each in state.course]
        bars = [Bar(frames, "red" if frames else "green") for frames in lost]
        rows.add_row("missing", Sparkline(bars, missing, _most(rest, missing), from_zero=True))

    def _last(self) -> Text:
        last = self._state.last
        if isinstance(last, TrialFinished):
            return Text(trial_text(last), style=_VERDICT_STYLE[last.verdict])
        return Text(transfers_text(last.transfers) if last else "")


def _bar(share: float, rest: int, after: str) -> RenderableType:
    """Returns a bar of progress with a text after it, which has the room it needs."""
    row = Table.grid(padding=(0, 2))
    row.add_column()
    row.add_column(no_wrap=True, overflow="ellipsis")
    width = min(_MOST_BAR, _most(rest, after))
    row.add_row(ProgressBar(1.0, share, width, complete_style="cyan", finished_style="cyan"), after)
    return row


def _most(rest: int, after: str) -> int:
    """Returns the columns that are left beside a text."""
    return max(_LEAST_BAR, rest - len(after) - 2)
