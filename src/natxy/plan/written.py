# SPDX-License-Identifier: Apache-2.0
"""The plan as its author writes it, after sweeps and defaults were resolved.

A field that is not given is None here, and `resolve` decides it. Every model forbids unknown fields.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from natxy.plan.frames.background import BackgroundPlan
from natxy.plan.frames.forms import ExtensionHeaders, Protocol, smallest_frame
from natxy.plan.frames.mix import Mix, mix_sizes
from natxy.plan.frames.sizes import LONGEST_FRAME, SMALLEST_FRAME
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
from natxy.plan.model.base import Pattern, PlanModel, Shorthand
from natxy.plan.model.loss_tolerance import LossTolerance, Phase1Loss
from natxy.plan.model.repeat import Repeat, RunOrder
from natxy.plan.model.search import KnownRate, SearchPlan
from natxy.plan.model.subscribers import AnySubscribersPlan
from natxy.plan.model.terms import (
    NAME_EXPECTED,
    NAME_PATTERN,
    CellValue,
    Family,
    Selection,
    SizeConvention,
    TranslationKind,
)
from natxy.plan.model.thresholds import Thresholds
from natxy.plan.model.timing import TimingPlan
from natxy.plan.model.traffic import ActiveConnections, Directions, Orders, PortRange
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
    """Source ports of the right side; default: as from left to right."""
    destination: PortRange | None = None
    """Ports that the right side sends to; default: as from left to right."""


class PortsPlan(PlanModel):
    """The initiator's source ports, and the destination ports that it sends to."""

    source: PortRange | None = None
    """Source ports, e.g. 1024-65535; default: RFC 4814's, or as many as `connections` need."""
    destination: PortRange | None = None
    """Destination ports, e.g. 1-49151 or 80; default: RFC 4814's, or as many as `connections` need."""
    reverse: ReversePorts | None = None
    """Ports from right to left, where these differ and there are no connections."""


class AddressesPlan(PlanModel):
    """`single`, `multiple`, or a mapping that replaces parts of one of these presets.

    `left` and `right` are the links. `left_hosts` and `right_hosts` are the addresses that the tester plays: one
    address, a prefix, `{first, last, low_bit}`, or a list of these whose varying bits have the same values.
    """

    preset: AddressPreset = AddressPreset.SINGLE
    """`single`: one host on each side; `multiple`: the last 16 bits of IPv4 addresses, or bits 96 to 111 of IPv6
    addresses, vary."""
    networks: Annotated[int, Field(ge=1, le=4096), AfterValidator(power_of_two)] = 1
    """Networks of each side, a power of two, with a route for each (RFC 2544 §12)."""
    on_link: Annotated[int, Field(ge=0, le=MOST_ON_LINK)] = 0
    """Hosts on each link itself, instead of behind a next hop."""
    left: LinkAddresses | None = None
    """Addresses of this side's link; default: the preset's."""
    right: LinkAddresses | None = None
    """Addresses of this side's link; default: the preset's."""
    left_hosts: AddressRanges | None = None
    """Addresses that the tester plays on this side; default: the preset's."""
    right_hosts: AddressRanges | None = None
    """Addresses that the tester plays on this side; default: the preset's."""
    pool: Pool | None = None
    """Public addresses by which a NAT44 or NAT66 replaces those of the left hosts, e.g. 198.19.0.4/30; default: the
    gateway's own on the right."""


