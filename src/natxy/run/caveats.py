# SPDX-License-Identifier: Apache-2.0
"""Collects the caveats of a run: those of its plan, and those of the testbeds that it is measured on."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.procedures.caveats import caveats_of_plan
from natxy.run.cores import most_cores
from natxy.testbeds.base import Testbed
from natxy.testbeds.lab_kernels import why_not
from natxy.testbeds.registry import TestbedNeeds, create_testbed


def caveats_of_run(plan: ResolvedPlan) -> list[Caveat]:
    """Returns each caveat once; those that only a machine behind ssh knows are known when it is reached.

    Raises PlanError when this machine lacks what a testbed needs.
    """
    return [*dict.fromkeys([*_of_testbeds(plan), *caveats_of_plan(plan)])]


def needs(plan: ResolvedPlan, experiment: Experiment) -> TestbedNeeds:
    return TestbedNeeds(experiment.path, most_cores(plan), plan.seed)


def caveats_of_testbed(testbed: Testbed, experiment: Experiment) -> list[Caveat]:
    """Returns the caveats of a testbed, which need not be built unless it has machines behind ssh."""
    further = testbed.host_caveats() if experiment.procedure.between_hosts else testbed.engine_caveats()
    return [*testbed.caveats(), *further]


def _of_testbeds(plan: ResolvedPlan) -> Iterator[Caveat]:
    if plan.testbed.remote_hosts or plan.testbed.further_testers or any(dut.ssh for dut in plan.testbed.dut_locations):
        return
    # Settings of a gateway may be lists, so that a key has no hash.
    alike = {repr((each.gateway, each.procedure.between_hosts)): each for each in plan.experiments}
    for experiment in alike.values():
        if not plan.testbed.gateway_is_local or not any(why_not(experiment.gateway)):
            yield from caveats_of_testbed(create_testbed(plan.testbed, needs(plan, experiment)), experiment)
