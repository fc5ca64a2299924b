# SPDX-License-Identifier: Apache-2.0
"""The loss that a trial, or phase 1, may have and still pass. The RFCs allow none, so such results are marked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, GetJsonSchemaHandler, PlainSerializer, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.model.base import PlanModel
from natxy.plan.model.json_schema import named
from natxy.plan.model.units import COUNT_SCHEMA, PERCENTAGE_SCHEMA, Percent, Share, parse_count, parse_rate
from natxy.untrusted.validation import got


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


def _parse_phase1_loss(given: object) -> int | Percent:
    """Reads `1` or `1k` as connections, and `0.001%` as a share of them."""
    try:
        share = parse_rate(given) if isinstance(given, Percent) or "%" in str(given) else None
        if isinstance(share, Percent) and share.value < 100:
            return share
        if share is None:
            return parse_count(given)
    except ValueError:
        pass
    raise ValueError(f"expected a number of connections such as 1, or a share of them such as 0.001%{got(given)}")


def _written(loss: int | Percent) -> int | str:
    return str(loss) if isinstance(loss, Percent) else loss


Phase1Loss = Annotated[
    int | Percent,
    BeforeValidator(_parse_phase1_loss),
    PlainSerializer(_written),
    WithJsonSchema(named("Phase1Loss", {"anyOf": [COUNT_SCHEMA, PERCENTAGE_SCHEMA]})),
]
"""The connections that phase 1 may leave out: a number, or a share of them."""


def left_out(loss: int | Percent, connections: int) -> int:
    """Returns how many of the connections a `Phase1Loss` allows to be missing."""
    if not isinstance(loss, Percent):
        return loss
    # Rounded, because 7 % of 100 is slightly more than 7 in floating point, and another share might be less.
    return math.floor(round(loss.value * connections / 100, 6))
