# SPDX-License-Identifier: Apache-2.0
"""Connection tracking table capacity (RFC 9693 §4.9)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from natxy.plan.model.units import Count, Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure


class TableCapacityConfig(ProcedureDeclaration):
    name: Literal["table-capacity"] = "table-capacity"
    initial_connections: Annotated[Count, Unit.CONNECTIONS] = 10_000
    """Connections to begin with (C0)."""
    max_connections: Annotated[Count, Unit.CONNECTIONS] = 64_000_000
    """Most connections to try, which decides the default `ports`."""
    beta: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Share of the rate before at which doubling ends."""
    gamma: Annotated[float, Field(gt=0, lt=1)] = 0.4
    """Share of the last safe rate at which a number is too large."""
    error: Annotated[Count, Unit.CONNECTIONS] = 1
    """Connections between the last two numbers (E)."""
    shortcut: Literal["validation-answers"] | None = None
    """`validation-answers`: bisect from the number of connections that answered when there were too many."""

    list_position: ClassVar = 530
    summary: ClassVar = "how many connections the table holds (RFC 9693 §4.9)"
    figures: ClassVar = (
        Figure("capacity", "Connection tracking table capacity, C", Unit.CONNECTIONS),
        Figure("c0", "Initial connections, C0", Unit.CONNECTIONS),
        Figure("r0", "Rate at C0, R0", Unit.CPS),
        Figure("cs", "Last safe number when doubling, CS", Unit.CONNECTIONS),
        Figure("rs", "Rate at CS, RS", Unit.CPS),
        Figure("ct", "First too large number when doubling, CT", Unit.CONNECTIONS),
    )
    step_unit: ClassVar = Unit.CPS
    stateful: ClassVar = True
    counts_connections: ClassVar = True
    timed: ClassVar = False
    takes: ClassVar = frozenset({"search", "alpha", "pairs"})

    @model_validator(mode="after")
    def _ordered(self) -> TableCapacityConfig:
        if self.initial_connections > self.max_connections:
            raise ValueError(
                f"initial_connections ({self.initial_connections}) must not be above max_connections "
                f"({self.max_connections})"
            )
        return self

    @property
    def most_connections(self) -> int:
        return self.max_connections
