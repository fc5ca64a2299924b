# SPDX-License-Identifier: Apache-2.0
"""The loss that a trial may have and still pass. The RFCs allow none, so results with a tolerance are marked."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import Share


class LossTolerance(PlanModel):
    """Shares of each direction's frames. A single value in a plan is that of both directions."""

    forward: Share = 0.0
    reverse: Share = 0.0

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        return {"anyOf": [full["properties"]["forward"], full]}

    @model_validator(mode="before")
    @classmethod
    def _both_directions(cls, given: object) -> object:
        return given if isinstance(given, Mapping | LossTolerance) else {"forward": given, "reverse": given}

    @property
    def most(self) -> float:
        return max(self.forward, self.reverse)

    @property
    def text(self) -> str:
        """`0.01 %`, or `0.01 % forward, 0 % reverse`."""
        forward, reverse = (f"{100 * share:.10g} %" for share in (self.forward, self.reverse))
        return forward if forward == reverse else f"{forward} forward, {reverse} reverse"
