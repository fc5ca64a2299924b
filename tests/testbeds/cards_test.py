# SPDX-License-Identifier: Apache-2.0
"""Tests the tester on PCI network cards, bound to vfio-pci and driven by DPDK's own drivers, in a virtual machine.

QEMU emulates the cards and executes the machine's instructions, so that nothing here says how fast a card is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve, PortMedium, PortsOpen
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.errors import NatxyError
from natxy.plan.frames.sizes import ETHERNET_FRAMING_BYTES
from tests.support import needs
from tests.support.engine_trials import ADDRESSES, first_progress, stream_from, trial
from tests.support.pci_guest import E1000E, NEEDS, PAIRS, VIRTIO, Pair, PciGuest, pci_guest

pytestmark = [*needs.LAB, *NEEDS, needs.TUN]

# QEMU shares the machine with the other tests.
RATE_FPS: Final = 500
LEAST_FPS: Final = 200
PLUGGED_AFTER_S: Final = 1.5
LONGEST_FRAME: Final = 9216

NEIGHBORS: Final = NeighborsResolve(
    neighbors=[NeighborSide(side=side, address=ADDRESSES[side], gateway=ADDRESSES[side.opposite]) for side in Side]
)

PLAN: Final = """
name: cards
timing: {preset: lab, trial: 500ms, max_pause: 100ms, overrun_floor: 100ms, max_backlog: 99%}
repeat: 1
testbed:
  kind: loop
  medium: cable
  left: {pci: "LEFT"}
  right: {pci: "RIGHT"}
  queues: 2
  memory_channels: 2
  tester_cores: {left: {send: 1, receive: [1, 2]}, right: {send: 2, receive: [1, 2]}}
experiments:
  - {name: rate, gateway: wire, procedure: throughput, max_invalid: 20,
     search: {min_rate: 200, max_rate: 400, error: 200}}
"""


GATEWAYS: Final = """
name: behind-cards
timing: {preset: lab, trial: 500ms, max_pause: 100ms, overrun_floor: 100ms, max_backlog: 99%}
repeat: 1
testbed:
  kind: hardware
  left: {pci: "LEFT"}
  right: {pci: "RIGHT"}
  queues: 2
  tester_cores: {left: {send: 1, receive: [1, 2]}, right: {send: 2, receive: [1, 2]}}
  dut: {ssh: {host: gateway, config: CONFIG}, left: virtio-left, right: virtio-right}
defaults: {max_invalid: 20, procedure: throughput, search: {min_rate: LEAST, max_rate: 400, error: 200}}
experiments:
  - {name: forwarding, gateway: linux-forward}
  - {name: nat, gateway: nftables, connections: 200, phase1_rate: 200}
