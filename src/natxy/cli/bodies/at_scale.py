# SPDX-License-Identifier: Apache-2.0
"""Makes the table of `natxy check --at-scale`: what each experiment needs at its full size and at its lowest rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from natxy.cli.bodies.check import about
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import format_duration
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.scale import ports, slowest_phase1_fps, state_table_bytes, table_need
from natxy.report.tables.table import Column, Table
from natxy.run.estimate import estimate_s, slowest_s

_NONE: Final = "–"
_UNKNOWN: Final = "unknown"
_COLUMNS: Final = (
    "Connections", "live up to", "expire after", "Ports at once", "of", "Table", "DUT memory", "Tester memory",
    "Takes about",
)  # fmt: skip
_NOTE: Final = (
    "Connections live from the first frame of phase 1 to the last frame of the trial. That time, and about how long "
    "all repetitions take, are those at the lowest rates of the searches, without steps that are tried again. A "
    "search for a table's capacity is taken to find a middle one. ~: the system's own value, which the plan does not "
    "set. Memory: about what the connections take in the tables."
)


def at_scale(plan: ResolvedPlan) -> Table:
    """Returns a table with a row for each experiment."""
    others = {experiment.name: experiment for experiment in plan.experiments}
    head = (Column("Experiment"), *(Column(title, numeric=True) for title in _COLUMNS))
    rows = tuple((experiment.name, *_cells(plan, experiment, others)) for experiment in plan.experiments)
    all_s = sum(slowest_s(plan, experiment) for experiment in plan.experiments)
    middle = f"{about(estimate_s(plan))} at rates in the middle of the searches"
    together = f"All together: about {format_duration(all_s)}; {middle}, where connections are made sooner."
    return Table("At full size", head, rows, note=f"{_NOTE} {together}")


def _cells(plan: ResolvedPlan, experiment: Experiment, others: Mapping[str, Experiment]) -> Iterator[str]:
    hops, phase1_fps = experiment.gateway.hops, slowest_phase1_fps(experiment, others)
    need = table_need(experiment, phase1_fps)
    if need is None:
        yield from [_NONE] * (len(_COLUMNS) - 1)
    else:
        missing = _NONE if all(hop.tables_are_known for hop in hops) else _UNKNOWN
        yield f"{need.connections:,}"
        yield format_duration(need.longest_trial_s)
        lifetime_s = _least(hop.lifetimes_of(need.protocol) for hop in hops)
        yield missing if lifetime_s is None else f"{lifetime_s[0]}{lifetime_s[1]:,} s"
        yield from (f"{count:,}" for count in found) if (found := ports(experiment, need)) else [missing] * 2
        size = _least((hop.table_sizes, hop.usual_table_sizes) for hop in hops)
        yield missing if size is None else f"{size[0]}{size[1]:,}"
        tables = [taken for hop in hops if (taken := hop.table_bytes(need)) is not None]
        yield _bytes(sum(tables)) if tables else missing
        yield _bytes(state_table_bytes(need))
    yield format_duration(slowest_s(plan, experiment))


def _least(of_hops: Iterable[tuple[Mapping[str, int], Mapping[str, int]]]) -> tuple[str, int] | None:
    """Returns the least of the values in force, after a mark if that is the system's own; None if there are none.

    Each gateway has the values that the plan sets, and the system's own, by the names of the settings.
    """
    marked = [
        (value, mark)
        for planned, usual in of_hops
        for own, mark in ((planned, ""), (usual, "~"))
        for name, value in own.items()
        if not mark or name not in planned
    ]
    return min(((mark, value) for value, mark in marked), key=lambda each: each[1], default=None)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"
