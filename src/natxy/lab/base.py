# SPDX-License-Identifier: Apache-2.0
"""What a testbed offers: somewhere to run the DUT's commands, an engine to start, ports for it to open."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from natxy.dut.base import DutInterfaces
from natxy.dut.transport import Transport
from natxy.engine.messages import PortSpec
from natxy.lab.cores import CoreAssignment


class Testbed(Protocol):
    """A context manager: entering builds it, leaving removes everything, also after an error.

    `transport` and `interfaces` are the DUT's. DutError when the testbed cannot be built, PlanError when it was asked
    for something this machine doesn't have.
    """

    @property
    def cores(self) -> CoreAssignment: ...

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

    def engine_argv(self) -> list[str]:
        """How to start natxy-engine so that it finds the ports and runs on its own cores."""
        ...

    def port_specs(self) -> list[PortSpec]: ...

    def description(self) -> dict[str, str]:
        """What the report says of the testbed; valid once it is built."""
        ...

    def deviations(self) -> list[str]:
        """Sentences: where measuring on this testbed departs from the RFCs."""
        ...
