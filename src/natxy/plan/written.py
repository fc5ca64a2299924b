# SPDX-License-Identifier: Apache-2.0
"""The plan as its author writes it, after sweeps and defaults were resolved.

A field that is not given is None here, and `resolve` decides it. Every model forbids unknown fields.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import (
    MOST_ON_LINK,
    AddressMapping,
    AddressPreset,
    EmbeddingPrefix,
    LinkAddresses,
    Pool,
    power_of_two,
)
from natxy.plan.model.background import BackgroundPlan
from natxy.plan.model.base import Pattern, PlanModel, Shorthand
from natxy.plan.model.expect import Expect
from natxy.plan.model.loss_tolerance import LossTolerance, Phase1Loss
from natxy.plan.model.repeat import Repeat, RunOrder
from natxy.plan.model.search import KnownRate, SearchPlan
from natxy.plan.model.terms import (
    NAME_EXPECTED,
    NAME_PATTERN,
    CellValue,
    Family,
    Selection,
    SizeConvention,
    TranslationKind,
)
from natxy.plan.model.timing import TimingPlan
from natxy.plan.model.traffic import LONGEST_FRAME, SMALLEST_FRAME, ActiveConnections, Directions, Orders, PortRange
from natxy.plan.model.units import BitRate, Count, Duration
from natxy.plan.procedures import ProcedureConfig
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.ports import MOST_PAIRS
from natxy.published import published_names
from natxy.untrusted.validation import got, guess

# A cell of a sweep has the swept experiment's name and its coordinates.
_CELL_NAME_PATTERN: Final = NAME_PATTERN + r"(/[A-Za-z0-9._=,:%+-]+)?"


class ReversePorts(PlanModel):
    """The source ports of the right side, and the destination ports that it sends to."""

    source: PortRange | None = None
    destination: PortRange | None = None


class PortsPlan(PlanModel):
    """The initiator's source ports, and the destination ports that it sends to."""

    source: PortRange | None = None
    destination: PortRange | None = None
    reverse: ReversePorts | None = None
    """Ports of traffic from right to left without connections; default: the same as from left to right."""


class AddressesPlan(PlanModel):
    """`single`, `multiple`, or a mapping that replaces parts of one of these presets.

    `left` and `right` are the links. `left_hosts` and `right_hosts` are the addresses that the tester plays: one
    address, a prefix, `{first, last, low_bit}`, or a list of these whose varying bits have the same values.
    """

    preset: AddressPreset = AddressPreset.SINGLE
    networks: Annotated[int, Field(ge=1, le=4096), AfterValidator(power_of_two)] = 1
    """Networks on each side that contain the addresses, with a route for each (RFC 2544 §12)."""
    on_link: Annotated[int, Field(ge=0, le=MOST_ON_LINK)] = 0
    """Hosts that the tester plays on each link itself, neighbours of the gateway, instead of behind a next hop."""
    left: LinkAddresses | None = None
    right: LinkAddresses | None = None
    left_hosts: AddressRanges | None = None
    right_hosts: AddressRanges | None = None
    pool: Pool | None = None
    """Public addresses of a NAT44 or NAT66, which replace those of all left hosts on the right, e.g. 198.19.0.4/30;
    default: the gateway's own address on the right."""


class TranslationPlan(PlanModel):
    """A kind of translation, or a mapping that replaces parts of its defaults."""

    kind: TranslationKind
    prefix: EmbeddingPrefix | None = None
    """A /32, /40, /48, /56, /64 or /96; the IPv6 address of an IPv4 host is its IPv4 address behind this (RFC 6052)."""
    pool: Pool | None = None
    """Addresses that replace those of all left hosts on the right where the gateway keeps connections."""
    mappings: tuple[AddressMapping, ...] | None = None
    """IPv4 addresses of the IPv6 hosts that IPv4 hosts send to of their own accord (RFC 7757)."""


def _known_table(name: str) -> str:
    if name not in published_names():
        near = guess(name, published_names()) or ";"
        raise ValueError(f"unknown table {name!r}{near} expected one of {', '.join(published_names())}")
    return name


def _cell_value(given: object) -> object:
    if not isinstance(given, CellValue):
        raise ValueError(f"expected the value of a swept field: text, a number, true or false{got(given)}")
    return given


