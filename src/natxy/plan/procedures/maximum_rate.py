# SPDX-License-Identifier: Apache-2.0
"""What procedures share that need the highest rate of the medium."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field

from natxy.plan.model.units import AbsoluteRate
from natxy.plan.procedures.base import ProcedureDeclaration


class MaximumRate(ProcedureDeclaration):
    maximum_rate: AbsoluteRate | None = Field(
        default=None, description="frames per second per direction; the theoretical maximum of the plan's `line_rate`"
    )

    needs_maximum_rate: ClassVar[bool] = True

    def with_line_rate(self, line_fps: float) -> Self:
        return self if self.maximum_rate is not None else self.model_copy(update={"maximum_rate": line_fps})

    @property
    def maximum_fps(self) -> float:
        """Of a procedure that needs it, in a plan that was checked."""
        assert self.maximum_rate is not None
        return self.maximum_rate
