# SPDX-License-Identifier: Apache-2.0
"""How near a result came to what its tester can do at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import Unit
from natxy.results.records import ExperimentRecord
from natxy.results.selftest import Ceiling, SelfTest, variant_of

# Above this share of the tester's own ceiling, a result may be the tester's as much as the gateway's.
DOUBTFUL_SHARE: Final = 0.8


@dataclass(frozen=True)
class TesterShare:
    """`ceiling_fps`: what the tester does without a gateway, in frames per second per direction, with the most alike
    traffic that was tried. `share`: of the experiment's median."""

    ceiling_fps: float
    share: float

    @property
    def doubtful(self) -> bool:
        return self.share > DOUBTFUL_SHARE


def ceiling_share(experiment: ExperimentRecord, found: SelfTest | None) -> TesterShare | None:
    """None where the headline is no rate, or no ceiling is known for such traffic."""
    summary = experiment.statistics
    if found is None or summary is None or experiment.unit not in (Unit.FPS, Unit.CPS):
        return None
    ceilings = [_nearest(found.ceilings, experiment, family) for family in _families(experiment)]
    known = [ceiling for ceiling in ceilings if ceiling is not None]
    if not known:
        return None
    ceiling_fps = min(known)
    return TesterShare(ceiling_fps, summary.median / ceiling_fps)


def _families(experiment: ExperimentRecord) -> list[Family]:
    """What the tester sends on either side."""
    return list(dict.fromkeys(experiment.planned.families))


def _nearest(ceilings: Sequence[Ceiling], experiment: ExperimentRecord, family: Family) -> float | None:
    """Of the frame sizes that were tried, the next ones below and above: the lower of their ceilings."""
    both_ways = experiment.planned.directions == Directions.BIDIRECTIONAL
    alike = [each for each in ceilings if each.family == family and each.both_ways == both_ways]
    # Not every variant need have been tried with every size: one that varies more is slower, and bounds it from below.
    order = ("addresses", "ports", "fixed")
    least = order.index(variant_of(experiment.planned))
    size = experiment.planned.frame_size
    by_size: dict[int, float] = {}
    for each in sorted(alike, key=lambda each: order.index(each.variant)):
        if order.index(each.variant) <= least or each.frame_size not in by_size:
            by_size[each.frame_size] = each.rate_fps
    below = [tried for tried in by_size if tried <= size]
    above = [tried for tried in by_size if tried >= size]
    around = {*([max(below)] if below else []), *([min(above)] if above else [])}
    return min((by_size[tried] for tried in around), default=None)
