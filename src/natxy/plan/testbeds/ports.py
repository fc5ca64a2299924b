# SPDX-License-Identifier: Apache-2.0
"""Cores and ports of a tester on this machine."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, model_validator

from natxy.plan.model.base import PlanModel

Core = Annotated[int, Field(ge=0)]
# As the kernel has it, without dots: these would be taken apart in the names of sysctls.
INTERFACE_PATTERN: Final = r"^[^\s/.]{1,15}$"
PCI_PATTERN: Final = r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"
InterfaceName = Annotated[str, Field(pattern=INTERFACE_PATTERN)]
PciAddress = Annotated[str, Field(pattern=PCI_PATTERN)]


class TesterPort(PlanModel):
    """One of the tester's two ports: a device that a DPDK driver is bound to, or an interface of the kernel."""

    pci: PciAddress | None = None
    interface: InterfaceName | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> TesterPort:
        if (self.pci is None) == (self.interface is None):
            raise ValueError("expected either pci, e.g. 0000:41:00.0, or interface, e.g. ens1f0")
        return self


class SharedMachine(PlanModel):
    """Who has which cores where tester and gateway are on one machine."""

    tester_cores: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        default=None, description="cores of the engine's workers; automatic: core 0"
    )
    dut_cores: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        default=None, description="cores of the gateway; automatic: another core than the tester's where there is one"
    )
