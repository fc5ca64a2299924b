# SPDX-License-Identifier: Apache-2.0
"""Every procedure that a plan can name. A new one adds its declaration here and its code to `natxy.procedures`."""

from __future__ import annotations

from typing import Annotated, Final, get_args

from pydantic import Field

from natxy.plan.procedures.back_to_back import BackToBackConfig
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.burst import BurstConfig
from natxy.plan.procedures.connection_rate import ConnectionRateConfig, ValidatedConnectionRateConfig
from natxy.plan.procedures.delay_variation import IpdvConfig, PdvConfig
from natxy.plan.procedures.frame_loss_rate import FrameLossRateConfig
from natxy.plan.procedures.latency import LatencyConfig
from natxy.plan.procedures.overload import OverloadConfig
from natxy.plan.procedures.reset import ResetConfig
from natxy.plan.procedures.single_tag_latency import SingleTagLatencyConfig
from natxy.plan.procedures.system_recovery import SystemRecoveryConfig
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig
from natxy.plan.procedures.tear_down_rate import TearDownRateConfig
from natxy.plan.procedures.throughput import ThroughputConfig

ProcedureConfig = Annotated[
    ThroughputConfig
    | FrameLossRateConfig
    | LatencyConfig
    | SingleTagLatencyConfig
    | PdvConfig
    | IpdvConfig
    | OverloadConfig
    | BackToBackConfig
    | BurstConfig
    | SystemRecoveryConfig
    | ResetConfig
    | ConnectionRateConfig
    | ValidatedConnectionRateConfig
    | TearDownRateConfig
    | TableCapacityConfig
    | TcpGoodputConfig,
    Field(discriminator="name"),
]

DECLARATIONS: Final[dict[str, type[ProcedureDeclaration]]] = {
    declaration.procedure_name(): declaration for declaration in get_args(get_args(ProcedureConfig)[0])
}


def takers(field: str) -> list[str]:
    """The procedures that take an experiment's `field`; none for a field that all of them take."""
    return [name for name, declaration in DECLARATIONS.items() if field in declaration.takes]
