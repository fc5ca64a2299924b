# SPDX-License-Identifier: Apache-2.0
"""Offers natxy to Python programs: the names here are those that docs/reference/python.md describes.

The verbs `natxy run` and `natxy resume` are made of the same functions.
"""

from natxy.errors import DutError, EngineDiedError, NatxyError, PlanError, TesterLimitError
from natxy.events.base import Event
from natxy.events.listener import Listeners, RunListener
from natxy.export.rows import figure_rows, trial_rows
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import resume_plan, run_plan

__all__ = [
    "DutError",
    "EngineDiedError",
    "Event",
    "Listeners",
    "NatxyError",
    "PlanError",
    "ResolvedPlan",
    "RunListener",
    "RunReader",
    "RunRecord",
    "TesterLimitError",
    "figure_rows",
    "load_plan",
    "resume_plan",
    "run_plan",
    "trial_rows",
]
