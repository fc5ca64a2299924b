# SPDX-License-Identifier: Apache-2.0
"""A testbed of the tester's own ports, cabled to a DUT that is reached by ssh, or stands on this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

from natxy.dut.base import DutInterfaces
from natxy.dut.machine import MachineSysctls
from natxy.dut.owner import Owner
from natxy.dut.ssh import SshTransport
from natxy.dut.transport import LocalTransport, NetnsTransport, Transport, run_program
from natxy.engine.messages import PortMedium, PortSpec, Side
from natxy.errors import PlanError
from natxy.hosts.iperf3 import Host
from natxy.lab.cores import CoreAssignment, assign_cores
from natxy.lab.engine_program import find_engine
from natxy.lab.host_namespaces import host_namespaces
from natxy.lab.interfaces import INTERFACES, disturbing_offloads
from natxy.lab.namespaces import LabNamespaces
from natxy.lab.packet_ring import ring_slots
from natxy.lab.send_buffer import AF_XDP_SEND_BUFFER
from natxy.plan.addresses import USUAL_MTU
from natxy.plan.experiment import Addresses
from natxy.plan.hardware import HardwareConfig, TesterPort


class HardwareTestbed:
    """The `Testbed` of `kind: hardware`. The kernel is kept silent on the interfaces that the tester sends from."""

    def __init__(self, config: HardwareConfig, mtu: int = USUAL_MTU) -> None:
        self._config = config
        self._mtu = mtu
        self._machine = MachineSysctls()
        self._ports: dict[Side, TesterPort] = {Side.LEFT: config.left, Side.RIGHT: config.right}
        self._stack = ExitStack()
        self._dut_cores: tuple[int, ...] = ()
        self.cores: CoreAssignment = assign_cores(os.sched_getaffinity(0), config.tester_cores, ())
        self.transport: Transport = self._reach_dut()
        self.interfaces = DutInterfaces(left=config.dut.left, right=config.dut.right)

    @property
    def gateway_cores(self) -> tuple[int, ...]:
        return self._dut_cores

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._machine.release_all)
            if isinstance(self.transport, SshTransport):
                stack.enter_context(self.transport)
            if self._config.io == "af_xdp" and any(port.interface for port in self._ports.values()):
                self._machine.hold(*AF_XDP_SEND_BUFFER)
            for side, port in self._ports.items():
                if port.interface:
                    self._take(side, port.interface)
            if isinstance(self.transport, SshTransport):
                # What a killed run took out of service.
                self.transport.hot_plug.give_back()
                stack.callback(self.transport.hot_plug.give_back)
                self._dut_cores = self.transport.hot_plug.cores()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def engine_argv(self) -> list[str]:
        workers = ",".join(map(str, self.cores.tester))
        pci = ["--pci"] if any(port.pci for port in self._ports.values()) else []
        return [str(find_engine()), "--worker-cores", workers, "--main-core", str(self.cores.main), *pci]

    def port_specs(self) -> list[PortSpec]:
        return [
            PortSpec(
                side=side,
                device=self._device(number, port),
                medium=_medium(port),
                queues=self._config.queues,
                mtu=self._mtu,
            )
            for number, (side, port) in enumerate(self._ports.items())
        ]

    def description(self) -> dict[str, str]:
        return {
            "testbed": "hardware: the tester's own ports, cabled to the DUT",
            "kernel": f"{platform.system()} {platform.release()} (the tester's)",
            "dut": f"{self.transport.describe()}, interfaces {self.interfaces.left} and {self.interfaces.right}",
            "tester cores": ", ".join(map(str, self.cores.tester)),
            "dut cores": ", ".join(map(str, self._dut_cores)) or "unknown: set by the DUT itself",
            "control core": str(self.cores.main),
        }

    def port_description(self) -> dict[str, str]:
        return {
            f"{side} port": port.pci or f"{port.interface} by net_{self._config.io}"
            for side, port in self._ports.items()
        }

    def deviations(self) -> list[str]:
        if self._config.dut.ssh is None:
            return ["Tester and DUT are one machine: they share its memory, its caches and maybe its cores."]
        return []

    def port_deviations(self) -> list[str]:
        sentences = []
        for port in self._ports.values():
            if port.interface:
                sentences += self._interface_deviations(port.interface)
        return sentences

    @contextmanager
    def hosts(self, addresses: Addresses) -> Iterator[dict[Side, Host]]:
        with host_namespaces(
            {side: port.interface for side, port in self._ports.items() if port.interface},
            LocalTransport(self._machine),
            LabNamespaces(Owner.current()),
            self._machine,
            addresses=addresses,
            mtu=self._mtu,
            cores=self.cores.tester,
        ) as hosts:
            yield hosts

    def host_deviations(self) -> list[str]:
        sentences = [
            "Both hosts are one machine, the tester, and share its cores, so TCP itself may be what limits the goodput."
        ]
        for side, port in self._ports.items():
            if port.interface and (disturbing := disturbing_offloads(port.interface)):
                sentences.append(
                    f"The {side} host's interface {port.interface} has {', '.join(disturbing)} on: the card makes or "
                    "merges segments for it."
                )
        return sentences

    def _reach_dut(self) -> Transport:
        dut = self._config.dut
        if dut.ssh:
            return SshTransport(dut.ssh)
        return NetnsTransport(dut.namespace, self._machine) if dut.namespace else LocalTransport(self._machine)

    def _take(self, side: Side, interface: str) -> None:
        """PlanError when there is no such interface, or the kernel uses it."""
        if not (INTERFACES / interface).exists():
            found = ", ".join(sorted(path.name for path in INTERFACES.iterdir()))
            raise PlanError(f"testbed.{side}.interface: this machine has no {interface!r}; it has {found}")
        # An interface with IPv4 addresses answers ARP beside the engine; one with IPv6 sends on its own.
        if address := run_program(["ip", "-brief", "-4", "address", "show", "dev", interface]).stdout.split()[2:]:
            raise PlanError(
                f"testbed.{side}.interface: {interface} has the address {address[0]}; the tester needs an "
                f"interface that nothing else uses: choose another, or `ip address flush dev {interface}`"
            )
        self._machine.hold(f"net.ipv6.conf.{interface}.disable_ipv6", "1")
        run_program(["ip", "link", "set", interface, "up"])

    def _device(self, number: int, port: TesterPort) -> str:
        if port.pci:
            return port.pci
        if self._config.io == "af_xdp":
            return f"net_af_xdp{number},iface={port.interface},start_queue=0,queue_count={self._config.queues}"
        return f"net_af_packet{number},iface={port.interface},qpairs={self._config.queues}{ring_slots(self._mtu)}"

    def _interface_deviations(self, interface: str) -> list[str]:
        sentences = []
        if disturbing := disturbing_offloads(interface):
            sentences.append(f"The tester's interface {interface} has {', '.join(disturbing)} on.")
        if _medium(TesterPort(interface=interface)) == PortMedium.VETH:
            sentences.append(f"The tester's interface {interface} is one of software; it has no line rate.")
        return sentences


def _medium(port: TesterPort) -> PortMedium:
    """An interface without a device behind it is one of software, which may hold the tester back."""
    if port.interface and not (INTERFACES / port.interface / "device").exists():
        return PortMedium.VETH
    return PortMedium.NIC
