# SPDX-License-Identifier: Apache-2.0
"""Tests a DUT behind a switch: one interface with both links' addresses, or two that are named as VLANs are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.results.records import ExperimentRecord, RunState
from tests.support import needs
from tests.support.iproute import inside, ip
from tests.support.measured_runs import measured_run

pytestmark = needs.LAB

TESTER, SWITCH, DUT = (f"arm-{os.getpid()}-{name}" for name in ("tester", "switch", "dut"))

PLAN = """
name: one-armed
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t-right}}
  io: af_packet
  dut: {{namespace: {dut}, {interfaces}}}
experiments:
  - name: nat
    gateway: {gateway}
    procedure: throughput
    connections: 1k
    phase1_rate: 2k
    search: {{min_rate: 2k, max_rate: 3k, error: 1k}}
    max_invalid: 20
"""


@pytest.fixture
def _switched() -> Iterator[None]:
    """Joins the tester's two ports and the DUT's interface by a bridge."""
    with ExitStack() as stack:
        for namespace in (TESTER, SWITCH, DUT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
        ip("-n", SWITCH, "link", "add", "name", "switch", "type", "bridge")
        for namespace, end in ((TESTER, "t-left"), (TESTER, "t-right"), (DUT, "d-arm")):
            port = f"s-{end}"
            ip("-n", SWITCH, "link", "add", "name", port, "type", "veth", "peer", "name", end, "netns", namespace)
            # The interfaces behave as a card whose offloads are off.
            inside(namespace, "ethtool", "-K", end, "tx", "off")
            ip("-n", SWITCH, "link", "set", port, "master", "switch", "up")
            ip("-n", namespace, "link", "set", end, "up")
        ip("-n", SWITCH, "link", "set", "switch", "up")
        yield


@pytest.fixture
def _two_networks() -> Iterator[None]:
    """Joins each of the tester's ports to an interface of the DUT whose name has a dot.

    The links are as a switch with VLANs gives them, but without tags, which few test kernels have.
    """
    with ExitStack() as stack:
        for namespace in (TESTER, DUT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
        for end, arm in (("t-left", "d-arm.10"), ("t-right", "d-arm.20")):
            ip("-n", TESTER, "link", "add", "name", end, "type", "veth", "peer", "name", arm, "netns", DUT)
            for namespace, name in ((TESTER, end), (DUT, arm)):
                inside(namespace, "ethtool", "-K", name, "tx", "off")
                ip("-n", namespace, "link", "set", name, "up")
        yield


def measured(folder: Path, interfaces: str, gateway: str = "nftables") -> ExperimentRecord:
    """Runs the plan. Returns its experiment, after it was found to be good."""
    (folder / "plan.yaml").write_text(PLAN.format(dut=DUT, interfaces=interfaces, gateway=gateway))
    run, _ = measured_run(folder / "plan.yaml", folder / "out", inside=["ip", "netns", "exec", TESTER])
    assert "198.1" not in ip("-n", DUT, "-4", "address")
    assert run.state == RunState.DONE
    (nat,) = run.experiments
    assert nat.statistics is not None
    assert nat.statistics.median >= 2000
    passed = [trial for _, _, trial in nat.all_trials if trial.verdict == "pass"]
    assert passed
    assert not any(trial.misrouted or trial.duplicate for trial in passed)
    # The kernel sent no redirects.
    assert not any("redirect" in kind for trial in passed for port in trial.result.ports for kind in port.foreign)
    return nat


@pytest.mark.usefixtures("_switched")
def test_a_nat_with_one_interface_is_measured(tmp_path: Path) -> None:
    redirects = ["sysctl", "net.ipv4.conf.all.send_redirects", "net.ipv4.conf.d-arm.send_redirects"]
    before = inside(DUT, *redirects)
    measured(tmp_path, "left: d-arm, right: d-arm, one_armed: true")
    assert inside(DUT, *redirects) == before


@pytest.mark.usefixtures("_two_networks")
@pytest.mark.parametrize("gateway", ["nftables", pytest.param("iptables", marks=pytest.mark.more)])
def test_a_nat_between_interfaces_with_dots_in_their_names_is_measured(gateway: str, tmp_path: Path) -> None:
    nat = measured(tmp_path, "left: d-arm.10, right: d-arm.20", gateway)
    assert "d-arm.20" in nat.duts[0].configuration
