# SPDX-License-Identifier: Apache-2.0
"""Describes machines that a testbed reaches: how to log in, and the interfaces to use there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.model.base import Pattern, PlanModel
from natxy.plan.model.units import Duration
from natxy.plan.testbeds.cards import CardSettings
from natxy.plan.testbeds.ports import EnginePorts, InterfaceName, TesterPort
from natxy.plan.testbeds.tester_cores import Cores


class SshTarget(PlanModel):
    """`user@host`, or a mapping. What is not given comes from `~/.ssh/config`; the host's key must be a known one."""

    host: Annotated[str, Pattern(r"[^\s-]\S*", "the name or address of a host, such as dut.lab")]
    """Name or address of the machine."""
    user: str | None = None
    """User who logs in; default: as ssh is configured."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Port of the ssh server; default: as ssh is configured."""
    config: Path | None = None
    """Configuration of ssh; default: `~/.ssh/config`."""
    connect_timeout: Duration = 10.0
    """Longest time to connect."""
    as_root: list[str] = Field(default=[])
    """Command that runs another one as root, e.g. [sudo, -n] or [doas]; default: none."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, super().__get_pydantic_json_schema__(schema, handler)]}

    @model_validator(mode="before")
    @classmethod
    def _written_as_text(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        user, _, host = given.rpartition("@")
        return {"host": host, "user": user or None}

    def is_machine_of(self, other: SshTarget) -> bool:
        """Returns True when both lead to one machine, whoever logs in and however long that may take."""
        return (self.host, self.port, self.config) == (other.host, other.port, other.config)

    def from_anywhere(self) -> SshTarget:
        """Returns the target as it is written from any working folder."""
        return self.model_copy(update={"config": self.config and self.config.absolute()})

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" if self.user else self.host


class LinkSetUp(StrEnum):
    """`set`: natxy gives the DUT's interfaces addresses and routes, and removes them afterwards. `keep`: the interfaces
    have them already, and natxy changes nothing."""

    SET = "set"
    KEEP = "keep"


class DutLocation(PlanModel):
    """The DUT and its interfaces: reached by ssh, in a network namespace of this machine, or on this machine itself."""

    left: InterfaceName
    """Interface of the DUT."""
    right: InterfaceName
    """Interface of the DUT."""
    ssh: SshTarget | None = None
    """`user@host`, or a mapping; default: this machine."""
    namespace: str | None = None
    """Network namespace on this machine."""
    addresses: LinkSetUp = LinkSetUp.SET
    """`set`: natxy sets addresses and routes, and removes them; `keep`: the DUT has its own."""
    one_armed: bool = False
    """Whether the DUT has one interface for both links."""
    cards: CardSettings | None = None
    """Settings of the cards while the plan is measured; default: as they are."""

    @model_validator(mode="after")
    def _one_place(self) -> DutLocation:
        if self.ssh and self.namespace:
            raise ValueError("expected ssh, or a namespace on this machine, and not both; remove one of them")
        if self.left == self.right and not self.one_armed:
            raise ValueError(
                f"left and right are the same interface, {self.left}; a gateway forwards between two, unless it is "
                "`one_armed: true`"
            )
        if self.left != self.right and self.one_armed:
            raise ValueError(f"a one_armed DUT has one interface, not {self.left} and {self.right}; give one for both")
        if self.cards and self.may_be_elsewhere:
            raise ValueError(
                "cards needs to know where the DUT is: give ssh or a namespace, or set the cards of the DUT yourself"
            )
        return self

    @property
    def may_be_elsewhere(self) -> bool:
        """Returns True when the user's commands run on this machine but may control a DUT on another one."""
        return self.ssh is None and self.namespace is None and self.addresses == LinkSetUp.KEEP


class TesterLocation(PlanModel):
    """Describes a further tester, which is reached by ssh and has natxy-engine installed."""

    ssh: SshTarget
    """`user@host`, or a mapping."""
    engine: Annotated[str, Pattern(r"[^\s-]\S*", "a program, such as natxy-engine or its path")] = "natxy-engine"
    """Program natxy-engine there, or its path."""
    cores: Cores | None = None
    """Cores of the engine's workers; default: the first one."""

    def __str__(self) -> str:
        return f"the tester {self.ssh}"


@dataclass(frozen=True)
class FurtherTester:
    """Describes a tester besides this machine. `pairs` has the left and the right port of each of its pairs by the
    pair's number, and `ports` those of all."""

    location: TesterLocation
    pairs: Mapping[int, tuple[TesterPort, TesterPort]]
    ports: EnginePorts


class DutPair(PlanModel):
    """Names two further interfaces of the DUT's."""

    left: InterfaceName
    """Interface of the DUT."""
    right: InterfaceName
    """Interface of the DUT."""


class HostLocation(PlanModel):
    """A host that is reached by ssh, and its interface on the cable to the DUT."""

    ssh: SshTarget
    """`user@host`, or a mapping."""
    interface: InterfaceName
    """Interface on the cable to the DUT."""
