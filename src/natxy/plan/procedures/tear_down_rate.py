# SPDX-License-Identifier: Apache-2.0
"""Connection tear-down rate (RFC 9693 §4.8)."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure


class TearDownRateConfig(ProcedureDeclaration):
    name: Literal["tear-down-rate"] = "tear-down-rate"

    list_position: ClassVar = 520
    summary: ClassVar = "how fast a full connection tracking table is emptied (RFC 9693 §4.8)"
    figures: ClassVar = (
        Figure("rate", "Connection tear-down rate", Unit.CPS),
        Figure("full", "Time to empty the full table", Unit.SECONDS),
        Figure("empty", "Time to empty the empty table", Unit.SECONDS),
        Figure("net", "Difference of the two", Unit.SECONDS, signed=True),
    )
    step_unit: ClassVar = Unit.CPS
    stateful: ClassVar = True
    counts_connections: ClassVar = True
    timed: ClassVar = False
    takes: ClassVar = frozenset({"connections", "pairs", "phase1_rate"})
