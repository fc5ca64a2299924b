# SPDX-License-Identifier: Apache-2.0
"""Offers programs that write plans what natxy knows of plans: their checks, and facts about gateways and procedures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from natxy.dut.limits import MOST_MAPPED_HOSTS
from natxy.dut.registry import SINGLE_GATEWAYS
from natxy.plan.address_presets import RANDOM_PORTS, is_safe
from natxy.plan.experiment import Experiment
from natxy.plan.frames.background import DEFAULT_LINKS, LONGEST_CYCLE
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import GatewayModel, TableNeed
from natxy.plan.hosts import Ports
from natxy.plan.model.addresses import LinkPair
from natxy.plan.model.repeat import Repeat
from natxy.plan.model.timing import RFC_TIMING, Timing
from natxy.plan.procedures import ProcedureConfig
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.latency import LEAST_TAGGED
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.plan.resolve import DEFAULT_ALPHA
from natxy.plan.scale import enough_addresses
from natxy.plan.yaml.loading import plan_of, problems_of
from natxy.plan.zero_checksums import tolerance_needed, why_tolerance

__all__ = [
    "DEFAULTS",
    "DRIVERS",
    "LONGEST_CYCLE",
    "MOST_MAPPED_HOSTS",
    "Defaults",
    "Experiment",
    "GatewayModel",
    "Repeat",
    "TableNeed",
    "enough_addresses",
    "gateway_of",
    "is_safe",
    "plan_of",
    "problems_of",
    "procedure_of",
    "tolerance_needed",
    "why_tolerance",
]


@dataclass(frozen=True)
class Defaults:
    """Holds what natxy gives to fields that a plan leaves out; each is named by its field, or by the part of a plan."""

    alpha: float
    background: LinkPair
    max_connections: int
    ports: Ports
    tagged_frames: int
    timing: Timing


DEFAULTS: Final = Defaults(
    alpha=DEFAULT_ALPHA,
    background=DEFAULT_LINKS,
    max_connections=TableCapacityConfig().max_connections,
    ports=RANDOM_PORTS,
    tagged_frames=LEAST_TAGGED,
    timing=RFC_TIMING,
)

DRIVERS: Final = tuple(SINGLE_GATEWAYS)
"""Names the drivers of single gateways, in the order of `natxy list gateways`."""

_GATEWAY: Final[TypeAdapter[GatewayModel]] = TypeAdapter(GatewayConfig)
_PROCEDURE: Final[TypeAdapter[ProcedureDeclaration]] = TypeAdapter(ProcedureConfig)


def gateway_of(settings: Mapping[str, object]) -> GatewayModel:
    """Returns the gateway that a plan has with these settings; ValidationError if they are not all that it needs."""
    return _GATEWAY.validate_python(settings)


def procedure_of(settings: Mapping[str, object]) -> ProcedureDeclaration:
    """Returns the procedure that a plan has with these settings, of which `name` is one; errors as of `gateway_of`."""
    return _PROCEDURE.validate_python(settings)