"""


@dataclass(frozen=True)
class Cabled:
    """Two cards that are joined to each other, bound to vfio-pci, and the engine in the virtual machine."""

    pair: Pair
    guest: PciGuest
    engine: EngineClient


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PciGuest]:
    with pci_guest(tmp_path_factory.mktemp("guest")) as guest:
        yield guest


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: pair.name)
def cabled(
    guest: PciGuest, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cabled]:
    pair: Pair = request.param
    guest.bind(pair, "vfio-pci")
    with guest.engine(tmp_path_factory.mktemp(pair.name) / "log", *pair.arguments) as engine:
        yield Cabled(pair, guest, engine)


def both_ways(traffic_s: float, size: int = 64) -> TrialRequest:
    return trial(*(stream_from(side, traffic_s, rate_fps=RATE_FPS, size=size) for side in Side))


def assert_whole(result: TrialResult) -> None:
    assert result.verdict == Verdict.PASS, result.reason
    assert result.cause == Cause.LOSSLESS
    for stream in result.streams:
        assert stream.sent == stream.received == stream.planned > 0
        assert stream.duplicate == stream.misrouted == stream.corrupt == 0


def test_a_card_that_the_kernel_has_is_refused_with_what_to_do(guest: PciGuest, tmp_path: Path) -> None:
    guest.bind(E1000E, E1000E.kernel_driver)
    with (
        guest.engine(tmp_path / "log", *E1000E.arguments) as engine,
        pytest.raises(
            NatxyError, match=r"the kernel's driver e1000e has it; bind it to a driver of DPDK: `dpdk-devbind"
        ),
    ):
        engine.open_ports(E1000E.ports())


def test_every_frame_crosses_also_when_the_ports_are_opened_again(cabled: Cabled) -> None:
    assert cabled.engine.info().hugepages
    for medium in (PortMedium.LOOP, PortMedium.NIC):
        opened = cabled.engine.open_ports(cabled.pair.ports(medium=medium)).ports
        # The links of both are up before the first trial.
        assert [(port.link_up, port.device) for port in opened] == [(True, cabled.pair.address(side)) for side in Side]
        assert {port.driver for port in opened} == {cabled.pair.driver}
        assert [port.mac for port in opened] == [cabled.pair.mac(side) for side in Side]
        # Each port resolves the other's address.
        cabled.engine.resolve_neighbors(NEIGHBORS)
        assert_whole(cabled.engine.run_trial(both_ways(0.5)))


def test_a_cable_that_is_pulled_makes_the_trial_invalid(cabled: Cabled) -> None:
    cabled.engine.open_ports(cabled.pair.ports())
    try:
        pull = first_progress(lambda: cabled.guest.set_link(cabled.pair, Side.RIGHT, up=False))
        pulled = cabled.engine.run_trial(both_ways(2), pull)
        assert (pulled.verdict, pulled.cause) == (Verdict.INVALID, Cause.LINK_DOWN)
        assert "the link of the right port went down" in pulled.reason
        # Ports are open only when the link is back.
        with ThreadPoolExecutor() as later:
            later.submit(plug_in, cabled)
            opened = cabled.engine.open_ports(cabled.pair.ports()).ports
        assert all(port.link_up for port in opened)
    finally:
        cabled.guest.set_link(cabled.pair, Side.RIGHT, up=True)
    assert_whole(cabled.engine.run_trial(both_ways(0.5)))


def plug_in(cabled: Cabled) -> None:
    time.sleep(PLUGGED_AFTER_S)
    cabled.guest.set_link(cabled.pair, Side.RIGHT, up=True)


def test_long_frames_cross_up_to_what_the_card_takes(cabled: Cabled) -> None:
    longest = cabled.pair.longest_frame
    cabled.engine.open_ports(cabled.pair.ports(mtu=longest - ETHERNET_FRAMING_BYTES))
    assert_whole(cabled.engine.run_trial(both_ways(0.5, size=longest)))
    if longest < LONGEST_FRAME:
        with pytest.raises(
            NatxyError, match=f"mtu is 9198, but the device's is {longest - ETHERNET_FRAMING_BYTES} at most"
        ):
            cabled.engine.open_ports(cabled.pair.ports(mtu=LONGEST_FRAME - ETHERNET_FRAMING_BYTES))


@pytest.mark.parametrize("cabled", [VIRTIO], indirect=True, ids=lambda pair: pair.name)
def test_a_card_spreads_four_tuples_over_queues_with_cores_of_their_own(cabled: Cabled) -> None:
    # Worker 1 sends on both ports; both workers receive.
    tasks = {"send_cores": [1], "receive_cores": [1, 2]}
    ports = [port.model_copy(update=tasks) for port in cabled.pair.ports(queues=2).ports]
    cabled.engine.open_ports(PortsOpen(ports=ports))
    result = cabled.engine.run_trial(both_ways(1))
    assert_whole(result)
    for port, stream in zip(result.ports, reversed(result.streams), strict=True):
        # Four-tuples are random: a queue that has a third of them is 7 standard deviations from half.
        assert min(port.received_by_queue) >= stream.received / 3
        assert sum(port.received_by_queue) >= stream.received


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_cards_work_with_ordinary_pages_too(guest: PciGuest, pair: Pair, tmp_path: Path) -> None:
    guest.bind(pair, "vfio-pci")
    with guest.without_hugepages(), guest.engine(tmp_path / "log", *pair.arguments) as engine:
        assert not engine.info().hugepages
        engine.open_ports(pair.ports())
        assert_whole(engine.run_trial(both_ways(0.5)))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_cards_work_with_the_generic_driver_too(guest: PciGuest, pair: Pair, tmp_path: Path) -> None:
    guest.bind(pair, "uio_pci_generic")
    with guest.engine(tmp_path / "log", *pair.arguments) as engine:
        for _ in range(2):
            engine.open_ports(pair.ports())
            assert_whole(engine.run_trial(both_ways(0.5)))


def test_a_plan_is_measured_there(guest: PciGuest) -> None:
    guest.bind(VIRTIO, "vfio-pci")
    plan = PLAN.replace("LEFT", VIRTIO.address(Side.LEFT)).replace("RIGHT", VIRTIO.address(Side.RIGHT))
    guest.run(f"cat > /run/plan.yaml << 'END'{plan}END\n")
    done = guest.natxy("run", "/run/plan.yaml", "--output", "/run/out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every frame arrived" in done.stdout
    exported = json.loads(guest.natxy("export", "/run/out", "--format", "json").stdout)
    assert VIRTIO.address(Side.LEFT) in json.dumps(exported)


def test_a_gateway_behind_the_cards_is_measured(guest: PciGuest, tmp_path: Path) -> None:
    guest.bind(VIRTIO, "vfio-pci")
    with guest.gateway_behind(VIRTIO, tmp_path / "sshd") as config:
        plan = GATEWAYS.replace("LEFT", VIRTIO.address(Side.LEFT)).replace("RIGHT", VIRTIO.address(Side.RIGHT))
        plan = plan.replace("LEAST", str(LEAST_FPS)).replace("CONFIG", config)
        guest.run(f"cat > /run/gateways.yaml << 'END'{plan}END\n")
        done = guest.natxy("run", "/run/gateways.yaml", "--output", "/run/behind")
        assert done.returncode == 0, done.stdout + done.stderr
        exported = json.loads(guest.natxy("export", "/run/behind", "--format", "json").stdout)
    assert [each["name"] for each in exported["experiments"]] == ["forwarding", "nat"]
    for experiment in exported["experiments"]:
        (repetition,) = experiment["repetitions"]
        assert repetition["value"] >= LEAST_FPS
        passed = [each["result"] for each in repetition["trials"] if each["verdict"] == Verdict.PASS]
        # The card spreads what the gateway sends, translated or not.
        assert all(min(port["received_by_queue"]) > 0 for port in passed[-1]["ports"])
