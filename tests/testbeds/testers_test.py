# SPDX-License-Identifier: Apache-2.0
"""Tests several testers on one gateway: this machine has one pair of ports on the DUT, and each tester that only ssh
reaches has another. The DUT has a limit for all together that natxy does not know.

Testers and DUT are network namespaces. The engines' workers share one core, so that natxy and the engines' other
threads have the other one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from natxy.engine.program import find_engine
from natxy.errors import EngineDiedError
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState, State
from natxy.results.trials import TrialKind
from tests.support import needs
from tests.support.command import HANG_S, command
from tests.support.iproute import ip
from tests.support.measured_runs import measured_run, without_result
from tests.support.processes import runs
from tests.support.sshd import Sshd, running_sshd
from tests.support.timing import wait_until
from tests.support.token_bucket import LATE_S, LIMIT, TRIAL_S, bounds_fps, connection_bounds

pytestmark = [needs.SSHD, *needs.LAB, needs.cores(2), needs.programs("ssh", "nft")]

HERE, DUT = (f"testers-{os.getpid()}-{name}" for name in ("here", "dut"))
MOST_TESTERS = 4
# The network namespaces of the further testers, by the number of their pair.
THERE = {number: f"testers-{os.getpid()}-there{number}" for number in range(2, MOST_TESTERS + 1)}
SEARCH_ERROR = 0.03
# Of all testers together.
CONNECTIONS = 1200

TESTBED = f"""
name: testers
timing: {{preset: lab, trial: {TRIAL_S} s, settle: 60 ms, max_pause: {LATE_S} s, overrun_floor: {LATE_S} s}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t-right}}
  io: af_packet
  tester_cores: 1
  dut: {{namespace: {DUT}, left: d-left, right: d-right}}
  more_pairs:
"""

THROUGHPUT = f"""
defaults:
  procedure: throughput
  max_invalid: 20
  search: {{kind: binary, min_rate: 1800, max_rate: 2600, error: {SEARCH_ERROR:.0%}}}
experiments:
  - {{name: nat, gateway: nftables, pairs: PAIRS, connections: 100, phase1_rate: 1k}}
  - name: connections
    gateway: nftables
    procedure: validated-connection-rate
    pairs: PAIRS
    connections: EACH
    alpha: 0.5
    search: {{min_rate: 3k, max_rate: 8k}}
"""

LONGEST_S = 300
KILLED = f"""
order: experiments
defaults: {{pairs: 2, gateway: linux-forward, rate: 400, max_invalid: 20}}
experiments:
  - {{name: is-cut, procedure: {{name: latency, warm_up: {LONGEST_S / 2}s, tagging: {LONGEST_S / 2}s}}}}
  - {{name: between, procedure: pdv}}
  - {{name: own-dies, procedure: {{name: latency, warm_up: {LONGEST_S / 2}s, tagging: {LONGEST_S / 2}s}}}}
"""


@contextmanager
def cabled(folder: Path, testers: int = 2) -> Iterator[dict[int, Sshd]]:
    """Cables so many testers to a DUT. The configuration of ssh's for a further one is `sshdNUMBER/ssh_config`. Yields
    the ssh server of each."""
    there = {number: THERE[number] for number in range(2, testers + 1)}
    with ExitStack() as stack:
        for namespace in (HERE, DUT, *there.values()):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        for number, tester in {1: HERE, **there}.items():
            suffix = str(number) if number > 1 else ""
            for side in ("left", "right"):
                cable(tester, f"t-{side}", DUT, f"d-{side}{suffix}")
        ip("netns", "exec", DUT, "nft", "-f", "-", text=LIMIT)
        servers: dict[int, Sshd] = {}
        for number, tester in there.items():
            cable(HERE, f"mgmt{number}", tester, "mgmt")
            ip("-n", HERE, "address", "add", f"192.0.2.{4 * number + 1}/30", "dev", f"mgmt{number}")
            ip("-n", tester, "address", "add", f"192.0.2.{4 * number + 2}/30", "dev", "mgmt")
            inside, address = ["ip", "netns", "exec", tester], f"192.0.2.{4 * number + 2}"
            server = running_sshd(folder / f"sshd{number}", address=address, inside=inside)
            servers[number] = stack.enter_context(server)
        yield servers


def cable(one: str, end: str, other: str, other_end: str) -> None:
    ip("-n", one, "link", "add", end, "type", "veth", "peer", "name", other_end, "netns", other)
    for namespace, name in ((one, end), (other, other_end)):
        ip("netns", "exec", namespace, "ethtool", "-K", name, "tx", "off")
        ip("-n", namespace, "link", "set", name, "up")


def written(folder: Path, experiments: str, testers: int = 2) -> Path:
    """Returns the file of a plan."""
    further = "".join(
        f"""
    - tester:
        ssh: {{host: gateway, user: root, config: {folder}/sshd{number}/ssh_config}}
        engine: {find_engine()}
        cores: 1
      left: {{interface: t-left}}
      right: {{interface: t-right}}
      dut: {{left: d-left{number}, right: d-right{number}}}
