# SPDX-License-Identifier: Apache-2.0
"""Shares what drivers do whose gateway is one end of softwires (RFC 2473)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, collapse_addresses
from typing import Final

from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.port_sets import PortSet
from natxy.addressing.softwire_tables import Homes, SoftwireTable, TableSubscriber
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability, ConfigT
from natxy.dut.linux.gateway import LinuxGateway
from natxy.errors import DutError, PlanError
from natxy.plan.model.addresses import Softwire
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.terms import SoftwireEnd

HOP_LIMIT: Final = 64
"""The hop limit of the outer header, the kernel's own."""
_TIMEOUT_S: Final = 30.0
# Each of many routes and filters takes less, in a slow virtual machine on a busy machine, too.
_COMMAND_S: Final = 0.02
_OUTER_HEADER_BYTES: Final = 40


def several_of(softwire: Softwire) -> MapRule | SoftwireTable | None:
    """Returns the subscribers of a core, None for one alone. PlanError for homes with the same address."""
    several = softwire.subscribers
    if isinstance(several, Homes):
        # The plan's checks refuse them first.
        raise PlanError("the core looks up an address alone, and does not keep homes with the same one apart")
    return several


@dataclass(frozen=True)
class Binding:
    """Holds which addresses and ports belong to a softwire, by its other end; `number` is its own."""

    number: int
    far: IPv6Address
    inner: IPv4Network
    ports: PortSet


def bindings(softwire: Softwire, port_set: PortSetModel | None) -> Iterator[Binding]:
    """Yields the bindings of all subscribers; `port_set` is that of one alone, who else has all ports."""
    several = several_of(softwire)
    if several is None:
        ports = port_set.ports if port_set else PortSet()
        networks = collapse_addresses(softwire.carries)
        yield from (Binding(number, softwire.far, each, ports) for number, each in enumerate(networks))
        return
    yield from (binding_of_subscriber(several.subscriber(number)) for number in range(several.subscriber_count))


def bindings_of(ranges: Iterable[SubscriberRange]) -> Iterator[Binding]:
    """Yields the bindings of some of several subscribers."""
    yield from (binding_of_subscriber(one) for each in ranges for one in each)


def binding_of_subscriber(subscriber: MapSubscriber | TableSubscriber) -> Binding:
    """Returns the binding of one of several subscribers."""
    return Binding(subscriber.number, subscriber.address, IPv4Network(subscriber.ipv4), subscriber.ports)


class SoftwireEndGateway(LinuxGateway[ConfigT]):
    """Is one end of the softwires on its `outer` interface. A driver implements `install` and `uninstall`."""

    capabilities = frozenset({Capability.SET_CORES})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.addresses.softwire is None:
            raise PlanError(f"{self.name} is one end of a softwire; give the other end too, in a chain of gateways")
        self.softwire = self.addresses.softwire
        self.unbound: tuple[SubscriberRange, ...] = ()
        is_edge = self.softwire.end == SoftwireEnd.EDGE
        self.outer = self.interfaces.right if is_edge else self.interfaces.left

    def change(self, without: Sequence[SubscriberRange], carry_out: Callable[[], object]) -> None:
        """Carries out a change after which these subscribers have no binding. DutError if it fails: then all
        subscribers have theirs, because a part of the change may have been carried out."""
        try:
            carry_out()
        except DutError:
            self.install()
            raise
        self.unbound = (*without,)

    def batch(self, program: str, commands: Iterator[str], *, force: bool) -> None:
        """Lets `ip` or `tc` carry out many commands. With `force`, it goes on after those that fail."""
        lines = [f"{command}\n" for command in commands]
        argv = [program, *(["-force"] if force else []), "-batch", "-"]
        timeout_s = _TIMEOUT_S + _COMMAND_S * len(lines)
        self.transport.run(argv, input="".join(lines), check=not force, timeout_s=timeout_s)

    def made_tunnel(self, name: str) -> Iterator[str]:
        """Yields the commands for a tunnel interface that learns both ends of each packet's softwire from a route or a
        filter, and needs this end's address on the outer interface. The kernel has one such interface a namespace."""
        # The kernel gives it the MTU of Ethernet's usual frames, whatever the outer interface has.
        mtu = self.addresses.mtu - _OUTER_HEADER_BYTES
        yield f"address replace {self.softwire.own}/128 dev {self.outer} nodad"
        yield f"link add {name} mtu {mtu} type ip6tnl external"
        yield f"link set {name} up"

    def removed_tunnel(self, name: str) -> Iterator[str]:
        """Yields the commands that remove a tunnel interface, and this end's address."""
        yield f"link del {name}"
        yield f"address del {self.softwire.own}/128 dev {self.outer}"
