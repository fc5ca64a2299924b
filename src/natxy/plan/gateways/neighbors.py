# SPDX-License-Identifier: Apache-2.0
"""Settings of gateways that can be told the MAC addresses of their neighbours."""

from __future__ import annotations

from typing import ClassVar

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.addresses import LinkMacs


class NeighborsModel(GatewayModel):
    """Settings of a gateway that has a table of neighbours."""

    system: ClassVar[str | None] = "Linux"

    neighbors: LinkMacs | None = None
    """MAC addresses of the tester's ports, for static entries of all its addresses on the links; addresses are resolved
    when not given."""
