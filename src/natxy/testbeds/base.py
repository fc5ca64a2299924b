# SPDX-License-Identifier: Apache-2.0
"""What a testbed offers: somewhere to run the DUT's commands, hosts, an engine to start, ports for it to open."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortSpec
from natxy.plan.experiment import Addresses
from natxy.plan.testbeds.cores import CoreAssignment
from natxy.tcp.iperf3 import Host


class Testbed(Protocol):
    """A context manager: entering builds it, leaving removes everything, also after an error.

    `transport` and `interfaces` are the DUT's. DutError when the testbed cannot be built, PlanError when it was asked
    for something this machine doesn't have.
    """

    @property
    def gateway_cores(self) -> tuple[int, ...]:
        """That frames can be steered to, as the gateway's kernel numbers them; none where it has no choice of them."""
        ...

    @property
    def transport(self) -> Transport: ...

    @property
    def interfaces(self) -> DutInterfaces: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def description(self) -> dict[str, str]:
        """What the report says of the testbed; valid once it is built."""
        ...

    def dut_description(self) -> dict[str, str]:
        """What the report says of where the DUT is, which may be another place for another gateway."""
        ...

    def deviations(self) -> list[str]:
        """Sentences: where measuring on this testbed departs from the RFCs."""
        ...


@runtime_checkable
class TestbedWithHosts(Testbed, Protocol):
    """One that has a kernel at the ends of the DUT's links."""

    def hosts(self, addresses: Addresses) -> AbstractContextManager[dict[Side, Host]]:
        """Hosts with these addresses at the ends of the DUT's links until the context is left; no engine has its ports
        open meanwhile."""
        ...

    def host_deviations(self) -> list[str]:
        """What a reader has to know of a figure that these hosts measured."""
        ...


class EngineTestbed(Testbed, Protocol):
    """One with ports of the tester's own."""

    @property
    def cores(self) -> CoreAssignment: ...

    def engine_argv(self) -> list[str]:
        """How to start natxy-engine so that it finds the ports and runs on its own cores."""
        ...

    def port_specs(self) -> list[PortSpec]: ...

    def port_description(self) -> dict[str, str]:
        """What the report says of the engine's ports, besides the `description`."""
        ...

    def port_deviations(self) -> list[str]:
        """Sentences: where measuring by the engine's ports departs from the RFCs."""
        ...
