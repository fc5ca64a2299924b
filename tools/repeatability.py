# SPDX-License-Identifier: Apache-2.0
"""Measures a plan several times and prints how far the runs agree, and whether that meets a goal.

    python -m tools.repeatability plans/quickstart.yaml FOLDER 10 --minutes 3 --ratios 3 --medians 10
    python -m tools.repeatability plans/quickstart.yaml FOLDER 10 --only nat --hogs 1 --precision 10
    python -m tools.repeatability plans/compare-gateways.yaml FOLDER 3 --ratios 5 --capacity 16384

Runs that FOLDER already has count, so that a later call adds to them. The tables are Markdown: one has a row for each
run with its state and what disturbed it, the second a row for each experiment with the medians and the ratios of all
runs, the third a row for each limit of the goal. "Apart" is how far the run farthest from the middle of all runs is
from it. "Intervals" is half of the widest interval that a run gives a ratio. "With the speed" is the rank correlation,
from -1 to 1, of all repetitions with the speed of the gateway's core in their trials: 0 if the machine has no part in
their spread. A run that was interrupted, or lacks a result, stays in the tables, and the goal is missed; the exit code
is then 1.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scipy.stats import spearmanr

from natxy.plan.model.units import Unit, format_quantity
from natxy.report.words.states import run_state
from natxy.report.words.wording import percent
from natxy.results.analysis.disturbances import Absences, disturbances
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, RunState
from tools.repeated_tests import hogs

_ABSENT: Final = "–"

Judged = tuple[str, str, str, bool]


def measure(plan: Path, folder: Path, times: int, only: Sequence[str] = ()) -> list[RunRecord]:
    """Measures the plan, or `only` some of its experiments, until the folder has `times` runs, and returns them."""
    chosen = [word for name in only for word in ("--only", name)]
    runs = []
    for number in range(1, times + 1):
        output = folder / f"{number:02}"
        if not output.exists():
            # A run that fails is shown with its state.
            subprocess.run(
                [sys.executable, "-m", "natxy", "run", str(plan), "--output", str(output), *chosen],
                stdout=sys.stderr,
                check=False,
            )
        runs.append(RunReader(output).run)
    return runs


def run_rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    yield "| run | state | minutes | trials | invalid | disturbed | steal | run delay | the gateway's speed | lowest |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for number, run in enumerate(runs, 1):
        found = disturbances(run)
        speed = found.gateway_speed
        speeds = [percent(100 * share, 0) for share in (speed.mean, speed.least)] if speed else [_ABSENT] * 2
        counts = [f"{run.active_s / 60:.1f}", *map(str, (found.trials, found.invalid, found.disturbed))]
        yield f"| {' | '.join([str(number), run_state(run), *counts, *away(found.gateway), *speeds])} |"


def away(absences: Absences | None) -> list[str]:
    """Returns steal and run delay of the gateway's core, as shares of the trials' time."""
    parts = (absences.stolen_s, absences.delayed_s) if absences and absences.traffic_s else (None, None)
    return [_ABSENT if part is None or not absences else percent(100 * part / absences.traffic_s) for part in parts]


def experiment_rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    yield "| experiment | medians | apart | with the speed | of the baseline | apart | intervals |"
    yield "|---|---|---|---|---|---|---|"
    for first in runs[0].experiments:
        same = same_experiments(runs, first)
        medians, ratios = medians_of(same), ratios_of(same)
        missing = f" ({len(runs) - len(medians)} without a result)" if len(medians) < len(runs) else ""
        cells = (
            first.name,
            ", ".join(format_quantity(value, first.unit) for value in medians) + missing,
            apart(medians),
            with_speed([repetition for each in same for repetition in each.repetitions]),
            ", ".join(f"{value:.1f} %" for value in ratios) or _ABSENT,
            apart(ratios),
            _within(widest(same)),
        )
        yield f"| {' | '.join(cells)} |"


def same_experiments(runs: Sequence[RunRecord], first: ExperimentRecord) -> list[ExperimentRecord]:
    return [each for run in runs for each in run.experiments if each.name == first.name]


def medians_of(same: Iterable[ExperimentRecord]) -> list[float]:
    return [each.statistics.median for each in same if each.statistics]


def ratios_of(same: Iterable[ExperimentRecord]) -> list[float]:
    return [each.baseline_ratio_percent for each in same if each.baseline_ratio_percent is not None]


def widest(same: Iterable[ExperimentRecord]) -> float | None:
    """Returns half of the widest interval of a ratio, in percent of the ratio; None if none has an interval."""
    intervals = [(ratio, ratio.interval) for each in same if (ratio := each.baseline_ratio) and ratio.interval]
    return max((50 * (found.high - found.low) / ratio.value for ratio, found in intervals), default=None)


def apart(values: Sequence[float]) -> str:
    """Writes how far values are apart, such as `±2.1 %`."""
    return _within(farthest(values))


def _within(found: float | None) -> str:
    return _ABSENT if found is None else f"±{found:.1f} %"


def farthest(values: Sequence[float]) -> float | None:
    """Returns the largest distance from the values' median, in percent of it; None if there is none."""
    middle = statistics.median(values) if values else 0
    if len(values) < 2 or not middle:
        return None
    return 100 * max(abs(value - middle) for value in values) / middle


