# SPDX-License-Identifier: Apache-2.0
"""Every gateway driver by the name that plans use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from natxy.dut import drivers
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.drivers.chain import ChainGateway
from natxy.dut.transport.base import Transport
from natxy.errors import PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.chain import ChainConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.path import GatewayPath
from natxy.system.discovery import subclasses_in

_found: list[type[Gateway[Any]]] = sorted(
    subclasses_in(drivers, Gateway),  # type: ignore[type-abstract]
    key=lambda driver: driver.position,
)
GATEWAYS: Final = {driver.name: driver for driver in _found}
"""Holds the drivers by name, in the order of `natxy list gateways`."""
SINGLE_GATEWAYS: Final = {name: driver for name, driver in GATEWAYS.items() if driver is not ChainGateway}


def create(
    config: GatewayConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
) -> Gateway[Any]:
    """Returns the driver for `config`, not yet applied. PlanError for a gateway that is not a DUT on a testbed."""
    if config.in_virtual_time or not config.is_gateway or config.is_played or len(config.boxes) > 1:
        raise PlanError(f"the gateway {config.driver!r} does not run on a testbed with a DUT")
    return GATEWAYS[config.driver](config, transport, interfaces, addresses)


@dataclass(frozen=True)
class Box:
    """Holds the place of a gateway: what runs its commands, and its interfaces."""

    transport: Transport
    interfaces: DutInterfaces


def create_chain(path: GatewayPath, boxes: Sequence[Box]) -> Gateway[Any]:
    """Returns the driver of several gateways, each in the box of its number, not yet applied. PlanError as `create`
    raises it."""
    hops = [
        create(hop.gateway, box.transport, box.interfaces, hop.addresses)
        for hop, box in zip(path.hops, boxes, strict=True)
    ]
    return ChainGateway(ChainConfig(gateways=tuple(hop.gateway for hop in path.hops)), hops, path.ends)
