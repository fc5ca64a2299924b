# SPDX-License-Identifier: Apache-2.0
"""A rate that a plan gives as a number or as a share of an earlier experiment's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import AbsoluteRate


class KnownRate(PlanModel):
    """An absolute rate, or a share of the median that an earlier experiment measured."""

    rate: AbsoluteRate | None = None
    experiment: str | None = None
    percent: Annotated[float, Field(gt=0, le=100)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> KnownRate:
        share = self.experiment is not None and self.percent is not None
        if (self.rate is not None) == share or (self.experiment is None) != (self.percent is None):
            raise ValueError("expected a rate such as 50k, or {experiment: NAME, percent: 50}")
        return self

    def given_by(self, medians: Mapping[str, float]) -> float | None:
        """Returns the rate. `medians` are by experiment's name; if the one needed is missing or 0, returns None."""
        if self.experiment is None or self.percent is None:
            return self.rate
        return medians.get(self.experiment, 0.0) * self.percent / 100 or None