@dataclass(frozen=True)
class Goal:
    """Holds the limits that were asked for.

    `minutes` is the longest time of a run. `ratios` and `medians` are in percent of the middle of all runs. `precision`
    is half of the widest interval of a ratio, in percent. `capacity` is the number of connections of every table.
    """

    minutes: float | None = None
    ratios: float | None = None
    medians: float | None = None
    precision: float | None = None
    capacity: int | None = None


def goal_rows(runs: Sequence[RunRecord], goal: Goal) -> Iterator[str]:
    """Yields a row for each limit, and one for the goal as a whole; without a limit, nothing."""
    judged = judge(runs, goal)
    if not judged:
        return
    yield "| goal | limit | found | |"
    yield "|---|---|---|---|"
    for words, limit, found, met in (*judged, ("goal", "", "", all(met for *_, met in judged))):
        yield f"| {words} | {limit} | {found} | {'met' if met else 'missed'} |"


def judge(runs: Sequence[RunRecord], goal: Goal) -> list[Judged]:
    """Returns each limit in words, the limit, what was found, and whether it is met; nothing without a limit."""
    judged = [*_judged(runs, goal)]
    if not judged:
        return []
    complete = [run for run in runs if run.state is RunState.DONE and all(map(_has_results, run.experiments))]
    return [("runs with all results", f"{len(runs)}", f"{len(complete)}", len(complete) == len(runs)), *judged]


def _has_results(experiment: ExperimentRecord) -> bool:
    return bool(experiment.statistics and (experiment.baseline_ratio or not experiment.baseline))


def _judged(runs: Sequence[RunRecord], goal: Goal) -> Iterator[Judged]:
    if goal.minutes is not None:
        longest = max(run.active_s for run in runs) / 60
        yield "minutes of a run", f"{goal.minutes:g}", f"{longest:.1f}", longest <= goal.minutes
    groups = [same_experiments(runs, first) for first in runs[0].experiments]
    limits: list[tuple[str, float | None, Callable[[list[ExperimentRecord]], float | None]]] = [
        ("ratios", goal.ratios, lambda same: farthest(ratios_of(same))),
        ("medians", goal.medians, lambda same: farthest(medians_of(same))),
        ("intervals of ratios", goal.precision, widest),
    ]
    for words, limit, percent_of in limits:
        if limit is not None:
            worst = max((each for same in groups if (each := percent_of(same)) is not None), default=None)
            yield words, f"±{limit:g} %", _within(worst), worst is not None and worst <= limit
    if goal.capacity is not None:
        tables = [each for same in groups for each in same if each.unit == Unit.CONNECTIONS]
        summaries = [table.statistics for table in tables if table.statistics]
        # A search ends with a bracket around the truth.
        exact = sum(each.median <= goal.capacity <= each.median + each.resolution for each in summaries)
        words = f"{exact} of {len(summaries)}"
        yield "capacities", f"{goal.capacity:,}", words, bool(summaries) and exact == len(summaries)


def with_speed(repetitions: Sequence[RepetitionRecord]) -> str:
    """Returns Spearman's correlation of the results with the mean speed of the gateway's core."""
    pairs = [
        (each.value, statistics.fmean(speeds))
        for each in repetitions
        if each.value is not None
        and (speeds := [core.mean_hz for trial in each.trials for core in trial.result.dut_cores])
    ]
    if len({value for value, _ in pairs}) < 3:
        return _ABSENT
    return f"{spearmanr(*zip(*pairs, strict=True)).statistic:+.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures a plan several times and prints how far the runs agree.")
    parser.add_argument("plan", type=Path)
    parser.add_argument("folder", type=Path, help="for the runs; those that it has are not measured again")
    parser.add_argument("times", type=int, help="number of runs")
    parser.add_argument("--minutes", type=float, help="the longest time of a run")
    parser.add_argument("--ratios", type=float, help="how far ratios to baselines may be apart, in percent")
    parser.add_argument("--medians", type=float, help="how far medians may be apart, in percent")
    parser.add_argument("--precision", type=float, help="how wide half of a ratio's interval may be, in percent")
    parser.add_argument("--capacity", type=int, help="the number of connections that every table holds")
    parser.add_argument("--only", action="append", default=[], help="an experiment to measure, with what it needs")
    parser.add_argument("--hogs", type=int, default=0, help="number of busy programs meanwhile")
    asked = parser.parse_args()
    with hogs(asked.hogs):
        measured = measure(asked.plan, asked.folder, asked.times, asked.only)
    wanted = Goal(asked.minutes, asked.ratios, asked.medians, asked.precision, asked.capacity)
    print("\n".join([*run_rows(measured), "", *experiment_rows(measured), "", *goal_rows(measured, wanted)]))
    sys.exit(0 if all(met for *_, met in judge(measured, wanted)) else 1)
