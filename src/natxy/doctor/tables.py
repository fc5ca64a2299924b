# SPDX-License-Identifier: Apache-2.0
"""Which of a plan's experiments ask more of this machine's connection tracking table than it holds."""

from __future__ import annotations

from natxy.doctor.programs import looks_here
from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.system.machine_sysctls import MachineSysctls


def small_tables(plan: ResolvedPlan) -> dict[str, list[str]]:
    """A line for each size that is too small, with what to do about it: who needs more.

    Timeouts are a network namespace's own, and a lab has none yet.
    """
    small: dict[str, list[str]] = {}
    transport = LocalTransport(MachineSysctls())
    for experiment in plan.experiments if looks_here(plan) else ():
        gateway = experiment.gateway
        if experiment.connections is None:
            continue
        try:
            GATEWAYS[gateway.driver].check_machine(gateway, transport, experiment.connections)
        except PlanError as error:
            small.setdefault(str(error), []).append(experiment.name)
        except DutError:
            # Linux has no table, and no size of one, before the first rule that needs it.
            break
    return small
