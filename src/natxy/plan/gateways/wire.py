# SPDX-License-Identifier: Apache-2.0
"""Settings of `wire`, which joins the tester's ports without a gateway."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.gateways.base import GatewayModel


class WireConfig(GatewayModel):
    """Joins the tester's two ports. Lost and late frames are the tester's own."""

    is_gateway: ClassVar[bool] = False
    is_probed: ClassVar[bool] = False
    driver: Literal["wire"] = "wire"

    @property
    def keeps_connections(self) -> None:
        """None: connections pass like any other traffic, and there is no table."""
        return None
