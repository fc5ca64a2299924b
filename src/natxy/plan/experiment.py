# SPDX-License-Identifier: Apache-2.0
"""A plan with everything decided: what the procedures work from and what a run folder keeps as plan.yaml.

Its fields have the names they have in a plan, so that a resolved plan is itself a plan that means the same.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

from pydantic import field_serializer
from ruamel.yaml import YAML

from natxy.plan.addresses import AddressPlan, LinkAddresses
from natxy.plan.gateways import GatewayConfig
from natxy.plan.models import (
    AddressPreset,
    AddressRange,
    Directions,
    Orders,
    Phase1Rate,
    PlanModel,
    PortRange,
    Procedure,
    TestbedConfig,
)
from natxy.plan.presets import Timing
from natxy.plan.terms import Family
from natxy.plan.units import Percent, Rate


class Addresses(PlanModel):
    preset: AddressPreset
    left: LinkAddresses
    right: LinkAddresses
    left_hosts: AddressRange
    right_hosts: AddressRange

    @property
    def links(self) -> AddressPlan:
        return AddressPlan(left=self.left, right=self.right)


class Ports(PlanModel):
    source: PortRange
    destination: PortRange


class Search(PlanModel):
    """Rates in frames per second per direction, or in connections per second. An `error` in percent is relative to
    the result."""

    kind: str = "binary"
    min_rate: float
    max_rate: float
    error: Rate
    max_invalid: int

    @property
    def absolute_error(self) -> float | None:
        return None if isinstance(self.error, Percent) else self.error

    @property
    def relative_error(self) -> float | None:
        return self.error.value / 100 if isinstance(self.error, Percent) else None


class Experiment(PlanModel):
    name: str
    title: str
    gateway: GatewayConfig
    procedure: Procedure
    family: Family
    frame_size: int
    ttl: int
    dont_fragment: bool
    directions: Directions | None
    addresses: Addresses
    ports: Ports
    orders: Orders
    connections: int | None
    phase1_rate: Phase1Rate | None
    alpha: float | None
    search: Search
    baseline: str | None
    repeat: int
    timing: Timing

    @field_serializer("gateway")
    def _gateway(self, gateway: GatewayConfig) -> dict[str, Any]:
        return gateway.model_dump(mode="json", exclude_none=True)

    @property
    def unit(self) -> str:
        """Of its result: `fps` per direction, or `cps`."""
        return "fps" if self.procedure == Procedure.THROUGHPUT else "cps"

    @property
    def flow_space_size(self) -> int:
        hosts, ports = self.addresses, self.ports
        return hosts.left_hosts.size * hosts.right_hosts.size * ports.source.size * ports.destination.size

    def longest_trial_s(self, phase1_fps: float | None) -> float:
        """From the first new connection to the last frame that needs it: what a table's timeouts have to exceed.

        `phase1_fps` is the rate of a throughput experiment's phase 1; a connection rate is at its longest at the
        search's lowest rate.
        """
        connections, timing = self.connections or 0, self.timing
        if self.procedure == Procedure.THROUGHPUT:
            phase1_s = connections / phase1_fps + timing.drain + timing.learning_pause if phase1_fps else 0.0
            return phase1_s + timing.trial + timing.drain
        phase1_s = connections / self.search.min_rate + timing.drain
        if self.alpha is None:
            return phase1_s
        return phase1_s + connections / (self.alpha * self.search.min_rate) + timing.drain


class ResolvedPlan(PlanModel):
    name: str
    description: str
    seed: int
    family: Family
    testbed: TestbedConfig
    allow_public_destinations: bool
    experiments: list[Experiment]
    deviations: list[str]

    def to_yaml(self) -> str:
        """As a plan; its deviations are in the store."""
        yaml = YAML()
        yaml.default_flow_style = False
        text = StringIO()
        yaml.dump(self.model_dump(mode="json", exclude_none=True, exclude={"deviations"}), text)
        return text.getvalue()
