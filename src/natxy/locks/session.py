# SPDX-License-Identifier: Apache-2.0
"""Reserves what a plan measures with and what it measures, so that sessions on this machine do not meet."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from natxy.cleanup.leftovers import problems_of_leftovers
from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import Warned
from natxy.locks.files import Holder, exclusive
from natxy.locks.there import exclusive_there
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.testbeds.namespaces import other_labs


def claims(plan: ResolvedPlan, dut_cores: int, usable: Iterable[int]) -> Iterator[str]:
    """Yields the names of what no other session may use meanwhile: cores, ports and hosts of the tester, and the DUT.

    `dut_cores`: how many cores the plan needs for its gateways; `usable`: those that natxy may run on. A lab and a
    virtual machine have only cores to claim: every run makes its own.
    """
    testbed = plan.testbed
    if testbed.in_virtual_time:
        return
    if cores := testbed.assign_cores(usable, dut_cores):
        yield from (f"core {core}" for core in {*cores.tester, *cores.dut})
    if ports := testbed.engine_ports:
        yield from (f"port {port.pci or port.interface}" for port in ports.of_cables)
    yield from (f"host {host.ssh}" for host in testbed.remote_hosts.values())
    yield from (f"tester {tester.location.ssh}" for tester in testbed.further_testers)
    for dut in testbed.dut_locations:
        if dut.ssh:
            yield f"gateway {dut.ssh}"
        elif dut.namespace:
            yield f"namespace {dut.namespace}"
        else:
            yield from (f"interface {name}" for name in (dut.left, dut.right))


@contextmanager
def reserved(plan: ResolvedPlan, dut_cores: int, listener: RunListener) -> Iterator[deque[str]]:
    """Waits until no other session uses what the plan claims, keeps that until the context ends, and gives back first
    what killed runs left on the plan's machines. Yields where texts arrive, from other threads, about locks that are
    lost meanwhile.

    Tells the listener for whom this waits, what cannot be given back, and who measures on other cores meanwhile.
    Raises DutError when a lock cannot be made or the ledger cannot be read.
    """

    def tell(text: str) -> None:
        listener.receive(Warned(text=text))

    def waiting(holder: Holder) -> None:
        tell(f"waiting for {holder.what}, which process {holder.pid} ({holder.command}) holds")

    there = [tester.location.ssh for tester in plan.testbed.further_testers]
    there += [dut.ssh for dut in plan.testbed.dut_locations if dut.ssh]
    losses: deque[str] = deque()
    with ExitStack() as held:
        held.enter_context(exclusive(claims(plan, dut_cores, os.sched_getaffinity(0)), waiting))
        # Plans that name the machines alike reserve them in the same order, so that no two wait for each other.
        own: set[str] = set()
        for _, target in sorted({(each.host, each.port or 0, str(each.config)): each for each in there}.items()):
            text = f"waiting for {target}, which another run holds"
            lost = (
                f"the lock of {target} is lost with its connection, and somebody has it, perhaps a run that measures "
                "at the same time; natxy tries to get it again"
            )
            held.enter_context(exclusive_there(target, partial(tell, text), partial(losses.append, lost), own))
        if not plan.testbed.in_virtual_time:
            for problem in problems_of_leftovers(plan):
                tell(problem)
        for other in other_labs() if plan.testbed.is_local else ():
            tell(f"another natxy, process {other.pid}, has a lab on this machine; the two disturb each other")
        yield losses


class LossesTold(RunListener):
    """Passes every event to a listener, and tells it first of the losses that have arrived since the last one."""

    def __init__(self, losses: deque[str], listener: RunListener) -> None:
        self._losses = losses
        self._listener = listener

    def receive(self, event: Event) -> None:
        while self._losses:
            self._listener.receive(Warned(text=self._losses.popleft()))
        self._listener.receive(event)