class ExperimentPlan(PlanModel):
    """An experiment, or a cell of a sweep."""

    name: Annotated[str, Pattern(_CELL_NAME_PATTERN, NAME_EXPECTED), Field(max_length=200)]
    title: str | None = None
    sweep: str | None = None
    """Rows of fields that change together; in a resolved plan, the swept experiment's name."""
    cell: dict[str, Annotated[CellValue, BeforeValidator(_cell_value)]] = Field(default={})
    """The swept fields and their values in this cell; only in a resolved plan."""
    gateway: Annotated[GatewayConfig, Shorthand("driver", "Gateway")]
    procedure: Annotated[ProcedureConfig, Shorthand("name", "Procedure")]
    family: Family | None = None
    """Family of both sides; default: the plan's."""
    translation: Annotated[TranslationPlan, Shorthand("kind", "Translation")] | None = None
    """Kind of translation, nat64, nat46, siit or clat, between the different families of left and right."""
    frame_size: Annotated[int, Field(ge=64, le=LONGEST_FRAME)] | None = None
    """Size in bytes, including the FCS; default: 64, with IPv6 84."""
    size_convention: SizeConvention = SizeConvention.PAIRED
    """The side whose frames have `frame_size` where a translation changes their size."""
    line_rate: BitRate | None = None
    """Bit rate of one direction; default: the plan's."""
    ttl: Annotated[int, Field(ge=2, le=255)] = 64
    """TTL or hop limit of test frames."""
    dont_fragment: bool = False
    """Sets the DF bit of IPv4 frames."""
    directions: Directions | None = None
    addresses: Annotated[AddressesPlan, Shorthand("preset", "Addresses")] = AddressesPlan()
    ports: PortsPlan = PortsPlan()
    orders: Orders = Orders()
    flows: Count | None = None
    """Number of four-tuples of traffic without connections; default: all."""
    pairs: Annotated[int, Field(ge=1, le=MOST_PAIRS)] | None = None
    """Pairs of interfaces that have traffic at the same time, each with the experiment's flows or connections and an
    equal part of the rate (RFC 8219 §10); default: 1."""
    start_interval: Annotated[Duration, Field(gt=0)] | None = None
    """Time from the start of one pair of interfaces to that of the next (RFC 8219 §10.2.2); default: all begin
    together."""
    cores: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Number of the gateway's cores that process packets; default: all."""
    connections: Count | None = None
    """Number of connections that phase 1 establishes (RFC 9693 §4.2)."""
    phase1_selection: Selection = Selection.ENUMERATE
    """`enumerate`: each frame of phase 1 has another four-tuple. `random`: its four-tuples are drawn and may repeat."""
    active_connections: ActiveConnections | None = None
    """Number of the connections that phase 2 uses, e.g. {reverse: 1}; default: all."""
    phase1_rate: Annotated[KnownRate, Shorthand("rate", "KnownOrAbsoluteRate")] | None = None
    """Rate of phase 1 before a procedure over connections; connections per second."""
    phase1_loss: Phase1Loss | None = None
    """Connections that may be missing after phase 1, e.g. 1 or 0.001%; phase 2 then uses the others. Default: none."""
    rate: Annotated[KnownRate, Shorthand("rate", "KnownOrAbsoluteRate")] | None = None
    """Rate of a procedure without a search; frames per second per direction."""
    alpha: Annotated[float, Field(gt=0, le=1)] | None = None
    """Validation rate as a share of the connection rate (RFC 9693 §4.6)."""
    search: SearchPlan = SearchPlan()
    background: Annotated[BackgroundPlan, Shorthand("share", "Background")] | None = None
    """Share of native IPv6 frames in each direction, e.g. 10% (RFC 8219 §5.3)."""
    loss_tolerance: LossTolerance | None = None
    """Share of frames that a trial may lose and still pass, e.g. 0.01%; the RFCs allow none."""
    baseline: str | None = None
    """The experiment whose result is 100 %."""
    expect: Expect | None = None
    """Thresholds of the result, which decide the exit code."""
    repeat: Annotated[Repeat, Shorthand("at_most", "Repetitions")] | None = None
    """Repetitions of the experiment; default: the plan's."""
    max_invalid: Annotated[int, Field(ge=1, le=100)] = 3
    """Number of attempts at a step that may remain undecided. After that, a disturbed failure counts after all. Without
    one, if half of them or more were invalid, a search goes on at lower rates, and another repetition ends as `tester
    limit reached`; else it ends without a result because phase 1 failed."""
    timing: Annotated[TimingPlan, Shorthand("preset", "Timing")] = TimingPlan()

    def families(self, usual: Family) -> tuple[Family, Family]:
        """Returns the families of the left and the right side; `usual` is the plan's family."""
        family = self.family or usual
        return self.translation.kind.families if self.translation else (family, family)

    def settled_frame_size(self, usual: Family) -> int:
        """Returns the frame size in bytes, including the FCS; by default, the smallest that its test frames fit in."""
        smallest = max(SMALLEST_FRAME[family] for family in self.families(usual))
        return self.frame_size or self.procedure.usual_frame_size or smallest


class Plan(PlanModel):
    """A plan. The models of its parts describe their fields."""

    name: Annotated[str, Pattern(NAME_PATTERN, NAME_EXPECTED), Field(max_length=64)]
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    """Seed of every pseudorandom choice; the same seed sends the same frames."""
    repeat: Annotated[Repeat, Shorthand("at_most", "Repetitions")] = Repeat(at_most=20)
    """Repetitions of every experiment, e.g. 20 or {until: 3%, at_most: 30}."""
    order: RunOrder = RunOrder.BLOCKS
    """Order of the repetitions."""
    family: Family = Family.IPV4
    line_rate: BitRate | None = None
    """Bit rate of one direction, e.g. 10Gbps; percentages refer to it."""
    timing: Annotated[TimingPlan, Shorthand("preset", "Timing")] = TimingPlan()
    testbed: TestbedConfig = LabConfig()
    allow_public_destinations: bool = False
    """Allows test traffic outside the benchmark and private address ranges (RFC 6815)."""
    published: list[Annotated[str, AfterValidator(_known_table)]] = Field(default=[])
    """Tables that others published, for the report to print beside the measured ones."""
    experiments: Annotated[list[ExperimentPlan], Field(min_length=1)]
