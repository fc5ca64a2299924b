# SPDX-License-Identifier: Apache-2.0
"""Every procedure by the name a plan gives it. A new one adds its class here, and its declaration to the plan's."""

from __future__ import annotations

from typing import Final

from natxy.plan.experiment import Experiment
from natxy.procedures.back_to_back import BackToBack
from natxy.procedures.burst import Burst
from natxy.procedures.common.base import Procedure
from natxy.procedures.connection_rate import ConnectionRate, ValidatedConnectionRate
from natxy.procedures.delay_variation import Ipdv, Pdv
from natxy.procedures.frame_loss_rate import FrameLossRate
from natxy.procedures.latency import Latency
from natxy.procedures.overload import Overload
from natxy.procedures.reset import Reset
from natxy.procedures.single_tag_latency import SingleTagLatency
from natxy.procedures.system_recovery import SystemRecovery
from natxy.procedures.table_capacity import TableCapacity
from natxy.procedures.tcp_goodput import TcpGoodput
from natxy.procedures.tear_down_rate import TearDownRate
from natxy.procedures.throughput import Throughput

PROCEDURES: Final[dict[str, Procedure]] = {
    procedure.declaration.procedure_name(): procedure
    for procedure in (
        Throughput(),
        FrameLossRate(),
        Latency(),
        SingleTagLatency(),
        Pdv(),
        Ipdv(),
        Overload(),
        BackToBack(),
        Burst(),
        SystemRecovery(),
        Reset(),
        ConnectionRate(),
        ValidatedConnectionRate(),
        TearDownRate(),
        TableCapacity(),
        TcpGoodput(),
    )
}


def procedure_of(experiment: Experiment) -> Procedure:
    return PROCEDURES[experiment.procedure.name]
