# SPDX-License-Identifier: Apache-2.0
"""Collects the procedures that a plan can name. Each module declares one, or a few that belong together."""

from __future__ import annotations

import sys
from functools import reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.system.discovery import subclasses_in

_declarations = [
    found for found in subclasses_in(sys.modules[__name__], ProcedureDeclaration) if "name" in found.model_fields
]

DECLARATIONS: Final[dict[str, type[ProcedureDeclaration]]] = {
    declaration.procedure_name(): declaration for declaration in sorted(_declarations, key=attrgetter("list_position"))
}

if TYPE_CHECKING:
    ProcedureConfig = ProcedureDeclaration
else:
    ProcedureConfig = Annotated[reduce(or_, DECLARATIONS.values()), Field(discriminator="name")]


def takers(field: str) -> list[str]:
    """Returns the procedures that take an experiment's `field`, or an empty list if the field applies to all."""
    return [name for name, declaration in DECLARATIONS.items() if field in declaration.takes]


def suppliers(field: str) -> list[str]:
    """Returns the procedures whose headline an experiment's `field` may refer to."""
    return [name for name, declaration in DECLARATIONS.items() if declaration.supplies == field]
