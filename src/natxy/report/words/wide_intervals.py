# SPDX-License-Identifier: Apache-2.0
"""States which intervals are too wide to decide from, their likely cause and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from natxy.plan.model.units import counted, format_duration, format_quantity
from natxy.plan.procedures.figures import CORE_SPEED
from natxy.report.words.disturbances import TOUCHED, kinds
from natxy.report.words.wording import percent
from natxy.results.analysis.disturbances import NOTICED_AWAY, NOTICED_PAUSE_S
from natxy.results.analysis.sweeps import sweeps
from natxy.results.analysis.wide_intervals import (
    MOST_REPETITIONS,
    WIDE,
    Corrupted,
    Disturbed,
    Drift,
    Few,
    Resolution,
    Slowed,
    TwoLevels,
    Unexplained,
    WideInterval,
    wide_intervals,
)
from natxy.results.records import ExperimentRecord, RunRecord

TITLE: Final = "Wide intervals and their likely cause"

_CAUSES: Final = {
    Resolution: "The rates tried are far apart: the last bracket is half of the interval or more. Lower the search's "
    "`error`, or the steps of a scan.",
    Corrupted: "Corrupt frames alone made most of the failed trials fail, and whether a short trial contains one is "
    "chance: the remarks on results say how to allow them.",
    Disturbed: "The machine was disturbed: trials decided nothing because of it, the tester paused for more than "
    f"{format_duration(NOTICED_PAUSE_S)}, or the gateway's core was away for more than "
    f"{percent(100 * NOTICED_AWAY, 0)} of a trial. Stop other work on the machine (`natxy doctor`), or repeat "
    "more often.",
    Slowed: "The gateway's core was slow in many trials: its clock changes, or another virtual machine or program uses "
    "the other hardware thread of the same physical core. Measure on a machine of your own, or repeat more often.",
    TwoLevels: "The results have two levels: something switches between repetitions. Look for it: the clock frequency, "
    "the cores of interrupts and tasks, a restart of the gateway. More repetitions do not help.",
    Drift: "The results rise or fall from repetition to repetition. Let the machine reach a steady state before the "
    "run. Drift cancels out of ratios within a block.",
    Few: "The repetitions are few: an interval shrinks with the root of their number. Repeat more often.",
    Unexplained: "No record explains it: the gateway itself varies, or something does that natxy does not see. "
    "Lengthen the trials, let a search of `kind: mlrsearch` decide each rate by several of them, or repeat more often.",
}


@dataclass(frozen=True)
class Explanation:
    """Holds a cause with what to do, and a line for each experiment or sweep that has it."""

    cause: str
    lines: tuple[str, ...]


def explanations(run: RunRecord) -> list[Explanation]:
    """Returns the likely causes of a run's wide intervals; of a sweep the cell with the widest has a line."""
    titles = {cell.id: sweep.title for sweep in sweeps(run) for cell in sweep.cells}
    found: dict[type, dict[str, list[WideInterval]]] = {}
    for wide in wide_intervals(run):
        if _decides_by_ratio(run, wide.experiment):
            continue
        title = titles.get(wide.experiment.id, wide.experiment.title)
        found.setdefault(type(wide.cause), {}).setdefault(title, []).append(wide)
    return [
        Explanation(words, tuple(_line(title, wide) for title, wide in found[kind].items()))
        for kind, words in _CAUSES.items()
        if kind in found
    ]


def _decides_by_ratio(run: RunRecord, experiment: ExperimentRecord) -> bool:
    """Returns whether nothing is decided by a rate at an unknown speed of the gateway's core, because all ratios of the
    experiment, which are at equal speed, are known well."""
    if CORE_SPEED not in experiment.declaration.figures:
        return False
    based = [each for each in run.experiments if each.baseline and each.baseline.id == experiment.id]
    halves = [_half_of_ratio(each) for each in ([experiment] if experiment.baseline else based)]
    return bool(halves) and all(half is not None and half <= WIDE for half in halves)


def _half_of_ratio(experiment: ExperimentRecord) -> float | None:
    """Returns half the interval of the ratio to the baseline, as a share of the ratio; None if it is unknown."""
    found = experiment.baseline_ratio
    if experiment.baseline is None or found is None or found.interval is None:
        return None
    return (found.interval.high - found.interval.low) / 2 / found.value


def _line(title: str, group: list[WideInterval]) -> str:
    widest = max(group, key=lambda wide: wide.half)
    which = f"{title}, {counted(len(group), 'cell')}, the widest" if widest.experiment.sweep else title
    half = f"{100 * widest.half:.0f}\N{NO-BREAK SPACE}%"
    return f"{which}: ±{half}; {_detail(widest)}{_ratio(widest)}"


def _ratio(wide: WideInterval) -> str:
    """States that the ratio to the baseline is not wide; empty if it is, or is unknown."""
    base, half = wide.experiment.baseline, _half_of_ratio(wide.experiment)
    if base is None or half is None or half > WIDE:
        return ""
    return f"; its ratio to {base.title} is known to ±{percent(100 * half)}"


def _detail(wide: WideInterval) -> str:
    unit = wide.experiment.unit
    match wide.cause:
        case Resolution(bracket):
            return f"the bracket is {percent(100 * bracket)}"
        case Corrupted(failed, by_corruption):
            return f"{by_corruption} of {counted(failed, 'failed trial')}"
        case Disturbed(counts, repetitions):
            among = f"{repetitions} of {counted(len(wide.experiment.values), 'repetition')}"
            return f"{kinds(counts, TOUCHED)}, in {among}; {_needed(wide)}"
        case Slowed(speed):
            slow = f"{speed.slowed_trials} of {counted(speed.trials, 'trial')}"
            mean = percent(100 * speed.mean, 0)
            return f"{slow}, at {mean} of its highest speed in the run on average; {_needed(wide)}"
        case TwoLevels(low, low_count, high, high_count, since):
            levels = f"{low_count} near {format_quantity(low, unit)}, {high_count} near {format_quantity(high, unit)}"
            return levels + (f", from repetition {since} on" if since else "")
        case Drift(change):
            return f"{'a rise' if change > 0 else 'a fall'} by {percent(100 * abs(change), 0)}"
        case Few() | Unexplained():
            return _needed(wide)


def _needed(wide: WideInterval) -> str:
    if wide.repetitions_needed is None:
        return f"more than {MOST_REPETITIONS} repetitions would be needed for ±{percent(100 * WIDE, 0)}"
    return f"about {wide.repetitions_needed} repetitions would be enough for ±{percent(100 * WIDE, 0)}"
