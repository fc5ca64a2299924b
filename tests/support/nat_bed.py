# SPDX-License-Identifier: Apache-2.0
"""Sets up a lab with a NAT and an engine with open ports, for tests that send single trials through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scapy.packet import Packet

from natxy.dut.base import Gateway
from natxy.dut.registry import create
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve, PortsOpen
from natxy.engine.messages.requests import TrialLimits, TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.model.terms import Family
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.lab import NetnsLab
from tests.support.capture import Direction, captured
from tests.support.undisturbed import DisturbedError

# The tests judge what a frame holds, not when it left.
AT_LEISURE: Final = TrialLimits(max_overrun_ratio=1, overrun_floor_s=1, max_pause_s=10)
# The machine may take the gateway's core for longer than a lab's drain. A trial without loss ends early.
PATIENTLY: Final[dict[str, Any]] = {"limits": AT_LEISURE, "drain_s": 2.0, "drain_ends_early": True}


def patiently(request: TrialRequest) -> TrialRequest:
    """Returns the trial without limits on when its frames leave and arrive: the machine may keep any frame waiting."""
    streams = [stream.model_copy(update={"max_backlog_s": None}) for stream in request.streams]
    return request.model_copy(update={"streams": streams, **PATIENTLY})


def all_arrived(result: TrialResult) -> None:
    """Raises DisturbedError if the tester was disturbed, or if frames are missing that a busy machine may have lost."""
    if result.verdict == Verdict.INVALID or any(stream.lost for stream in result.streams):
        raise DisturbedError(result.reason)


def all_captured(frames: Sequence[Packet], count: int) -> None:
    """Raises DisturbedError if frames did not even reach the capture, at the gateway's end of the tester's cable."""
    if len(frames) < count:
        raise DisturbedError(f"{count - len(frames)} of {count} frames were not captured")


@dataclass(frozen=True)
class NatBed:
    lab: NetnsLab
    engine: EngineClient
    gateway: Gateway[Any]
    links: AddressPlan

    @property
    def family(self) -> Family:
        return Family.IPV4 if self.links.left.dut.version == 4 else Family.IPV6

    def sent(self, side: Side) -> AbstractContextManager[list[Packet]]:
        """Captures what the tester's port of a side sends, as the DUT receives it."""
        return self._captured(side, Direction.IN)

    def forwarded(self, side: Side) -> AbstractContextManager[list[Packet]]:
        """Captures what the DUT sends to the tester's port of a side."""
        return self._captured(side, Direction.OUT)

    def _captured(self, side: Side, direction: Direction) -> AbstractContextManager[list[Packet]]:
        interface = getattr(self.lab.interfaces, side)
        return captured(self.lab.description()["dut namespace"], interface, direction)


@contextmanager
def nat_bed(
    links: AddressPlan, folder: Path, neighbors: NeighborsResolve | None = None, config: GatewayModel | None = None
) -> Iterator[NatBed]:
    """Yields the bed with its neighbors resolved: those given, or else the next hops of `links`.

    The NAT is nftables unless `config` is another.
    """
    with NetnsLab(LabConfig(), links) as lab:
        gateway = create(config or NftablesConfig(), lab.transport, lab.interfaces, links)
        gateway.apply()
        engine = EngineClient(lab.engine_argv(), folder / "engine.log")
        try:
            engine.open_ports(PortsOpen(ports=lab.port_specs()))
            engine.resolve_neighbors(neighbors or _next_hops(links))
            yield NatBed(lab, engine, gateway, links)
        finally:
            engine.close()
            gateway.remove()


def _next_hops(links: AddressPlan) -> NeighborsResolve:
    sides = ((Side.LEFT, links.left), (Side.RIGHT, links.right))
    return NeighborsResolve(
        neighbors=[
            NeighborSide(side=side, address=link.tester.ip, gateway=link.dut.ip, answers=list(link.behind))
            for side, link in sides
        ]
    )
