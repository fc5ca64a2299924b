# SPDX-License-Identifier: Apache-2.0
"""Directions, port ranges and orders of test traffic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.model.base import PlanModel
from natxy.plan.model.terms import Order
from natxy.plan.model.units import COUNT_SCHEMA, Count, is_number
from natxy.untrusted.validation import got


class Directions(StrEnum):
    """The directions of test traffic. `forward` is left to right, initiator to responder."""

    BIDIRECTIONAL = "bidirectional"
    FORWARD = "forward"
    REVERSE = "reverse"


class PortRange(PlanModel):
    """A range of ports: `1024-65535`, one port, or `{min: 1024, max: 65535}`."""

    min: Annotated[int, Field(ge=0, le=65535)]
    max: Annotated[int, Field(ge=0, le=65535)]

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, {"type": "integer"}, handler(schema)]}

    @model_validator(mode="before")
    @classmethod
    def _written_as_text(cls, given: object) -> object:
        if isinstance(given, int) and is_number(given):
            return {"min": given, "max": given}
        if isinstance(given, Mapping | PortRange):
            return given
        match = re.fullmatch(r"\s*(\d{1,9})\s*[-–]\s*(\d{1,9})\s*", given) if isinstance(given, str) else None
        if not match:
            raise ValueError(f"expected a port range such as 1024-65535{got(given)}")
        return {"min": int(match[1]), "max": int(match[2])}

    @model_validator(mode="after")
    def _ordered(self) -> PortRange:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) must not be above max ({self.max})")
        return self

    @property
    def size(self) -> int:
        return self.max - self.min + 1


class ActiveConnections(PlanModel):
    """The numbers of connections that phase 2 uses in each direction, the first of phase 1; default: all.

    A single value in a plan is that of both directions.
    """

    forward: Count | None = None
    reverse: Count | None = None

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [COUNT_SCHEMA, handler(schema)]}

    @model_validator(mode="before")
    @classmethod
    def _both_directions(cls, given: object) -> object:
        return given if isinstance(given, Mapping | ActiveConnections) else {"forward": given, "reverse": given}

    @property
    def text(self) -> str:
        """`1`, or `200 forward, all in reverse`."""
        forward, reverse = ("all" if count is None else f"{count:,}" for count in (self.forward, self.reverse))
        return forward if forward == reverse else f"{forward} forward, {reverse} in reverse"


class ReverseOrders(PlanModel):
    """The order of each field's values from right to left; default: that of the same field from left to right."""

    source_address: Order | None = None
    """Order of the field's values from right to left; default: as from left to right."""
    destination_address: Order | None = None
    """Order of the field's values from right to left; default: as from left to right."""
    source_port: Order | None = None
    """Order of the field's values from right to left; default: as from left to right."""
    destination_port: Order | None = None
    """Order of the field's values from right to left; default: as from left to right."""


class Orders(PlanModel):
    """The order of each field's values in phase 1 and in traffic without connections, and the orders in which phase 2
    uses the connections (RFC 9693 §4.10)."""

    source_address: Order = Order.PSEUDORANDOM
    """`increasing`, `decreasing` or `pseudorandom`."""
    destination_address: Order = Order.PSEUDORANDOM
    """`increasing`, `decreasing` or `pseudorandom`."""
    source_port: Order = Order.PSEUDORANDOM
    """`increasing`, `decreasing` or `pseudorandom`."""
    destination_port: Order = Order.PSEUDORANDOM
    """`increasing`, `decreasing` or `pseudorandom`."""
    reverse: ReverseOrders | None = None
    """Orders of the four fields from right to left, where they differ."""
    state_table: Order = Order.PSEUDORANDOM
    """Order in which the responder reads its state table (RFC 9693 §4.10)."""
    initiator: Order | None = None
    """Order of the initiator's connections in phase 2; default: that of `state_table`."""

    @property
    def of_initiator(self) -> Order:
        """The order in which the initiator uses its connections in phase 2."""
        return self.initiator or self.state_table

    @property
    def in_reverse(self) -> Orders:
        """The orders of traffic from right to left."""
        return self.model_copy(update=self.reverse.model_dump(exclude_none=True)) if self.reverse else self
