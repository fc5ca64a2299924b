# SPDX-License-Identifier: Apache-2.0
"""Measures a plan several times and prints how far the runs agree: `python -m tools.repeatability PLAN FOLDER TIMES`.

Runs that FOLDER already has count, so that a later call adds to them. The tables are Markdown: one has a row for each
run with what disturbed it, the other a row for each experiment with the medians and the ratios of all runs. "Apart" is
how far the run farthest from the middle of all runs is from it. "With the speed" is the rank correlation, from -1 to 1,
of all repetitions with the speed of the gateway's core in their trials: 0 if the machine has no part in their spread.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from scipy.stats import spearmanr

from natxy.plan.model.units import format_quantity
from natxy.report.words.wording import percent
from natxy.results.analysis.disturbances import disturbances
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord, RunRecord

_ABSENT: Final = "–"


def measure(plan: Path, folder: Path, times: int) -> list[RunRecord]:
    """Measures the plan until the folder has `times` runs, and returns them."""
    runs = []
    for number in range(1, times + 1):
        output = folder / f"{number:02}"
        if not output.exists():
            subprocess.run(["natxy", "run", str(plan), "--output", str(output)], stdout=sys.stderr, check=False)
        runs.append(RunReader(output).run)
    return runs


def run_rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    yield "| run | minutes | trials | invalid | disturbed | taken from the gateway | its core's speed | lowest |"
    yield "|---|---|---|---|---|---|---|---|"
    for number, run in enumerate(runs, 1):
        found = disturbances(run)
        away = percent(100 * found.gateway.share) if found.gateway else _ABSENT
        speed = found.gateway_speed
        speeds = [percent(100 * share, 0) for share in (speed.mean, speed.least)] if speed else [_ABSENT] * 2
        counts = [f"{run.active_s / 60:.1f}", *map(str, (found.trials, found.invalid, found.disturbed))]
        yield f"| {' | '.join([str(number), *counts, away, *speeds])} |"


def experiment_rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    yield "| experiment | medians | apart | with the speed | of the baseline | apart |"
    yield "|---|---|---|---|---|---|"
    for first in runs[0].experiments:
        same = [each for run in runs for each in run.experiments if each.name == first.name]
        medians = [each.statistics.median for each in same if each.statistics]
        ratios = [each.baseline_ratio_percent for each in same if each.baseline_ratio_percent is not None]
        missing = f" ({len(runs) - len(medians)} without a result)" if len(medians) < len(runs) else ""
        cells = (
            first.name,
            ", ".join(format_quantity(value, first.unit) for value in medians) + missing,
            apart(medians),
            with_speed([repetition for each in same for repetition in each.repetitions]),
            ", ".join(f"{value:.1f} %" for value in ratios) or _ABSENT,
            apart(ratios),
        )
        yield f"| {' | '.join(cells)} |"


def apart(values: Sequence[float]) -> str:
    """Returns the largest distance from the values' median, as a percentage of it."""
    middle = statistics.median(values) if values else 0
    if len(values) < 2 or not middle:
        return _ABSENT
    return f"±{100 * max(abs(value - middle) for value in values) / middle:.1f} %"


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
    if len(sys.argv) != 4:
        sys.exit("usage: python -m tools.repeatability PLAN FOLDER TIMES")
    measured = measure(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    print("\n".join([*run_rows(measured), "", *experiment_rows(measured)]))
