# SPDX-License-Identifier: Apache-2.0
"""Sets up what an experiment is measured on: testbed, gateway and tester, in this order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from natxy.cleanup.gateways import recorded_gateway
from natxy.dut.base import Capability, Gateway
from natxy.dut.linux.counting import CountWatches
from natxy.dut.transport.hotplug import CoreSwitch
from natxy.errors import DutError, DutLostError, GatewayMissingError
from natxy.events.listener import RunListener
from natxy.events.run import TestbedBuilt, TestbedRemoved
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.hosts import Addresses
from natxy.plan.path import GatewayPath
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.probe.binding import binding_of
from natxy.probe.path import ProbedPath
from natxy.procedures.common.repetition import GatewayContext, Tester
from natxy.run.caveats import caveats_of_testbed, needs
from natxy.run.cores import set_cores
from natxy.system.interrupts import dumped, interrupts_held_back
from natxy.system.ledger import Ledger
from natxy.system.niceness import HIGHEST, LOWEST, Niceness
from natxy.system.programs import owned_programs
from natxy.tcp.hosts import TcpHosts
from natxy.testbeds.base import Testbed
from natxy.testbeds.gateway_watch import GatewayWatch
from natxy.testbeds.lab_kernels import why_not
from natxy.testbeds.registry import create_testbed

SetupKey = tuple[GatewayPath, bool, Addresses | None]

MOST_STANDING: Final = 4
"""Set-ups that stand at a time: NAT and forwarding, with one address and with many. Each has an engine's memory."""


def setup_key(experiment: Experiment) -> SetupKey:
    """Returns what a set-up depends on: experiments with equal keys are measured on the same one."""
    hosts = experiment.addresses if experiment.procedure.between_hosts else None
    # A gateway whose cores were set has all of them again only when it is set up anew.
    return experiment.path, experiment.cores is None, hosts


@dataclass(frozen=True)
class Setup:
    """A testbed, a gateway and a tester in use, with what the report needs to know of them.

    `watch` is None where the gateway's cores cannot be watched. `sleep` waits in the testbed's time. `dut_cores`: the
    cores that frames can be steered to; none when the testbed cannot choose. `learn` sends learning frames; None where
    nothing learns from them. `set_up_again` sets the gateway up on a DUT that has booted, with the cores of the present
    experiment; None where the DUT is no machine of its own, and for several gateways. `tester_cores`: those of this
    machine that only measure.
    `counting` reads the DUT's counters around a trial; None where nothing can.
    """

    tester: Tester
    gateway: GatewayContext
    watch: GatewayWatch | None
    sleep: Callable[[float], None]
    dut_cores: Sequence[int]
    engine_info: dict[str, Any]
    description: dict[str, str]
    dut_description: dict[str, str]
    caveats: list[Caveat]
    dut_hardware: Sequence[dict[str, str]] = ()
    learn: Callable[[], None] | None = None
    set_up_again: Callable[[], None] | None = None
    tester_cores: Sequence[int] = ()
    counting: CountWatches | None = None


@dataclass(eq=False)
class _Standing:
    """A set-up that stands, or is about to: `stack` removes what there is of it. No experiment fits a set-up whose
    `made_for` is None."""

    stack: ExitStack = field(default_factory=ExitStack)
    setup: Setup | None = None
    made_for: SetupKey | None = None


