# SPDX-License-Identifier: Apache-2.0
"""Tests several testers on one gateway: this machine has one pair of ports on the DUT, and a tester that only ssh
reaches has another. The DUT has a limit for both together that natxy does not know.

Testers and DUT are network namespaces.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from natxy.engine.program import find_engine
from natxy.errors import EngineDiedError
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from natxy.results.trials import TrialKind
from tests.support import needs
from tests.support.command import HANG_S, command, natxy
from tests.support.processes import runs
from tests.support.sshd import Sshd, running_sshd
from tests.support.timing import wait_until
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

LONGEST_S = 120
KILLED = f"""
order: experiments
defaults: {{pairs: 2, gateway: linux-forward, rate: 400, max_invalid: 20}}
experiments:
  - {{name: other-dies, procedure: {{name: latency, warm_up: {LONGEST_S / 2}s, tagging: {LONGEST_S / 2}s}}}}
  - {{name: between, procedure: pdv}}
  - {{name: own-dies, procedure: {{name: latency, warm_up: {LONGEST_S / 2}s, tagging: {LONGEST_S / 2}s}}}}
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


def written(folder: Path, sshd: Sshd, experiments: str) -> Path:
    plan = TESTBED.replace("CONFIG", str(sshd.folder / "ssh_config")).replace("ENGINE", str(find_engine()))
    (folder / "plan.yaml").write_text(plan + experiments)
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
    plan = written(tmp_path, sshd, THROUGHPUT)
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
    assert_given_back()


def assert_given_back() -> None:
    """Asserts that both machines are as they were."""
    assert engines(HERE) == engines(THERE) == []
    assert ip("netns", "exec", THERE, "sysctl", "-n", "net.ipv6.conf.t-left.disable_ipv6") == "0\n"
    assert "PROMISC" not in ip("-n", THERE, "link", "show", "t-left")
    assert "198.1" not in ip("-n", DUT, "-4", "address")


def events(folder: Path, experiment: str) -> Iterator[dict[str, Any]]:
    """Yields the events of an experiment so far."""
    file, now = folder / "events.jsonl", ""
    for line in file.read_text().splitlines(keepends=True) if file.exists() else ():
        if line.endswith("\n"):
            event = json.loads(line)
            now = event.get("experiment", now)
            if now == experiment:
                yield event


def wait_for_traffic(run: subprocess.Popen[bytes], folder: Path, experiment: str) -> None:
    def has_any() -> bool:
        return any(event["event"] == "trial_progress" and event["received"] for event in events(folder, experiment))

    wait_until(lambda: run.poll() is not None or has_any())


def kill_engine(killed: str, other: str) -> None:
    """Kills the engine in a namespace, and returns when the one in the other has ended too."""
    (victim,), (survivor,) = engines(killed), engines(other)
    os.kill(victim, signal.SIGKILL)
    killed_s = time.monotonic()
    wait_until(lambda: not runs(survivor))
    print(f"the engine in {other} ended {time.monotonic() - killed_s:.2f} s after the one in {killed}")


def test_the_run_goes_on_with_new_engines_when_one_is_killed(tmp_path: Path, sshd: Sshd) -> None:
    plan, folder = written(tmp_path, sshd, KILLED), tmp_path / "out"
    # Both testers have one core, so that natxy has the other and learns of the death at once.
    plan.write_text(plan.read_text().replace("io: af_packet", "io: af_packet\n  tester_cores: 1"))
    argv = ["ip", "netns", "exec", HERE, *command("run", plan, "--output", folder)]
    with (tmp_path / "said").open("w") as said, subprocess.Popen(argv, stdout=said, stderr=said) as run:
        for experiment, killed, other in (("other-dies", THERE, HERE), ("own-dies", HERE, THERE)):
            wait_for_traffic(run, folder, experiment)
            kill_engine(killed, other)
        assert run.wait(HANG_S) == EngineDiedError.exit_code, (tmp_path / "said").read_text()
    experiments = {experiment.name: experiment for experiment in RunReader(folder).run.experiments}
    for experiment, name in (("other-dies", "the tester root@gateway"), ("own-dies", "this machine")):
        record = experiments[experiment]
        assert record.state == State.FAILED
        assert record.reason.startswith(f"{name}: natxy-engine ended during trial.run")
        assert record.values == []
        assert not [*record.all_trials]
        # The other tester did not finish its part of the trial.
        at_s = {event["event"]: event["clock_s"] for event in events(folder, experiment)}
        assert at_s["experiment_finished"] - at_s["trial_started"] < LONGEST_S
    assert experiments["between"].state == State.DONE
    assert_given_back()
