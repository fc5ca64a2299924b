# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.linux import LinuxForwardGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborsResolve, NeighborsResolved, ResolvedNeighbor
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.linux import LinuxForwardConfig
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.probe.path import ProbedPath
from natxy.system.machine_sysctls import MachineSysctls

MACS = {Side.LEFT: "02:00:00:00:00:11", Side.RIGHT: "02:00:00:00:01:11"}


@dataclass
class Dut(LocalTransport):
    """Answers natxy's questions. Each answer has counters that grew by `near` frames received and `far` sent."""

    near: int = 0
    far: int = 0
    default: str = ""
    extra: str = ""
    tracked: str = ""
    asked: int = field(default=0)

    def __post_init__(self) -> None:
        super().__init__(MachineSysctls())

    def run(self, argv: Sequence[str], **_: Any) -> CompletedCommand:
        self.asked += 1
        shown = f"default via 10.0.0.9 dev {self.default}\n" if self.default else ""
        if "conntrack -L" in argv[2]:
            return CompletedCommand((), 0, self.tracked, "")
        if "== " not in argv[2]:
            return CompletedCommand((), 0, shown, "")
        received, sent = self.asked * self.near, self.asked * self.far
        zeros = "0 0 0 0 0 0"
        text = (
            f"== system\nLinux\n== counters\nd-left: 0 {received} {zeros} 0 0\nd-right: 0 0 {zeros} 0 {sent}\n"
            f"== links\nd-left {MACS[Side.LEFT]} 1\nd-right {MACS[Side.RIGHT]} 1\n== defaults\n{shown}{self.extra}"
        )
        return CompletedCommand((), 0, text, "")


class Engine(SimulatedEngine):
    """Passes no frames from the left in the first `blocked` trials, and resolves the addresses in `macs`."""

    def __init__(self, blocked: int = 0, macs: dict[Side, str] | None = None, sent: bool = True) -> None:
        super().__init__(SimulatedDut(SimulatedConfig(buffer_frames=64)))
        self.blocked, self.macs, self.sent = blocked, MACS if macs is None else macs, sent
        self.trials = 0
        self.closed = False

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        missing = [each for each in request.neighbors if each.side not in self.macs]
        if missing:
            raise DutError(f"the DUT does not answer: no reply for {missing[0].gateway}")
        return NeighborsResolved(
            neighbors=[
                ResolvedNeighbor(side=each.side, gateway=each.gateway, mac=self.macs[each.side])
                for each in request.neighbors
                if each.gateway
            ]
        )

    def run_trial(self, request: TrialRequest, on_progress: Any = None) -> TrialResult:
        result = super().run_trial(request, on_progress)
        if request.phase1:
            none = {"streams": [result.streams[0].model_copy(update={"received": 0})], "established": 0}
            return result.model_copy(update=none if self.closed else {})
        self.trials += 1
        if self.trials > self.blocked:
            return result
        nothing = {"received": 0, "sent": 16 if self.sent else 0}
        forward = result.streams[0].model_copy(update=nothing)
        return result.model_copy(update={"streams": [forward, *result.streams[1:]]})


def experiment(driver: str = "linux-forward") -> Experiment:
    written: dict[str, Any] = {"name": "x", "procedure": "throughput", "gateway": driver, "search": {"max_rate": "1M"}}
    if driver == "nftables":
        written |= {"connections": 100, "phase1_rate": "10k"}
    return resolve(
        Plan.model_validate({"name": "p", "testbed": {"kind": "lab"}, "experiments": [written]})
    ).experiments[0]


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def path(slept: list[float]) -> Callable[..., ProbedPath]:
    def make(engine: Engine, dut: Dut, *, asks_dut: bool = True, driver: str = "linux-forward") -> ProbedPath:
        measured = experiment(driver)
        interfaces = DutInterfaces("d-left", "d-right")
        gateway = LinuxForwardGateway(LinuxForwardConfig(), dut, interfaces, measured.address_plan)
        return ProbedPath(cast(Any, engine), gateway, measured, asks_dut, slept.append)

    return make


def test_a_path_without_faults_takes_one_trial_and_no_question(path: Callable[..., ProbedPath]) -> None:
    engine, dut = Engine(), Dut()
    path(engine, dut).check()
    assert (engine.trials, dut.asked) == (1, 0)


def test_frames_that_an_accident_took_are_sent_again(path: Callable[..., ProbedPath]) -> None:
    engine = Engine(blocked=2)
    path(engine, Dut()).check()
    assert engine.trials == 3


