# SPDX-License-Identifier: Apache-2.0
"""States how often a plan repeats its experiments, and in which order it measures their repetitions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import Share, format_share, times

LEAST_REPEAT: Final = 6
"""Repetitions before an interval may end an experiment. Fewer values, which happen to be close, would end too many."""


class RunOrder(StrEnum):
    """`blocks` measures repetition 1 of every experiment, then repetition 2, and so on; `experiments` measures all
    repetitions of one experiment before the next one."""

    BLOCKS = "blocks"
    EXPERIMENTS = "experiments"


class Repeat(PlanModel):
    """A number of repetitions; or with `until`, as many as the precision takes."""

    at_most: Annotated[int, Field(ge=1, le=10_000)] = 30
    """Number of repetitions, with `until` the highest."""
    until: Share | None = None
    """Half the width of the 95 % interval that ends the repetitions, as a share of the value, e.g. 3%."""

    @field_validator("until")
    @classmethod
    def _not_nothing(cls, until: float | None) -> float | None:
        if until == 0:
            raise ValueError("expected a percentage above 0%, such as 3%; no number of repetitions reaches 0%")
        return until

    @model_serializer(mode="wrap")
    def _short(self, full: SerializerFunctionWrapHandler) -> dict[str, Any] | int:
        return self.at_most if self.until is None else full(self)

    @property
    def least(self) -> int:
        """The number of repetitions that are measured in any case."""
        return self.at_most if self.until is None else min(LEAST_REPEAT, self.at_most)

    @property
    def text(self) -> str:
        """`3 times`, or `until the interval is within ±3%, at most 30 times`."""
        if self.until is None:
            return times(self.at_most)
        return f"until the interval is within ±{format_share(self.until)}, at most {times(self.at_most)}"
