# SPDX-License-Identifier: Apache-2.0
"""`natxy run` from end to end: real frames through a real gateway, at rates that any machine manages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from natxy.engine.program import find_engine
from natxy.errors import NatxyError
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State


def engine_is_built() -> bool:
    try:
        find_engine()
    except NatxyError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a lab needs root"),
    pytest.mark.skipif(not engine_is_built(), reason="natxy-engine is not built"),
]

PLAN = """
name: small
timing: {preset: lab, trial: 200ms}
repeat: 1
family: FAMILY
defaults:
  gateway: nftables
  connections: 2k
  addresses: multiple
  search: {min_rate: 2k, max_rate: 5k, error: 2k}
  max_invalid: 20
experiments:
  - {name: forwarding, gateway: linux-forward, procedure: throughput, connections: null, addresses: single}
  - {name: rate, procedure: connection-rate}
  - {name: validated, procedure: validated-connection-rate}
  - name: phase2
    procedure: throughput
    phase1_rate: {experiment: rate, percent: 50}
    baseline: forwarding
"""

LONG = """
name: long
experiments:
  - name: forwarding
    gateway: linux-forward
    procedure: throughput
    search: {min_rate: 1k, max_rate: 2k}
"""


def command(plan: Path) -> list[str]:
    return [sys.executable, "-m", "natxy", "run", str(plan), "--output", str(plan.parent / "out")]


def namespaces_of(pid: int) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if f"-{pid}-" in line]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_routers_and_nats_are_measured_and_nothing_stays(tmp_path: Path, family: str) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("FAMILY", family))
    with subprocess.Popen(command(plan), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert namespaces_of(process.pid) == []
    run = RunReader(tmp_path / "out").run
    assert run.state == RunState.DONE
    assert [experiment.state for experiment in run.experiments] == [State.DONE] * 4
    # All far below what the kernel does: the search's highest rate passes.
    assert [experiment.values for experiment in run.experiments] == [[5000.0]] * 4
    phase2 = run.experiments[3]
    # Neither limit was reached, so nothing is known of their ratio.
    assert phase2.baseline_ratio_percent is None
    phase1, traffic = phase2.repetitions[0].trials[-2:]
    assert (phase1.received, traffic.received) == (2000, 2000)
    assert phase2.dut is not None
    assert "masquerade" in phase2.dut["configuration"]


@contextmanager
def trial_under_way(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that is in the first of its trials of a minute."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(LONG)
    with subprocess.Popen(command(plan), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 30
            while not (namespaces_of(process.pid) and engines_of(process.pid)) and time.monotonic() < deadline:
                time.sleep(0.1)
            # The learning pause of 2 s and the rest of 5 s pass before the first frame.
            time.sleep(9)
            yield process
        finally:
            process.kill()


def engines_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if is_engine(int(child))]


def is_engine(pid: int) -> bool:
    # A process that is listed may be gone before it is looked at.
    try:
        return "natxy-engine" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_ctrl_c_in_a_trial_ends_within_two_seconds(tmp_path: Path) -> None:
    with trial_under_way(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        process.communicate(timeout=20)
        assert time.monotonic() - started < 2
    assert process.returncode == 130
    assert namespaces_of(process.pid) == []
    assert RunReader(tmp_path / "out").run.state == RunState.INTERRUPTED


def test_an_engine_that_dies_in_a_trial_is_reported(tmp_path: Path) -> None:
    with trial_under_way(tmp_path) as process:
        (engine,) = engines_of(process.pid)
        os.kill(engine, signal.SIGKILL)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 5
    died = "natxy-engine ended during trial.run (signal 9)"
    assert died in output
    assert namespaces_of(process.pid) == []
    experiment = RunReader(tmp_path / "out").run.experiments[0]
    assert (experiment.state, died in (experiment.reason or "")) == (State.FAILED, True)


RESETS = """
name: resets
timing: {preset: lab, trial: 500ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
defaults:
  max_invalid: 20
  rate: 5k
experiments:
  - {name: router, gateway: linux-forward, procedure: {name: reset, recovery: 2s}}
  - name: nat
    gateway: nftables
    procedure: {name: reset, recovery: 2s}
    directions: forward
    connections: 1k
    phase1_rate: 5k
  - name: command
    gateway: linux-forward
    procedure:
      name: reset
      kind: operating-system
      command: [sh, -c, "sysctl -qw net.ipv4.ip_forward=0 && sleep 0.3 && sysctl -qw net.ipv4.ip_forward=1"]
      recovery: 2s
"""


def test_resets_interrupt_forwarding_for_as_long_as_they_take(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(RESETS)
    done = subprocess.run(command(plan), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    run = RunReader(tmp_path / "out").run
    for experiment in run.experiments:
        figures = experiment.repetitions[0].figures
        lost_s, stamped_s = figures["loss"], figures["timestamps"]
        assert lost_s is not None
        assert stamped_s is not None
        # A reset takes a few programs' time, each some milliseconds.
        assert 0.002 < lost_s < 2, experiment.name
        # From the last frame before to the first after; frames may also be lost apart from the interruption.
        assert stamped_s <= lost_s + 0.05
    by_command = run.experiments[-1].repetitions[0].figures["timestamps"]
    assert by_command is not None
    assert by_command > 0.3