class TranslationPlan(PlanModel):
    """A kind of translation, or a mapping that replaces parts of its defaults."""

    kind: TranslationKind
    """`nat64`, `nat46`, `siit` or `clat`."""
    prefix: EmbeddingPrefix | None = None
    """A /32, /40, /48, /56, /64 or /96 before an IPv4 host's address (RFC 6052 §2.2); default: 2001:2:0:64::/96."""
    pool: Pool | None = None
    """Addresses that replace those of the left hosts where connections are kept; default: 198.19.0.1/32, with
    `multiple` 198.18.0.0/24."""
    mappings: tuple[AddressMapping, ...] | None = None
    """IPv4 addresses, `{ipv4, ipv6}`, of IPv6 hosts to which IPv4 hosts send of their own accord (RFC 7757); default:
    such as fit the default addresses."""


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
    """Name that other experiments refer to."""
    title: str | None = None
    """Title in reports; default: the name."""
    sweep: str | None = None
    """Rows of fields that change together, or in a resolved plan the swept experiment."""
    cell: dict[str, Annotated[CellValue, BeforeValidator(_cell_value)]] = Field(default={})
    """Values of the swept fields in a resolved plan."""
    gateway: Annotated[GatewayConfig, Shorthand("driver", "Gateway")]
    """Driver, or a mapping of `driver` and its settings; default: required."""
    boxes_alone: bool = False
    """Whether each of a chain's two boxes is measured alone, too, with the tester as the other (RFC 8219 §4.2)."""
    whole: str | None = None
    """Experiment on the whole chain, of which this one has a box alone, for the report to compare them."""
    procedure: Annotated[ProcedureConfig, Shorthand("name", "Procedure")]
    """Procedure, or a mapping of `name` and its fields; default: required."""
    family: Family | None = None
    """`ipv4` or `ipv6`, without a translation; default: the plan's."""
    translation: Annotated[TranslationPlan, Shorthand("kind", "Translation")] | None = None
    """Kind of translation, or a mapping."""
    subscribers: AnySubscribersPlan | None = None
    """Subscribers of the core of softwires or of MAP-T, whose edge is `tester`, by a rule, e.g. {ipv4:
    198.18.128.0/24}, by {table: FILE}, or with one address, e.g. {inner: 192.168.1.2, count: 1024}; default: one."""
    protocol: Protocol = Protocol.UDP
    """Protocol of the test frames, `udp` or `tcp`, whose connections are made by handshakes."""
    frame_size: Annotated[int, Field(ge=SMALLEST_FRAME[Family.IPV4], le=LONGEST_FRAME)] | None = None
    """Bytes of a frame, FCS included, up to 9216; default: 64, with IPv6 84, of TCP 12 more, `tcp-goodput` 1518."""
    mix: Mix | None = None
    """Mix of sizes in place of `frame_size`: `imix`, `imix-csit`, a genome (RFC 6985) such as aaaaaaabbbbg, or shares
    such as 7x64, 4x594, 1x1518."""
    extension_headers: ExtensionHeaders = ExtensionHeaders.NONE
    """IPv6 extension headers before UDP: `hop-by-hop`, `destination-options`, `both` or `none` (RFC 5180 §5.3)."""
    size_convention: SizeConvention = SizeConvention.PAIRED
    """`paired`: `frame_size` is that of the IPv6 side, and the IPv4 side sends 20 bytes less; `nominal`: both sides
    send it."""
    line_rate: BitRate | None = None
    """Bit rate of one direction; default: the plan's."""
    ttl: Annotated[int, Field(ge=2, le=255)] = 64
    """TTL or hop limit."""
    dont_fragment: bool = False
    """Whether IPv4 frames have the DF bit."""
    directions: Directions | None = None
    """`bidirectional`, `forward` (from the left) or `reverse`; default: `bidirectional`."""
    addresses: Annotated[AddressesPlan, Shorthand("preset", "Addresses")] = AddressesPlan()
    """`single`, `multiple`, or a mapping; default: `single`."""
    ports: PortsPlan = PortsPlan()
    """Ports, e.g. {source: 1024-65535, destination: 80}; default: RFC 4814's, or as many as `connections` need."""
    orders: Orders = Orders()
    """Orders of addresses, ports and connections; default: `pseudorandom`."""
    flows: Count | None = None
    """Four-tuples of stateless traffic, picked at random, or TCP connections; default: all, `tcp-goodput` 1."""
    pairs: Annotated[int, Field(ge=1, le=MOST_PAIRS)] | None = None
    """Pairs of interfaces with traffic at the same time; default: 1."""
    start_interval: Annotated[Duration, Field(gt=0)] | None = None
    """Time from the start of one pair to that of the next; default: all start together."""
    cores: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Cores of the gateway that process packets; default: all."""
    connections: Count | None = None
    """Connections of phase 1, which make the experiment stateful (RFC 9693 §4.4)."""
    phase1_selection: Selection = Selection.ENUMERATE
    """`enumerate`: each frame of phase 1 has another four-tuple; `random`: four-tuples may repeat."""
    active_connections: ActiveConnections | None = None
    """Connections that phase 2 uses, e.g. 100k or {forward: 100k, reverse: 1}; default: all."""
    phase1_rate: Annotated[KnownRate, Shorthand("rate", "KnownOrAbsoluteRate")] | None = None
    """Rate of phase 1, e.g. 20k or {experiment: NAME, percent: 50}."""
    phase1_loss: Phase1Loss | None = None
    """Connections that phase 1 may leave out, e.g. 1 or 0.001%; default: none."""
    rate: Annotated[KnownRate, Shorthand("rate", "KnownOrAbsoluteRate")] | None = None
    """Rate per direction where nothing is searched, e.g. 50k or {experiment: NAME, percent: 100}."""
    alpha: Annotated[float, Field(gt=0, le=1)] | None = None
    """Validation rate as a share of the connection rate (RFC 9693 §4.6); default: 0.5."""
    search: SearchPlan = SearchPlan()
    """Limits, precision and kind of the search."""
    background: Annotated[BackgroundPlan, Shorthand("share", "Background")] | None = None
    """Share of native IPv6 frames, e.g. 10%."""
    loss_tolerance: LossTolerance | None = None
    """Share of frames that a trial may lose and pass, e.g. 0.01% or {forward: 0.01%, reverse: 0%}; default: 0."""
    baseline: str | None = None
    """Experiment whose result is 100 %."""
    expect: Thresholds | None = None
    """Thresholds of the result."""
    repeat: Annotated[Repeat, Shorthand("at_most", "Repetitions")] | None = None
    """Repetitions; default: the plan's."""
    max_invalid: Annotated[int, Field(ge=1, le=100)] = 3
    """Attempts at a step that may end without a decision."""
    timing: Annotated[TimingPlan, Shorthand("preset", "Timing")] = TimingPlan()
    """Times of trials: `rfc`, `lab`, or a mapping; default: the plan's."""

    def families(self, usual: Family) -> tuple[Family, Family]:
        """Returns the families of the left and the right side; `usual` is the plan's family."""
        family = self.family or usual
        return self.translation.kind.families if self.translation else (family, family)

    def settled_sizes(self, usual: Family) -> tuple[int, ...]:
        """Returns the sizes of frames in bytes, including the FCS, in their order, which repeats.

        By default, there is one size, the smallest that the test frames fit in.
        """
        smallest = smallest_frame(self.protocol, self.extension_headers, self.families(usual))
        if self.mix:
            return mix_sizes(self.mix, smallest)
        return (self.frame_size or self.procedure.usual_frame_size or smallest,)

    def settled_frame_size(self, usual: Family) -> int:
        """Returns the size of the longest frame in bytes, including the FCS."""
        return self.frame_size or max(self.settled_sizes(usual))


