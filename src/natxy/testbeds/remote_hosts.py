# SPDX-License-Identifier: Apache-2.0
"""The testbed `hosts`: two hosts that are reached by ssh, cabled to a DUT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_interface

from natxy.dut.linux.interfaces import disturbing_offloads
from natxy.dut.transport.base import Transport
from natxy.dut.transport.ssh import SshTransport
from natxy.engine.messages.common import Side
from natxy.errors import DutError, HostError, PlanError
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import USUAL_MTU, IPAddress, LinkAddresses
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.testbeds.machines import HostLocation
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.tcp.iperf3 import Host, Iperf3Hosts
from natxy.testbeds.cabled import CabledTestbed
from natxy.testbeds.host_links import link_addresses, linked_host


class HostsTestbed(CabledTestbed):
    def __init__(self, config: HostsConfig, mtu: int = USUAL_MTU) -> None:
        super().__init__([config.dut])
        self._locations: dict[Side, HostLocation] = {Side.LEFT: config.left, Side.RIGHT: config.right}
        self._transports = {side: SshTransport(location.ssh) for side, location in self._locations.items()}
        self._mtu = mtu

    def _take_ends(self) -> None:
        for transport in self._transports.values():
            self._stack.enter_context(transport)

    def description(self) -> dict[str, str]:
        interfaces = {f"{side} host's interface": location.interface for side, location in self._locations.items()}
        return {"testbed": "two hosts, cabled to the DUT"} | interfaces

    @contextmanager
    def hosts(self, addresses: Addresses, foreground: Foreground) -> Iterator[TcpHosts]:
        with ExitStack() as stack:
            hosts = {}
            for side, transport in self._transports.items():
                interface = self._locations[side].interface
                link: LinkAddresses = getattr(addresses, side.value)
                address = getattr(addresses, f"{side}_hosts").first
                try:
                    _check_free(side, transport, interface, link, address)
                    stack.enter_context(linked_host(transport, interface, link, address, self._mtu))
                except DutError as error:
                    raise HostError(f"the {side} host: {error}; the gateway is not to blame") from error
                hosts[side] = Host(transport, address)
            yield Iperf3Hosts(hosts[Side.LEFT], hosts[Side.RIGHT], foreground)

    def host_caveats(self) -> list[Caveat]:
        return [
            limitation(
                f"The {side} host's interface {location.interface} has {', '.join(on)} on: the card makes or merges "
                "segments for it, as it would for any program."
            )
            for side, location in self._locations.items()
            if (on := disturbing_offloads(location.interface, self._transports[side]))
        ]


def _check_free(side: Side, transport: Transport, interface: str, link: LinkAddresses, address: IPAddress) -> None:
    """Raises PlanError when the host lacks the interface or something else uses it, such as natxy's own ssh."""
    where = f"testbed.{side}.interface: {transport.describe()}"
    asked = transport.run(["ip", "-brief", "address", "show", "dev", interface], check=False)
    if asked.returncode != 0:
        raise PlanError(f"{where} has no {interface!r}; see `ip -brief link` there")
    # The user may have given it the host's own addresses.
    own = {each.ip for each in link_addresses(link, address)}
    for word in asked.stdout.split()[2:]:
        if "/" in word and (there := ip_interface(word).ip) not in own and not there.is_link_local:
            raise PlanError(
                f"{where} has the address {there} on {interface}; a host needs an interface that nothing else uses: "
                "choose another, or remove the address"
            )
