# SPDX-License-Identifier: Apache-2.0
"""What is computed from several experiments, or from one and its gateway: the columns that sweeps are made for.

`relative_scale_up`: Xₙ/(n·X₁) over `cores`. `degradation`: 1 − Xₙ/X₁ against the cell of the fewest `connections` or
`flows`, of times Xₙ/X₁ − 1, so that worse is always above 0 (RFC 8219 §10). `relative_performance`: against the first
cell of a sweep over anything else. All are of medians, and of cells whose other coordinates are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Final

from natxy.plan.model.units import Unit
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Ratio, ratio
from natxy.results.sweeps import Sweep, as_number, sweeps

# They say how large the task is; a share of another size's result would be no performance.
_LOADS: Final = ("connections", "flows")
_SIZES: Final = {"frame_size", "cores", *_LOADS}
_TABLE_SIZES: Final = ("net.netfilter.nf_conntrack_max", "table_capacity")
_HASH_SIZE: Final = "net.netfilter.nf_conntrack_buckets"


@dataclass(frozen=True)
class Computed:
    """None: does not apply, or a median is missing."""

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
        return tuple(getattr(self, name) for name in _RATIOS)

    def columns(self) -> dict[str, float | str | None]:
        """Plain values with their units, for other programs. A bound stands in a column of its own."""
        plain: dict[str, float | str | None] = {}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if name in _RATIOS:
                unit = "" if name == "relative_scale_up" else "_percent"
                plain[name + unit] = value and value.value * (100 if unit else 1)
                plain[name + "_bound"] = value and value.bound.value
            else:
                plain[name] = value
        return plain


_RATIOS: Final = ("relative_scale_up", "relative_performance", "degradation", "throughput_ratio")


def computed(run: RunRecord) -> dict[int, Computed]:
    """By the experiments' ids."""
    # One cell alone is compared with nothing.
    placed = {cell.id: sweep for sweep in sweeps(run) for cell in sweep.cells if len(sweep.cells) > 1}
    return {experiment.id: _of(experiment, placed.get(experiment.id)) for experiment in run.experiments}


def _of(experiment: ExperimentRecord, sweep: Sweep | None) -> Computed:
    settings = experiment.dut["settings"] if experiment.dut else {}
    connections = experiment.planned.connections
    table = next((int(settings[name]) for name in _TABLE_SIZES if name in settings), None)
    buckets = int(settings[_HASH_SIZE]) if _HASH_SIZE in settings else None
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
    scale_up = ratio(cell.statistics, alone.statistics) if alone else None
    return Ratio(scale_up.value / cores, scale_up.bound) if scale_up and cores else None


def _relative_performance(cell: ExperimentRecord, sweep: Sweep) -> Ratio | None:
    if cell.unit not in (Unit.FPS, Unit.CPS):
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
    left = cell.ratio_to(least) if least else None
    if left is None:
        return None
    if cell.unit in (Unit.NS, Unit.SECONDS):
        return replace(left, value=left.value - 1)
    return replace(left, value=1 - left.value, bound=left.bound.opposite)


def _reference(
    cell: ExperimentRecord, sweep: Sweep, varied: set[str], is_reference: Callable[[ExperimentRecord], bool]
) -> ExperimentRecord | None:
    """The first such cell that differs in nothing but the `varied` fields."""
    kept = [field for field in sweep.fields if field not in varied]
    same = (other for other in sweep.cells if all(other.cell[field] == cell.cell[field] for field in kept))
    return next((other for other in same if is_reference(other)), None)
