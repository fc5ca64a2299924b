# SPDX-License-Identifier: Apache-2.0
"""Finds the source addresses with which an experiment's connections arrived."""

from __future__ import annotations

from collections.abc import Iterable

from natxy.engine.messages.common import IPAddress
from natxy.engine.messages.results import SourceSpread, Verdict
from natxy.results.records import ExperimentRecord


def spreads_of(experiment: ExperimentRecord) -> list[SourceSpread]:
    """Returns how connections were spread in the trials that passed or, if none did, in the others."""
    trials = [trial for _, _, trial in experiment.all_trials if trial.result.sources]
    complete = [trial for trial in trials if trial.verdict is Verdict.PASS]
    return [trial.result.sources for trial in complete or trials if trial.result.sources]


def ends_of(spreads: Iterable[SourceSpread]) -> list[IPAddress]:
    """Returns the lowest and the highest address, once if they are the same; none if they are unknown."""
    known = sorted({end for spread in spreads for end in (spread.lowest, spread.highest) if end}, key=int)
    return [*dict.fromkeys((known[0], known[-1]))] if known else []
