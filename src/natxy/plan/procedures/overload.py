# SPDX-License-Identifier: Apache-2.0
"""Overload (RFC 8219 §10): the throughput lost when many flows run at the same time."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure


class OverloadConfig(ProcedureDeclaration):
    name: Literal["overload"] = "overload"

    list_position: ClassVar = 300
    summary: ClassVar = "how much of the throughput of one flow is lost with many (RFC 8219 §10)"
    figures: ClassVar = (
        Figure("degradation", "Degradation of the throughput", Unit.PERCENT, signed=True),
        Figure("single", "Throughput of one flow", Unit.FPS),
        Figure("many", "Throughput of all flows", Unit.FPS),
    )
    takes: ClassVar = frozenset(
        {"search", "directions", "flows", "connections", "phase1_rate", "phase1_loss", "background", "loss_tolerance"}
    )
    takes_mlrsearch: ClassVar = True
    fewest_flows: ClassVar = 2
