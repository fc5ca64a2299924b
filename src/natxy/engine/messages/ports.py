# SPDX-License-Identifier: Apache-2.0
"""Messages that describe the engine, open its ports and resolve its neighbors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from natxy.engine.messages.common import IPAddress, IPNetwork, Message, Side


class EngineInfo(Message):
    """`tsc_hz`: the rate of the time stamp counter, the engine's clock, as calibrated against CLOCK_MONOTONIC_RAW when
    the engine started; it is known to `tsc_uncertainty_ppm`. `tsc_error_ppm`: by how much DPDK's own estimate, which
    the engine does not use, is above it."""

    name: str
    version: str
    protocol: int
    dpdk: str
    compiler: str
    worker_cores: list[int]
    hugepages: bool
    tsc_hz: int
    tsc_error_ppm: float
    tsc_uncertainty_ppm: float


class PortMedium(StrEnum):
    """What a port is made of decides who is to blame when it takes no more frames.

    `veth`, and `memif` (memory shared with the DUT's process): refused frames mean that the DUT's path takes no more
    (the DUT fails); `nic`: the tester's own limit (the trial is invalid); `loop`: no DUT at all (rings, net_null).
    """

    VETH = "veth"
    MEMIF = "memif"
    NIC = "nic"
    LOOP = "loop"


class PortSpec(Message):
    """`device`: a DPDK device with its arguments (`net_af_xdp0,iface=left`) or a PCI address (`0000:41:00.0`).

    `mtu`: 1500 unless given. A network interface behind a virtual device has to have it already.
    """

    side: Side
    device: str
    medium: PortMedium
    mac: str | None = Field(default=None, description="overrides the port's own address; xx:xx:xx:xx:xx:xx")
    queues: Annotated[int, Field(ge=1, le=64)] = 1
    mtu: Annotated[int, Field(ge=576, le=9600)] | None = None


class PortsOpen(Message):
    ports: list[PortSpec]


class PortState(Message):
    side: Side
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
    """One link address family of one side.

    `address`: the tester's own address on the link. `gateway`: the DUT's. `answers`: every prefix the tester
    answers ARP or neighbour solicitations for (RFC 2544 §25), besides `address`; never for `gateway`.
    """

    side: Side
    address: IPAddress
    gateway: IPAddress
    answers: list[IPNetwork] = Field(default=[])


class NeighborsResolve(Message):
    neighbors: list[NeighborSide]
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 3.0


class ResolvedNeighbor(Message):
    side: Side
    gateway: IPAddress
    mac: str


class NeighborsResolved(Message):
    neighbors: list[ResolvedNeighbor]
