# SPDX-License-Identifier: Apache-2.0
"""Sets a chain beside each of its two boxes alone, and tells which of the boxes limits it (RFC 8219 §4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from natxy.results.analysis.ratios import Ratio
from natxy.results.bounded import Bound
from natxy.results.records import ExperimentRecord, RunRecord


class Limit(Enum):
    """Says what limits a chain: one of its boxes, or nothing that can be told."""

    EDGE = "edge"
    CORE = "core"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Boxes:
    """Holds the experiment on a chain, and those on its boxes alone; None for a box that was not measured alone."""

    whole: ExperimentRecord
    edge: ExperimentRecord | None
    core: ExperimentRecord | None

    @property
    def rows(self) -> tuple[ExperimentRecord, ...]:
        """The experiments, the whole first."""
        return tuple(each for each in (self.whole, self.edge, self.core) if each)

    @property
    def core_to_edge(self) -> Ratio | None:
        """The ratio of the boxes' results; None without both."""
        return self.core.ratio_to(self.edge) if self.edge and self.core else None

    @property
    def limit(self) -> Limit:
        """The box whose result is worse by more than the confidence interval of their ratio.

        A bound decides if it lies beyond the interval of the other result.
        """
        ratio = self.core_to_edge
        if ratio is None:
            return Limit.UNKNOWN
        if ratio.interval:
            low, high = ratio.interval.low, ratio.interval.high
        else:
            low, high = self._bounds_of(ratio)
        more_is_better = self.whole.declaration.headline().is_better_when_higher
        if high < 1:
            return Limit.CORE if more_is_better else Limit.EDGE
        if low > 1:
            return Limit.EDGE if more_is_better else Limit.CORE
        return Limit.UNKNOWN

    def _bounds_of(self, ratio: Ratio) -> tuple[float, float]:
        """Returns the ends that a ratio without an interval lies between for certain."""
        edge, core = (each and each.statistics and each.statistics.shown_interval for each in (self.edge, self.core))
        if ratio.bound == Bound.AT_LEAST and edge and self.core and self.core.statistics:
            return self.core.statistics.median / edge.high, float("inf")
        if ratio.bound == Bound.AT_MOST and core and self.edge and self.edge.statistics:
            return 0.0, core.high / self.edge.statistics.median
        return 0.0, float("inf")


def boxes_alone(run: RunRecord) -> list[Boxes]:
    """Returns the chains of a run of which a box was measured alone, in the plan's order."""
    parts: dict[str, dict[bool, ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.planned.whole:
            is_edge = not experiment.planned.gateway.boxes[0].is_played
            parts.setdefault(experiment.planned.whole, {})[is_edge] = experiment
    wholes = {experiment.name: experiment for experiment in run.experiments}
    return [Boxes(wholes[name], own.get(True), own.get(False)) for name, own in parts.items() if name in wholes]