class Setups:
    """Provides the setup for one experiment after the other, and keeps it while it fits; leaving removes it.

    Set-ups that do not disturb each other stand side by side, so that a change between their experiments takes no time.
    The engine's stderr goes to `engine_log`.
    """

    def __init__(self, plan: ResolvedPlan, engine_log: Path, listener: RunListener | None = None) -> None:
        self._plan = plan
        self._engine_log = engine_log
        self._listener = listener or RunListener()
        # The last one is the present one.
        self._standing: list[_Standing] = []
        self._experiment: Experiment | None = None
        # A testbed that outlives its gateways, and its MTU.
        self._lasting = ExitStack()
        self._kept: tuple[Testbed, int] | None = None
        self._built_again = ""
        spinning = any(experiment.gateway.polls for experiment in plan.experiments)
        # Beside a gateway that polls without rest, natxy would not run on that core with the lowest priority.
        self._niceness = Niceness(HIGHEST if spinning else LOWEST, active=plan.testbed.is_local)
        self._together = plan.testbed.stand_together and all(each.gateway.rests for each in plan.experiments)
        self._programs = ExitStack()

    def __enter__(self) -> Setups:
        if self._together:
            # Programs of all set-ups have one mark, which must outlive the first of them.
            self._programs.enter_context(owned_programs(Ledger()))
        return self

    def __exit__(self, *_: object) -> None:
        with self._programs:
            try:
                self.discard()
            finally:
                self._niceness.end()

    def provide(self, experiment: Experiment) -> Setup:
        """Returns the setup for `experiment`, with the cores that it asks for.

        Raises DutError, PlanError or EngineDiedError when it cannot be set up; then nothing of it stays.
        """
        wanted = setup_key(experiment)
        present = next((each for each in self._standing if each.made_for == wanted), None)
        if present is None:
            beside = MOST_STANDING - 1 if self._together else 0
            self._remove(self._standing[: max(0, len(self._standing) - beside)])
            self._rest()
            present = self._stand(experiment, wanted)
        elif present is not self._standing[-1]:
            self._rest()
        self._standing = [*(each for each in self._standing if each is not present), present]
        self._experiment = experiment
        assert present.setup
        with present.setup.gateway() as gateway:
            set_cores(gateway, present.setup.dut_cores, experiment)
        return present.setup

    def _rest(self) -> None:
        """Empties the connection table of the present set-up, whose entries all gateways of a kernel have together."""
        if not self._standing or not (present := self._standing[-1].setup):
            return
        with present.gateway() as gateway:
            if gateway.config.keeps_connections and Capability.CLEAR in gateway.capabilities:
                gateway.clear()

    def discard(self, because: str = "") -> None:
        """Removes all setups with their testbeds, so that the next experiment has a new setup; its report says why."""
        self._built_again = because
        with interrupts_held_back():
            try:
                self._remove(self._standing, because)
            finally:
                self._kept = None
                self._lasting.close()

    def _stand(self, experiment: Experiment, wanted: SetupKey) -> _Standing:
        """Sets up what the experiment is measured on, beside what stands.

        What stands may hold a setting of the machine at another value. So after an error, nothing else stands at a
        second try, nor later.
        """
        started_s = time.monotonic()
        present = _Standing()
        self._standing.append(present)
        try:
            with self._niceness.foreground():
                present.setup = self._set_up(present.stack, experiment)
        except BaseException as error:
            alone = len(self._standing) == 1
            self.discard(f"the set-up of {experiment.name} failed")
            if alone or not isinstance(error, DutError):
                raise
            self._together = False
            return self._stand(experiment, wanted)
        present.made_for = wanted
        self._listener.receive(
            TestbedBuilt(
                experiment=experiment.name,
                took_s=time.monotonic() - started_s,
                tester_cores=tuple(present.setup.tester_cores),
                description=present.setup.description,
                caveats=tuple(present.setup.caveats),
            )
        )
        return present

    def _remove(self, leaving: Sequence[_Standing], because: str = "") -> None:
        """Removes set-ups, the latest first, each of them whatever the removal of another one raises."""
        self._standing = [each for each in self._standing if each not in leaving]
        with interrupts_held_back(), ExitStack() as removals:
            for each in leaving:
                if each.setup:
                    removals.callback(self._listener.receive, TestbedRemoved(reason=because))
                removals.callback(each.stack.close)

    def _set_up(self, stack: ExitStack, experiment: Experiment) -> Setup:
        """Pushes onto `stack` what removes each part again."""
        check_installed(self._plan, experiment)
        testbed = self._testbed(stack, experiment)
        gateway = set_up_gateway(stack, testbed, self._plan, experiment)
        tester: Tester
        if experiment.procedure.between_hosts:
            tester = stack.enter_context(testbed.hosts(experiment.addresses, self._niceness.foreground))
            engine_info, description = {}, tester.describe()
        else:
            tester = stack.enter_context(testbed.engine(self._engine_log))
            engine_info = dumped(tester.info())
            description = testbed.engine_description()
        gateway.wait_ready()
        of_dut: list[Caveat] = []
        found: dict[str, str] = {}
        learn = None
        if not isinstance(tester, TcpHosts) and self._plan.testbed.has_gateway:
            kind = self._plan.testbed
            path = ProbedPath(
                tester,
                gateway,
                experiment,
                asks_dut=kind.commands_run_on_dut,
                answer_s=kind.answer_s,
                dut_macs=kind.dut_macs,
            )
            path.check()
            of_dut = path.caveats() if self._plan.testbed.dut_location else []
            if binding := binding_of(tester, experiment):
                of_dut += binding.caveats
                found |= binding.facts
            learn = path.learn
        testbed.sleep(experiment.timing.learning_pause)
        return Setup(
            tester=tester,
            gateway=partial(self._in_hand, gateway),
            watch=testbed.watch(),
            sleep=testbed.sleep,
            dut_cores=testbed.gateway_cores,
            engine_info=engine_info,
            description=testbed.description() | description,
            dut_description=testbed.dut_description() | self._why_again() | found,
            caveats=[*caveats_of_testbed(testbed, experiment), *of_dut],
            dut_hardware=testbed.dut_hardware(),
            learn=learn,
            set_up_again=partial(self._set_up_again, gateway) if _can_boot(gateway) else None,
            tester_cores=testbed.tester_cores,
            counting=testbed.counting(),
        )

    def _set_up_again(self, gateway: Gateway[Any]) -> None:
        """Sets up a gateway whose DUT has booted."""
        if self._plan.testbed.driver_sets_links:
            gateway.set_links()
        gateway.apply()
        gateway.wait_ready()
        assert self._experiment
        present = self._standing[-1]
        assert present.setup
        set_cores(gateway, present.setup.dut_cores, self._experiment)
        # The DUT may have given its interfaces other names, which only a new set-up finds.
        present.made_for = None

    def _testbed(self, stack: ExitStack, experiment: Experiment) -> Testbed:
        """Returns the testbed, built anew unless it is one that outlives its gateways and still works."""
        mtu = experiment.address_plan.mtu
        if self._kept:
            kept, its_mtu = self._kept
            self._built_again = f"the MTU is {mtu} instead of {its_mtu}"
            if its_mtu == mtu:
                try:
                    kept.renew()
                except DutError as error:
                    self._built_again = str(error)
                else:
                    self._built_again = ""
                    return kept
        self._kept = None
        self._lasting.close()
        testbed = create_testbed(self._plan.testbed, needs(self._plan, experiment))
        self._niceness.avoid(testbed.tester_cores)
        lasts = self._plan.testbed.outlives_gateways
        (self._lasting if lasts else stack).enter_context(testbed)
        if lasts:
            self._kept = testbed, mtu
        return testbed

    def _why_again(self) -> dict[str, str]:
        """Returns for the report why a testbed that outlives its gateways is another one than before."""
        return {"built again": self._built_again} if self._kept and self._built_again else {}

    @contextmanager
    def _in_hand(self, gateway: Gateway[Any]) -> Iterator[Gateway[Any]]:
        """Yields the gateway; programs that its driver starts meanwhile have the right priority."""
        # The reference gateway starts no program after its set-up; beside it natxy needs its own high priority.
        with nullcontext() if gateway.config.polls else self._niceness.beside_a_trial():
            yield gateway


