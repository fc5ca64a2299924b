# SPDX-License-Identifier: Apache-2.0
"""The base class of gateways that are one end of MAP-T: the translator of a CE, or a border relay (RFC 7599)."""

from __future__ import annotations

from natxy.dut.base import ConfigT
from natxy.dut.linux.gateway import LinuxGateway
from natxy.errors import PlanError


class MapEndGateway(LinuxGateway[ConfigT]):
    """Translates between the networks of its `domain`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.addresses.map_domain is None:
            raise PlanError(f"{self.name} is one end of MAP-T; give the other end too, in a chain of gateways")
        self.domain = self.addresses.map_domain