"""
        for number in range(2, testers + 1)
    )
    plan = TESTBED + further + experiments.replace("EACH", str(CONNECTIONS // testers)).replace("PAIRS", str(testers))
    (folder / "plan.yaml").write_text(plan)
    return folder / "plan.yaml"


def engines(namespace: str) -> list[int]:
    """Returns the engines that run in a network namespace."""
    found = []
    for pid in ip("netns", "pids", namespace).split():
        # A process may have ended since.
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text(errors="replace").startswith("natxy-engine"):
                found.append(int(pid))
    return found


def too_low(run: RunRecord) -> str:
    """Returns the results that are too low, as a machine makes them that takes the DUT's core away."""
    least = bounds_fps(SEARCH_ERROR)[0], connection_bounds(CONNECTIONS, SEARCH_ERROR)[0]
    low = [
        f"{each.planned.name}: {each.statistics.median:.0f}/s"
        for each, least_fps in zip(run.experiments, least, strict=True)
        if each.statistics and each.statistics.median < least_fps
    ]
    return without_result(run) or ", ".join(low)


@pytest.mark.parametrize("testers", [2, pytest.param(MOST_TESTERS, marks=pytest.mark.more)])
def test_testers_find_the_limit_of_the_gateway_together(tmp_path: Path, testers: int) -> None:
    with cabled(tmp_path, testers):
        plan = written(tmp_path, THROUGHPUT, testers)
        run, _ = measured_run(plan, tmp_path / "out", inside=["ip", "netns", "exec", HERE], blames=too_low)
        assert_given_back(testers)
    assert run.state == RunState.DONE
    throughput, connections = run.experiments
    least_fps, most_fps = bounds_fps(SEARCH_ERROR)
    assert throughput.statistics is not None
    assert least_fps <= throughput.statistics.median <= most_fps
    least_cps, most_cps = connection_bounds(CONNECTIONS, SEARCH_ERROR)
    assert connections.statistics is not None
    assert least_cps <= connections.statistics.median <= most_cps
    suffixes = ["", *(f" {number}" for number in range(2, testers + 1))]
    for experiment, kind, names in (
        (throughput, TrialKind.TRAFFIC, ("forward", "reverse")),
        (connections, TrialKind.PHASE1, ("phase 1",)),
        (connections, TrialKind.VALIDATE, ("validation",)),
    ):
        trials = [trial for _, _, trial in experiment.all_trials if trial.kind == kind]
        assert {tuple(stream.name for stream in trial.result.streams) for trial in trials} == {
            tuple(name + suffix for suffix in suffixes for name in names)
        }
    trials = [trial for _, _, trial in throughput.all_trials if trial.kind == TrialKind.TRAFFIC]
    assert {port.pair for trial in trials for port in trial.result.ports} == {*range(testers)}
    reasons = [trial.result.reason for trial in trials if trial.verdict == "fail"]
    assert all(reason.startswith(("this machine: ", "the tester root@gateway: ")) for reason in reasons)
    # Streams of a further tester have the number of its pair.
    assert not re.search(r"root@gateway: (forward|reverse): ", "; ".join(reasons))
    assert all("known within" in run.testbed[f"tester of pair {number}"] for number in range(2, testers + 1))


def assert_given_back(testers: int = 2) -> None:
    """Asserts that all machines are as they were."""
    assert engines(HERE) == []
    for number in range(2, testers + 1):
        assert engines(THERE[number]) == []
        assert ip("netns", "exec", THERE[number], "sysctl", "-n", "net.ipv6.conf.t-left.disable_ipv6") == "0\n"
        assert "PROMISC" not in ip("-n", THERE[number], "link", "show", "t-left")
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


def wait_for_the_end(lost: Collection[int]) -> None:
    """Returns when these engines have ended; prints how long that took."""
    began_s = time.monotonic()
    wait_until(lambda: not any(map(runs, lost)))
    print(f"the engines ended within {time.monotonic() - began_s:.2f} s")


def test_the_run_goes_on_with_new_engines_when_one_is_lost(tmp_path: Path) -> None:
    with cabled(tmp_path) as servers:
        plan, folder = written(tmp_path, KILLED), tmp_path / "out"
        faults: dict[str, Callable[[], None]] = {
            "is-cut": servers[2].cut,
            "own-dies": lambda: os.kill(engines(HERE)[0], signal.SIGKILL),
        }
        argv = ["ip", "netns", "exec", HERE, *command("run", plan, "--output", folder)]
        with (tmp_path / "said").open("w") as said, subprocess.Popen(argv, stdout=said, stderr=said) as run:
            for experiment, fault in faults.items():
                wait_for_traffic(run, folder, experiment)
                both = [*engines(HERE), *engines(THERE[2])]
                fault()
                wait_for_the_end(both)
            assert run.wait(HANG_S) == EngineDiedError.exit_code, (tmp_path / "said").read_text()
        assert_given_back()
    experiments = {experiment.name: experiment for experiment in RunReader(folder).run.experiments}
    for experiment in faults:
        name = "this machine" if experiment == "own-dies" else "the tester root@gateway"
        record = experiments[experiment]
        assert record.state == State.FAILED
        assert record.reason.startswith(f"{name}: natxy-engine ended during trial.run")
        assert record.values == []
        assert not [*record.all_trials]
        # The other tester did not finish its part of the trial.
        at_s = {event["event"]: event["clock_s"] for event in events(folder, experiment)}
        assert at_s["experiment_finished"] - at_s["trial_started"] < LONGEST_S
    assert experiments["between"].state == State.DONE
