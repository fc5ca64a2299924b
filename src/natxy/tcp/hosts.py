# SPDX-License-Identifier: Apache-2.0
"""Defines what a procedure needs of two hosts with a TCP of their own: real ones with iperf3, or simulated ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from natxy.plan.model.addresses import IPAddress
from natxy.plan.model.traffic import Directions

Foreground = Callable[[], AbstractContextManager[None]]
"""Returns a context; programs started within it have the priority and the cores to be measured with."""


@dataclass(frozen=True)
class TcpTest:
    """Describes one test: the left host opens `flows` connections to `server`, the right host as the left one addresses
    it. Each connection then carries as much as it can in all `directions` for `duration_s`.

    `congestion_control`: None leaves the choice to the hosts.
    """

    server: IPAddress
    port: int
    flows: int
    directions: Directions
    duration_s: int
    congestion_control: str | None = None


@dataclass(frozen=True)
class Transfer:
    """Holds what all flows of one direction carried together: bits per second that the receiver got, and segments that
    the sender sent again."""

    goodput_bps: float
    retransmits: int


class TcpHosts(ABC):
    """The two hosts at the ends of the DUT's links."""

    @abstractmethod
    def transfer(self, test: TcpTest) -> dict[str, Transfer]:
        """Carries out `test`; returns its results by direction, `forward` and `reverse`.

        Raises DutError when no connection is made through the DUT, and HostError when one of the hosts fails.
        """

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Returns the facts about the hosts for the report. Raises HostError when a host cannot measure."""
