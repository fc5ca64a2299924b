# SPDX-License-Identifier: Apache-2.0
"""Records a gateway before it is set up, and removes it by its record after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.registry import create
from natxy.dut.transport.base import Lasting, Transport
from natxy.errors import DutError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.system.interrupts import dumped
from natxy.system.ledger import Entry, Kind, Ledger


class _Record(BaseModel):
    """Holds what makes a gateway's driver; `links`: it set the addresses and routes too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: GatewayConfig
    interfaces: DutInterfaces
    addresses: AddressPlan
    links: bool


@contextmanager
def recorded_gateway(gateway: Gateway[Any], *, links: bool) -> Iterator[None]:
    """Has an entry in the ledger while the gateway, with or without its links, is set up and removed in the context.

    The entry stays when the context ends with an error, so that the gateway can still be removed. A gateway that ends
    with natxy has none: a program of natxy's, or a gateway on a guest.
    """
    transport = getattr(gateway, "transport", None)
    if gateway.config.polls or not isinstance(transport, Lasting):
        yield
        return
    details = {
        "config": dumped(gateway.config, exclude_none=True),
        "interfaces": asdict(gateway.interfaces),
        "addresses": dumped(gateway.addresses),
        "links": links,
    }
    ledger = Ledger()
    entry = ledger.add(Kind.GATEWAY, f"the gateway {gateway.name}", transport.place(), details=details)
    yield
    ledger.remove(entry)


def remove_recorded(entry: Entry, transport: Transport) -> None:
    """Removes the gateway of an entry. Raises DutError when the DUT refuses, or when another natxy wrote the entry."""
    try:
        record = _Record.model_validate(entry.details)
    except ValidationError as error:
        raise DutError(f"its record is of another version of natxy: {error}") from error
    gateway = create(record.config, transport, record.interfaces, record.addresses)
    with ExitStack() as stack:
        if record.links:
            stack.callback(gateway.unset_links)
        gateway.remove()
