# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `hardware`: the tester's own ports, cabled to a DUT."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from natxy.plan.gateways.chain import MOST_HOPS
from natxy.plan.model.addresses import Mac
from natxy.plan.model.base import PlanModel
from natxy.plan.testbeds.base import CabledTester
from natxy.plan.testbeds.machines import DutLocation, DutPair, FurtherTester, TesterLocation
from natxy.plan.testbeds.ports import MOST_PAIRS, EnginePorts, TesterPort, check_macs
from natxy.plan.testbeds.tester_cores import CoresOfTasks, TesterCores


class CabledPort(TesterPort):
    """Names a port of the tester's. Frames go to `dut_mac`; without it, the DUT is asked for its address."""

    dut_mac: Mac | None = None
    """Address that frames go to, e.g. the virtual one of two routers; default: the one that the DUT answers with."""


class CabledPair(PlanModel):
    """Names two further ports and the DUT's interfaces at the other ends of their cables."""

    tester: TesterLocation | None = Field(default=None, exclude_if=lambda tester: tester is None)
    """Tester that has the two ports; default: this machine."""
    left: TesterPort
    """Port of the tester."""
    right: TesterPort
    """Port of the tester."""
    dut: DutPair
    """Interfaces of the DUT, `{left, right}`."""


class HardwareConfig(CabledTester):
    """The tester's own ports, cabled to a DUT."""

    kind: Literal["hardware"]
    left: CabledPort
    """Port of the tester."""
    right: CabledPort
    """Port of the tester."""
    dut: DutLocation
    """DUT and its interfaces."""
    further_duts: Annotated[list[DutLocation], Field(max_length=MOST_HOPS - 1)] = Field(
        default=[], exclude_if=lambda duts: not duts
    )
    """DUTs behind the first, from left to right, for a `chain`; each has its `left` cabled to the `right` before it."""
    more_pairs: Annotated[list[CabledPair], Field(max_length=MOST_PAIRS - 1)] = Field(
        default=[], exclude_if=lambda pairs: not pairs
    )
    """Further ports, for `pairs`; default: none."""

    @model_validator(mode="after")
    def _two_ports(self) -> HardwareConfig:
        is_trunk = self.left.is_same(self.right)
        if is_trunk and (None in (self.left.vlan, self.right.vlan) or self.left.tags == self.right.tags):
            raise ValueError(
                "left and right are the same port; the tester needs two ports, or one with a `vlan` for each side"
            )
        if is_trunk and (self.left.service_vlan is None) != (self.right.service_vlan is None):
            raise ValueError("left and right are the same port; give both sides a `service_vlan`, or neither")
        left, right = ("left.mac", self.left.mac), ("right.mac", self.right.mac)
        of_dut = ("left.dut_mac", self.left.dut_mac), ("right.dut_mac", self.right.dut_mac)
        check_macs(left, *([] if is_trunk else [right]), *of_dut)
        check_macs(right, *of_dut)
        return self

    @model_validator(mode="after")
    def _separate_pairs(self) -> HardwareConfig:
        ports: list[tuple[TesterLocation | None, TesterPort]] = [(None, self.left), (None, self.right)]
        interfaces = [self.dut.left, self.dut.right]
        for number, pair in enumerate(self.more_pairs):
            field = f"more_pairs[{number}]"
            for side, port, interface in (("left", pair.left, pair.dut.left), ("right", pair.right, pair.dut.right)):
                if any(pair.tester == tester and port.is_same(other) for tester, other in ports):
                    raise ValueError(f"{field}.{side} is a port that another place has already; give each its own")
                if port.vlan:
                    raise ValueError(f"{field}.{side}.vlan: ports of further pairs have no VLAN; remove it")
                if interface in interfaces:
                    raise ValueError(f"{field}.dut.{side} is {interface}, which another place has already")
                ports.append((pair.tester, port))
                interfaces.append(interface)
        return self

    @model_validator(mode="after")
    def _duts_in_a_row(self) -> HardwareConfig:
        if not self.further_duts:
            return self
        if self.more_pairs:
            raise ValueError(
                "several DUTs in a row have one pair of interfaces each; remove more_pairs or further_duts"
            )
        for number, dut in enumerate(self.dut_locations):
            field = f"further_duts[{number - 1}]" if number else "dut"
            if dut.one_armed:
                raise ValueError(f"{field} is one_armed; DUTs in a row need two interfaces each")
            if dut.addresses != self.dut.addresses:
                raise ValueError(f"{field}.addresses is {dut.addresses}; give all DUTs in a row the same")
            if dut.ssh is None and dut.namespace is None:
                raise ValueError(f"{field} is a DUT of several in a row; give its `ssh`, or a `namespace`")
            for other in self.dut_locations[:number]:
                same = dut.ssh and other.ssh and dut.ssh.is_machine_of(other.ssh)
                if same or (dut.namespace and dut.namespace == other.namespace):
                    raise ValueError(f"{field} is the same place as a DUT before it; give each DUT a place of its own")
        return self

    @model_validator(mode="after")
    def _one_engine_a_machine(self) -> HardwareConfig:
        targets = [tester.location.ssh for tester in self.further_testers]
        for number, target in enumerate(targets):
            if any(target.is_machine_of(other) for other in targets[:number]):
                raise ValueError(
                    f"more_pairs: the tester {target} has one engine; give its pairs the same `ssh`, `engine` and "
                    "`cores`"
                )
            if any(dut.ssh and target.is_machine_of(dut.ssh) for dut in self.dut_locations):
                raise ValueError(f"more_pairs: the tester {target} is the DUT; give another machine, cabled to the DUT")
        if targets and isinstance(self.tester_cores, CoresOfTasks):
            raise ValueError("tester_cores: the cores of each task are those of a single tester; give a list of cores")
        return self

    @property
    def most_pairs(self) -> int:
        return 1 + len(self.more_pairs)

    @property
    def further_testers(self) -> list[FurtherTester]:
        named = [pair.tester for pair in self.more_pairs if pair.tester]
        return [
            FurtherTester(tester, pairs := self.pairs_of(tester), self._ports_of(None, *pairs.values()))
            for number, tester in enumerate(named)
            if tester not in named[:number]
        ]

    def pairs_of(self, tester: TesterLocation | None) -> dict[int, tuple[TesterPort, TesterPort]]:
        """Returns the ports of a tester's further pairs by the pair's number; those of this machine for None."""
        pairs = enumerate(self.more_pairs, 1)
        return {number: (pair.left, pair.right) for number, pair in pairs if pair.tester == tester}

    @property
    def engine_ports(self) -> EnginePorts:
        return self._ports_of(self.tester_cores, (self.left, self.right), *self.pairs_of(None).values())

    def _ports_of(
        self, cores: TesterCores | None, first: tuple[TesterPort, TesterPort], *others: tuple[TesterPort, TesterPort]
    ) -> EnginePorts:
        further = tuple(port for pair in others for port in pair)
        return EnginePorts("cable", self.io, self.queues, cores, *first, self.memory_channels, further)

    @property
    def dut_location(self) -> DutLocation:
        return self.dut

    @property
    def dut_locations(self) -> tuple[DutLocation, ...]:
        return (self.dut, *self.further_duts)

    @property
    def fewest_hops(self) -> int:
        return len(self.dut_locations)

    @property
    def most_hops(self) -> int:
        return len(self.dut_locations)

    @property
    def gateways_share_machine(self) -> bool:
        # Those in a namespace share this one.
        return not self.further_duts or any(dut.namespace for dut in self.dut_locations)

    @property
    def further_dut_pairs(self) -> tuple[DutPair, ...]:
        return tuple(pair.dut for pair in self.more_pairs)

    @property
    def dut_macs(self) -> dict[str, str]:
        ends = {"left": self.left.dut_mac, "right": self.right.dut_mac}
        return {side: mac for side, mac in ends.items() if mac}
