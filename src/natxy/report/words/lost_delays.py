# SPDX-License-Identifier: Apache-2.0
"""States which delays are those of a part of the frames, because others were lost, so that a gateway looks better."""

from __future__ import annotations

from typing import Final

from natxy.results.records import ExperimentRecord, RunRecord

MARK: Final = "frames lost"


def is_marked(experiment: ExperimentRecord) -> bool:
    """Returns whether frames without a delay are missing in a result."""
    return _most_lost(experiment) > 0


def mark(experiment: ExperimentRecord) -> str:
    """Returns the mark to print after the title of such a result; otherwise empty."""
    return f" ({MARK})" if is_marked(experiment) else ""


def sentences(run: RunRecord) -> list[str]:
    """Returns a sentence for each experiment whose figures leave out lost frames."""
    return [
        f"{experiment.title}: up to {most:,.0f} of its frames in a direction were lost. Lost frames have no delay, so "
        "these delays may be too good."
        for experiment in run.experiments
        if (most := _most_lost(experiment))
    ]


def _most_lost(experiment: ExperimentRecord) -> float:
    """Returns the most frames without a delay in a direction of a repetition; 0 where the figures are no delays."""
    counts = [figure.name for figure in experiment.declaration.figures if figure.left_out]
    return max((found.maximum for name, found in experiment.figure_statistics.items() if name in counts), default=0.0)
