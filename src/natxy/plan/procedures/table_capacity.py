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
    """C0: a number of connections that is surely below the capacity."""
    max_connections: Annotated[Count, Unit.CONNECTIONS] = 64_000_000
    """The most connections to try; a table that holds them all has at least this capacity."""
    beta: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Doubling ends when the rate falls below this share of the previous rate."""
    gamma: Annotated[float, Field(gt=0, lt=1)] = 0.4
    """Bisection rejects a number of connections whose rate is below this share of the last safe rate."""
    error: Annotated[Count, Unit.CONNECTIONS] = 1
    """E: the bisection ends when its bounds are this many connections apart."""
    shortcut: Literal["validation-answers"] | None = None
    """Shortcut that begins the bisection at the number of connections that answered when there were too many."""

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
