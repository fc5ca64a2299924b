# SPDX-License-Identifier: Apache-2.0
"""Offers natxy to Python programs: the names here, and in the modules below, are those of docs/reference/python.md.

The verbs `natxy run` and `natxy resume` are made of the same functions. Each name is loaded when it is first used: a
program that needs a module below, and starts for one trial, does not wait for everything else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from natxy.errors import DutError, EngineDiedError, NatxyError, PlanError, TesterLimitError
    from natxy.events.base import Event
    from natxy.events.listener import Listeners, RunListener
    from natxy.export.rows import figure_rows, trial_rows
    from natxy.plan.resolved_plan import ResolvedPlan
    from natxy.plan.yaml.loading import load_plan
    from natxy.results.reader import RunReader
    from natxy.results.records import RunRecord
    from natxy.run.run import resume_plan, run_plan

_HOMES: Final = {
    "DutError": "natxy.errors",
    "EngineDiedError": "natxy.errors",
    "Event": "natxy.events.base",
    "Listeners": "natxy.events.listener",
    "NatxyError": "natxy.errors",
    "PlanError": "natxy.errors",
    "ResolvedPlan": "natxy.plan.resolved_plan",
    "RunListener": "natxy.events.listener",
    "RunReader": "natxy.results.reader",
    "RunRecord": "natxy.results.records",
    "TesterLimitError": "natxy.errors",
    "figure_rows": "natxy.export.rows",
    "load_plan": "natxy.plan.yaml.loading",
    "resume_plan": "natxy.run.run",
    "run_plan": "natxy.run.run",
    "trial_rows": "natxy.export.rows",
}

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


# Checkers of types would take any name for one that there is.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return [*__all__]
