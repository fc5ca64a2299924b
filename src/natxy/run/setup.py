# SPDX-License-Identifier: Apache-2.0
"""Sets up what an experiment is measured on: testbed, gateway, engine. Kept for the next experiment if it fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from natxy.dut import registry
from natxy.dut.base import Capability, Gateway
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.dut.drivers.wire import Wire
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortsOpen
from natxy.engine.simulation.engine import SimulatedDut, SimulatedEngine
from natxy.errors import PlanError
from natxy.plan.experiment import Addresses, Experiment, ResolvedPlan
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.machines import LinkSetUp
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.procedures.common.repetition import GatewayInHand, Tester
from natxy.procedures.common.streams import neighbors_request
from natxy.run.cores import most_cores
from natxy.system.interrupts import interrupts_held_back
from natxy.system.niceness import HIGHEST, LOWEST, Background
from natxy.tcp.iperf3 import Iperf3Hosts
from natxy.tcp.simulated import SimulatedHosts
from natxy.testbeds.base import EngineTestbed, Testbed, TestbedWithHosts
from natxy.testbeds.hardware import HardwareTestbed
from natxy.testbeds.kernels import lab_for
from natxy.testbeds.loop import LoopTestbed
from natxy.testbeds.memif import MemifTestbed
from natxy.testbeds.remote_hosts import HostsTestbed


@dataclass(frozen=True)
class Setup:
    """A testbed in use. `sleep` passes over seconds of its time; `dut_cores`: all that frames can be steered
    to, none where that is the gateway's own business."""

    tester: Tester
    gateway: GatewayInHand
    sleep: Callable[[float], None]
    dut_cores: Sequence[int]
    engine_info: dict[str, Any]
    description: dict[str, str]
    dut_description: dict[str, str]
    deviations: list[str]


