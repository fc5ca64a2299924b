# SPDX-License-Identifier: Apache-2.0
"""The YAML plan as its author writes it.

What is not given stays None here; `resolve` fills it in. Every model forbids unknown fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import IPv6Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.addresses import AddressMapping, IPNetwork, LinkAddresses, power_of_two
from natxy.plan.background import BackgroundPlan
from natxy.plan.base import PlanModel, Shorthand
from natxy.plan.frame_sizes import LONGEST_FRAME, SMALLEST_FRAME
from natxy.plan.gateways import GatewayConfig
from natxy.plan.goals import GoalPlan
from natxy.plan.hardware import HardwareConfig, HostsConfig
from natxy.plan.hosts import Hosts
from natxy.plan.loop import LoopConfig
from natxy.plan.loss_tolerance import LossTolerance
from natxy.plan.procedures import ProcedureConfig
from natxy.plan.terms import Family, Order, SizeConvention, TranslationKind
from natxy.plan.units import AbsoluteRate, BitRate, Count, Duration, Rate
from natxy.published import published_names

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*$"
# A cell of a sweep has the swept experiment's name and its coordinates.
CELL_NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*(/[A-Za-z0-9._=,:%+-]+)?$"

CellValue = bool | int | float | str


class Directions(StrEnum):
    """`forward` is left to right, the initiator's direction."""

    BIDIRECTIONAL = "bidirectional"
    FORWARD = "forward"
    REVERSE = "reverse"


class AddressPreset(StrEnum):
    SINGLE = "single"
    MULTIPLE = "multiple"


class TimingPreset(StrEnum):
    RFC = "rfc"
    LAB = "lab"


# --- traffic -----------------------------------------------------------------------------------------------------


class PortRange(PlanModel):
    """`1024-65535`, one port, or `{min: 1024, max: 65535}`."""

    min: Annotated[int, Field(ge=0, le=65535)]
    max: Annotated[int, Field(ge=0, le=65535)]

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, {"type": "integer"}, handler(schema)]}

    @model_validator(mode="before")
    @classmethod
    def _written_as_text(cls, given: object) -> object:
        if isinstance(given, int) and not isinstance(given, bool):
            return {"min": given, "max": given}
        if isinstance(given, str):
            match = re.fullmatch(r"\s*(\d+)\s*[-–]\s*(\d+)\s*", given)
            if not match:
                raise ValueError(f"expected a port range such as 1024-65535, got {given!r}")
            return {"min": int(match[1]), "max": int(match[2])}
        return given

    @model_validator(mode="after")
    def _ordered(self) -> PortRange:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) must not be above max ({self.max})")
        return self

    @property
    def size(self) -> int:
        return self.max - self.min + 1


class PortsPlan(PlanModel):
    source: PortRange | None = None
    destination: PortRange | None = None


class Orders(PlanModel):
    """How varying fields follow each other in phase 1 and in traffic without connections, and how phase 2 reads the
    state table (RFC 9693 §4.4)."""

    source_address: Order = Order.PSEUDORANDOM
    destination_address: Order = Order.PSEUDORANDOM
    source_port: Order = Order.PSEUDORANDOM
    destination_port: Order = Order.PSEUDORANDOM
    state_table: Order = Order.PSEUDORANDOM


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
    left_hosts: Hosts | None = None
    right_hosts: Hosts | None = None


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


# --- time and search ---------------------------------------------------------------------------------------------


class TimingPlan(PlanModel):
    """A preset's name, or a mapping that replaces parts of a preset."""

    preset: TimingPreset | None = None
    trial: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="traffic of one throughput trial (RFC 2544 §24)"
    )
    drain: Duration | None = Field(default=None, description="wait for residual frames (RFC 2544 §23)")
    settle: Duration | None = Field(
        default=None,
        description="rest before a trial (RFC 2544 §23); twice as long before the second try of an invalid one",
    )
    learning_pause: Duration | None = Field(
        default=None, description="wait after addresses were resolved, and between phases 1 and 2 (RFC 2544 §23)"
    )
    overrun_floor: Duration | None = Field(
        default=None, description="lateness of the last frame that never makes a trial invalid"
    )
    max_pause: Duration | None = Field(
        default=None,
        description="a trial whose loss the bursts after longer pauses of the tester's core could explain is invalid",
    )


class SearchPlan(PlanModel):
    """Rates of a throughput search are per direction."""

    kind: Literal["binary", "mlrsearch"] = "binary"
    min_rate: Rate | None = None
    max_rate: Rate | None = None
    error: Rate | None = Field(
        default=None, description="the search ends when its bracket is this narrow; a percentage is of the result"
    )
    goal: Annotated[GoalPlan, Shorthand("preset")] | None = Field(
        default=None, description="of an mlrsearch: which trials make a rate pass"
    )

    @model_validator(mode="after")
    def _goal_of_mlrsearch(self) -> SearchPlan:
        if self.goal is not None and self.kind != "mlrsearch":
            raise ValueError("a goal belongs to `kind: mlrsearch`; remove it, or change the kind")
        return self


