# SPDX-License-Identifier: Apache-2.0
"""Lists where a run departs from the RFCs: by its plan, and by the testbeds that it is measured on."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.procedures.deviations import deviations
from natxy.run.cores import most_cores
from natxy.testbeds.base import Testbed
from natxy.testbeds.lab_kernels import why_not
from natxy.testbeds.registry import TestbedNeeds, create_testbed


def departures(plan: ResolvedPlan) -> list[str]:
    """Returns each departure once; those that only a machine behind ssh knows are known when it is reached.

    Raises PlanError when this machine lacks what a testbed needs.
    """
    return [*dict.fromkeys([*_of_testbeds(plan), *deviations(plan)])]


def needs(plan: ResolvedPlan, experiment: Experiment) -> TestbedNeeds:
    return TestbedNeeds(experiment.address_plan, experiment.gateway, most_cores(plan), plan.seed)


def departures_of(testbed: Testbed, experiment: Experiment) -> list[str]:
    """Returns the departures of a testbed, which need not be built unless it has machines behind ssh."""
    further = testbed.host_deviations() if experiment.procedure.between_hosts else testbed.engine_deviations()
    return [*testbed.deviations(), *further]


def _of_testbeds(plan: ResolvedPlan) -> Iterator[str]:
    dut = plan.testbed.dut_location
    if plan.testbed.remote_hosts or plan.testbed.further_testers or (dut and dut.ssh):
        return
    # Settings of a gateway may be lists, so that a key has no hash.
    alike = {repr((each.gateway, each.procedure.between_hosts)): each for each in plan.experiments}
    for experiment in alike.values():
        if not plan.testbed.gateway_is_local or not any(why_not(experiment.gateway)):
            yield from departures_of(create_testbed(plan.testbed, needs(plan, experiment)), experiment)
