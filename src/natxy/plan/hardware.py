# SPDX-License-Identifier: Apache-2.0
"""Testbeds of real machines: what the tester sends from, or the hosts in its place, and where the DUT is."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.base import PlanModel
from natxy.plan.units import Duration

Core = Annotated[int, Field(ge=0)]
# As the kernel has it, without dots: these would be taken apart in the names of sysctls.
INTERFACE_PATTERN: Final = r"^[^\s/.]{1,15}$"
PCI_PATTERN: Final = r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$"
InterfaceName = Annotated[str, Field(pattern=INTERFACE_PATTERN)]
PciAddress = Annotated[str, Field(pattern=PCI_PATTERN)]


class SshTarget(PlanModel):
    """`user@host`, or a mapping. What isn't given is as `~/.ssh/config` has it; the host's key must be a known one."""

    host: Annotated[str, Field(min_length=1)]
    user: str | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    config: Path | None = Field(default=None, description="instead of ~/.ssh/config")
    connect_timeout: Duration = 10.0
    as_root: list[str] = Field(
        default=[], description="what makes a command run as root, e.g. [sudo, -n]; none when the user is root"
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    @model_validator(mode="before")
    @classmethod
    def _written_as_text(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        user, _, host = given.rpartition("@")
        return {"host": host, "user": user or None}

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" if self.user else self.host


class TesterPort(PlanModel):
    """One of the tester's two ports: a device that a DPDK driver is bound to, or an interface of the kernel."""

    pci: PciAddress | None = None
    interface: InterfaceName | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> TesterPort:
        if (self.pci is None) == (self.interface is None):
            raise ValueError("expected either pci, e.g. 0000:41:00.0, or interface, e.g. ens1f0")
        return self


class LinkSetUp(StrEnum):
    """`set`: natxy gives the DUT's interfaces addresses and routes, and takes them back. `keep`: they have them."""

    SET = "set"
    KEEP = "keep"


class DutLocation(PlanModel):
    """By ssh, else in a network namespace of this machine, else on this machine itself."""

    left: InterfaceName
    right: InterfaceName
    ssh: SshTarget | None = None
    namespace: str | None = Field(default=None, description="a network namespace on this machine")
    addresses: LinkSetUp = LinkSetUp.SET

    @model_validator(mode="after")
    def _one_place(self) -> DutLocation:
        if self.ssh and self.namespace:
            raise ValueError("ssh and namespace are two places; remove one of them")
        if self.left == self.right:
            raise ValueError(f"left and right are one interface, {self.left}; a gateway forwards between two")
        return self

    @property
    def may_be_elsewhere(self) -> bool:
        """The user's commands run on this machine, and may reach another one."""
        return self.ssh is None and self.namespace is None and self.addresses == LinkSetUp.KEEP


class HardwareConfig(PlanModel):
    """The tester's own ports, cabled to a DUT."""

    kind: Literal["hardware"]
    left: TesterPort
    right: TesterPort
    dut: DutLocation
    io: Literal["af_xdp", "af_packet"] = Field(default="af_xdp", description="for interfaces; a pci device needs none")
    queues: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="of a port")
    tester_cores: Annotated[list[Core], Field(min_length=1)] | None = Field(
        default=None, description="cores of the engine's workers; automatic: core 0"
    )

    @model_validator(mode="after")
    def _two_ports(self) -> HardwareConfig:
        if self.left == self.right:
            raise ValueError("left and right are one port; the tester needs two")
        return self


class HostLocation(PlanModel):
    """A host that is reached by ssh, and its interface on the cable to the DUT."""

    ssh: SshTarget
    interface: InterfaceName


class HostsConfig(PlanModel):
    """Two hosts, cabled to a DUT, for what is measured between hosts; the tester has no ports of its own."""

    kind: Literal["hosts"]
    left: HostLocation
    right: HostLocation
    dut: DutLocation

    @model_validator(mode="after")
    def _two_hosts(self) -> HostsConfig:
        if self.left.ssh == self.right.ssh:
            raise ValueError("left and right are one machine, whose kernel would not send through the DUT; give two")
        for side, host in (("left", self.left), ("right", self.right)):
            if host.ssh == self.dut.ssh:
                raise ValueError(f"{side} and dut are one machine; give a host of its own, cabled to the DUT")
        return self

    @property
    def is_elsewhere(self) -> bool:
        """Nothing is measured on this machine."""
        return self.dut.ssh is not None
