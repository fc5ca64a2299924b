# SPDX-License-Identifier: Apache-2.0
"""The port set of a subscriber, as a plan has it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from natxy.addressing.port_sets import USUAL_OFFSET, PortSet
from natxy.plan.model.base import PlanModel


class PortSetModel(PlanModel):
    """The ports of a public IPv4 address that several subscribers share (RFC 7597 §5.1)."""

    psid: Annotated[int, Field(ge=0)] = 0
    """Identifier of the port set (PSID), a number of `psid_length` bits."""
    psid_length: Annotated[int, Field(ge=1, le=16)]
    """Length of the PSID in bits; 2 to its power is the number of subscribers that share an address."""
    offset: Annotated[int, Field(ge=0, le=15)] = USUAL_OFFSET
    """Bits of a port before the PSID; 0: one range of ports; more: that number of ranges, without the first ports."""

    @model_validator(mode="after")
    def _fits(self) -> PortSetModel:
        # Raises ValueError if it does not.
        _ = self.ports
        return self

    @property
    def ports(self) -> PortSet:
        return PortSet(self.psid, self.psid_length, self.offset)
