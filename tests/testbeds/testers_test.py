# SPDX-License-Identifier: Apache-2.0
"""Tests several testers on one gateway: this machine has one pair of ports on the DUT, and a tester that only ssh
reaches has another. The DUT has a limit for both together that natxy does not know.

Testers and DUT are network namespaces.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from natxy.engine.program import find_engine
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from natxy.results.trials import TrialKind
from tests.support import needs
from tests.support.command import natxy
from tests.support.sshd import Sshd, running_sshd
from tests.support.token_bucket import LATE_S, LIMIT, TRIAL_S, bounds_fps

pytestmark = [needs.SSHD, *needs.LAB, needs.cores(2), needs.programs("ssh", "nft")]

HERE, THERE, DUT = (f"testers-{os.getpid()}-{name}" for name in ("here", "there", "dut"))
MANAGEMENT = {HERE: "192.0.2.1", THERE: "192.0.2.2"}
SEARCH_ERROR = 0.03

TESTBED = f"""
name: testers
timing: {{preset: lab, trial: {TRIAL_S} s, settle: 60 ms, max_pause: {LATE_S} s, overrun_floor: {LATE_S} s}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t-right}}
  io: af_packet
  more_pairs:
    - tester:
        ssh: {{host: gateway, user: root, config: CONFIG}}
        engine: ENGINE
        cores: 1
      left: {{interface: t-left}}
      right: {{interface: t-right}}
      dut: {{left: d-left2, right: d-right2}}
  dut: {{namespace: {DUT}, left: d-left, right: d-right}}
"""

THROUGHPUT = f"""
defaults:
  procedure: throughput
  pairs: 2
  max_invalid: 20
  search: {{kind: binary, min_rate: 1800, max_rate: 2600, error: {SEARCH_ERROR:.0%}}}
experiments:
  - {{name: nat, gateway: nftables, connections: 100, phase1_rate: 1k}}
"""


def ip(*arguments: str, text: str | None = None) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True, input=text).stdout


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """Cables both testers to a DUT; yields the other tester's."""
    with ExitStack() as stack:
        for namespace in (HERE, THERE, DUT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        cables = [
            (namespace, f"t-{side}", DUT, f"d-{side}{number}")
            for namespace, number in ((HERE, ""), (THERE, "2"))
            for side in ("left", "right")
        ]
        for one, end, other, other_end in [*cables, (HERE, "mgmt", THERE, "mgmt")]:
            ip("-n", one, "link", "add", end, "type", "veth", "peer", "name", other_end, "netns", other)
            for namespace, name in ((one, end), (other, other_end)):
                ip("netns", "exec", namespace, "ethtool", "-K", name, "tx", "off")
                ip("-n", namespace, "link", "set", name, "up")
        for namespace, address in MANAGEMENT.items():
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", "mgmt")
        ip("netns", "exec", DUT, "nft", "-f", "-", text=LIMIT)
        inside = ["ip", "netns", "exec", THERE]
        yield stack.enter_context(running_sshd(tmp_path / "sshd", address=MANAGEMENT[THERE], inside=inside))


def written(folder: Path, sshd: Sshd) -> Path:
    plan = TESTBED.replace("CONFIG", str(sshd.folder / "ssh_config")).replace("ENGINE", str(find_engine()))
    (folder / "plan.yaml").write_text(plan + THROUGHPUT)
    return folder / "plan.yaml"


def engines(namespace: str) -> list[int]:
    """Returns the engines that run in a network namespace."""
    found = []
    for pid in ip("netns", "pids", namespace).split():
        # A process may have ended since.
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith("natxy-engine"):
                found.append(int(pid))
    return found


def test_two_testers_find_the_limit_of_the_gateway_together(tmp_path: Path, sshd: Sshd) -> None:
    plan = written(tmp_path, sshd)
    done = natxy("run", plan, "--output", tmp_path / "out", inside=["ip", "netns", "exec", HERE])
    assert done.returncode == 0, done.stdout + done.stderr
    run = RunReader(tmp_path / "out").run
    assert run.state == RunState.DONE
    (experiment,) = run.experiments
    assert experiment.statistics is not None
    least_fps, most_fps = bounds_fps(SEARCH_ERROR)
    assert least_fps <= experiment.statistics.median <= most_fps
    trials = [trial for _, _, trial in experiment.all_trials if trial.kind == TrialKind.TRAFFIC]
    assert {tuple(stream.name for stream in trial.result.streams) for trial in trials} == {
        ("forward", "reverse", "forward 2", "reverse 2")
    }
    assert {port.pair for trial in trials for port in trial.result.ports} == {0, 1}
    reasons = [trial.result.reason for trial in trials if trial.verdict == "fail"]
    assert all(reason.startswith(("this machine: ", "the tester root@gateway: ")) for reason in reasons)
    assert "known within" in run.testbed["tester of pair 2"]
    # Both machines are as they were.
    assert engines(HERE) == engines(THERE) == []
    assert ip("netns", "exec", THERE, "sysctl", "-n", "net.ipv6.conf.t-left.disable_ipv6") == "0\n"
    assert "PROMISC" not in ip("-n", THERE, "link", "show", "t-left")
