# SPDX-License-Identifier: Apache-2.0
"""The testbed `lab`: two network namespaces, joined by two veth pairs, or by more for experiments with `pairs`.

The engine opens `left` and `right` in the tester's namespace through DPDK; the gateway is the kernel between `dut-left`
and `dut-right` in the DUT's namespace. Each further gateway of a path has a namespace of its own, with `dut2-left` and
`dut2-right`, and a veth pair to the gateway before it. No network interface card is needed.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Final

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway, InterfacePair
from natxy.dut.linux.core_instructions import CoreInstructions
from natxy.dut.linux.counters import read_here
from natxy.dut.linux.counting import CountWatch, CountWatches
from natxy.dut.linux.hardware import describe_hardware
from natxy.dut.linux.interfaces import set_links, steer
from natxy.dut.linux.load import LoadWatch, LoadWatches
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import NetnsTransport
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortSpec
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.gateways import GatewayConfig
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.model.units import counted, enumerated
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds.cores import CoreAssignment, named_cores
from natxy.plan.testbeds.lab import LabConfig
from natxy.system.core_watch import CoreWatch
from natxy.system.machine import is_virtual_machine
from natxy.system.machine_sysctls import PROC_SYS, MachineSysctls
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.testbeds.base import EngineTestbed
from natxy.testbeds.gateway_watch import REPEATED, GatewayWatch
from natxy.testbeds.host_links import hosts_in_namespaces
from natxy.testbeds.namespaces import LabNamespaces, other_labs
from natxy.testbeds.veth import (
    SILENT_SYSCTLS,
    TESTER_MACS,
    VethEnd,
    join,
    mac_of_hop,
    mac_of_pair,
    name_of_pair,
    veth_device,
)

DUT_MACS = {Side.LEFT: "02:00:00:00:00:11", Side.RIGHT: "02:00:00:00:01:11"}

_BACKLOG: Final = "net.core.netdev_max_backlog"
_USUAL_BACKLOG: Final = 1000

# Set before the links exist, so that new links inherit them.
_COMMON_SYSCTLS = {"net.ipv6.conf.all.accept_dad": 0, "net.ipv6.conf.default.accept_dad": 0}
_DUT_SYSCTLS = {
    "net.ipv6.conf.all.accept_ra": 0,
    "net.ipv6.conf.default.accept_ra": 0,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
}


class NetnsLab(EngineTestbed):
    """A lab; a process may have several at a time, each of them built before the next one is made.

    `dut_cores`: the number of cores that the gateway gets where the plan does not name them. `hops`: the addresses of
    each gateway's links, where there are several.
    """

    # Sysctls of the DUT's namespace, and MAC addresses of its ends of the links.
    _dut_sysctls: ClassVar[Mapping[str, int]] = _DUT_SYSCTLS
    _dut_macs: ClassVar[Mapping[Side, str]] = DUT_MACS

    def __init__(
        self, config: LabConfig, addresses: AddressPlan, dut_cores: int = 1, hops: Sequence[AddressPlan] = ()
    ) -> None:
        super().__init__()
        self._config = config
        self._addresses = addresses
        self._machine = MachineSysctls()
        self._namespaces = LabNamespaces.free()
        self.cores: CoreAssignment = config.assign_cores(os.sched_getaffinity(0), dut_cores)
        self.gateway_cores = self.cores.dut
        self._pairs = 1 + len(addresses.further)
        self._tester = NetnsTransport(self._namespaces.tester, self._machine)
        self._hops = tuple(hops) or (addresses,)
        # A gateway in user space inherits the cores of the command that starts it.
        self._duts = [
            NetnsTransport(self._namespaces.dut_of(hop), self._machine, self.cores.dut)
            for hop in range(len(self._hops))
        ]
        self._dut, *_ = self._duts
        self._interfaces = [_interfaces_of(hop, self._pairs) for hop in range(len(self._hops))]
        self.interfaces = replace(self._interfaces[0], right=self._interfaces[-1].right)

    def _build(self) -> None:
        self._stack.callback(self._machine.release_all)
        self._stack.callback(self._namespaces.remove)
        self._namespaces.add(self._namespaces.tester, *self.dut_namespaces)
        self._set_sysctls()
        for pair in range(self._pairs):
            for side in Side:
                self._cable(pair, side)
        for left, right in pairwise(range(len(self._hops))):
            self._join(self._end(left, Side.RIGHT), self._end(right, Side.LEFT))
        self._start_dut()
        self._set_links()

    @property
    def dut_namespaces(self) -> tuple[str, ...]:
        """The gateways' network namespaces, from left to right."""
        return tuple(dut.namespace for dut in self._duts)

    @property
    def outer_macs(self) -> dict[Side, str]:
        """The MAC addresses that the tester sends to."""
        return {Side.LEFT: DUT_MACS[Side.LEFT], Side.RIGHT: mac_of_hop(DUT_MACS[Side.RIGHT], len(self._hops) - 1)}

    @property
    def transport(self) -> Transport:
        """Runs commands on the DUT."""
        return self._dut

    def engine_argv(self) -> list[str]:
        return ["ip", "netns", "exec", self._namespaces.tester, *super().engine_argv()]

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        return registry.create(config, self.transport, self.interfaces, addresses)

    def create_path(self, path: GatewayPath) -> Gateway[Any]:
        if len(path.hops) == 1:
            return super().create_path(path)
        return registry.create_chain(path, [*map(registry.Box, self._duts, self._interfaces)])

    def port_specs(self) -> list[PortSpec]:
        return [
            PortSpec(
                side=side,
                pair=pair,
                device=self._device(pair, side),
                medium=PortMedium.VETH,
                mac=mac_of_pair(TESTER_MACS[side], pair),
                queues=self._config.queues,
                mtu=self._addresses.mtu,
            )
            for pair in range(self._pairs)
            for side in Side
        ]

    def watch(self) -> GatewayWatch:
        cores = CoreWatch(self.cores.dut, lambda: self._namespaces.processes(len(self._hops)))
        watch = GatewayWatch(cores.begin, cores.end, len(self.cores.dut), self._buffer_frames())
        if self.cores.shared:
            # What the core spent would be the tester's work too.
            return watch
        each = [LoadWatch(*place, self.cores.dut, read_here) for place in self._places()]
        instructions = CoreInstructions(self.cores.dut)
        self._stack.callback(instructions.close)
        return watch.with_load(LoadWatches(each, instructions))

    def counting(self) -> CountWatches | None:
        return CountWatches([CountWatch(*place) for place in self._places()])

    def _places(self) -> Iterator[tuple[NetnsTransport, DutInterfaces]]:
        """Yields what runs commands beside each gateway, on any core, and the gateway's interfaces."""
        for dut, interfaces in zip(self._duts, self._interfaces, strict=True):
            yield NetnsTransport(dut.namespace, self._machine), interfaces

    def description(self) -> dict[str, str]:
        return {
            "testbed": "lab: network namespaces and veth pairs on one machine",
            "kernel": f"{platform.system()} {platform.release()}",
            "dut namespace": ", ".join(self.dut_namespaces),
            **self.cores.description(),
            "offloads": "checksum, GRO, GSO, TSO and scatter-gather off on all veth ends",
            _BACKLOG: "not visible in natxy's network namespace" if (size := _backlog()) is None else str(size),
        }

    def dut_description(self) -> dict[str, str]:
        names = [name for interfaces in self._interfaces for name in interfaces.names]
        return {"cores": f"{named_cores(self.cores.dut)} (RPS on {enumerated(names)})"}

    def dut_hardware(self) -> Sequence[dict[str, str]]:
        return [describe_hardware(*place) for place in self._places()]

    def engine_description(self) -> dict[str, str]:
        return {
            "tester namespace": self._namespaces.tester,
            "i/o": f"net_{self._config.io} on veth, {counted(self._config.queues, 'queue')} a port",
        }

    def caveats(self) -> list[Caveat]:
        sentences = [
            "Measured in software: tester and gateway share one machine and are joined by veth pairs, so the rates "
            "hold for this machine and not for a gateway with network interface cards.",
            "The lab's links are software: a frame takes no time on the wire.",
        ]
        sentences += [
            f"Another natxy, process {owner.pid}, had a lab on this machine at the same time; the two disturb each "
            "other."
            for owner in other_labs()
        ]
        if _backlog() is None:
            sentences.append(
                f"natxy runs in a network namespace that does not show {_BACKLOG}. Where it decides whether a trial "
                f"was disturbed, it takes the kernel's default of {_USUAL_BACKLOG} frames for the length of the queue."
            )
        if is_virtual_machine():
            sentences.append(
                "This is a virtual machine: time that its host takes away from the gateway's core, and does not report "
                "as steal, counts as the gateway's loss."
            )
        return [*map(limitation, sentences)]

    def engine_caveats(self) -> list[Caveat]:
        sentences = []
        if self.cores.shared:
            sentences.append(
                f"Tester and gateway share core {_listed(self.cores.dut)}: a gateway at its limit slows the tester "
                "instead of losing frames, so rates near the limit are the tester's as much as the gateway's."
            )
        if self._config.io == "af_packet":
            sentences.append(
                "The kernel makes net_af_packet wait for the gateway, so a gateway at its limit may cause late "
                "frames or back-pressure at the tester instead of lost frames."
            )
        elif not self.cores.shared:
            sentences.append(
                "The kernel's part of receiving the tester's frames (XDP) runs on the gateway's core and counts as the "
                "gateway's work."
            )
        return [REPEATED, *map(limitation, sentences)]

    def hosts(self, addresses: Addresses, foreground: Foreground) -> AbstractContextManager[TcpHosts]:
        ends, cores, mtu = {side: side.value for side in Side}, self.cores.tester, self._addresses.mtu
        return hosts_in_namespaces(ends, self._tester, self._namespaces, addresses, foreground, mtu=mtu, cores=cores)

    def host_caveats(self) -> list[Caveat]:
        sentences = [
            "The hosts' offloads are off: each segment is made, checked and received by itself and crosses the links "
            "as a frame of its own, as it would on a wire. With them on, a lab would measure how fast one kernel "
            "copies memory.",
            f"Both hosts run on core {_listed(self.cores.tester)}, so TCP itself may be what limits the goodput; the "
            "same link without translation, as a baseline, shows what the hosts can do.",
        ]
        if self.cores.shared:
            sentences.append("The gateway runs on the same core as the hosts.")
        return [*map(limitation, sentences)]

    def _buffer_frames(self) -> int:
        """Returns how many frames can wait for the gateway's core."""
        return _USUAL_BACKLOG if (size := _backlog()) is None else size

    def _set_sysctls(self) -> None:
        of_duts = ((dut, self._dut_sysctls) for dut in self._duts)
        for transport, own in ((self._tester, SILENT_SYSCTLS), *of_duts):
            assignments = [f"{name}={value}" for name, value in {**_COMMON_SYSCTLS, **own}.items()]
            transport.run(["sysctl", "-qw", *assignments])

    def _device(self, pair: int, side: Side) -> str:
        number, name = len(Side) * pair + [*Side].index(side), name_of_pair(side.value, pair)
        return veth_device(number, name, self._config.io, self._config.queues, self._addresses.mtu)

    def _cable(self, pair: int, side: Side) -> None:
        tester = VethEnd(self._tester, name_of_pair(side.value, pair), mac_of_pair(TESTER_MACS[side], pair))
        self._join(tester, self._end(0 if side == Side.LEFT else len(self._hops) - 1, side, pair))

    def _end(self, hop: int, side: Side, pair: int = 0) -> VethEnd:
        """Returns an end of a link at one of the gateways."""
        name = getattr(self._interfaces[hop].pairs[pair], side.value)
        return VethEnd(self._duts[hop], name, mac_of_hop(mac_of_pair(self._dut_macs[side], pair), hop))

    def _join(self, end: VethEnd, peer: VethEnd) -> None:
        join(end, peer, queues=self._config.queues, mtu=self._addresses.mtu)

    def _start_dut(self) -> None:
        """Steers the DUT's work to its own cores; on the sender's it would slow the tester and lose no frame."""
        for dut, interfaces in zip(self._duts, self._interfaces, strict=True):
            steer(dut, interfaces, self.cores.dut)

    def _set_links(self) -> None:
        transports = (self.transport, *self._duts[1:])
        for transport, interfaces, addresses in zip(transports, self._interfaces, self._hops, strict=True):
            set_links(transport, interfaces, addresses)


def _interfaces_of(hop: int, pairs: int) -> DutInterfaces:
    """Returns the names of a gateway's interfaces."""
    names = [f"dut{hop + 1 if hop else ''}-{side}" for side in Side]
    first, *further = (InterfacePair(*(name_of_pair(name, pair) for name in names)) for pair in range(pairs))
    return DutInterfaces(first.left, first.right, further=tuple(further))


def _backlog() -> int | None:
    """Returns the length of the kernel's queue for a core's frames; None in a network namespace that does not show it,
    which is any but the machine's first."""
    try:
        return int((PROC_SYS / _BACKLOG.replace(".", "/")).read_text())
    except FileNotFoundError:
        return None


def _listed(cores: tuple[int, ...]) -> str:
    return ", ".join(map(str, cores))
