# SPDX-License-Identifier: Apache-2.0
"""Finds the highest rate that the tester itself can do with an experiment's traffic, and compares results with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import Unit
from natxy.results.records import ExperimentRecord
from natxy.results.selftest import Ceiling, SelfTest, Variant, Work, variant_of, work_of

# A result above this share of the tester's own ceiling may be the tester's limit, not the gateway's.
DOUBTFUL_SHARE: Final = 0.8
# A server asks the tester twice for each query, at a rate that is higher by at least a tenth (RFC 8219 §9.2.1).
DOUBTFUL_QUERIES_SHARE: Final = 1 / 2.2


@dataclass(frozen=True)
class TesterShare:
    """Holds the tester's ceiling and the share of it that the median of an experiment reached.

    `ceiling_fps` is the rate without a gateway, per direction, with the most similar traffic that was tried: frames, or
    connections made, or queries answered, per second.
    """

    ceiling_fps: float
    share: float
    work: Work

    @property
    def doubtful(self) -> bool:
        return self.share > (DOUBTFUL_QUERIES_SHARE if self.work == Work.QUERIES else DOUBTFUL_SHARE)


def ceiling_share(experiment: ExperimentRecord, self_test: SelfTest | None) -> TesterShare | None:
    """Returns None when the headline is not a rate, or no ceiling is known for the traffic of the experiment."""
    summary, ceiling = experiment.statistics, ceiling_fps(experiment.planned, self_test)
    work = work_of(experiment.planned)
    if ceiling is None or work is None or summary is None or experiment.unit not in (Unit.FPS, Unit.CPS, Unit.QPS):
        return None
    return TesterShare(ceiling, summary.median / ceiling, work)


def ceiling_fps(experiment: Experiment, self_test: SelfTest | None) -> float | None:
    """Returns the rate per direction that the tester passed without a gateway; None if no similar traffic was tried."""
    work = work_of(experiment)
    if self_test is None or work is None:
        return None
    if work == Work.QUERIES:
        return min((each.rate_fps for each in self_test.ceilings if each.work == work), default=None)
    # With a translation the tester sends both families.
    ceilings = [_at_work(self_test.ceilings, experiment, family, work) for family in set(experiment.families)]
    return min((ceiling for ceiling in ceilings if ceiling is not None), default=None)


def _at_work(ceilings: Sequence[Ceiling], planned: Experiment, family: Family, work: Work) -> float | None:
    """Returns the lowest of the limits to the experiment's rate; None if its work was not tried."""
    own = _nearest(ceilings, planned, family, work)
    if own is None or work == Work.TRAFFIC:
        return own
    # Not every frame size was tried with connections, which cannot make the tester faster.
    limits = [_nearest(ceilings, planned, family, Work.TRAFFIC)]
    if work == Work.VALIDATED:
        # Phase 1 was as fast as the validation or faster.
        own /= planned.alpha or 1
        limits.append(_nearest(ceilings, planned, family, Work.PHASE1))
    return min([own, *(limit for limit in limits if limit is not None)])


def _nearest(ceilings: Sequence[Ceiling], planned: Experiment, family: Family, work: Work) -> float | None:
    """Returns the lower of the ceilings for the next smaller and the next larger frame size that were tried."""
    both_ways = planned.directions == Directions.BIDIRECTIONAL
    kind = (family, both_ways, work)
    alike = [each for each in ceilings if (each.family, each.both_ways, each.work) == kind]
    # Not every variant was tried with every size. One with more variation is slower, so it is a lower bound.
    order = (Variant.ADDRESSES, Variant.PORTS, Variant.FIXED)
    least = order.index(variant_of(planned))
    # Of a mix, this is about the ceiling: no self-test has one.
    size = planned.mean_frame_size
    by_size: dict[int, float] = {}
    for each in sorted(alike, key=lambda each: order.index(each.variant)):
        if order.index(each.variant) <= least or each.frame_size not in by_size:
            by_size[each.frame_size] = each.rate_fps
    below = [tried for tried in by_size if tried <= size]
    above = [tried for tried in by_size if tried >= size]
    around = {*([max(below)] if below else []), *([min(above)] if above else [])}
    return min((by_size[tried] for tried in around), default=None)
