# SPDX-License-Identifier: Apache-2.0
"""Frame cost: how many instructions the gateway executes for a frame."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.model.units import AbsoluteRate, Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, ProcedureDeclaration
from natxy.plan.procedures.figures import Figure


class FrameCostConfig(ProcedureDeclaration):
    name: Literal["frame-cost"] = "frame-cost"
    single_rate: AbsoluteRate = 1000.0
    """Frames per second per direction, so few that the gateway is done with each before the next arrives."""
    burst: Annotated[int, Field(ge=2, le=1000), Unit.FRAMES] = 512
    """Frames that leave back to back, so that the gateway processes them together; also `single_rate` on average."""
    rounds: Annotated[int, Field(ge=1, le=1000)] = 10
    """Times that each kind of trial is run in a repetition, whose result is the median."""

    list_position: ClassVar = 130
    summary: ClassVar = "instructions that the gateway executes for a frame, alone and in bursts"
    figures: ClassVar = (
        Figure("instructions", "Instructions per forwarded frame, in bursts", Unit.INSTRUCTIONS),
        Figure("single", "Instructions per forwarded frame, one at a time", Unit.INSTRUCTIONS),
        Figure("connection", "Instructions per new connection, one at a time", Unit.INSTRUCTIONS),
        Figure("cycles", "Cycles per forwarded frame, in bursts", Unit.CYCLES),
        Figure("background", "Instructions per second without frames", Unit.INSTRUCTIONS),
    )
    takes: ClassVar = OF_NETWORK_FLOWS - {"background", "pairs", "start_interval"} | {"baseline"}
    counts_instructions: ClassVar = True
