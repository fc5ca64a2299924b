# SPDX-License-Identifier: Apache-2.0
"""The use of a subscriber's port set by the customer's NAT44 of lw4o6 and MAP (RFC 7596 §5, RFC 7597 §5.1)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.addressing.port_sets import PortSet
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure

# So many connections are tried for each port, because a NAT may come upon the last free ports late.
_TRIED: Final = 1.25


class PortSetConfig(ProcedureDeclaration):
    name: Literal["port-set"] = "port-set"
    port_set: PortSetModel | None = None
    """Ports that the subscriber has, {psid, psid_length, offset}; default: those of the gateway's own `port_set`."""
    destinations: Annotated[int, Field(ge=2, le=64)] = 4
    """Destinations, which are ports of the right host, of the second number of connections."""

    list_position: ClassVar = 560
    summary: ClassVar = "how many connections a subscriber's port set gives, and in which ports (RFC 7597 §5.1)"
    figures: ClassVar = (
        Figure("connections", "Connections to one destination", Unit.CONNECTIONS),
        Figure("several", "Connections to several destinations", Unit.CONNECTIONS),
        Figure("ports", "Ports used, of those of the set", Unit.PERCENT, more_is_better=True),
        Figure("ranges", "Ranges used, of those of the set", Unit.PERCENT, more_is_better=True),
        Figure("outside", "Frames from ports outside the set", Unit.FRAMES, more_is_better=False),
    )
    step_unit: ClassVar = Unit.CONNECTIONS
    rate_title: ClassVar = "Rate of new connections"
    rate_unit: ClassVar = Unit.CPS
    takes: ClassVar = frozenset({"rate"})
    stateful: ClassVar = True
    counts_connections: ClassVar = True
    expects_loss: ClassVar = True
    timed: ClassVar = False

    def ports_of(self, gateways: PortSet | None) -> PortSet | None:
        """Returns the subscriber's ports; `gateways` are those that the gateway's settings name, if they name any."""
        return self.port_set.ports if self.port_set else gateways

    @staticmethod
    def tried(ports: PortSet) -> int:
        """Returns how many connections are tried to one destination."""
        return math.ceil(_TRIED * len(ports))
