# SPDX-License-Identifier: Apache-2.0
"""What gateways built on netfilter share: a rule that translates, and the connection tracking table behind it."""

from __future__ import annotations

from typing import TypeVar

from natxy.dut.base import Capability, DutInterfaces, TableNeed
from natxy.dut.linux.conntrack import ConntrackTable
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.transport.base import Transport
from natxy.plan.gateways import ConntrackModel
from natxy.plan.model.addresses import AddressPlan

ConntrackT = TypeVar("ConntrackT", bound=ConntrackModel)


class NetfilterGateway(LinuxGateway[ConntrackT]):
    """A driver gives the same four methods as to `LinuxGateway`."""

    capabilities = frozenset({Capability.CLEAR, Capability.COUNT, Capability.SET_CORES})
    table: ConntrackTable

    @classmethod
    def programs(cls, config: ConntrackT) -> dict[str, str]:
        return super().programs(config) | {"conntrack": "apt install conntrack"}

    def __init__(
        self, config: ConntrackT, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        super().__init__(config, transport, interfaces, addresses)
        self.table = ConntrackTable(
            transport,
            addresses.networks,
            maximum=config.conntrack_max,
            hash_size=config.hash_size,
            udp_timeout_s=config.udp_timeout_s,
            udp_stream_timeout_s=config.udp_stream_timeout_s,
        )

    def check(self, need: TableNeed) -> None:
        self.table.check(need)

    def clear(self) -> None:
        self.table.clear()

    def count(self) -> int:
        return self.table.count()
