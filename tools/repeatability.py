# SPDX-License-Identifier: Apache-2.0
"""Measures a plan several times and prints how far the runs agree: `python -m tools.repeatability PLAN FOLDER TIMES`.

Runs that FOLDER already has count, so that a later call adds to them. The tables are Markdown: one has a row for each
run with what disturbed it, the other a row for each experiment with the medians and the ratios of all runs. "Apart" is
how far the run farthest from the middle of all runs is from it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import format_quantity
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord

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
    yield "| run | minutes | trials | invalid | steal time |"
    yield "|---|---|---|---|---|"
    for number, run in enumerate(runs, 1):
        verdicts = [placed.trial.verdict for placed in run.all_trials]
        steal = run.load.facts().get("steal time", _ABSENT)
        invalid = verdicts.count(Verdict.INVALID)
        yield f"| {number} | {run.active_s / 60:.1f} | {len(verdicts)} | {invalid} | {steal} |"


def experiment_rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    yield "| experiment | medians | apart | of the baseline | apart |"
    yield "|---|---|---|---|---|"
    for first in runs[0].experiments:
        same = [each for run in runs for each in run.experiments if each.name == first.name]
        medians = [each.statistics.median for each in same if each.statistics]
        ratios = [each.baseline_ratio_percent for each in same if each.baseline_ratio_percent is not None]
        missing = f" ({len(runs) - len(medians)} without a result)" if len(medians) < len(runs) else ""
        cells = (
            first.name,
            ", ".join(format_quantity(value, first.unit) for value in medians) + missing,
            apart(medians),
            ", ".join(f"{value:.1f} %" for value in ratios) or _ABSENT,
            apart(ratios),
        )
        yield f"| {' | '.join(cells)} |"


def apart(values: Sequence[float]) -> str:
    """Returns the largest distance from the values' median, as a percentage of it."""
    middle = median(values) if values else 0
    if len(values) < 2 or not middle:
        return _ABSENT
    return f"±{100 * max(abs(value - middle) for value in values) / middle:.1f} %"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python -m tools.repeatability PLAN FOLDER TIMES")
    measured = measure(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    print("\n".join([*run_rows(measured), "", *experiment_rows(measured)]))
