# SPDX-License-Identifier: Apache-2.0
"""What a gateway driver is: a few declared facts and a handful of verbs that a procedure calls between trials.

A driver for a gateway made of the Linux kernel starts from `natxy.dut.linux.gateway.LinuxGateway`, which leaves it four
short methods to write.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from natxy.dut.transport.base import Transport
from natxy.errors import DutError, PlanError
from natxy.plan.gateways import GatewayModel
from natxy.plan.model.addresses import AddressPlan

ConfigT = TypeVar("ConfigT", bound=GatewayModel)


@dataclass(frozen=True)
class DutInterfaces:
    """The DUT's own interface names: `left` faces the initiator, `right` the responder.

    `dpdk`: they are DPDK devices with their arguments instead, which no kernel knows.
    """

    left: str
    right: str
    dpdk: bool = False


@dataclass(frozen=True)
class DutDescription:
    """What the report prints of a DUT (RFC 9693 §4.9, RFC 2544 §7): `configuration` is the exact text in force."""

    name: str
    version: str
    settings: dict[str, str]
    configuration: str


@dataclass(frozen=True)
class TableNeed:
    """What a plan asks of a connection tracking table.

    `endpoints`: the addresses and ports of the left side that its connections come from, `remote_endpoints` those of
    the right side that they go to. `longest_trial_s`: phase 1 + gap + phase 2.
    """

    connections: int
    endpoints: int
    remote_endpoints: int
    longest_trial_s: float


class Capability(StrEnum):
    """What a driver can do beyond setting up and removing its gateway."""

    CLEAR = "clear"
    COUNT = "count"
    SET_CORES = "set-cores"


class Gateway(ABC, Generic[ConfigT]):
    """A device under test. Every verb raises DutError when the DUT doesn't do as asked."""

    name: ClassVar[str]
    """The word a plan names the driver with."""
    summary: ClassVar[str]
    capabilities: frozenset[Capability] = frozenset()

    def __init__(
        self, config: ConfigT, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> None:
        self.config = config
        self.transport = transport
        self.interfaces = interfaces
        self.addresses = addresses

    @classmethod
    def programs(cls, config: ConfigT) -> dict[str, str]:
        """What it runs on the DUT, each with how to get it."""
        del config
        return {}

    def set_links(self) -> None:
        """Gives the DUT's interfaces their addresses and routes, on a testbed that leaves this to the driver."""
        raise PlanError(
            f"{self.name} cannot give the DUT its addresses: set them yourself, and say so by `addresses: keep` in the "
            "testbed's dut"
        )

    def unset_links(self) -> None:
        """Takes back what `set_links` did. Harmless when there is nothing to take back."""

    @abstractmethod
    def apply(self) -> None:
        """Sets the gateway up; when that fails, nothing of it stays."""

    @abstractmethod
    def remove(self) -> None:
        """Takes everything back that `apply` did. Harmless when there is nothing to take back."""

    @abstractmethod
    def describe(self) -> DutDescription:
        """Read from the DUT, not from the plan; valid between `apply` and `remove`."""

    def restart(self) -> None:
        """A reset of the gateway (RFC 6201 §4.2.2), also in mid-traffic: set up anew, without its connections."""
        self.remove()
        self.apply()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Returns when the gateway forwards; a driver whose `apply` ends that way needs nothing here."""

    def check(self, need: TableNeed) -> None:
        """PlanError when the table cannot hold the connections asked, or forgets them before the trial ends."""
        del need

    def clear(self) -> None:
        """Empties the connection tracking table and makes sure that it is empty (RFC 9693 §4.4)."""
        if self.config.keeps_connections:
            raise DutError(f"{self.name} keeps connections, but its driver cannot clear them: it needs a `clear`")

    def timed_clear(self) -> float:
        """Clears the table; returns how many seconds that took, with the making sure (RFC 9693 §4.7)."""
        started = time.monotonic()
        self.clear()
        return time.monotonic() - started

    def set_cores(self, cores: Sequence[int]) -> None:
        """Has these of the DUT's cores do all packet work (with `Capability.SET_CORES`)."""
        raise DutError(f"{self.name} claims to set its cores, but its driver cannot: it needs a `set_cores`")

    def pause_s(self) -> float | None:
        """For how long it had done nothing with the frames that came, since it was last asked or its table cleared,
        because its core was taken from it: the longest time, or all that are notable together. None when the driver
        cannot tell."""
        return None

    def count(self) -> int | None:
        """Entries in the connection tracking table; None when the driver cannot tell (no `Capability.COUNT`)."""
        return None
