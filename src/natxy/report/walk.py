# SPDX-License-Identifier: Apache-2.0
"""Every trial of a run, with where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord, TrialRecord


class Placed(NamedTuple):
    experiment: ExperimentRecord
    repetition: RepetitionRecord
    trial: TrialRecord


def every_trial(run: RunRecord) -> Iterator[Placed]:
    for experiment in run.experiments:
        yield from trials_of(experiment)


def trials_of(experiment: ExperimentRecord) -> Iterator[Placed]:
    for repetition in experiment.repetitions:
        for trial in repetition.trials:
            yield Placed(experiment, repetition, trial)


def host_tests(run: RunRecord) -> int:
    """Of tests between hosts, which have a transfer for each direction."""
    repetitions = (repetition for experiment in run.experiments for repetition in experiment.repetitions)
    return sum(len({transfer.number for transfer in repetition.transfers}) for repetition in repetitions)
