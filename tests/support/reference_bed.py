# SPDX-License-Identifier: Apache-2.0
"""Sets up a lab whose gateway is natxy-reference, which becomes another one within milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from scapy.packet import Packet

from natxy.engine.client import EngineClient
from natxy.engine.devices import ring_slots
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortsOpen, PortSpec
from natxy.engine.program import find_reference
from natxy.engine.reference import ReferenceClient
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.lab import DUT_MACS, NetnsLab
from natxy.testbeds.veth import SILENT_SYSCTLS
from tests.support.capture import Direction, captured
from tests.support.lab_frames import namespace_of_tester


class _SilentLab(NetnsLab):
    """A lab in which natxy-reference alone answers ARP and neighbor solicitations, and not the kernel."""

    _dut_sysctls: ClassVar[Mapping[str, int]] = SILENT_SYSCTLS

    def _set_links(self) -> None:
        """Leaves the interfaces without addresses."""


@dataclass(frozen=True)
class ReferenceBed:
    lab: NetnsLab
    engine: EngineClient
    gateway: ReferenceClient

    def sent(self, side: Side) -> AbstractContextManager[list[Packet]]:
        """Captures what the tester's port of a side sends, as the gateway receives it."""
        return captured(self.lab.description()["dut namespace"], getattr(self.lab.interfaces, side), Direction.IN)

    def arrived(self, side: Side) -> AbstractContextManager[list[Packet]]:
        """Captures what the tester's port of a side receives."""
        return captured(namespace_of_tester(), side.value, Direction.IN)


@contextmanager
def reference_bed(links: AddressPlan, folder: Path) -> Iterator[ReferenceBed]:
    """Yields the bed with open ports. By af_packet the engine shares them with captures and with other engines."""
    with _SilentLab(LabConfig(io="af_packet"), links) as lab:
        program = [str(find_reference()), "--worker-cores", str(lab.cores.dut[0]), "--main-core", str(lab.cores.main)]
        argv = ["ip", "netns", "exec", lab.description()["dut namespace"], *program]
        gateway = ReferenceClient(argv)
        engine = EngineClient(lab.engine_argv(), folder / "engine.log")
        try:
            gateway.open_ports(
                PortsOpen(ports=[_port(lab, number, side, links.mtu) for number, side in enumerate(Side)])
            )
            engine.open_ports(PortsOpen(ports=lab.port_specs()))
            yield ReferenceBed(lab, engine, gateway)
        finally:
            engine.close()
            gateway.close()


def _port(lab: NetnsLab, number: int, side: Side, mtu: int) -> PortSpec:
    device = f"net_af_packet{number},iface={getattr(lab.interfaces, side)}{ring_slots(mtu)}"
    return PortSpec(side=side, device=device, medium=PortMedium.VETH, mac=DUT_MACS[side], mtu=mtu)
