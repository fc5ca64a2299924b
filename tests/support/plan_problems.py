# SPDX-License-Identifier: Apache-2.0
"""Finds the errors in a plan that resolving it reports."""

from __future__ import annotations

from natxy.plan.model.problems import PlanProblems, field_path
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan


def problems_of(plan: Plan) -> dict[str, str]:
    """Returns the messages by the fields that have them; empty for a plan without errors."""
    try:
        resolve(plan)
    except PlanProblems as found:
        return {field_path(problem.location): problem.message for problem in found.problems}
    return {}
