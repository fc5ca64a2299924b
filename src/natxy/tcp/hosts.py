# SPDX-License-Identifier: Apache-2.0
"""What a procedure needs of the two hosts: real ones with iperf3, or those of the simulated testbed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from natxy.plan.model.addresses import IPAddress
from natxy.plan.model.traffic import Directions


@dataclass(frozen=True)
class TcpTest:
    """The left host connects to `server`, as it addresses the right one, and `flows` connections then carry all they
    can, each in the `directions` asked for `duration_s`. `congestion_control`: None is what the hosts use anyway."""

    server: IPAddress
    port: int
    flows: int
    directions: Directions
    duration_s: int
    congestion_control: str | None = None


@dataclass(frozen=True)
class Transfer:
    """Of one direction, all its flows together: what the receiver got, and segments that the sender sent again."""

    goodput_bps: float
    retransmits: int


class Hosts(ABC):
    @abstractmethod
    def transfer(self, test: TcpTest) -> dict[str, Transfer]:
        """By the names of the directions, `forward` and `reverse`. DutError when the hosts don't come together,
        HostError when one of them fails."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """What the report says of them."""
