# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.command import CommandGateway
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.dut.transport.local import LocalTransport
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError, DutLostError, GatewayMissingError
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.plan.written import Plan
from natxy.run.setup import Setup, Setups
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.niceness import Niceness
from natxy.testbeds.base import Testbed
from natxy.testbeds.simulated import SimulatedTestbed


@pytest.fixture
def plan() -> ResolvedPlan:
    experiment = {
        "name": "x",
        "procedure": "throughput",
        "gateway": "simulated",
        "search": {"max_rate": "1M"},
    }
    return resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}))


def test_what_is_not_installed_is_known_before_anything_is_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("natxy.run.setup.Niceness", lambda *_, **__: Niceness(active=False))
    gateway = {"driver": "command", "describe": [["natxy-no-such-program"]]}
    experiment = {"name": "x", "procedure": "throughput", "gateway": gateway, "search": {"max_rate": "1M"}}
    plan = resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "lab"}, "experiments": [experiment]}))
    with (
        Setups(plan, tmp_path / "engine.log") as setups,
        pytest.raises(GatewayMissingError, match=r"^natxy-no-such-program is not installed: install it, or correct"),
    ):
        setups.provide(plan.experiments[0])


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lists what a setup's removal has finished; Ctrl-C arrives while it removes the gateway, the first part."""
    finished: list[str] = []
    set_up = Setups._set_up

    def remove_gateway() -> None:
        ident = threading.main_thread().ident
        assert ident is not None
        signal.pthread_kill(ident, signal.SIGINT)
        finished.append("gateway")

    def with_things_to_remove(self: Setups, stack: ExitStack, experiment: Experiment) -> Setup:
        stack.callback(finished.append, "lab")
        stack.callback(remove_gateway)
        return set_up(self, stack, experiment)

    monkeypatch.setattr(Setups, "_set_up", with_things_to_remove)
    return finished


def test_ctrl_c_while_a_setup_is_removed_is_delayed(plan: ResolvedPlan, removed: list[str], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Setups(plan, tmp_path / "engine.log") as setups:
        setups.provide(plan.experiments[0])
    assert removed == ["gateway", "lab"]


def test_ctrl_c_while_a_failed_setup_is_removed_is_delayed(
    plan: ResolvedPlan, removed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Testbed:
        raise DutError("no such gateway")

    monkeypatch.setattr("natxy.run.setup.create_testbed", fail)
    with Setups(plan, tmp_path / "engine.log") as setups:
        with pytest.raises(KeyboardInterrupt):
            setups.provide(plan.experiments[0])
        assert removed == ["gateway", "lab"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
def test_programs_that_a_gateway_starts_beside_a_trial_have_the_priority_of_its_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "niceness"
    note = ["sh", "-c", f"nice >> {noted}"]
    config = CommandConfig(driver="command", stateful=True, clear=[note], restart=[note], set_cores=[note])
    wanted = {
        "name": "x",
        "procedure": "connection-rate",
        "gateway": config.model_dump(exclude_none=True),
        "connections": 1000,
        "cores": 1,
        "search": {"max_rate": "1M"},
    }
    plan = resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "lab"}, "experiments": [wanted]}))

    def set_up(self: Setups, _: ExitStack, experiment: Experiment) -> Setup:
        self._niceness.avoid([min(os.sched_getaffinity(0))])
        transport = LocalTransport(MachineSysctls())
        gateway = CommandGateway(config, transport, DutInterfaces("eth1", "eth2"), experiment.address_plan)
        engine = SimulatedEngine(SimulatedDut(SimulatedConfig(), 0.0, seed=1))
        return Setup(engine, partial(self._in_hand, gateway), None, lambda _: None, (), {}, {}, {}, [])

    monkeypatch.setattr(Setups, "_set_up", set_up)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with Setups(plan, tmp_path / "engine.log") as setups:
        setup = setups.provide(plan.experiments[0])
        cores = os.sched_getaffinity(0)
        with setup.gateway() as gateway:
            assert os.sched_getaffinity(0) == cores, "the cores that measure are left alone"
            gateway.restart()
            gateway.clear()
            gateway.timed_clear()
        assert os.getpriority(os.PRIO_PROCESS, 0) == 19
    assert noted.read_text().split() == [str(before)] * 4


