# SPDX-License-Identifier: Apache-2.0
"""Checks the thresholds of an experiment's result."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.thresholds import quantity_in
from natxy.plan.written import ExperimentPlan


def check_thresholds(own: ExperimentPlan, location: Location) -> Iterator[Problem]:
    """Yields thresholds that do not fit the procedure's headline, or that need a baseline that is not given."""
    if own.expect is None:
        return
    at = (*location, "expect")
    if all(value is None for _, value in own.expect):
        yield Problem(at, "expected at_least, at_most, ratio_at_least, ratio_at_most or no_worse_than")
    headline = own.procedure.headline()
    for field in ("at_least", "at_most"):
        given = getattr(own.expect, field)
        if given is None:
            continue
        try:
            quantity_in(headline.unit, given)
        except ValueError as error:
            yield Problem((*at, field), f"{error}; it is the limit of {headline.title!r}")
    if own.baseline is None:
        for field, _ in own.expect.ratios:
            yield Problem((*at, field), "is a share of the `baseline`, which this experiment does not have")
