# SPDX-License-Identifier: Apache-2.0
"""Reset (RFC 6201)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import Figure, ProcedureDeclaration
from natxy.plan.procedures.per_direction import per_direction
from natxy.plan.procedures.rates import off_throughput

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment


class ResetKind(StrEnum):
    """RFC 6201 §4: a software reset of a process or of the operating system, a hardware reset, a power interruption."""

    PROCESS = "process"
    OPERATING_SYSTEM = "operating-system"
    HARDWARE = "hardware"
    POWER = "power"


class ResetConfig(ProcedureDeclaration):
    name: Literal["reset"] = "reset"
    kind: ResetKind = Field(default=ResetKind.PROCESS, description="what is reset; stands in the report (RFC 6201 §4)")
    command: Annotated[list[str], Field(min_length=1)] | None = Field(
        default=None, description="program and arguments that reset the DUT, run on it; the gateway's own restart"
    )
    command_timeout: Annotated[Duration, Field(gt=0)] = Field(default=60.0, description="for the command to end")
    steady: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="traffic before the reset; the timing's `trial`"
    )
    recovery: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="traffic from there on, more than the reset takes; the timing's `trial`"
    )

    summary: ClassVar = "how long a reset interrupts forwarding (RFC 6201)"
    figures: ClassVar = (
        Figure("loss", "Reset time by lost frames, the direction with more", Unit.SECONDS),
        Figure("timestamps", "Reset time by time stamps, the direction with more", Unit.SECONDS),
        *per_direction("loss", "Reset time by lost frames", Unit.SECONDS),
        *per_direction("timestamps", "Reset time by time stamps", Unit.SECONDS),
    )
    step_unit: ClassVar = Unit.FPS
    stateful: ClassVar = False
    takes: ClassVar = frozenset({"rate", "directions", "connections", "phase1_rate", "background"})

    @model_validator(mode="after")
    def _own_reset(self) -> ResetConfig:
        if self.kind != ResetKind.PROCESS and self.command is None:
            raise ValueError(f"a reset of kind {self.kind} needs the `command` that does it, a list of arguments")
        return self

    def steady_s(self, trial_s: float) -> float:
        return trial_s if self.steady is None else self.steady

    def traffic_s(self, trial_s: float) -> float:
        return self.steady_s(trial_s) + (trial_s if self.recovery is None else self.recovery)

    def deviations(self, experiment: Experiment) -> list[str]:
        sentences = off_throughput(experiment, "Reset is measured at", "RFC 6201")
        smallest = experiment.smallest_frame
        if experiment.frame_size > smallest:
            text = f"Reset is measured with frames of {experiment.frame_size} bytes; RFC 6201 asks for the smallest"
            sentences.append(f"{text}, here {smallest} bytes.")
        return sentences
