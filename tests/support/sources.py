# SPDX-License-Identifier: Apache-2.0
"""Reads from a run which public addresses its connections had."""

from __future__ import annotations

from natxy.results.records import ExperimentRecord


def addresses_in_use(experiment: ExperimentRecord) -> set[int]:
    """Returns with how many source addresses connections arrived, in trials in which all were made."""
    return {
        trial.result.sources.addresses
        for _, _, trial in experiment.all_trials
        if trial.result.sources and trial.result.established == trial.planned
    }
