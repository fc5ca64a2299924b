# SPDX-License-Identifier: Apache-2.0
"""The YAML plan as its author writes it.

What is not given stays None here; `resolve` fills it in. Every model forbids unknown fields.
"""

from __future__ import annotations

from ipaddress import IPv6Network
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import AddressMapping, AddressPreset, IPNetwork, LinkAddresses, power_of_two
from natxy.plan.model.background import BackgroundPlan
from natxy.plan.model.base import Pattern, PlanModel, Shorthand
from natxy.plan.model.frame_sizes import LONGEST_FRAME, SMALLEST_FRAME
from natxy.plan.model.loss_tolerance import LossTolerance
from natxy.plan.model.rates import KnownRate
from natxy.plan.model.search import SearchPlan
from natxy.plan.model.terms import Family, SizeConvention, TranslationKind
from natxy.plan.model.timing import TimingPlan
from natxy.plan.model.traffic import CellValue, Directions, Orders, PortRange
from natxy.plan.model.units import BitRate, Count
from natxy.plan.procedures import ProcedureConfig
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.published import published_names

NAME_PATTERN: Final = r"[a-z0-9][a-z0-9._-]*"
_NAME: Final = "small letters, digits, '.', '_' and '-', beginning with a letter or a digit"
# A cell of a sweep has the swept experiment's name and its coordinates.
_CELL_NAME_PATTERN: Final = NAME_PATTERN + r"(/[A-Za-z0-9._=,:%+-]+)?"


class PortsPlan(PlanModel):
    source: PortRange | None = None
    destination: PortRange | None = None


class AddressesPlan(PlanModel):
    """`single`, `multiple`, or a mapping that replaces parts of such a preset.

    `left` and `right` are the links; `left_hosts` and `right_hosts` are the addresses that the tester plays: one, a
    prefix, `{first, last, low_bit}`, or a list of such that differ in nothing but the bits that don't vary.
    """

    preset: AddressPreset = AddressPreset.SINGLE
    networks: Annotated[int, Field(ge=1, le=4096), AfterValidator(power_of_two)] = Field(
        default=1,
        description="on each side, that the preset's addresses lie in and the gateway has routes to (RFC 2544 §12)",
    )
    left: LinkAddresses | None = None
    right: LinkAddresses | None = None
    left_hosts: AddressRanges | None = None
    right_hosts: AddressRanges | None = None


class TranslationPlan(PlanModel):
    """A kind of translation, or a mapping that replaces parts of what it has by default."""

    kind: TranslationKind
    prefix: IPv6Network | None = Field(
        default=None, description="a /96: an IPv4 host's IPv6 address is the prefix followed by its own (RFC 6052)"
    )
    pool: IPNetwork | None = Field(
        default=None, description="what stands on the right for all hosts of the left where connections are kept"
    )
    mappings: tuple[AddressMapping, ...] | None = Field(
        default=None, description="IPv4 addresses of the IPv6 hosts that IPv4 hosts send to unasked (RFC 7757)"
    )


def _known_table(name: str) -> str:
    if name not in published_names():
        raise ValueError(f"no published table is named {name!r}; there are: {', '.join(published_names())}")
    return name


class ExperimentPlan(PlanModel):
    name: Annotated[str, Pattern(_CELL_NAME_PATTERN, _NAME), Field(max_length=200)]
    title: str | None = None
    sweep: str | None = Field(default=None, description="of a cell: the swept experiment's name; in a plan, rows")
    cell: dict[str, CellValue] = Field(default={}, description="of a cell: what is swept, and the value here")
    gateway: Annotated[GatewayConfig, Shorthand("driver", "Gateway")]
    procedure: Annotated[ProcedureConfig, Shorthand("name", "Procedure")]
    family: Family | None = None
    translation: Annotated[TranslationPlan, Shorthand("kind", "Translation")] | None = Field(
        default=None, description="left and right are of different families"
    )
    frame_size: Annotated[int, Field(ge=64, le=LONGEST_FRAME)] | None = Field(
        default=None, description="bytes, FCS counted; 64 for IPv4 and 84 for IPv6 when not given"
    )
    size_convention: SizeConvention = Field(
        default=SizeConvention.PAIRED, description="whose size `frame_size` is where a translation changes it"
    )
    line_rate: BitRate | None = Field(default=None, description="of one direction; the plan's when not given")
    ttl: Annotated[int, Field(ge=2, le=255)] = Field(default=64, description="TTL or hop limit of a test frame")
    dont_fragment: bool = Field(default=False, description="sets IPv4's DF bit")
    directions: Directions | None = None
    addresses: Annotated[AddressesPlan, Shorthand("preset", "Addresses")] = AddressesPlan()
    ports: PortsPlan = PortsPlan()
    orders: Orders = Orders()
    flows: Count | None = Field(default=None, description="four-tuples of traffic without connections")
    cores: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        default=None, description="of the gateway's, that do packet work; all it has when not given"
    )
    connections: Count | None = Field(default=None, description="connections of phase 1")
    phase1_rate: Annotated[KnownRate, Shorthand("rate", "KnownOrAbsoluteRate")] | None = None
    rate: Annotated[KnownRate, Shorthand("rate", "KnownOrAbsoluteRate")] | None = Field(
        default=None, description="at which a procedure without a search measures; frames per second per direction"
    )
    alpha: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="validation rate as a share of the connection rate (RFC 9693 §4.6)"
    )
    search: SearchPlan = SearchPlan()
    background: Annotated[BackgroundPlan, Shorthand("share", "Background")] | None = Field(
        default=None, description="native IPv6 traffic, interleaved with the experiment's own (RFC 8219 §5.3)"
    )
    loss_tolerance: LossTolerance | None = Field(
        default=None, description="lost frames that a trial may have and still pass; the RFCs know only 0"
    )
    baseline: str | None = Field(default=None, description="the experiment whose throughput is 100 %")
    repeat: Annotated[int, Field(ge=1, le=10_000)] | None = None
    max_invalid: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3,
        description="tries of one step that decide nothing: half of them or more invalid, they end the experiment as "
        "`tester limit reached`; else, where phase 1 failed, they end the repetition without a result",
    )
    timing: Annotated[TimingPlan, Shorthand("preset", "Timing")] = TimingPlan()

    def families(self, usual: Family) -> tuple[Family, Family]:
        """Of the left and the right side; `usual` is the plan's."""
        family = self.family or usual
        return self.translation.kind.families if self.translation else (family, family)

    def settled_frame_size(self, usual: Family) -> int:
        """Bytes, FCS counted; the smallest that its test frames fit in where nothing is said."""
        smallest = max(SMALLEST_FRAME[family] for family in self.families(usual))
        return self.frame_size or self.procedure.usual_frame_size or smallest


class Plan(PlanModel):
    name: Annotated[str, Pattern(NAME_PATTERN, _NAME), Field(max_length=64)]
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    repeat: Annotated[int, Field(ge=1, le=10_000)] = Field(default=20, description="repetitions of every experiment")
    family: Family = Family.IPV4
    line_rate: BitRate | None = Field(default=None, description="of one direction; what percentages are shares of")
    timing: Annotated[TimingPlan, Shorthand("preset", "Timing")] = TimingPlan()
    testbed: TestbedConfig = LabConfig()
    allow_public_destinations: bool = Field(
        default=False, description="let test traffic leave the benchmark and private ranges (RFC 6815)"
    )
    published: list[Annotated[str, AfterValidator(_known_table)]] = Field(
        default=[], description="tables of other people's figures that the report prints beside its own"
    )
    experiments: Annotated[list[ExperimentPlan], Field(min_length=1)]