@pytest.mark.parametrize("part", ["remove", "unset_links"])
@pytest.mark.parametrize(("error", "goes_on"), [(DutLostError, True), (DutError, False)])
def test_only_a_lost_gateway_need_not_be_removed(
    plan: ResolvedPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, error: type[DutError], goes_on: bool
) -> None:
    def remove(_: SimulatedGateway) -> None:
        raise error("the gateway does not answer")

    monkeypatch.setattr(SimulatedTestbedConfig, "driver_sets_links", True)
    monkeypatch.setattr(SimulatedGateway, "set_links", lambda _: None)
    with Setups(plan, tmp_path / "engine.log") as setups:
        first = setups.provide(plan.experiments[0])
        with monkeypatch.context() as patch:
            patch.setattr(SimulatedGateway, part, remove)
            with nullcontext() if goes_on else pytest.raises(DutError, match="does not answer"):
                setups.discard()
        assert setups.provide(plan.experiments[0]) is not first


class TestStandingTogether:
    """Several gateways, each on a testbed that can stand beside the others but for one."""

    not_beside_others = "6"

    @pytest.fixture
    def log(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Lists which simulated gateways are set up and removed, by their rate of forwarding."""
        happened: list[str] = []

        def set_up(setups: Setups, stack: ExitStack, experiment: Experiment) -> Setup:
            assert isinstance(experiment.gateway, SimulatedConfig)
            name = f"{experiment.gateway.forwarding_fps:g}"
            happened.append(name)
            stack.callback(happened.append, f"-{name}")
            if name == self.not_beside_others and len(setups._standing) > 1:
                raise DutError("the setting is held at another value")
            dut = SimulatedDut(experiment.gateway, 0.0, seed=1)
            engine, gateway = SimulatedEngine(dut), SimulatedGateway(dut)
            return Setup(engine, partial(setups._in_hand, gateway), None, lambda _: None, (), {}, {}, {}, [])

        monkeypatch.setattr(Setups, "_set_up", set_up)
        monkeypatch.setattr(SimulatedTestbedConfig, "stand_together", True)
        return happened

    @pytest.fixture
    def several(self, plan: ResolvedPlan) -> list[Experiment]:
        first = plan.experiments[0]
        gateways = [first.gateway.model_copy(update={"forwarding_fps": float(rate)}) for rate in range(1, 7)]
        return [first.model_copy(update={"gateway": gateway}) for gateway in gateways]

    def test_each_is_set_up_once(
        self, plan: ResolvedPlan, several: list[Experiment], log: list[str], tmp_path: Path
    ) -> None:
        with Setups(plan, tmp_path / "engine.log") as setups:
            made = [setups.provide(each) for each in several[:2] * 3]
        assert log == ["1", "2", "-2", "-1"]
        assert made[0] is made[2] is made[4]

    def test_the_one_not_used_for_longest_makes_room(
        self, plan: ResolvedPlan, several: list[Experiment], log: list[str], tmp_path: Path
    ) -> None:
        with Setups(plan, tmp_path / "engine.log") as setups:
            for number in (1, 2, 3, 4, 1, 5, 1):
                setups.provide(several[number - 1])
            assert log == ["1", "2", "3", "4", "-2", "5"]

    def test_after_an_error_it_is_tried_alone(
        self, plan: ResolvedPlan, several: list[Experiment], log: list[str], tmp_path: Path
    ) -> None:
        with Setups(plan, tmp_path / "engine.log") as setups:
            for number in (1, 2, 6):
                setups.provide(several[number - 1])
            assert log == ["1", "2", "6", "-6", "-2", "-1", "6"]

    def test_a_discard_removes_all(
        self, plan: ResolvedPlan, several: list[Experiment], log: list[str], tmp_path: Path
    ) -> None:
        with Setups(plan, tmp_path / "engine.log") as setups:
            for each in several[:3]:
                setups.provide(each)
            setups.discard("x ended with an error")
            assert log == ["1", "2", "3", "-3", "-2", "-1"]

    def test_beside_a_gateway_that_does_not_rest_none_stands(
        self,
        plan: ResolvedPlan,
        several: list[Experiment],
        log: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(SimulatedConfig, "rests", False)
        with Setups(plan, tmp_path / "engine.log") as setups:
            for each in several[:2]:
                setups.provide(each)
            assert log == ["1", "-1", "2"]

    def test_a_gateway_that_rests_keeps_no_connection(
        self,
        plan: ResolvedPlan,
        several: list[Experiment],
        log: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(SimulatedConfig, "keeps_connections", True)
        monkeypatch.setattr(
            SimulatedGateway, "clear", lambda gateway: log.append(f"clear {gateway.config.forwarding_fps:g}")
        )
        with Setups(plan, tmp_path / "engine.log") as setups:
            for number in (1, 1, 2, 1):
                setups.provide(several[number - 1])
            assert log == ["1", "clear 1", "2", "clear 2"]

    def test_what_is_interrupted_while_it_is_set_up_is_removed(
        self,
        plan: ResolvedPlan,
        several: list[Experiment],
        log: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        @contextmanager
        def interrupted(_: Niceness) -> Iterator[None]:
            yield
            raise KeyboardInterrupt

        monkeypatch.setattr(Niceness, "foreground", interrupted)
        with Setups(plan, tmp_path / "engine.log") as setups, pytest.raises(KeyboardInterrupt):
            setups.provide(several[0])
        assert log == ["1", "-1"]


class TestOutlivingTestbed:
    """Two gateways, one after the other, on a testbed that outlives them."""

    @pytest.fixture
    def log(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Lists what happens to simulated testbeds, each of which has a number."""
        happened: list[str] = []
        numbers = iter(range(1, 9))

        def build(self: SimulatedTestbed) -> None:
            number = next(numbers)
            happened.append(f"build {number}")
            self._stack.callback(happened.append, f"remove {number}")

        monkeypatch.setattr(SimulatedTestbed, "_build", build)
        monkeypatch.setattr(SimulatedTestbed, "renew", lambda _: happened.append("renew"))
        monkeypatch.setattr(SimulatedTestbedConfig, "outlives_gateways", True)
        return happened

    @pytest.fixture
    def two(self, plan: ResolvedPlan) -> ResolvedPlan:
        first = plan.experiments[0]
        other = first.gateway.model_copy(update={"forwarding_fps": 1e5})
        return plan.model_copy(update={"experiments": [first, first.model_copy(update={"gateway": other})]})

    def test_it_is_built_once(self, two: ResolvedPlan, log: list[str], tmp_path: Path) -> None:
        with Setups(two, tmp_path / "engine.log") as setups:
            again = [setups.provide(experiment).dut_description.get("built again") for experiment in two.experiments]
        assert log == ["build 1", "renew", "remove 1"]
        assert again == [None, None]

    def test_after_an_error_there_is_a_new_one(self, two: ResolvedPlan, log: list[str], tmp_path: Path) -> None:
        with Setups(two, tmp_path / "engine.log") as setups:
            setups.provide(two.experiments[0])
            setups.discard("x ended with an error")
            assert log == ["build 1", "remove 1"]
            second = setups.provide(two.experiments[1])
            third = setups.provide(two.experiments[0])
        assert log[2:] == ["build 2", "renew", "remove 2"]
        assert second.dut_description["built again"] == "x ended with an error"
        assert "built again" not in third.dut_description

    def test_one_that_no_longer_works_is_replaced(
        self, two: ResolvedPlan, log: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_: SimulatedTestbed) -> None:
            raise DutLostError("it has ended")

        monkeypatch.setattr(SimulatedTestbed, "renew", fail)
        with Setups(two, tmp_path / "engine.log") as setups:
            again = [setups.provide(experiment).dut_description.get("built again") for experiment in two.experiments]
        assert log == ["build 1", "remove 1", "build 2", "remove 2"]
        assert again == [None, "it has ended"]

    def test_another_mtu_needs_another_one(self, two: ResolvedPlan, log: list[str], tmp_path: Path) -> None:
        first, second = two.experiments
        with Setups(two, tmp_path / "engine.log") as setups:
            setups.provide(first)
            setup = setups.provide(second.model_copy(update={"frame_size": 4000}))
        assert log == ["build 1", "remove 1", "build 2", "remove 2"]
        assert setup.dut_description["built again"] == f"the MTU is {4000 - 18} instead of 1500"
