# SPDX-License-Identifier: Apache-2.0
"""Tables of where a gateway's instructions for a frame are: in which modules of its kernel, and in which functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.analysis.instructions import by_function, by_module, rounds_of
from natxy.results.records import ExperimentRecord, RunRecord

_LEAST: Final = 0.5
_MOST_FUNCTIONS: Final = 15
_MODULES: Final = "Instructions per frame, by module of the gateway's kernel"
_MODULES_NOTE: Final = (
    "Of frames in bursts, without what the gateway executes anyway. `kernel` is what is in no module, and `programs` "
    "what is outside of the kernel."
)
_FUNCTIONS: Final = "Instructions per frame, by function"
_FUNCTIONS_NOTE: Final = "The functions that differ most between the experiments, or that have most if there is one."


@dataclass(frozen=True)
class _Places:
    """Holds what a frame costs at each place of an experiment's gateway."""

    title: str
    modules: Mapping[str, float]
    functions: Mapping[str, float]


def instruction_tables(run: RunRecord) -> list[Table]:
    """Returns the tables of the experiments of `frame-cost`; none where only sums were counted."""
    known = [found for experiment in run.experiments if (found := _places(experiment))]
    tables = [
        _table(Table(_MODULES, (Column("Module"),), (), note=_MODULES_NOTE), known, [each.modules for each in known]),
        _table(
            Table(_FUNCTIONS, (Column("Function"),), (), note=_FUNCTIONS_NOTE),
            known,
            [each.functions for each in known],
            _MOST_FUNCTIONS,
        ),
    ]
    return [table for table in tables if table.rows]


def _places(experiment: ExperimentRecord) -> _Places | None:
    if not experiment.declaration.counts_instructions:
        return None
    repetitions = [
        rounds for each in experiment.repetitions if each.value is not None and (rounds := rounds_of(each.trials))
    ]
    modules = [found for rounds in repetitions if (found := by_module(rounds))]
    if not modules:
        return None
    return _Places(experiment.title, _medians(modules), _medians([by_function(rounds) for rounds in repetitions]))


def _medians(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = {name for each in found for name in each}
    return {name: median(each.get(name, 0.0) for each in found) for name in names}


def _table(
    empty: Table, known: Sequence[_Places], costs: Sequence[Mapping[str, float]], most: int | None = None
) -> Table:
    """Returns the table with a column for each of the experiments and a row for each place that costs something.

    With `most`, it has only so many rows: those that differ most.
    """

    def of(name: str) -> list[float]:
        return [each.get(name, 0.0) for each in costs]

    def difference(name: str) -> float:
        return max(of(name)) - min(of(name)) if len(costs) > 1 else of(name)[0]

    names = {name for each in costs for name, cost in each.items() if cost >= _LEAST}
    chosen = sorted(names, key=lambda name: (-difference(name), name))[:most]
    rows = sorted(chosen, key=lambda name: (-max(of(name)), name))
    return replace(
        empty,
        columns=(*empty.columns, *(Column(each.title, numeric=True) for each in known)),
        rows=tuple(
            (name, *(wording.number(cost) if cost >= _LEAST else wording.ABSENT for cost in of(name))) for name in rows
        ),
    )
