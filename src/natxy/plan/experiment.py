# SPDX-License-Identifier: Apache-2.0
"""A plan with everything decided: what the procedures work from and what a run folder keeps as plan.yaml.

Its fields have the names they have in a plan, so that a resolved plan is itself a plan that means the same.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

from pydantic import Field, field_serializer
from ruamel.yaml import YAML

from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import USUAL_MTU, AddressPlan, AddressPreset, LinkAddresses, Translation
from natxy.plan.model.background import Background
from natxy.plan.model.base import PlanModel
from natxy.plan.model.frame_sizes import ETHERNET_BYTES, SMALLEST_FRAME
from natxy.plan.model.line import LineTraffic
from natxy.plan.model.loss_tolerance import LossTolerance
from natxy.plan.model.search import KnownRate, Search
from natxy.plan.model.terms import IP_HEADER_DIFFERENCE_BYTES, Family, SizeConvention
from natxy.plan.model.timing import Timing
from natxy.plan.model.traffic import CellValue, Directions, Orders, PortRange
from natxy.plan.model.units import BitRate, Unit
from natxy.plan.procedures import ProcedureConfig
from natxy.plan.testbeds import TestbedConfig


class Addresses(PlanModel):
    preset: AddressPreset
    left: LinkAddresses
    right: LinkAddresses
    left_hosts: AddressRanges
    right_hosts: AddressRanges

    @property
    def destination_networks(self) -> int:
        """Of the side that has fewer; what is sent to one side's hosts comes from the other's."""
        return min(len(self.left.networks_behind), len(self.right.networks_behind))


class Ports(PlanModel):
    source: PortRange
    destination: PortRange


class Experiment(PlanModel):
    """Of a sweep's cell, `sweep` is the swept experiment's name and `cell` the swept fields with their values here, in
    the plan's order."""

    name: str
    title: str
    sweep: str | None = None
    cell: dict[str, CellValue] = Field(default={}, exclude_if=lambda cell: not cell)
    gateway: GatewayConfig
    procedure: ProcedureConfig
    family: Family
    translation: Translation | None
    frame_size: int
    size_convention: SizeConvention
    line_rate: BitRate | None
    ttl: int
    dont_fragment: bool
    directions: Directions | None
    addresses: Addresses
    ports: Ports
    orders: Orders
    flows: int | None
    cores: int | None
    connections: int | None
    phase1_rate: KnownRate | None
    rate: KnownRate | None
    alpha: float | None
    search: Search | None
    background: Background | None
    loss_tolerance: LossTolerance | None
    baseline: str | None
    repeat: int
    max_invalid: int
    timing: Timing

    @field_serializer("gateway")
    def _gateway(self, gateway: GatewayConfig) -> dict[str, Any]:
        return gateway.model_dump(mode="json", exclude_none=True)

    @field_serializer("procedure")
    def _procedure(self, procedure: ProcedureConfig) -> dict[str, Any] | str:
        settings = procedure.model_dump(mode="json", exclude_none=True)
        return settings if len(settings) > 1 else procedure.name

    @property
    def address_plan(self) -> AddressPlan:
        longest = max(self.longest_frame, self.background.frame_size if self.background else 0)
        return AddressPlan(
            left=self.addresses.left,
            right=self.addresses.right,
            translation=self.translation,
            background=self.background.links if self.background else None,
            mtu=max(USUAL_MTU, longest - ETHERNET_BYTES),
        )

    @property
    def families(self) -> tuple[Family, Family]:
        """Of the left and the right side."""
        return self.translation.kind.families if self.translation else (self.family, self.family)

    @property
    def left_destinations(self) -> AddressRanges | None:
        """The right hosts as the left side addresses them."""
        return self._addressed(self.addresses.right_hosts)

    @property
    def right_destinations(self) -> AddressRanges | None:
        """The left hosts as the right side addresses them; None where it can only reply."""
        return self._addressed(self.addresses.left_hosts)

    def _addressed(self, hosts: AddressRanges) -> AddressRanges | None:
        if self.translation is None:
            return hosts
        addressed = [_across(self.translation, each) for each in hosts.ranges]
        return AddressRanges(tuple(each for each in addressed if each)) if all(addressed) else None

    def sent_frame_size(self, family: Family) -> int:
        """Bytes, FCS counted, of the frames that a side of this family sends."""
        shortened = self.translation is not None and self.size_convention == SizeConvention.PAIRED
        return self.frame_size - IP_HEADER_DIFFERENCE_BYTES * (shortened and family == Family.IPV4)

    @property
    def smallest_frame(self) -> int:
        """Bytes, FCS counted, that its test frames can have."""
        return max(SMALLEST_FRAME[family] for family in self.families)

    @property
    def longest_frame(self) -> int:
        """Bytes, FCS counted, of the longest foreground frame on either link."""
        return self._line_traffic.longest_frame

    @property
    def maximum_fps(self) -> float | None:
        """The theoretical maximum of one direction: what percentages of the line rate are shares of."""
        return self._line_traffic.maximum_fps

    @property
    def _line_traffic(self) -> LineTraffic:
        traffic = LineTraffic.model_validate(self)
        one_way = self.procedure.stateful and self.alpha is None
        return traffic.model_copy(update={"directions": Directions.FORWARD}) if one_way else traffic

    @property
    def unit(self) -> Unit:
        """Of its headline."""
        return self.procedure.headline().unit

    @property
    def known_rates(self) -> dict[str, KnownRate]:
        """What it takes from the plan or from earlier experiments, by field."""
        rates = {"phase1_rate": self.phase1_rate, "rate": self.rate}
        return {field: rate for field, rate in rates.items() if rate}

    @property
    def traffic_s(self) -> float:
        """Of a trial of fixed length."""
        return self.procedure.traffic_s(self.timing.trial)

    @property
    def uses_connections(self) -> bool:
        """Then the gateway's table is emptied before every step."""
        return self.procedure.stateful or self.connections is not None

    @property
    def makes_connections(self) -> bool:
        """From the left; the right side has only replies to send, which a stateful gateway lets through."""
        return self.uses_connections or self.procedure.between_hosts

    @property
    def flow_space_size(self) -> int:
        hosts, ports = self.addresses, self.ports
        return hosts.left_hosts.size * hosts.right_hosts.size * ports.source.size * ports.destination.size

    @property
    def left_endpoints(self) -> int:
        """Addresses and ports of the left side that its connections, or its frames, come from."""
        most = self.addresses.left_hosts.size * self.ports.source.size
        return most if self.connections is None else min(most, self.connections)

    @property
    def right_endpoints(self) -> int:
        """Addresses and ports of the right side that its connections, or its frames, go to."""
        return self.addresses.right_hosts.size * self.ports.destination.size

    @property
    def turn_frames(self) -> int:
        """So many frames of a direction hold foreground and background in their exact ratio, and no fewer do."""
        return self.background.turns[1] if self.background else 1

    def with_one_flow(self) -> Experiment:
        """The same with the first four-tuple alone, where it has no connections, or with one connection."""
        if self.connections is not None:
            return self.model_copy(update={"connections": 1})
        ports, addresses = self.ports, self.addresses
        hosts = {side: getattr(addresses, side).first_alone for side in ("left_hosts", "right_hosts")}
        only = Ports(source=_only(ports.source), destination=_only(ports.destination))
        return self.model_copy(update={"flows": 1, "ports": only, "addresses": addresses.model_copy(update=hosts)})

    def longest_trial_s(self, phase1_fps: float | None) -> float:
        """From the first new connection to the last frame that needs it: what a table's timeouts have to exceed.

        `phase1_fps` is the rate of the experiment's own phase 1; a search for a connection rate is at its longest at
        its lowest rate.
        """
        connections, timing = self.connections or 0, self.timing
        if not self.procedure.stateful:
            phase1_s = connections / phase1_fps + timing.drain + timing.learning_pause if phase1_fps else 0.0
            goal = self.search.goal if self.search else None
            return phase1_s + max(self.traffic_s, goal.final_trial if goal else 0.0) + timing.drain
        rate_fps = self.search.min_rate if self.search else phase1_fps
        if rate_fps is None:
            return 0.0
        phase1_s = connections / rate_fps + timing.drain
        if self.alpha is None:
            return phase1_s
        return phase1_s + connections / (self.alpha * rate_fps) + timing.drain


def _across(translation: Translation, hosts: AddressRange) -> AddressRange | None:
    first, last = translation.across(hosts.first), translation.across(hosts.last)
    # Both ends lie in one mapping, or the range would not be one on the other side.
    if first is None or last is None or int(last) - int(first) != int(hosts.last) - int(hosts.first):
        return None
    return AddressRange(first=first, last=last, low_bit=hosts.low_bit)


def _only(ports: PortRange) -> PortRange:
    return PortRange(min=ports.min, max=ports.min)


class ResolvedPlan(PlanModel):
    name: str
    description: str
    seed: int
    family: Family
    testbed: TestbedConfig
    allow_public_destinations: bool
    published: list[str]
    experiments: list[Experiment]
    deviations: list[str]

    def to_yaml(self) -> str:
        """As a plan; its deviations are in the store."""
        yaml = YAML()
        yaml.default_flow_style = False
        text = StringIO()
        yaml.dump(self.model_dump(mode="json", exclude_none=True, exclude={"deviations"}), text)
        return text.getvalue()