class KnownRate(PlanModel):
    """An absolute rate, or a share of the median that an earlier experiment measured."""

    rate: AbsoluteRate | None = None
    experiment: str | None = None
    percent: Annotated[float, Field(gt=0, le=100)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> KnownRate:
        share = self.experiment is not None and self.percent is not None
        if (self.rate is not None) == share or (self.experiment is None) != (self.percent is None):
            raise ValueError("expected either a rate such as 50k or {experiment: NAME, percent: 50}")
        return self

    def given_by(self, medians: Mapping[str, float]) -> float | None:
        """The rate, with the `medians` of experiments by their names; None where the one needed is missing or 0."""
        if self.experiment is None or self.percent is None:
            return self.rate
        return medians.get(self.experiment, 0.0) * self.percent / 100 or None


# --- testbeds ----------------------------------------------------------------------------------------------------


class SharedMachine(PlanModel):
    """Who has which cores where tester and gateway are on one machine."""

    tester_cores: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        default=None, description="cores of the engine's workers; automatic: core 0"
    )
    dut_cores: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        default=None, description="cores of the gateway; automatic: another core than the tester's where there is one"
    )


class LabConfig(SharedMachine):
    """A throw-away testbed on this machine: network namespaces and veth pairs."""

    kind: Literal["lab"] = "lab"
    io: Literal["af_xdp", "af_packet"] = "af_xdp"
    queues: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="of a port; more than 1 needs af_packet")


class MemifConfig(SharedMachine):
    """Tester and reference gateway, two programs on this machine, joined by shared memory (DPDK's memif)."""

    kind: Literal["memif"] = "memif"


class SimulatedTestbedConfig(PlanModel):
    """No machine at all: an engine and a gateway in virtual time, to try a plan."""

    kind: Literal["simulated"] = "simulated"
    tester_limit: AbsoluteRate | None = Field(
        default=None, description="most frames per second that the simulated tester sends on one stream"
    )
    dut_cores: Annotated[int, Field(ge=1, le=4096)] = Field(
        default=1, description="of the gateway, whose limits are those of one core"
    )
    noise: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="relative spread of the gateway's limits from trial to trial"
    )


TestbedConfig = Annotated[
    HardwareConfig | HostsConfig | LabConfig | LoopConfig | MemifConfig | SimulatedTestbedConfig,
    Field(discriminator="kind"),
]


def _known_table(name: str) -> str:
    if name not in published_names():
        raise ValueError(f"no published table is named {name!r}; there are: {', '.join(published_names())}")
    return name


# --- the plan ----------------------------------------------------------------------------------------------------


class ExperimentPlan(PlanModel):
    name: Annotated[str, Field(pattern=CELL_NAME_PATTERN, max_length=200)]
    title: str | None = None
    sweep: str | None = Field(default=None, description="of a cell: the swept experiment's name; in a plan, rows")
    cell: dict[str, CellValue] = Field(default={}, description="of a cell: what is swept, and the value here")
    gateway: Annotated[GatewayConfig, Shorthand("driver")]
    procedure: Annotated[ProcedureConfig, Shorthand("name")]
    family: Family | None = None
    translation: Annotated[TranslationPlan, Shorthand("kind")] | None = Field(
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
    addresses: Annotated[AddressesPlan, Shorthand("preset")] = AddressesPlan()
    ports: PortsPlan = PortsPlan()
    orders: Orders = Orders()
    flows: Count | None = Field(default=None, description="four-tuples of traffic without connections")
    cores: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        default=None, description="of the gateway's, that do packet work; all it has when not given"
    )
    connections: Count | None = Field(default=None, description="connections of phase 1")
    phase1_rate: Annotated[KnownRate, Shorthand("rate", "string", "number")] | None = None
    rate: Annotated[KnownRate, Shorthand("rate", "string", "number")] | None = Field(
        default=None, description="at which a procedure without a search measures; frames per second per direction"
    )
    alpha: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="validation rate as a share of the connection rate (RFC 9693 §4.6)"
    )
    search: SearchPlan = SearchPlan()
    background: Annotated[BackgroundPlan, Shorthand("share")] | None = Field(
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
    timing: Annotated[TimingPlan, Shorthand("preset")] = TimingPlan()

    def families(self, usual: Family) -> tuple[Family, Family]:
        """Of the left and the right side; `usual` is the plan's."""
        family = self.family or usual
        return self.translation.kind.families if self.translation else (family, family)

    def settled_frame_size(self, usual: Family) -> int:
        """Bytes, FCS counted; the smallest that its test frames fit in where nothing is said."""
        smallest = max(SMALLEST_FRAME[family] for family in self.families(usual))
        return self.frame_size or self.procedure.usual_frame_size or smallest


class Plan(PlanModel):
    name: Annotated[str, Field(pattern=NAME_PATTERN, max_length=64)]
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    repeat: Annotated[int, Field(ge=1, le=10_000)] = Field(default=20, description="repetitions of every experiment")
    family: Family = Family.IPV4
    line_rate: BitRate | None = Field(default=None, description="of one direction; what percentages are shares of")
    timing: Annotated[TimingPlan, Shorthand("preset")] = TimingPlan()
    testbed: TestbedConfig = LabConfig()
    allow_public_destinations: bool = Field(
        default=False, description="let test traffic leave the benchmark and private ranges (RFC 6815)"
    )
    published: list[Annotated[str, AfterValidator(_known_table)]] = Field(
        default=[], description="tables of other people's figures that the report prints beside its own"
    )
    experiments: Annotated[list[ExperimentPlan], Field(min_length=1)]
