# SPDX-License-Identifier: Apache-2.0
"""States which box of a chain limits it, and by how much; or that nobody can tell."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.units import Unit
from natxy.report.words import headlines, wording
from natxy.results.analysis.boxes import Boxes, Limit
from natxy.results.records import ExperimentRecord

SHARED: Final = "The boxes share their machine's cores: together they do the work of both for each frame."

_DOES: Final = {Unit.FPS: "forwards", Unit.CPS: "makes", Unit.CONNECTIONS: "holds"}


def sentence(boxes: Boxes) -> str:
    """Returns the sentence on a chain and its boxes."""
    edge, core, whole = boxes.edge, boxes.core, boxes.whole
    if edge is None or core is None:
        missing = "edge" if edge is None else "core"
        return f"{whole.title}: there is no experiment on its {missing} alone, so nobody can tell which box limits it."
    if not all(each.statistics for each in boxes.rows):
        return f"{whole.title}: which box limits it cannot be told without the results of both boxes and the whole."
    if boxes.limit is Limit.UNKNOWN:
        return f"{whole.title}: which box limits it cannot be told: {_why_unknown(boxes, edge, core)}."
    worse, other = (edge, core) if boxes.limit is Limit.EDGE else (core, edge)
    more_is_better = whole.declaration.headline().is_better_when_higher
    role = "is the bottleneck" if more_is_better else "takes the larger part"
    does = _DOES.get(whole.unit, "has")
    which = f"{whole.title}: the {boxes.limit.value} {role}"
    return (
        f"{which}: alone it {does} {_shown(worse)}, the {'core' if worse is edge else 'edge'} alone {_shown(other)}; "
        f"that is {_ratio(worse, other)} of the other. Both together: {_shown(whole)}, "
        f"{_ratio(whole, worse)} of the {'slower' if more_is_better else 'larger'} one."
    )


def _why_unknown(boxes: Boxes, edge: ExperimentRecord, core: ExperimentRecord) -> str:
    both = f"the edge alone has {_shown(edge)} and the core alone {_shown(core)}"
    ratio = boxes.core_to_edge
    if edge.is_only_a_lower_bound and core.is_only_a_lower_bound:
        return f"{both}; raise the search's max_rate"
    if ratio and ratio.interval:
        return f"{both}, and the interval of their ratio, {wording.ratio(ratio)}, contains 100 %"
    return f"{both}, and the interval of their ratio is unknown; repeat more often"


def _shown(experiment: ExperimentRecord) -> str:
    return headlines.with_interval(experiment)


def _ratio(own: ExperimentRecord, other: ExperimentRecord) -> str:
    return wording.ratio(own.ratio_to(other))
