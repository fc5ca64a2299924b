# SPDX-License-Identifier: Apache-2.0
"""Collects remarks on results that are as planned."""

from __future__ import annotations

from natxy.report.words import contradictions, corruption, lost_delays, public_addresses
from natxy.report.words.states import precision
from natxy.report.words.tester import uneven_queues
from natxy.results.records import RunRecord, State


def sentences(run: RunRecord) -> list[str]:
    """Returns the remarks on a run's results, each with the names of its experiments."""
    kinds = (
        contradictions.sentences,
        corruption.sentences,
        lost_delays.sentences,
        uneven_queues,
        public_addresses.sentences,
    )
    return [*_of_procedures(run), *(sentence for sentences in kinds for sentence in sentences(run))]


def _of_procedures(run: RunRecord) -> list[str]:
    """Returns the remarks of procedures, and why the repetitions ended."""
    names_by_remark: dict[str, list[str]] = {}
    for experiment in run.experiments:
        if experiment.state is State.DONE:
            for remark in filter(None, (experiment.reason, precision(experiment))):
                names_by_remark.setdefault(remark, []).append(experiment.name)
    return [f"{', '.join(names)}: {remark}" for remark, names in names_by_remark.items()]
