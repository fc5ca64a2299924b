# SPDX-License-Identifier: Apache-2.0
"""Reset (RFC 6201)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import DuringTraffic
from natxy.plan.procedures.figures import Figure, per_direction


class ResetKind(StrEnum):
    """A software reset of a process or operating system, a hardware reset, or a power interruption (RFC 6201 §4)."""

    PROCESS = "process"
    OPERATING_SYSTEM = "operating-system"
    HARDWARE = "hardware"
    POWER = "power"

    @property
    def may_boot(self) -> bool:
        """Returns True when the DUT may boot: a card that is reset does not, and a machine does."""
        return self != ResetKind.PROCESS


class ResetConfig(DuringTraffic):
    name: Literal["reset"] = "reset"
    kind: ResetKind = ResetKind.PROCESS
    """`process`, `operating-system`, `hardware` or `power`, for the report (RFC 6201 §4)."""
    command: Annotated[list[str], Field(min_length=1)] | None = None
    """Program and arguments, run on the DUT, that reset it; default: natxy sets the gateway up anew."""
    command_timeout: Annotated[Duration, Field(gt=0)] = 60.0
    """Time within which the command has to end, unlike what it starts."""
    gateway_number: Annotated[int, Field(ge=1)] | None = None
    """Number of the gateway of a `chain` that is reset, counted from the left; default: all of them."""

    list_position: ClassVar = 410
    expects_loss: ClassVar = True
    summary: ClassVar = "how long a reset interrupts forwarding (RFC 6201)"
    figures: ClassVar = (
        Figure("loss", "Reset time by lost frames, the direction with more", Unit.SECONDS),
        Figure("timestamps", "Reset time by time stamps, the direction with more", Unit.SECONDS),
        *per_direction("loss", "Reset time by lost frames", Unit.SECONDS),
        *per_direction("timestamps", "Reset time by time stamps", Unit.SECONDS),
    )
    takes: ClassVar = frozenset({"rate", "directions", "connections", "phase1_rate", "phase1_loss", "background"})

    @model_validator(mode="after")
    def _own_reset(self) -> ResetConfig:
        if self.kind != ResetKind.PROCESS and self.command is None:
            raise ValueError(f"a reset of kind {self.kind} needs the `command` that does it, a list of arguments")
        return self

    @property
    def dut_command_field(self) -> str | None:
        return None if self.command is None else "command"
