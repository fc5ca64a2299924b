# SPDX-License-Identifier: Apache-2.0
"""States which results of a run cannot both be true, and what to do."""

from __future__ import annotations

from natxy.report.words.headlines import with_interval
from natxy.results.analysis.contradictions import contradictions
from natxy.results.records import RunRecord


def sentences(run: RunRecord) -> list[str]:
    """Returns a sentence for each pair of results."""
    return [
        f"{each.experiment.name}: {with_interval(each.experiment)} is above {each.contained.name}, "
        f"{with_interval(each.contained)}, although each of its trials has to pass one of that experiment first. "
        "Something changed between the two: repeat both more often, on a machine that does nothing else."
        for each in contradictions(run)
    ]
