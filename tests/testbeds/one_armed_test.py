# SPDX-License-Identifier: Apache-2.0
"""Tests a DUT behind a switch: one interface with the addresses of both links."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunState
from tests.support import needs

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
  dut: {{namespace: {dut}, left: d-arm, right: d-arm, one_armed: true}}
experiments:
  - name: nat
    gateway: nftables
    procedure: throughput
    connections: 1k
    phase1_rate: 2k
    search: {{min_rate: 2k, max_rate: 3k, error: 1k}}
    max_invalid: 20
"""


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True).stdout


def inside(namespace: str, *argv: str) -> str:
    return ip("netns", "exec", namespace, *argv)


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


@pytest.mark.usefixtures("_switched")
def test_a_nat_with_one_interface_is_measured(tmp_path: Path) -> None:
    redirects = ["sysctl", "net.ipv4.conf.all.send_redirects", "net.ipv4.conf.d-arm.send_redirects"]
    before = inside(DUT, *redirects)
    (tmp_path / "plan.yaml").write_text(PLAN.format(dut=DUT))
    argv = ["-m", "natxy", "run", str(tmp_path / "plan.yaml"), "--output", str(tmp_path / "out")]
    done = subprocess.run(
        ["ip", "netns", "exec", TESTER, sys.executable, *argv], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert inside(DUT, *redirects) == before
    assert "198.1" not in ip("-n", DUT, "-4", "address")
    run = RunReader(tmp_path / "out").run
    assert run.state == RunState.DONE
    (nat,) = run.experiments
    assert nat.statistics is not None
    assert nat.statistics.median >= 2000
    passed = [trial for _, _, trial in nat.all_trials if trial.verdict == "pass"]
    assert passed
    assert not any(trial.misrouted or trial.duplicate for trial in passed)
    # The kernel sent no redirects.
    assert not any("redirect" in kind for trial in passed for port in trial.result.ports for kind in port.foreign)