class Plan(PlanModel):
    """A plan. The models of its parts describe their fields."""

    name: Annotated[str, Pattern(NAME_PATTERN, NAME_EXPECTED), Field(max_length=64)]
    """Name, also of the run's folder."""
    description: str = ""
    """Text about the plan."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    """Seed of every pseudorandom choice: the same seed sends the same frames."""
    repeat: Annotated[Repeat, Shorthand("at_most", "Repetitions")] = Repeat(at_most=20)
    """Repetitions of every experiment, e.g. 20 or {until: 3%, at_most: 30}."""
    order: RunOrder = RunOrder.BLOCKS
    """Order of repetitions, `blocks` or `experiments`."""
    family: Family = Family.IPV4
    """`ipv4` or `ipv6`."""
    line_rate: BitRate | None = None
    """Bit rate of one direction, e.g. 10Gbps, for percentages and the theoretical maximum."""
    timing: Annotated[TimingPlan, Shorthand("preset", "Timing")] = TimingPlan()
    """Times of trials: `rfc`, `lab`, or a mapping; default: `rfc`."""
    testbed: TestbedConfig = LabConfig()
    """Testbed, by its `kind`; default: `{kind: lab}`."""
    allow_public_destinations: bool = False
    """Whether test traffic may leave benchmark and private addresses (RFC 6815)."""
    published: list[Annotated[str, AfterValidator(_known_table)]] = Field(default=[])
    """Published tables to print beside the measured ones, e.g. [iptables-cores]; default: none."""
    experiments: Annotated[list[ExperimentPlan], Field(min_length=1)]
    """Experiments, which take rates from earlier ones only."""
