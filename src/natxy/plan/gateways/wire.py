# SPDX-License-Identifier: Apache-2.0
"""No gateway at all: what leaves one port of the tester arrives at the other."""

from __future__ import annotations

from typing import Literal

from natxy.plan.gateways.base import GatewayModel


class WireConfig(GatewayModel):
    """The tester's ports joined to each other. What is lost or late is the tester's own."""

    driver: Literal["wire"] = "wire"
