# SPDX-License-Identifier: Apache-2.0
"""Every gateway driver by the name that plans use."""

from __future__ import annotations

from typing import Any, Final

from natxy.dut import drivers
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.transport.base import Transport
from natxy.errors import PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.system.discovery import subclasses_in

_found: list[type[Gateway[Any]]] = sorted(
    subclasses_in(drivers, Gateway),  # type: ignore[type-abstract]
    key=lambda driver: driver.position,
)
GATEWAYS: Final = {driver.name: driver for driver in _found}
"""Holds the drivers by name, in the order of `natxy list gateways`."""


def create(
    config: GatewayConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
) -> Gateway[Any]:
    """Returns the driver for `config`, not yet applied. PlanError for a gateway that is not a DUT on a testbed."""
    if config.in_virtual_time or not config.is_gateway:
        raise PlanError(f"the gateway {config.driver!r} does not run on a testbed with a DUT")
    return GATEWAYS[config.driver](config, transport, interfaces, addresses)
