# SPDX-License-Identifier: Apache-2.0
"""Connection tracking table capacity (RFC 9693 §4.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from natxy.plan.model.units import Count, Unit
from natxy.plan.procedures.base import Figure, ProcedureDeclaration

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment


class TableCapacityConfig(ProcedureDeclaration):
    name: Literal["table-capacity"] = "table-capacity"
    initial_connections: Annotated[Count, Unit.CONNECTIONS] = Field(
        default=10_000, description="C0: surely below the capacity"
    )
    max_connections: Annotated[Count, Unit.CONNECTIONS] = Field(
        default=64_000_000, description="most connections tried; who holds them all has at least this capacity"
    )
    beta: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.2, description="doubling ends when the rate falls below this share of the one before"
    )
    gamma: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.4, description="a number of connections is too many when the rate falls below this share"
    )
    error: Annotated[Count, Unit.CONNECTIONS] = Field(
        default=1, description="E, in connections: how narrow the bisection has to become"
    )

    shortcut: Literal["validation-answers"] | None = Field(
        default=None, description="begins the bisection at how many of too many connections answered"
    )

    summary: ClassVar = "how many connections the table holds (RFC 9693 §4.8)"
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
    timed: ClassVar = False
    takes: ClassVar = frozenset({"search", "alpha"})

    @model_validator(mode="after")
    def _ordered(self) -> TableCapacityConfig:
        if self.initial_connections > self.max_connections:
            raise ValueError(
                f"initial_connections ({self.initial_connections}) must not be above max_connections "
                f"({self.max_connections})"
            )
        return self

    def deviations(self, experiment: Experiment) -> list[str]:
        if self.shortcut is None:
            return []
        text = "The capacity was looked for around the number of connections, out of too many, that answered when "
        return [f"{text}validated, and confirmed there; RFC 9693 §4.8 bisects."]

    @property
    def most_connections(self) -> int:
        return self.max_connections
