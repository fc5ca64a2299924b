# SPDX-License-Identifier: Apache-2.0
"""States in which searches corrupt frames alone made trials fail, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.plan.model.loss_tolerance import LossTolerance
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import counted
from natxy.plan.zero_checksums import TOLERANCE, TOLERANCE_TEXT
from natxy.results.analysis.wide_intervals import corruption
from natxy.results.records import ExperimentRecord, RunRecord

# A gateway that corrupts more has another fault.
_MOST_TOLERATED: Final = TOLERANCE / 2
_MOSTLY: Final = (
    "So the search finds how short or slow a trial has to be to contain none of these, and not how fast the gateway is."
)
_PARTLY: Final = "The gateway's rate without these may be higher."


def sentences(run: RunRecord) -> list[str]:
    """Returns a sentence for each experiment in which a trial failed by corrupt frames alone."""
    return [sentence for experiment in run.experiments for sentence in _sentence(experiment)]


def _sentence(experiment: ExperimentRecord) -> Iterator[str]:
    found = corruption(experiment.repetitions)
    tolerance = experiment.planned.loss_tolerance
    shares = _shares(experiment)
    # A damaged database may count corrupt frames in no stream.
    if tolerance is None or not found.by_corruption or not shares:
        return
    worst = max(shares, key=lambda direction: shares[direction])
    yield (
        f"{experiment.title}: in {found.by_corruption} of {counted(found.failed, 'trial')} that failed, each lost "
        f"frame had arrived, but with a wrong checksum or length (one frame in {round(1 / shares[worst]):,} of those "
        f"sent in {worst} direction). "
        f"{_MOSTLY if found.mostly else _PARTLY} {_advice(shares, tolerance)}"
    )


def _advice(shares: dict[Directions, float], tolerance: LossTolerance) -> str:
    if max(shares.values()) > _MOST_TOLERATED:
        return "Look for the cause on the gateway, such as the checksum offload of an interface."
    if min(getattr(tolerance, direction) for direction in shares) >= TOLERANCE:
        return "Its `loss_tolerance` is of a trial's frames, and of few frames it allows too few: lengthen the trials."
    fields = ", ".join(f"{direction}: {TOLERANCE_TEXT}" for direction in shares)
    return f"Allow them by `loss_tolerance: {{{fields}}}`, which the report marks as non-RFC."


def _shares(experiment: ExperimentRecord) -> dict[Directions, float]:
    """Returns the corrupt frames of each direction that has any, as a share of those sent."""
    corrupt, sent = dict.fromkeys(Directions, 0), dict.fromkeys(Directions, 0)
    for _, _, trial in experiment.all_trials:
        for stream in trial.result.streams:
            direction = Directions(stream.source.direction)
            corrupt[direction] += stream.corrupt
            sent[direction] += stream.sent
    return {direction: count / sent[direction] for direction, count in corrupt.items() if count and sent[direction]}
