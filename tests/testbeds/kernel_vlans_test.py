# SPDX-License-Identifier: Apache-2.0
"""Measures a machine whose interfaces are VLANs of Linux's own (8021q), cabled to ports with a `vlan`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunState
from tests.support import needs
from tests.support.booted_dut import BootedDut, booted_disk, cabled_tester, network_of_tester, running_dut

pytestmark = [*needs.LAB, *needs.VM, needs.TUN, needs.programs("ssh", "qemu-img"), pytest.mark.faults]

VLANS: Final = (10, 4094)

PLAN: Final = """
name: vlans
timing: {{preset: lab, trial: 300 ms, max_pause: 50 ms, overrun_floor: 50 ms, max_backlog: 90%}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: left, vlan: 10}}
  right: {{interface: {right}, vlan: 4094}}
  io: af_packet
  dut: {{ssh: {{host: gateway, config: {config}, connect_timeout: 30s}}, left: left.10, right: {right}.4094}}
defaults: {{procedure: throughput, search: {{min_rate: 200, max_rate: 400, error: 200}}, max_invalid: 20}}
experiments:
  - {{name: nat, gateway: nftables, connections: 100, phase1_rate: 400}}
  - {{name: router, gateway: linux-forward, family: ipv6, frame_size: 512}}
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cabled_tester():
        yield booted_disk(tmp_path_factory.mktemp("booted"))


@pytest.fixture
def dut(disk: Path, tmp_path: Path) -> Iterator[BootedDut]:
    with running_dut(disk, tmp_path) as running:
        yield running


def received(dut: BootedDut, interface: str) -> int:
    """Returns how many frames with its tag the kernel has given to an interface."""
    found = re.search(r"total frames received\s+(\d+)", dut.run(f"cat /proc/net/vlan/{interface}"))
    assert found
    return int(found[1])


@pytest.mark.parametrize("right", ["right", "left"], ids=["two cables", "a trunk"])
def test_a_kernels_vlans_are_measured(dut: BootedDut, right: str, tmp_path: Path) -> None:
    interfaces = [f"{of}.{vlan}" for of, vlan in zip(("left", right), VLANS, strict=True)]
    dut.run("modprobe 8021q")
    for interface in interfaces:
        of, vlan = interface.split(".")
        dut.run(f"ip link set {of} up && ip link add link {of} name {interface} type vlan id {vlan}")
        dut.run(f"ip link set {interface} up")
    before, tester_before = dut.state(), network_of_tester()
    plan, out = tmp_path / "plan.yaml", tmp_path / "out"
    plan.write_text(PLAN.format(config=dut.config, right=right))
    ended = dut.natxy("run", plan, "--output", out)
    assert ended.code == 0, ended.output
    run = RunReader(out).run
    assert run.state == RunState.DONE
    for experiment in run.experiments:
        assert experiment.statistics is not None
        assert experiment.statistics.median >= 200
        passed = [trial for _, _, trial in experiment.all_trials if trial.verdict == "pass"]
        assert passed
        for trial in passed:
            assert not any(stream.lost or stream.misrouted for stream in trial.result.streams)
    sent = sum(stream.sent for _, _, trial in run.all_trials for stream in trial.result.streams)
    assert sum(received(dut, interface) for interface in interfaces) >= sent
    assert dut.state() == before
    assert network_of_tester() == tester_before
