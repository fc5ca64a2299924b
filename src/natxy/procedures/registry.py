# SPDX-License-Identifier: Apache-2.0
"""Finds the procedure that measures what a plan declares."""

from __future__ import annotations

from functools import cache
from typing import Any

import natxy.procedures
from natxy.plan.experiment import Experiment
from natxy.plan.procedures import DECLARATIONS
from natxy.procedures.common.base import Procedure
from natxy.system.discovery import subclasses_in


@cache
def procedures() -> dict[str, type[Procedure[Any]]]:
    """Returns the class of every procedure by the name that plans use, in the order of the declarations."""
    found = {each.declaration: each for each in subclasses_in(natxy.procedures, Procedure)}  # type: ignore[type-abstract]
    return {name: found[declaration] for name, declaration in DECLARATIONS.items()}


def procedure_of(experiment: Experiment) -> Procedure[Any]:
    return procedures()[experiment.procedure.name](experiment.procedure)
