# SPDX-License-Identifier: Apache-2.0
"""Warns of connections that came from other public addresses than the plan names."""

from __future__ import annotations

from natxy.plan.model.units import enumerated
from natxy.results.analysis.source_spreads import ends_of, spreads_of
from natxy.results.records import RunRecord


def sentences(run: RunRecord) -> list[str]:
    """Returns a line for each experiment whose connections came from an address that is not of its pool."""
    return [
        f"{experiment.name}: connections came from {enumerated([*map(str, ends)])}, and `pool` is {pool}: compare the "
        "gateway's rules with the plan"
        for experiment in run.experiments
        if (pool := experiment.pool) and (ends := [end for end in ends_of(spreads_of(experiment)) if end not in pool])
    ]
