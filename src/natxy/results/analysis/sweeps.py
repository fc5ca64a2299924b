# SPDX-License-Identifier: Apache-2.0
"""Groups the cells of a swept experiment, and computes the columns that sweeps are made for.

All computed values are of cells whose other coordinates are the same, in runs that were measured in blocks the median
of those in each block:

`relative_scale_up`: Xₙ/(n·X₁) over `cores`.
`degradation`: 1 − Xₙ/X₁ against the cell with the fewest `connections`, `flows` or `pairs`; Xₙ/X₁ − 1 for times, so
that worse is always above 0 (RFC 8219 §10).
`relative_performance`: the ratio to the first cell of a sweep over anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import takewhile
from typing import Final

from natxy.plan.model.terms import CellValue
from natxy.plan.model.units import Unit
from natxy.results.analysis.ratios import Ratio
from natxy.results.records import ExperimentRecord, RunRecord

_MOST_COLUMNS: Final = 8
# These say how large the task is; a share of the result for another size is no performance.
_LOADS: Final = ("connections", "flows", "pairs")
_SIZES: Final = {"frame_size", "mix", "cores", *_LOADS}
_FRAMES: Final = frozenset({"frame_size", "mix"})
_TABLE_SIZES: Final = ("net.netfilter.nf_conntrack_max", "table_capacity")
_HASH_SIZE: Final = "net.netfilter.nf_conntrack_buckets"
_SIZE: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Sweep:
    """Holds cells with one headline, in the plan's order.

    `fields` are the swept fields' paths in the plan, such as `gateway.conntrack_max`, without those that only change
    together with the fields before them.
    """

    name: str
    title: str
    fields: tuple[str, ...]
    cells: tuple[ExperimentRecord, ...]

    @property
    def coordinates(self) -> tuple[tuple[CellValue, ...], ...]:
        """The coordinates of every cell, in the order of the fields."""
        return tuple(tuple(cell.cell[field] for field in self.fields) for cell in self.cells)

    @property
    def has_cells_in_rows(self) -> bool:
        """True when a table has a row for each cell: RFC 2544 §26 asks for it by frame size, and many need the room."""
        return not _FRAMES.isdisjoint(self.fields) or len(self.cells) > _MOST_COLUMNS


@dataclass(frozen=True)
class SweepGroup:
    """Holds sweeps over the same coordinates, whose cells are columns of one table; or a single sweep."""

    sweeps: tuple[Sweep, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return self.sweeps[0].fields

    @property
    def coordinates(self) -> tuple[tuple[CellValue, ...], ...]:
        return self.sweeps[0].coordinates


def sweeps(run: RunRecord) -> list[Sweep]:
    """Returns the sweeps in the plan's order. Cells with different headlines are sweeps of their own."""
    found: dict[object, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.sweep is not None:
            found.setdefault((experiment.sweep, experiment.declaration.headline()), []).append(experiment)
    return [Sweep(str(cells[0].sweep), _title(cells), _fields(cells), tuple(cells)) for cells in found.values()]


def sweep_groups(run: RunRecord) -> list[SweepGroup]:
    groups: dict[object, list[Sweep]] = {}
    for sweep in sweeps(run):
        alone = (sweep.name, sweep.cells[0].procedure) if sweep.has_cells_in_rows else None
        groups.setdefault((sweep.fields, sweep.coordinates, alone), []).append(sweep)
    return [SweepGroup(tuple(group)) for group in groups.values()]


def as_number(coordinate: CellValue) -> int | float | None:
    """Returns a numeric coordinate, None for text and truth values."""
    return None if isinstance(coordinate, bool | str) else coordinate


def shared_fields(cells: Sequence[ExperimentRecord]) -> list[str]:
    """Returns the swept fields that all cells have; rows of a sweep may each give further ones."""
    return [field for field in cells[0].cell if all(field in cell.cell for cell in cells)]


def _fields(cells: Sequence[ExperimentRecord]) -> tuple[str, ...]:
    chosen: list[str] = []
    for field in shared_fields(cells):
        before = [tuple(cell.cell[each] for each in chosen) for cell in cells]
        after = {(*others, cell.cell[field]) for others, cell in zip(before, cells, strict=True)}
        if not chosen or len(after) > len(set(before)):
            chosen.append(field)
    return tuple(chosen)


def _title(cells: Sequence[ExperimentRecord]) -> str:
    """Returns the words that the titles of all cells, such as `NAT44, 2 cores`, begin with."""
    titles = (cell.title.split(", ") for cell in cells)
    shared = takewhile(lambda words: len(set(words)) == 1, zip(*titles, strict=False))
    return ", ".join(words[0] for words in shared) or str(cells[0].sweep)


# --- computed columns


@dataclass(frozen=True)
class Computed:
    """Holds the computed values of an experiment; None for those that do not apply, or without a median."""

    relative_scale_up: Ratio | None = None
    relative_performance: Ratio | None = None
    degradation: Ratio | None = None
    throughput_ratio: Ratio | None = None
    table_size: int | None = None
    hash_size: int | None = None
    connections_per_table_entry: float | None = None
    connections_per_hash_bucket: float | None = None

    @property
    def ratios(self) -> tuple[Ratio | None, ...]:
        return (self.relative_scale_up, self.relative_performance, self.degradation, self.throughput_ratio)

    def columns(self) -> dict[str, float | str | None]:
        """Returns plain values for other programs, with units in the names and bounds in columns of their own."""
        plain: dict[str, float | str | None] = {}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name in _RATIOS:
                unit = "" if name == "relative_scale_up" else "_percent"
                plain[name + unit] = value and value.value * (100 if unit else 1)
                plain[name + "_bound"] = value and value.bound.value
                interval = value and value.interval
                plain[f"{name}_low{unit}"] = interval and interval.low * (100 if unit else 1)
                plain[f"{name}_high{unit}"] = interval and interval.high * (100 if unit else 1)
            else:
                plain[name] = value
        return plain


_RATIOS: Final = ("relative_scale_up", "relative_performance", "degradation", "throughput_ratio")


def computed(run: RunRecord) -> dict[int, Computed]:
    """Returns the computed values by the ids of the experiments."""
    # A single cell has nothing to be compared with.
    swept = {cell.id: sweep for sweep in sweeps(run) for cell in sweep.cells if len(sweep.cells) > 1}
    return {experiment.id: _computed(experiment, swept.get(experiment.id)) for experiment in run.experiments}


def _size(reported: str) -> int | None:
    """Returns the size that a gateway reported; None when that is no number."""
    return int(reported) if _SIZE.fullmatch(reported) else None


def _computed(experiment: ExperimentRecord, sweep: Sweep | None) -> Computed:
    settings = {name: value for dut in experiment.duts for name, value in dut.settings.items()}
    connections = experiment.planned.pair_count * (experiment.planned.connections or 0)
    table = next((_size(settings[name]) for name in _TABLE_SIZES if name in settings), None)
    buckets = _size(settings.get(_HASH_SIZE, ""))
    return Computed(
        relative_scale_up=_relative_scale_up(experiment, sweep) if sweep else None,
        relative_performance=_relative_performance(experiment, sweep) if sweep else None,
        degradation=_degradation(experiment, sweep) if sweep else None,
        throughput_ratio=experiment.baseline_ratio,
        table_size=table,
        hash_size=buckets,
        connections_per_table_entry=connections / table if connections and table else None,
        connections_per_hash_bucket=connections / buckets if connections and buckets else None,
    )


def _relative_scale_up(cell: ExperimentRecord, sweep: Sweep) -> Ratio | None:
    if "cores" not in sweep.fields:
        return None
    cores = as_number(cell.cell["cores"])
    alone = _reference(cell, sweep, {"cores"}, lambda other: other.cell["cores"] == 1)
    scale_up = cell.ratio_to(alone) if alone else None
    return scale_up.mapped(lambda value: value / cores, scale_up.bound) if scale_up and cores else None


def _relative_performance(cell: ExperimentRecord, sweep: Sweep) -> Ratio | None:
    if cell.unit not in (Unit.FPS, Unit.CPS, Unit.QPS):
        return None
    others = set(sweep.fields) - _SIZES
    first = _reference(cell, sweep, others, lambda _: True) if others else None
    return cell.ratio_to(first) if first else None


def _degradation(cell: ExperimentRecord, sweep: Sweep) -> Ratio | None:
    load = next((field for field in _LOADS if field in sweep.fields), None)
    if load is None:
        return None
    fewest = min(as_number(other.cell[load]) or 0 for other in sweep.cells)
    least = _reference(cell, sweep, {load}, lambda other: other.cell[load] == fewest)
    found = cell.ratio_to(least) if least else None
    if found is None:
        return None
    if cell.unit in (Unit.NS, Unit.SECONDS):
        return found.mapped(lambda value: value - 1, found.bound)
    return found.mapped(lambda value: 1 - value, found.bound.opposite)


def _reference(
    cell: ExperimentRecord, sweep: Sweep, varied: set[str], is_reference: Callable[[ExperimentRecord], bool]
) -> ExperimentRecord | None:
    """Returns the first reference among the cells that differ from `cell` in the `varied` fields only."""
    kept = [field for field in sweep.fields if field not in varied]
    same = (other for other in sweep.cells if all(other.cell[field] == cell.cell[field] for field in kept))
    return next((other for other in same if is_reference(other)), None)
