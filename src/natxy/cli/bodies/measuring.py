# SPDX-License-Identifier: Apache-2.0
"""Shares steps among verbs: telling what the machine lacks, showing the progress, and ending a run."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import typer

from natxy.cli.bodies.judging import GateFiles, gate_code, judge_run, print_answers
from natxy.cli.bodies.report import show
from natxy.errors import DutError, EngineDiedError, PlanError, TesterLimitError, ThresholdMissedError
from natxy.events.listener import Listeners, RunListener
from natxy.events.run import Warned
from natxy.events.writer import STDOUT, events_to
from natxy.results import RESULTS_FILE
from natxy.results.analysis.thresholds import Answer, overall
from natxy.run.folder import RUNS
from natxy.run.preflight import Preflight
from natxy.terminal.console import Console, LastingConsole
from natxy.terminal.errors import warn
from natxy.watch.live import LiveWatch
from natxy.watch.metrics import Metrics, serving
from natxy.watch.plain import PlainWatch

_WHY: Final = {
    EngineDiedError.exit_code: "the engine died; `natxy resume` repeats what it was measuring",
    PlanError.exit_code: "a gateway does not fit the plan",
    TesterLimitError.exit_code: "the tester was too slow for a result, or a host failed; neither is a result of the "
    "gateway. See docs/how-to/invalid-trials.md for a tester that is too slow",
    ThresholdMissedError.exit_code: "a result is worse than the plan expects",
    DutError.exit_code: "a gateway failed, is not installed or gave no result, or an experiment needs the result of "
    "another that has none",
}


def show_preflight(found: Preflight, console: Console) -> None:
    """Prints which experiments will be skipped or fail, and warns of what may spoil results."""
    for line in (*found.notes, *found.lines):
        console.say(line)
    for text in found.warnings:
        warn(text)


def console_beside(events: str | None) -> LastingConsole:
    """Returns the console for all that is not an event."""
    return LastingConsole(stderr=events == STDOUT)


def new_folder(name: str) -> Path:
    """Returns the default folder of a run that starts now."""
    return RUNS / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


def commands(given: Sequence[str] | None) -> list[list[str]]:
    """Returns the words of the commands of `--before`."""
    try:
        found = [shlex.split(command) for command in given or ()]
    except ValueError as error:
        raise PlanError(f"--before: expected a command as in a shell: {error}") from error
    if not all(found):
        raise PlanError("--before: expected a command, got an empty text")
    return found


def watched(
    console: LastingConsole,
    measure: Callable[[RunListener], int],
    events: str | None = None,
    metrics: str | None = None,
) -> int:
    """Shows the progress of `measure` on the console, and returns its exit code.

    Its events are also written to `events`, a file or `-`, and offered as `metrics` at an address.
    """
    with contextlib.ExitStack() as stack:
        listeners: list[RunListener] = []
        if metrics is not None:
            listeners.append(counted := Metrics())
            console.say(f"Metrics: {stack.enter_context(serving(counted, metrics, console.say))}")
        view = stack.enter_context(LiveWatch(console)) if console.is_terminal else PlainWatch(console)
        if events is not None:
            listeners.append(stack.enter_context(events_to(events, lambda text: view.receive(Warned(text=text)))))
        return measure(Listeners(*listeners, view))


@contextlib.contextmanager
def resumable(folder: Path, console: LastingConsole) -> Iterator[None]:
    """Prints how to resume the run if an exception ends it, unless the exception rejects a run that existed before."""
    existed = has_results(folder)
    try:
        yield
    except BaseException as error:
        if has_results(folder) and not (existed and isinstance(error, PlanError)):
            print_how_to_resume(folder, console)
        raise


def has_results(folder: Path) -> bool:
    # Unlike pathlib's, os.path.exists returns False in a folder that may not be entered.
    return os.path.exists(folder / RESULTS_FILE)


def print_how_to_resume(folder: Path, console: LastingConsole) -> None:
    console.say(
        f"What was measured is in {folder}; `natxy report {folder}` shows it, `natxy resume {folder}` continues."
    )


def end(folder: Path, console: LastingConsole, code: int, files: GateFiles, undecided: int) -> None:
    """Prints the results, judges them by what the plan expects, and exits with `code` or that of the answers.

    The answers are printed and written whatever `code` is. `undecided` is the exit code of no certain answer.
    """
    run = show(folder, console, list_caveats=False)
    judged = judge_run(run)
    files.write(run.name, judged)
    print_answers(judged, console)
    why = _WHY.get(code)
    if not code:
        code = gate_code(judged, undecided)
        why = _WHY[code] if overall(judged) is Answer.MISSED else "a threshold is undecided"
    if code:
        console.say(f"Exit code {code}: {why}.")
        raise typer.Exit(code)
