# SPDX-License-Identifier: Apache-2.0
"""The reference gateway: natxy's own program natxy-reference, whose limits and faults are exact."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import MappingProxyType
from typing import ClassVar, Final

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability, DutDescription, Gateway
from natxy.dut.transport.base import ProgramStarter
from natxy.dut.transport.hotplug import parse_cores
from natxy.engine.devices import ring_slots
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortsOpen, PortSpec
from natxy.engine.messages.reference import (
    AddressSpan,
    BindingTruth,
    DirectionFaults,
    GatewayApply,
    GatewayBindings,
    GatewayLink,
    GatewayMap,
    GatewayMode,
    GatewayOutages,
    GatewayPortSet,
    GatewayRestart,
    GatewaySoftwire,
    GatewayTable,
    GatewayTcpFaults,
    GatewayTranslation,
    GatewayTruth,
    ShareOfDelays,
)
from natxy.engine.messages.requests import SoftwireFormat, SubscriberRule
from natxy.engine.program import find_reference
from natxy.engine.reference import ReferenceClient
from natxy.errors import DutError
from natxy.plan.gateways.reference import DelayShare, Faults, Outages, ReferenceConfig, ReferenceMode
from natxy.plan.model.addresses import AddressPlan, MapDomain, Softwire
from natxy.plan.model.terms import EDGES, MapEnd, SoftwireEnd, TranslationKind
from natxy.system.interrupts import dumped

_MODES: Final = {
    TranslationKind.NAT64: GatewayMode.NAT64,
    TranslationKind.NAT46: GatewayMode.NAT46,
    TranslationKind.SIIT: GatewayMode.SIIT,
    TranslationKind.CLAT: GatewayMode.CLAT,
}


class ReferenceGateway(Gateway[ReferenceConfig]):
    """Runs natxy-reference beside the tester, on a core of the DUT."""

    name = "reference"
    summary = (
        "natxy-reference: forwarding, NAT44, NAT66, NAT64, NAT46, SIIT, and either end of IPv4 as a service, with "
        "limits and faults that are exact"
    )
    position = 201
    # Different from the interfaces' own addresses, so that the kernel drops the frames at once and never answers them.
    macs: ClassVar = MappingProxyType({Side.LEFT: "02:00:00:00:00:31", Side.RIGHT: "02:00:00:00:01:31"})

    @classmethod
    def capabilities_of(cls, config: ReferenceConfig) -> frozenset[Capability]:
        return frozenset({Capability.CLEAR, Capability.COUNT}) if config.keeps_connections else frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._stack = ExitStack()
        self._client: ReferenceClient | None = None
        self._gateway = gateway_of(self.config, self.addresses)

    def apply(self) -> None:
        with ExitStack() as stack:
            client = ReferenceClient(self._argv())
            stack.callback(client.close)
            client.open_ports(PortsOpen(ports=self._ports()))
            client.apply(self._gateway)
            self._client = client
            self._stack = stack.pop_all()

    def remove(self) -> None:
        self._client = None
        self._stack.close()

    def restart(self) -> None:
        self._running.restart(GatewayRestart(duration_s=self.config.restart_time))
        time.sleep(self.config.restart_time)

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        spans = [AddressSpan(first=first, last=last) for first, last in (each.addresses for each in without)]
        self._running.change_bindings(GatewayBindings(without=spans))
        time.sleep(self.config.binding_time)

    def clear(self) -> None:
        self._running.clear_table(self.config.clearing_s(self.config.table_capacity))
        if left := self.count():
            raise DutError(f"natxy-reference has {left:,} connections after its table was emptied")

    def count(self) -> int | None:
        return self._running.count_connections() if self.config.keeps_connections else None

    def pause_s(self) -> float | None:
        exactness = self._running.take_exactness()
        return max(exactness.longest_pause_ns, exactness.pauses_ns, exactness.lateness_max_ns) / 1e9

    def describe(self) -> DutDescription:
        info = self._running.info()
        settings = {"core": ", ".join(map(str, info.worker_cores)), "DPDK": info.dpdk}
        configuration = json.dumps(dumped(self._gateway, exclude_none=True), indent=2)
        return DutDescription(self.name, f"{info.name} {info.version}", settings, configuration)

    @property
    def _running(self) -> ReferenceClient:
        if self._client is None:
            raise DutError("natxy-reference is not running: apply the gateway first")
        return self._client

    def _argv(self) -> list[str]:
        if not isinstance(self.transport, ProgramStarter):
            raise DutError(f"the reference gateway runs on the tester's machine, not on {self.transport.describe()}")
        allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", self.transport.run(["cat", "/proc/self/status"]).stdout)
        assert allowed
        worker = parse_cores(allowed[1])[0]
        # The main thread mostly sleeps; when it runs, it must not take the worker's core.
        main = min(os.sched_getaffinity(0) - {worker}, default=worker)
        program = [str(find_reference()), "--worker-cores", str(worker), "--main-core", str(main)]
        return self.transport.inside(program)

    def _ports(self) -> list[PortSpec]:
        ends = [
            (pair, side, getattr(interfaces, side.value))
            for pair, interfaces in enumerate(self.interfaces.pairs)
            for side in Side
        ]
        if self.interfaces.dpdk:
            return [PortSpec(side=side, device=device, medium=PortMedium.MEMIF) for _, side, device in ends]
        slots = ring_slots(self.addresses.mtu)
        return [
            PortSpec(
                side=side,
                pair=pair,
                device=f"net_af_packet{number},iface={interface}{slots}",
                medium=PortMedium.VETH,
                mac=_mac_of_pair(self.macs[side], pair),
                mtu=self.addresses.mtu,
            )
            for number, (pair, side, interface) in enumerate(ends)
        ]


def _mac_of_pair(mac: str, pair: int) -> str:
    octets = mac.split(":")
    return ":".join([*octets[:3], f"{pair:02x}", *octets[4:]])


def gateway_of(config: ReferenceConfig, addresses: AddressPlan) -> GatewayApply:
    """Returns the request that makes natxy-reference the gateway of a plan."""
    mode = _mode(config, addresses)
    keeps = config.mode == ReferenceMode.NAT
    return GatewayApply(
        mode=mode,
        links=[
            GatewayLink(
                side=side,
                pair=number,
                addresses=[getattr(pair, side.value).dut.ip for pair in pairs],
                neighbors=[getattr(pair, side.value).tester.ip for pair in pairs],
            )
            for number, pairs in enumerate((addresses.pairs, *((pair,) for pair in addresses.further)))
            for side in Side
        ],
        translation=None if mode == GatewayMode.FORWARD else _translation(config, addresses),
        table=_table(config) if keeps else None,
        softwire=_softwire(config, addresses.softwire) if addresses.softwire else None,
        map=_map(config, addresses.map_domain) if addresses.map_domain else None,
        truth=GatewayTruth(
            seed=config.seed,
            max_rate_fps=config.max_rate,
            buffer_frames=config.buffer_frames,
            rate_scope=config.rate_scope,
            recovery_s=config.recovery_time,
            outages=_outages(config.outages) if config.outages else None,
            bindings=BindingTruth(delay_s=config.binding_delay, outage_s=config.binding_outage),
            tcp=GatewayTcpFaults(**dict(config.tcp)),
            forward=_faults(config.forward),
            reverse=_faults(config.reverse),
        ),
    )


def _mode(config: ReferenceConfig, addresses: AddressPlan) -> GatewayMode:
    if addresses.translation:
        return _MODES[addresses.translation.kind]
    if config.mode == ReferenceMode.FORWARD:
        return GatewayMode.FORWARD
    # An edge of softwires or of MAP-T has IPv6 on its right, and none of a NAT66's addresses.
    own = addresses.softwire or addresses.map_domain
    is_edge = own is not None and own.end in EDGES
    return GatewayMode.NAT44 if is_edge or addresses.right.dut.version == 4 else GatewayMode.NAT66


def _translation(config: ReferenceConfig, addresses: AddressPlan) -> GatewayTranslation:
    """Returns the parts of a translation that its kind needs."""
    keeps = config.mode == ReferenceMode.NAT
    own = addresses.translation
    mapped = own is not None and own.kind != TranslationKind.NAT64
    prefixed = own is not None and own.kind != TranslationKind.NAT46
    return GatewayTranslation(
        pool=addresses.public if keeps else None,
        port_set=_port_set(config),
        port_choice=config.port_choice if keeps else None,
        prefix=own.prefix if own and prefixed else None,
        mappings=own.mappings if own and mapped else None,
    )


def _port_set(config: ReferenceConfig) -> GatewayPortSet | None:
    if config.port_set is None:
        return None
    return GatewayPortSet(**dict(config.port_set), first_range_only=config.first_range_only)


def _softwire(config: ReferenceConfig, softwire: Softwire) -> GatewaySoftwire:
    addresses = SoftwireFormat.of(softwire, softwire.subscribers)
    return GatewaySoftwire(end=softwire.end, addresses=addresses, **dict(config.softwire or {}))


def _map(config: ReferenceConfig, domain: MapDomain) -> GatewayMap:
    return GatewayMap(
        end=SoftwireEnd.EDGE if domain.end == MapEnd.EDGE else SoftwireEnd.CORE,
        subscribers=SubscriberRule.of_domain(domain),
        ipv4=domain.rule.ipv4,
        prefix=domain.prefix,
        **dict(config.map_t or {}),
    )


def _table(config: ReferenceConfig) -> GatewayTable:
    limited = config.connection_rate is not None
    return GatewayTable(
        capacity=config.table_capacity,
        when_full=config.table_policy,
        max_connection_rate_cps=config.connection_rate,
        connection_burst=config.connection_burst if limited else None,
        without_state_every=config.without_state_every,
        tear_down_rate_cps=config.tear_down_rate,
        clear_s=config.clear_time,
        flow_cost=config.flow_cost,
        lifetime_s=config.lifetime,
        closed_lifetime_s=config.closed_lifetime,
        forgets_on_fin=config.forgets_on_fin,
    )


def _outages(outages: Outages) -> GatewayOutages:
    return GatewayOutages(every_ns=round(outages.every * 1e9), duration_ns=round(outages.duration * 1e9))


def _faults(faults: Faults) -> DirectionFaults:
    return DirectionFaults.model_validate(dict(faults) | {"delay": [_delays(each) for each in faults.delay] or None})


def _delays(share: DelayShare) -> ShareOfDelays:
    longest_s = share.min if share.max is None else share.max
    return ShareOfDelays(share=share.share, min_ns=round(share.min * 1e9), max_ns=round(longest_s * 1e9))
