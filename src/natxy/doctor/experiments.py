# SPDX-License-Identifier: Apache-2.0
"""Finds the experiments of a plan that this machine cannot measure, and the programs or table sizes they lack."""

from __future__ import annotations

import shutil
from typing import Final

from pydantic import TypeAdapter

from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.gateways import GatewayConfig
from natxy.plan.scale import state_table_bytes, table_need
from natxy.system.machine import available_bytes
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.lab_kernels import why_not

_CONFIG: Final[TypeAdapter[GatewayConfig]] = TypeAdapter(GatewayConfig)


def missing_programs(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of the experiments that cannot be measured, by the reason.

    A reason names the gateway or the procedure, and the missing program with its remedy.
    """
    lacking: dict[str, list[str]] = {}
    for experiment in plan.experiments if plan.testbed.gateway_is_local else ():
        lines = [f"{experiment.gateway.title}: {reason}" for reason in why_not(experiment.gateway)]
        if experiment.procedure.between_hosts and plan.testbed.has_ports and not shutil.which("iperf3"):
            lines.append(f"{experiment.procedure.name}: iperf3 is not installed: apt install iperf3")
        for line in lines:
            lacking.setdefault(line, []).append(experiment.name)
    return lacking


def unreadable_secrets(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of the experiments whose gateway needs a secret that cannot be read here, by the reason."""
    unreadable: dict[str, list[str]] = {}
    for experiment in plan.experiments:
        for hop in experiment.gateway.hops:
            for reason in GATEWAYS[hop.driver].unreadable_secrets(hop):
                unreadable.setdefault(reason, []).append(experiment.name)
    return unreadable


def small_tables(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of the experiments that need a larger connection tracking table, by the error.

    Timeouts are not examined: each network namespace has its own, and a lab's do not exist yet.
    """
    small: dict[str, list[str]] = {}
    transport = LocalTransport(MachineSysctls())
    for experiment in plan.experiments if plan.testbed.gateway_is_local else ():
        if experiment.connections is None:
            continue
        try:
            for hop in experiment.gateway.hops:
                GATEWAYS[hop.driver].check_machine(hop, transport, experiment.connections)
        except PlanError as error:
            small.setdefault(str(error), []).append(experiment.name)
        except DutError:
            # Linux has no table, and so no size, before the first rule that needs it.
            break
    return small


def small_memory(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of the experiments whose tables are larger than this machine's available memory, by the reason.

    The tester's own table is here, and that of a gateway on this machine.
    """
    small: dict[str, list[str]] = {}
    available = available_bytes()
    if plan.testbed.in_virtual_time or available is None:
        return small
    for experiment in plan.experiments:
        # The sizes do not depend on a rate.
        if (need := table_need(experiment, None)) is None:
            continue
        local = experiment.gateway.hops if plan.testbed.gateway_is_local else ()
        taken = state_table_bytes(need) + sum(hop.table_bytes(need) or 0 for hop in local)
        if taken > available:
            text = (
                f"its connections take about {taken / 1e9:.3g} GB in tables on this machine, where "
                f"{available / 1e9:.3g} GB are available: ask for fewer `connections`"
            )
            small.setdefault(text, []).append(experiment.name)
    return small


def lab_gateways() -> list[GatewayConfig]:
    """Returns the default settings of every driver that a lab can set up."""
    return [
        _CONFIG.validate_python({"driver": name})
        for name, driver in GATEWAYS.items()
        if issubclass(driver, LinuxGateway)
    ]
