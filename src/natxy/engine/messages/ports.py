# SPDX-License-Identifier: Apache-2.0
"""Messages that describe the engine, open its ports and resolve the DUT's MAC addresses."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from natxy.engine.messages.common import IPAddress, IPNetwork, Message, Pair, Side
from natxy.plan.testbeds.ports import VlanId
from natxy.plan.testbeds.tester_cores import CoresOfTasks


class EngineInfo(Message):
    """The engine's version, cores and clock.

    `tsc_hz` is the rate of the time stamp counter, the engine's clock, calibrated against CLOCK_MONOTONIC_RAW at the
    engine's start with an uncertainty of `tsc_uncertainty_ppm`. DPDK's own estimate, which the engine does not use, is
    `tsc_error_ppm` higher. `isa` is the instruction set that the compiler used: "native", the one of the machine that
    built the engine, or a level of x86-64.
    """

    name: str
    version: str
    protocol: int
    dpdk: str
    compiler: str
    isa: str
    worker_cores: list[int]
    hugepages: bool
    tsc_hz: int
    tsc_error_ppm: float
    tsc_uncertainty_ppm: float


class EngineClock(Message):
    """The engine's clock and CLOCK_MONOTONIC_RAW at the same moment, read `uncertainty_ns` apart at most.

    Both count from an arbitrary moment, the same as long as the engine runs.
    """

    clock_ns: int
    raw_ns: int
    uncertainty_ns: int


class PortMedium(StrEnum):
    """The kind of a port, which decides the verdict when the port refuses frames.

    `veth`, and `memif` (memory shared with the DUT's process): the DUT's path is full, and the DUT fails. `nic`: the
    tester's own limit, and the trial is invalid. `loop`: there is no DUT (rings, net_null).
    """

    VETH = "veth"
    MEMIF = "memif"
    NIC = "nic"
    LOOP = "loop"


class PortSpec(Message):
    """A port to open.

    `device` is a DPDK device with its arguments (`net_af_xdp0,iface=left`) or a PCI address (`0000:41:00.0`). `mtu` is
    1500 by default; a network interface behind a virtual device must already have it. `send_cores` and
    `receive_cores`, which are among the engine's worker cores, share the port's queues; without them the engine spreads
    both ports over all its workers.

    With a `vlan`, the port's frames have this tag, which no length includes, and frames without it are foreign. With a
    `service_vlan` as well, that VLAN's tag stands before it (IEEE 802.1ad). Two ports that differ in place and VLANs
    only can have the same device, and then share its queues and cores.

    Each pair of ports has a left and a right one, and the number that it has on the testbed, from 0 on: an engine need
    not have all pairs. A stream leaves by one port of its pair and has to arrive on the other: what arrives on a port
    of another pair is misrouted.
    """

    side: Side
    pair: Pair = 0
    device: str
    medium: PortMedium
    mac: str | None = Field(default=None, description="overrides the port's own address; xx:xx:xx:xx:xx:xx")
    vlan: VlanId | None = None
    service_vlan: VlanId | None = None
    queues: Annotated[int, Field(ge=1, le=64)] = 1
    mtu: Annotated[int, Field(ge=576, le=9600)] | None = None
    send_cores: list[Annotated[int, Field(ge=0)]] | None = None
    receive_cores: list[Annotated[int, Field(ge=0)]] | None = None

    def on_cores(self, tasks: CoresOfTasks | None) -> PortSpec:
        """Returns the port with the cores of its side's tasks; None leaves these to the engine."""
        if tasks is None:
            return self
        own = tasks.left if self.side is Side.LEFT else tasks.right
        return self.model_copy(update={"send_cores": own.send, "receive_cores": own.receive})


class PortsOpen(Message):
    """The ports, and the cores of this machine that do the DUT's work, whose speed each trial is to measure."""

    ports: list[PortSpec]
    dut_cores: list[Annotated[int, Field(ge=0, lt=1024)]] = Field(default=[])


class PortState(Message):
    side: Side
    pair: Pair = 0
    device: str
    driver: str
    mac: str
    mtu: int
    link_up: bool
    rx_queues: int
    tx_queues: int


class PortsOpened(Message):
    ports: list[PortState]


class NeighborSide(Message):
    """The addresses of one family on the link of one port.

    `address` is the tester's own, `gateway` the DUT's. The tester answers ARP or neighbour solicitations (RFC 2544 §25)
    for `address` and for the prefixes of `answers`, but never for `gateway`, nor for an address of a prefix that a
    neighbour announces or is about to use. With `gateway_mac` frames go there, whatever the DUT answers to the
    request from which it learns `address`; without a `gateway` there is none.
    """

    side: Side
    pair: Pair = 0
    address: IPAddress
    gateway: IPAddress | None = None
    gateway_mac: str | None = Field(default=None, description="xx:xx:xx:xx:xx:xx")
    answers: list[IPNetwork] = Field(default=[])


class NeighborsResolve(Message):
    neighbors: list[NeighborSide]
    timeout_s: Annotated[float, Field(ge=1e-3, le=60)] = 3.0


class ResolvedNeighbor(Message):
    side: Side
    pair: Pair = 0
    gateway: IPAddress
    mac: str


class NeighborsResolved(Message):
    neighbors: list[ResolvedNeighbor]
