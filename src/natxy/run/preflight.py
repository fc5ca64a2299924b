# SPDX-License-Identifier: Apache-2.0
"""Finds what a plan needs of this machine before anything is measured: experiments that cannot be, and why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, PlanError
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.scale import foreseen_refusals, state_table_bytes, table_need
from natxy.plan.testbeds.base import TestbedModel
from natxy.plan.testbeds.vm import VmConfig
from natxy.plan.zero_checksums import without_tolerance
from natxy.results.reader import RunReader
from natxy.run.cores import check_cores
from natxy.system.ledger import Ledger
from natxy.system.machine import available_bytes
from natxy.system.machine_sysctls import REMEDY, MachineSysctls, is_read_only
from natxy.testbeds.lab_kernels import why_not
from natxy.testbeds.namespaces import check_root
from natxy.testbeds.vm.accelerator import choose_accelerator, describe_accelerator
from natxy.testbeds.vm.image import find_image


@dataclass(frozen=True)
class Preflight:
    """Holds the names of the experiments that will be skipped or fail, by the reason, and what may spoil results.

    `notes` say what will be used, `warnings` what is doubtful.
    """

    skipped: Mapping[str, Sequence[str]] = field(default_factory=dict)
    failing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def lines(self) -> Iterator[str]:
        """A line for each experiment or group of experiments that will not be measured."""
        for ending, found in (("be skipped", self.skipped), ("fail", self.failing)):
            yield from (f"Will {ending}: {', '.join(names)}: {reason}" for reason, names in found.items())


def examined(plan: ResolvedPlan) -> Preflight:
    """Returns what this machine lacks for the plan.

    Raises PlanError or DutError if no gateway of the plan can run here, or if an earlier run or a secret that it names
    cannot be read.
    """
    check_cores(plan)
    check_sysctls(plan)
    _check_earlier_runs(plan)
    if unreadable := unreadable_secrets(plan):
        raise PlanError("\n".join(f"{', '.join(names)}: {reason}" for reason, names in unreadable.items()))
    lacking = missing_programs(plan)
    if {name for names in lacking.values() for name in names} == {each.name for each in plan.experiments}:
        raise DutError("\n".join(["this machine cannot run any of the plan's gateways:", *lacking]))
    failing = small_tables(plan) | small_memory(plan)
    notes = []
    if isinstance(plan.testbed, VmConfig):
        try:
            disk = find_image(plan.testbed).disk
        except PlanError as error:
            # Plans are also checked on other machines than the one that measures them.
            failing[str(error)] = [each.name for each in plan.experiments]
        else:
            accelerator = describe_accelerator(choose_accelerator(plan.testbed.accelerator))
            notes.append(f"The virtual machine: {disk}, run by QEMU with {accelerator}")
    return Preflight(lacking, failing, tuple(notes), tuple(_warnings(plan)))


def prepared(plan: ResolvedPlan) -> Preflight:
    """Returns the same, before a run. Raises PlanError or DutError if natxy may not change this machine either."""
    found = examined(plan)
    if not plan.testbed.in_virtual_time:
        if plan.testbed.is_local:
            check_root()
        Ledger().check_writable()
    return found


def _warnings(plan: ResolvedPlan) -> Iterator[str]:
    for name in plan.unjudged_ratios:
        yield f"{name}: its ratio is not judged, because `--only` leaves out the baseline; name that too"
    hops = [hop for each in plan.experiments for hop in each.gateway.hops]
    for driver, untried in {hop.driver: hop.untried for hop in hops}.items():
        if untried:
            yield f"{driver} {untried}"
    for reason, names in (without_tolerance(plan) | foreseen_refusals(plan)).items():
        yield f"{', '.join(names)}: {reason}"


def _check_earlier_runs(plan: ResolvedPlan) -> None:
    """Raises PlanError if an earlier run that a threshold names cannot be read."""
    for experiment in plan.experiments:
        if experiment.expect and experiment.expect.no_worse_than:
            try:
                RunReader(Path(experiment.expect.no_worse_than.baseline))
            except PlanError as error:
                raise PlanError(f"{experiment.name}: `no_worse_than`: {error}") from error


def check_sysctls(plan: ResolvedPlan) -> None:
    """Raises DutError when the testbed needs sysctls of this machine, and /proc/sys is read-only."""
    if _sets_sysctls(plan.testbed) and is_read_only():
        raise DutError(f"/proc/sys is read-only here, as it is in most containers. {REMEDY}")


def _sets_sysctls(testbed: TestbedModel) -> bool:
    ports = testbed.engine_ports
    gateway_here = any(dut.ssh is None and not dut.may_be_elsewhere for dut in testbed.dut_locations)
    ports_of_kernel = ports is not None and (
        ports.medium in ("veth", "tap") or any(port.interface for port in ports.of_cables)
    )
    return gateway_here or ports_of_kernel


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
        if experiment.connections is None or (need := table_need(experiment, None)) is None:
            continue
        try:
            for hop in experiment.gateway.hops:
                GATEWAYS[hop.driver].check_machine(hop, transport, need.connections)
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