class Setups:
    """Leaving it removes everything that it set up."""

    def __init__(self, plan: ResolvedPlan, engine_log: Path) -> None:
        self._plan = plan
        self._engine_log = engine_log
        self._stack = ExitStack()
        self._made_for: tuple[AddressPlan, GatewayConfig, bool, Addresses | None] | None = None
        self._setup: Setup | None = None
        self._background = Background(_niceness(plan), active=plan.testbed.is_local)

    def __enter__(self) -> Setups:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._clear_away()
        finally:
            self._background.end()

    def provide(self, experiment: Experiment) -> Setup:
        """DutError, PlanError or EngineDiedError when it cannot be set up; then nothing of it stays."""
        hosts = experiment.addresses if experiment.procedure.between_hosts else None
        # Once its cores were set, only a gateway that is set up anew has all that it has again.
        wanted = (experiment.address_plan, experiment.gateway, experiment.cores is None, hosts)
        if self._setup is None or self._made_for != wanted:
            self._clear_away()
            try:
                with self._background.foreground():
                    self._setup = self._set_up(self._stack, experiment)
            except BaseException:
                self._clear_away()
                raise
            self._made_for = wanted
        with self._setup.gateway() as gateway:
            _set_cores(gateway, self._setup.dut_cores, experiment)
        return self._setup

    def discard(self) -> None:
        """Makes the next experiment start on a new testbed."""
        self._clear_away()

    def _clear_away(self) -> None:
        with interrupts_held_back():
            self._setup = None
            self._made_for = None
            self._stack.close()

    def _set_up(self, stack: ExitStack, experiment: Experiment) -> Setup:
        match self._plan.testbed:
            case LabConfig() as config:
                return self._set_up_real(
                    stack,
                    lab_for(config, experiment.address_plan, experiment.gateway, most_cores(self._plan)),
                    experiment,
                )
            case HardwareConfig() as config:
                return self._set_up_real(
                    stack,
                    HardwareTestbed(config, experiment.address_plan.mtu),
                    experiment,
                    set_links=config.dut.addresses == LinkSetUp.SET,
                )
            case HostsConfig() as config:
                testbed = HostsTestbed(config, experiment.address_plan.mtu)
                set_links = config.dut.addresses == LinkSetUp.SET
                gateway = self._set_up_gateway(stack, testbed, experiment, set_links=set_links)
                return self._with_hosts(stack, testbed, gateway, experiment)
            case LoopConfig() as config:
                return self._set_up_loop(stack, LoopTestbed(config, experiment.address_plan.mtu), experiment)
            case MemifConfig() as config:
                return self._set_up_real(stack, MemifTestbed(config, experiment.address_plan.mtu), experiment)
            case SimulatedTestbedConfig() as config:
                return self._set_up_simulation(config, experiment)

    def _set_up_real(
        self, stack: ExitStack, testbed: EngineTestbed, experiment: Experiment, *, set_links: bool = False
    ) -> Setup:
        self._background.avoid(testbed.cores.tester)
        gateway = self._set_up_gateway(stack, testbed, experiment, set_links=set_links)
        if experiment.procedure.between_hosts:
            assert isinstance(testbed, TestbedWithHosts), "a plan for another testbed has been refused"
            return self._with_hosts(stack, testbed, gateway, experiment)
        return self._with_engine(stack, testbed, gateway, experiment)

    def _set_up_gateway(
        self, stack: ExitStack, testbed: Testbed, experiment: Experiment, *, set_links: bool
    ) -> Gateway[Any]:
        stack.enter_context(testbed)
        links = experiment.address_plan
        gateway = registry.create(experiment.gateway, testbed.transport, testbed.interfaces, links)
        if set_links:
            stack.callback(gateway.unset_links)
            gateway.set_links()
        stack.callback(gateway.remove)
        gateway.apply()
        return gateway

    def _with_engine(
        self, stack: ExitStack, testbed: EngineTestbed, gateway: Gateway[Any], experiment: Experiment
    ) -> Setup:
        engine = self._engine_on(stack, testbed)
        gateway.wait_ready()
        engine.resolve_neighbors(neighbors_request(experiment))
        time.sleep(experiment.timing.learning_pause)
        return Setup(
            tester=engine,
            gateway=self._in_hand(gateway),
            sleep=time.sleep,
            dut_cores=testbed.gateway_cores,
            engine_info=engine.info().model_dump(mode="json"),
            description=testbed.description() | testbed.port_description(),
            dut_description=testbed.dut_description(),
            deviations=[*testbed.deviations(), *testbed.port_deviations()],
        )

    def _with_hosts(
        self, stack: ExitStack, testbed: TestbedWithHosts, gateway: Gateway[Any], experiment: Experiment
    ) -> Setup:
        ends = stack.enter_context(testbed.hosts(experiment.addresses))
        hosts = Iperf3Hosts(ends[Side.LEFT], ends[Side.RIGHT], self._background.foreground)
        described = hosts.describe()
        gateway.wait_ready()
        time.sleep(experiment.timing.learning_pause)
        return Setup(
            tester=hosts,
            gateway=self._in_hand(gateway),
            sleep=time.sleep,
            dut_cores=testbed.gateway_cores,
            engine_info={},
            description=testbed.description() | described,
            dut_description=testbed.dut_description(),
            deviations=[*testbed.deviations(), *testbed.host_deviations()],
        )

    def _set_up_loop(self, stack: ExitStack, testbed: LoopTestbed, experiment: Experiment) -> Setup:
        stack.enter_context(testbed)
        self._background.avoid(testbed.cores.tester)
        engine = self._engine_on(stack, testbed)
        time.sleep(experiment.timing.learning_pause)
        return Setup(
            tester=engine,
            gateway=self._in_hand(Wire(experiment.gateway)),
            sleep=time.sleep,
            dut_cores=(),
            engine_info=engine.info().model_dump(mode="json"),
            description=testbed.description(),
            dut_description={},
            deviations=[],
        )

    def _in_hand(self, gateway: Gateway[Any]) -> GatewayInHand:
        @contextmanager
        def in_hand() -> Iterator[Gateway[Any]]:
            # The reference gateway starts nothing once it is set up, and hears of nothing from who has no priority.
            deaf = gateway.config.polls
            with nullcontext() if deaf else self._background.beside_a_trial():
                yield gateway

        return in_hand

    def _engine_on(self, stack: ExitStack, testbed: EngineTestbed | LoopTestbed) -> EngineClient:
        engine = EngineClient(testbed.engine_argv(), self._engine_log)
        stack.callback(engine.close)
        engine.open_ports(PortsOpen(ports=testbed.port_specs()))
        return engine

    def _set_up_simulation(self, config: SimulatedTestbedConfig, experiment: Experiment) -> Setup:
        assert isinstance(experiment.gateway, SimulatedConfig)
        dut = SimulatedDut(experiment.gateway, config.noise, self._plan.seed)
        engine, hosts = SimulatedEngine(dut, config.tester_limit), SimulatedHosts(dut)
        return Setup(
            tester=hosts if experiment.procedure.between_hosts else engine,
            gateway=self._in_hand(SimulatedGateway(dut)),
            sleep=lambda _: None,
            dut_cores=range(config.dut_cores),
            engine_info=engine.info().model_dump(mode="json"),
            description={"testbed": "simulated: a model of a gateway in virtual time"},
            dut_description={},
            deviations=["Nothing was measured: engine and gateway are models in virtual time."],
        )


def _niceness(plan: ResolvedPlan) -> int:
    """Beside a gateway that never rests and comes first on its core, who comes last hears of nothing while frames
    flow."""
    spinning = any(experiment.gateway.polls for experiment in plan.experiments)
    return HIGHEST if spinning else LOWEST


def _set_cores(gateway: Gateway[Any], dut_cores: Sequence[int], experiment: Experiment) -> None:
    if Capability.SET_CORES not in gateway.capabilities:
        return
    asked = experiment.cores
    if experiment.gateway.steers_own_cores:
        # How many it has, its commands know.
        if asked is not None:
            gateway.set_cores(range(asked))
        return
    if asked is not None and asked > len(dut_cores):
        raise PlanError(
            f"{experiment.name} asks for {asked} of the gateway's cores, but the DUT has {len(dut_cores)} in "
            "service: ask for fewer"
        )
    if dut_cores:
        gateway.set_cores(dut_cores[:asked])