def test_learning_frames_are_no_traffic_and_have_to_be_answered(path: Callable[..., ProbedPath]) -> None:
    engine = Engine()
    path(engine, Dut()).learn()
    assert engine.trials == 0
    with pytest.raises(DutError, match=r"the DUT does not answer: no reply for 198\.19\.0\.1"):
        path(Engine(macs={Side.LEFT: MACS[Side.LEFT]}), Dut(), asks_dut=False).learn()


@pytest.mark.parametrize("blocked", range(4))
def test_a_gateway_that_translates_nothing_is_found_however_late_frames_pass(
    path: Callable[..., ProbedPath], blocked: int
) -> None:
    measured = experiment("nftables").addresses
    left, right = measured.left_hosts.first, measured.right_hosts.first
    tracked = f"udp 17 29 src={left} dst={right} sport=1 dport=2 src={right} dst={left} sport=2 dport=1 mark=0\n"
    engine = Engine(blocked=blocked)
    with pytest.raises(DutError, match="the gateway does not translate"):
        path(engine, Dut(near=16, tracked=tracked), driver="nftables").check()
    assert engine.trials == blocked + 1


@pytest.mark.parametrize(
    ("received", "found"),
    [(1, "the DUT has not received the frames on d-left"), (8, "the DUT has received the frames on d-left")],
)
def test_an_address_request_does_not_pass_for_the_frames_of_a_connection(
    path: Callable[..., ProbedPath], received: int, found: str
) -> None:
    engine = Engine()
    engine.closed = True
    with pytest.raises(DutError, match=found):
        path(engine, Dut(near=received), driver="nftables").check()


def test_a_blocked_path_ends_with_the_cause(path: Callable[..., ProbedPath], slept: list[float]) -> None:
    firewall = "== iptables-save\n:FORWARD DROP [9:0]\n"
    with pytest.raises(DutError) as error:
        path(Engine(blocked=9), Dut(near=16, extra=firewall)).check()
    assert str(error.value).startswith(
        "the gateway forwards nothing from the left to the right: before the first trial, none of 16 probe frames "
        "arrived as it should: "
    )
    assert slept == []


def test_counters_are_read_again_where_a_card_renews_them_late(
    path: Callable[..., ProbedPath], slept: list[float]
) -> None:
    with pytest.raises(DutError, match="the DUT has not received the frames on d-left"):
        path(Engine(blocked=9), Dut()).check()
    assert slept == [2.1]


def test_swapped_interfaces_are_known_by_the_address_that_answered(path: Callable[..., ProbedPath]) -> None:
    swapped = {side: MACS[side.opposite] for side in Side}
    with pytest.raises(DutError, match="swapped: the tester's left port is cabled to d-right; exchange the two cables"):
        path(Engine(blocked=9, macs=swapped), Dut(near=16)).check()


def test_an_address_without_an_answer_is_explained_by_counters(path: Callable[..., ProbedPath]) -> None:
    with pytest.raises(DutError, match=r"no reply for .*\. Found: nothing that the tester's left port sends arrives"):
        path(Engine(macs={Side.RIGHT: MACS[Side.RIGHT]}), Dut()).check()


def test_the_side_that_is_wrong_is_named(path: Callable[..., ProbedPath]) -> None:
    only_left = {Side.LEFT: MACS[Side.LEFT]}
    with pytest.raises(DutError, match="nothing that the tester's right port sends arrives at the DUT's d-right"):
        path(Engine(macs=only_left), Dut()).check()


def test_a_dut_without_commands_is_judged_by_frames_alone(path: Callable[..., ProbedPath]) -> None:
    dut = Dut()
    with pytest.raises(DutError, match="as it should: check the gateway's routes and rules, and the cabling"):
        path(Engine(blocked=9), dut, asks_dut=False).check()
    with pytest.raises(DutError, match=r"no reply for [\d.]+$"):
        path(Engine(macs={}), dut, asks_dut=False).check()
    assert dut.asked == 0


def test_frames_that_the_tester_cannot_send_say_nothing_about_the_gateway(path: Callable[..., ProbedPath]) -> None:
    engine, dut = Engine(blocked=9, sent=False), Dut()
    path(engine, dut).check()
    assert engine.trials > 0
    assert dut.asked == 0


def test_a_gateway_of_natxys_own_gets_no_frames(path: Callable[..., ProbedPath]) -> None:
    engine = Engine(blocked=9)
    own = path(engine, Dut(), driver="reference")
    own.check()
    assert engine.trials == 0
    assert own.caveats() == []


def test_a_default_route_through_a_test_interface_is_remarked(path: Callable[..., ProbedPath]) -> None:
    (caveat,) = path(Engine(), Dut(default="d-right")).caveats()
    assert "default route leads through its test interface d-right" in caveat.text
    assert path(Engine(), Dut(default="mgmt")).caveats() == []
    assert path(Engine(), Dut(default="d-right"), asks_dut=False).caveats() == []