def check_installed(plan: ResolvedPlan, experiment: Experiment) -> None:
    """Raises GatewayMissingError when this machine has to run the gateway and cannot."""
    if plan.testbed.gateway_is_local and (reasons := [*why_not(experiment.gateway)]):
        raise GatewayMissingError("; ".join(reasons))


def set_up_gateway(stack: ExitStack, testbed: Testbed, plan: ResolvedPlan, experiment: Experiment) -> Gateway[Any]:
    """Sets up an experiment's gateway on a testbed that is built; pushes onto `stack` what removes it again."""
    gateway = testbed.create_path(experiment.path)
    sets_links = plan.testbed.driver_sets_links
    for hop in gateway.hops:
        stack.enter_context(recorded_gateway(hop, links=sets_links))
    if sets_links:
        stack.callback(_unset_links, gateway)
        gateway.set_links()
    stack.callback(_remove, gateway)
    gateway.apply()
    return gateway


def _can_boot(gateway: Gateway[Any]) -> bool:
    return len(gateway.hops) == 1 and isinstance(getattr(gateway, "transport", None), CoreSwitch)


def _remove(gateway: Gateway[Any]) -> None:
    """Removes the gateway. Only a guest is ever lost, and it disappears with whatever was set in it."""
    with suppress(DutLostError):
        gateway.remove()


def _unset_links(gateway: Gateway[Any]) -> None:
    """Removes the addresses and routes, unless the gateway is lost."""
    with suppress(DutLostError):
        gateway.unset_links()
