# SPDX-License-Identifier: Apache-2.0
"""Prepares two ports of a tester: devices bound to a DPDK driver, or network interfaces of the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

from natxy.dut.linux.interfaces import INTERFACES, disturbing_offloads
from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.dut.transport.undone import undone
from natxy.engine.devices import ring_slots
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortSpec
from natxy.errors import PlanError
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.frames.sizes import VLAN_TAG_BYTES
from natxy.plan.testbeds.ports import TesterPort
from natxy.system.machine_sysctls import interface_word

# From <linux/if.h>.
_IFF_UP: Final = 0x1
_IFF_PROMISC: Final = 0x100


class TesterPorts:
    """Holds the ports of one pair, at the tester that `transport` leads to."""

    def __init__(
        self,
        ports: Mapping[Side, TesterPort],
        transport: LocalTransport | SshTransport,
        *,
        io: str,
        queues: int,
        mtu: int,
        pair: int = 0,
    ) -> None:
        self._ports: Final = ports
        self._pair = pair
        self._transport = transport
        self._io = io
        self._queues = queues
        self._mtu = mtu

    @property
    def interfaces(self) -> dict[Side, str]:
        """Returns the ports that are interfaces of the kernel."""
        return {side: port.interface for side, port in self._ports.items() if port.interface}

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Has the interfaces up within the context, without frames of the kernel's. Raises PlanError when one does not
        exist, or the kernel uses it."""
        with ExitStack() as stack:
            prepared: set[str] = set()
            for side, interface in self.interfaces.items():
                if interface in prepared:
                    continue
                prepared.add(interface)
                self._check_free(interface, self._field(side))
                self._check_tags(side, interface)
                sysctl, network = f"net.ipv6.conf.{interface_word(interface)}.disable_ipv6", self._transport.network
                stack.callback(network.release, sysctl)
                network.hold(sysctl, "1")
                flags = int(self._transport.run(["cat", str(INTERFACES / interface / "flags")]).stdout, 16)
                if not flags & _IFF_UP:
                    stack.enter_context(self._given_back(interface, "the state", "down"))
                if not flags & _IFF_PROMISC:
                    # DPDK's drivers set it for good.
                    stack.enter_context(self._given_back(interface, "the promiscuous mode", "promisc", "off"))
                if self._io == "af_xdp":
                    # An engine that is killed leaves its program on the interface.
                    stack.enter_context(self._given_back(interface, "the XDP program", "xdp", "off"))
                self._transport.run(["ip", "link", "set", interface, "up"])
            yield

    def specs(self, medium: PortMedium | None = None) -> list[PortSpec]:
        """Returns the ports for the engine; `medium` replaces the one that each port has."""
        return [
            PortSpec(
                side=side,
                pair=self._pair,
                device=self._device(number, port),
                medium=medium or self._medium(port),
                mac=port.mac,
                vlan=port.vlan,
                service_vlan=port.service_vlan,
                queues=self._queues,
                mtu=self._mtu_of(port),
            )
            for number, (side, port) in zip(self._numbers(), self._ports.items(), strict=True)
        ]

    def _mtu_of(self, port: TesterPort) -> int:
        """Returns the MTU that a port needs. Beyond it, interfaces leave room for one tag of the type 0x8100, and for
        none of another type."""
        return self._mtu + (VLAN_TAG_BYTES * len(port.tags) if port.service_vlan else 0)

    def _numbers(self) -> list[int]:
        """Returns the number of each port's device: the same if both ports are the same."""
        ports = [*self._ports.values()]
        first = len(Side) * self._pair
        return [first + next(i for i, other in enumerate(ports) if other.is_same(port)) for port in ports]

    def description(self) -> dict[str, str]:
        of_pair = f" of pair {self._pair + 1}" if self._pair else ""
        return {f"{side} port{of_pair}": self._described(port) for side, port in self._ports.items()}

    def caveats(self) -> list[Caveat]:
        sentences: list[str] = []
        # `natxy check` may run where they are not.
        there = [name for name in dict.fromkeys(self.interfaces.values()) if self._exists(INTERFACES / name)]
        where = f" of {self._transport.describe()}" if isinstance(self._transport, SshTransport) else ""
        for interface in there:
            if disturbing := disturbing_offloads(interface, self._transport):
                sentences.append(f"The tester's interface {interface}{where} has {', '.join(disturbing)} on.")
            if self._medium(TesterPort(interface=interface)) == PortMedium.VETH:
                sentences.append(f"The tester's interface {interface}{where} is one of software; it has no line rate.")
        return [*map(limitation, sentences)]

    def _described(self, port: TesterPort) -> str:
        vlan = f", VLAN {port.vlan}" if port.vlan else ""
        vlan += f" within {port.service_vlan}" if port.service_vlan else ""
        return (port.pci or f"{port.interface} by net_{self._io}") + vlan + (f", as {port.mac}" if port.mac else "")

    def _field(self, side: Side) -> str:
        """Returns the plan's field that gives the port."""
        return f"testbed.more_pairs[{self._pair - 1}].{side}" if self._pair else f"testbed.{side}"

    def _check_free(self, interface: str, field: str) -> None:
        if not self._exists(INTERFACES / interface):
            found = ", ".join(sorted(self._transport.run(["ls", str(INTERFACES)]).stdout.split()))
            raise PlanError(f"{field}.interface: {self._transport.describe()} has no {interface!r}; it has {found}")
        # With an IPv4 address the kernel would answer ARP beside the engine; with IPv6 it sends packets unasked.
        shown = self._transport.run(["ip", "-brief", "-4", "address", "show", "dev", interface]).stdout
        if address := shown.split()[2:]:
            raise PlanError(
                f"{field}.interface: {interface} has the address {address[0]}; the tester needs an "
                f"interface that nothing else uses: choose another, or `ip address flush dev {interface}`"
            )

    def _check_tags(self, side: Side, interface: str) -> None:
        # A card that removes tags hands them to the kernel beside the frame, which AF_XDP does not see.
        if self._io != "af_xdp" or not self._ports[side].vlan:
            return
        if "rx-vlan-offload: on" in self._transport.run(["ethtool", "-k", interface]).stdout:
            raise PlanError(
                f"testbed.{side}.vlan: {interface} takes the tags off the frames that af_xdp receives; "
                f"`ethtool -K {interface} rxvlan off`, or give the testbed `io: af_packet`"
            )

    def _given_back(self, interface: str, what: str, *state: str) -> AbstractContextManager[None]:
        """Gives an interface this state, as iproute2 names it, when the context ends; not one that is gone then."""
        there = f"ip link show dev {interface} >/dev/null 2>&1"
        command = ("sh", "-c", f"{there} || exit 0; ip link set dev {interface} {' '.join(state)}")
        return undone(self._transport, f"{what} of {interface}", state[-1], command)

    def _device(self, number: int, port: TesterPort) -> str:
        if port.pci:
            return port.pci
        if self._io == "af_xdp":
            return f"net_af_xdp{number},iface={port.interface},start_queue=0,queue_count={self._queues}"
        return f"net_af_packet{number},iface={port.interface},qpairs={self._queues}{ring_slots(self._mtu_of(port))}"

    def _medium(self, port: TesterPort) -> PortMedium:
        """Returns VETH for an interface of software, which has no device and may slow the tester, else NIC."""
        if port.interface and not self._exists(INTERFACES / port.interface / "device"):
            return PortMedium.VETH
        return PortMedium.NIC

    def _exists(self, path: Path) -> bool:
        return self._transport.run(["test", "-e", str(path)], check=False).returncode == 0
