# SPDX-License-Identifier: Apache-2.0
"""Prints how an experiment of a run came to its result."""

from __future__ import annotations

from pathlib import Path

from natxy.errors import PlanError
from natxy.report.text.story import story
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.terminal.console import Console
from natxy.untrusted.validation import guess


def tell(folder: Path, name: str) -> None:
    """Prints the story of an experiment of the run in `folder`, which may have an empty name if it is the only one.

    Raises PlanError when the folder has no readable run, or no such experiment.
    """
    Console().say("\n".join(story(_named(folder, name))))


def _named(folder: Path, name: str) -> ExperimentRecord:
    experiments = {experiment.name: experiment for experiment in RunReader(folder).run.experiments}
    if not name and len(experiments) == 1:
        return next(iter(experiments.values()))
    if name in experiments:
        return experiments[name]
    has = f"the run has {', '.join(experiments) or 'no experiment'}"
    if not name:
        raise PlanError(f"{folder}: {has}; name one of them")
    raise PlanError(f"{folder}: there is no experiment {name!r}{guess(name, experiments)}; {has}")
