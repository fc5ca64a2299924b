# SPDX-License-Identifier: Apache-2.0
"""The interface of gateway drivers.

A driver for a Linux gateway derives from `natxy.dut.linux.gateway.LinuxGateway` and implements four short methods.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.transport.base import Transport
from natxy.engine.clocks import now_ns
from natxy.engine.messages.common import Side
from natxy.errors import DutError, PlanError
from natxy.plan.gateways.base import GatewayModel, TableNeed
from natxy.plan.model.addresses import AddressPlan, Translation

ConfigT = TypeVar("ConfigT", bound=GatewayModel)


@dataclass(frozen=True)
class InterfacePair:
    """Holds the names of two of the DUT's interfaces that traffic passes between."""

    left: str
    right: str


@dataclass(frozen=True)
class DutInterfaces:
    """Holds the DUT's own interface names: `left` faces the initiator, `right` the responder.

    With `dpdk`, they are DPDK devices with their arguments, unknown to any kernel. `further` has the interfaces of
    further pairs.
    """

    left: str
    right: str
    dpdk: bool = False
    further: tuple[InterfacePair, ...] = ()

    @property
    def pairs(self) -> tuple[InterfacePair, ...]:
        return (InterfacePair(self.left, self.right), *self.further)

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of all interfaces, each once: a DUT with one arm has one."""
        return tuple(dict.fromkeys(name for pair in self.pairs for name in (pair.left, pair.right)))


@dataclass(frozen=True)
class DutDescription:
    """Holds what the report prints about a DUT (RFC 9693 §6, RFC 2544 §7).

    `configuration` is the exact text in force.
    """

    name: str
    version: str
    settings: dict[str, str]
    configuration: str


class Capability(StrEnum):
    """Optional capabilities of a driver, besides setting up and removing its gateway."""

    CLEAR = "clear"
    COUNT = "count"
    SET_CORES = "set-cores"


@dataclass(eq=False, repr=False)
class Gateway(ABC, Generic[ConfigT]):
    """A device under test. Every method raises DutError when the DUT refuses or fails."""

    name: ClassVar[str]
    """The driver's name in plans."""
    summary: ClassVar[str]
    """One line for `natxy list gateways`."""
    position: ClassVar[int] = 100
    """The place in `natxy list gateways`, lowest first; drivers of one place are in alphabetical order of modules."""

    macs: ClassVar[Mapping[Side, str] | None] = None
    """Its MAC addresses in a lab, where they are not those of the DUT's interfaces."""

    config: ConfigT
    transport: Transport
    interfaces: DutInterfaces
    addresses: AddressPlan
    capabilities: frozenset[Capability] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        """Derives what depends on the settings. PlanError when the driver cannot carry them out."""
        self.capabilities = self.capabilities_of(self.config)

    @classmethod
    def capabilities_of(cls, config: ConfigT) -> frozenset[Capability]:
        """Returns the driver's capabilities with these settings."""
        return cls.capabilities

    @property
    def hops(self) -> tuple[Gateway[Any], ...]:
        """The gateways that frames cross one after the other, from left to right: itself, unless it is a chain."""
        return (self,)

    @classmethod
    def programs(cls, config: ConfigT) -> dict[str, str]:
        """Returns the programs that the driver runs on the DUT, each with how to install it."""
        return {}

    @classmethod
    def unreadable_secrets(cls, config: ConfigT) -> list[str]:
        """Returns why secrets that the settings refer to cannot be read on this machine."""
        return []

    @classmethod
    def check_machine(cls, config: ConfigT, transport: Transport, connections: int) -> None:
        """Checks limits of the DUT's whole machine before the gateway is set up.

        PlanError when they don't suffice for `connections`; DutError when they cannot be read.
        """

    @property
    def translation(self) -> Translation:
        """The translation between address families. PlanError when the plan has none."""
        if self.addresses.translation is None:
            raise PlanError(f"{self.name} translates between families: give the experiment a `translation`")
        return self.addresses.translation

    def set_links(self) -> None:
        """Sets the addresses and routes of the DUT's interfaces, on a testbed that leaves this to the driver."""
        raise PlanError(
            f"{self.name} cannot set the DUT's addresses: set them yourself, and give `addresses: keep` in the "
            "testbed's dut"
        )

    def unset_links(self) -> None:
        """Undoes `set_links`. No error when there is nothing to undo."""

    @abstractmethod
    def apply(self) -> None:
        """Sets the gateway up. On failure, nothing of it remains."""

    @contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Removes the gateway when the context ends with an error."""
        try:
            yield
        except BaseException:
            with suppress(DutError):
                self.remove()
            raise

    @abstractmethod
    def remove(self) -> None:
        """Undoes `apply`. No error when there is nothing to undo."""

    @abstractmethod
    def describe(self) -> DutDescription:
        """Reads the description from the DUT, not from the plan. Valid between `apply` and `remove`."""

    def restart(self) -> None:
        """Resets the gateway (RFC 6201 §4.2.2), even while traffic runs. Its connections are lost."""
        self.remove()
        self.apply()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Returns when the gateway forwards. A driver whose `apply` ensures this needs no implementation."""

    def check_alive(self) -> None:
        """Raises GatewayDiedError, which names what is gone, when the gateway is not there any more.

        It is called between two trials, after each. A gateway that is a part of a kernel needs no implementation.
        """

    def check(self, need: TableNeed) -> None:
        """PlanError when the table cannot hold the connections, or when they expire before the trial ends."""

    def clear(self) -> None:
        """Empties the connection tracking table and verifies that it is empty (RFC 9693 §4.4)."""
        if self.config.keeps_connections:
            raise DutError(f"{self.name} keeps connections, but its driver cannot clear them: it needs a `clear`")

    def timed_clear(self) -> float:
        """Clears the table. Returns the seconds that this took, including the verification (RFC 9693 §4.8)."""
        started = time.monotonic()
        self.clear()
        return time.monotonic() - started

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        """Makes these the subscribers of a core that have no binding, while traffic flows.

        It withdraws their bindings, adds those of all others that have none, and returns when both are done. After
        `apply`, all have one. Needs `changes_bindings` of the settings.
        """
        raise DutError(f"{self.name} claims to change bindings, but its driver cannot: it needs a `set_unbound`")

    def clock_s(self) -> float:
        """Returns the time of this process's clock in seconds, by which natxy times what is done during a trial."""
        return now_ns() / 1e9

    def set_cores(self, cores: Sequence[int]) -> None:
        """Restricts packet processing to these cores of the DUT. Needs `Capability.SET_CORES`."""
        raise DutError(f"{self.name} claims to set its cores, but its driver cannot: it needs a `set_cores`")

    def pause_s(self) -> float | None:
        """Returns for how many seconds the gateway did not process frames because it had lost its core.

        The time counts from the previous call, or from `clear`. It is the longest pause or the sum of the notable
        ones, whichever is longer. None when the driver cannot measure it.
        """
        return None

    def count(self) -> int | None:
        """Returns the number of entries in the connection tracking table; None without `Capability.COUNT`."""
        return None
