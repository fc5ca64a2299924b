# SPDX-License-Identifier: Apache-2.0
"""Tests natxy in places like containers: another network namespace than the machine's first, read-only folders."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from natxy.results.reader import RunReader
from tests.support import needs
from tests.support.command import natxy

OTHER_NETWORK: Final = ["unshare", "--net"]
READ_ONLY: Final = [
    "unshare", "--mount", "sh", "-c",
    'mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec "$0" "$@"',
]  # fmt: skip
NO_LEDGER: Final = [
    "unshare", "--mount", "sh", "-c",
    'mkdir -p /var/lib/natxy && mount -t tmpfs -o ro none /var/lib/natxy && exec "$0" "$@"',
]  # fmt: skip

PLAN: Final = """
name: small
timing: {preset: lab, trial: 100ms, max_pause: 50ms, overrun_floor: 50ms}
repeat: 1
defaults: {procedure: throughput, search: {min_rate: 1k, max_rate: 2k, error: 1k}, max_invalid: 20}
experiments:
  - {name: forward, gateway: linux-forward}
  - {name: nat, gateway: nftables, connections: 100, phase1_rate: 1k}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)
    return file


@pytest.fixture
def simulated(plan: Path) -> Path:
    text = PLAN.replace("repeat: 1", "repeat: 1\ntestbed: {kind: simulated}")
    plan.write_text(text.replace("linux-forward", "simulated").replace("nftables", "simulated"))
    return plan


@pytest.mark.lab
@needs.NAMESPACES
@needs.ENGINE
def test_another_network_namespace_than_the_machines_first_is_measured_in_with_a_stated_deviation(
    plan: Path, tmp_path: Path
) -> None:
    done = natxy("run", plan, "--output", tmp_path / "out", inside=OTHER_NETWORK)
    assert done.returncode == 0, done.stdout + done.stderr
    run = RunReader(tmp_path / "out").run
    assert [experiment.state for experiment in run.experiments] == ["done", "done"]
    stated = [caveat.text for caveat in run.caveats if "net.core.netdev_max_backlog" in caveat.text]
    assert len(stated) == 1
    assert "takes the kernel's default of 1000 frames" in stated[0]


@needs.NAMESPACES
@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_read_only_proc_sys_is_refused_before_a_run(plan: Path, tmp_path: Path, verb: str) -> None:
    output = ["--output", str(tmp_path / "out")] if verb == "run" else []
    done = natxy(verb, plan, *output, inside=READ_ONLY)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stderr.count("\n") == 2  # the error and its page
    assert "/proc/sys is read-only here" in done.stderr
    assert "`--privileged`" in done.stderr
    assert not (tmp_path / "out").exists()


@needs.NAMESPACES
def test_doctor_finds_a_read_only_proc_sys(plan: Path) -> None:
    done = natxy("doctor", plan, inside=READ_ONLY)
    assert "/proc/sys is read-only" in done.stdout
    assert "mount -o remount,rw /proc/sys" in " ".join(done.stdout.split())


@needs.NAMESPACES
def test_what_sets_no_sysctl_needs_none(simulated: Path) -> None:
    done = natxy("check", simulated, inside=READ_ONLY)
    assert done.returncode == 0, done.stderr


@needs.NAMESPACES
@needs.ENGINE
def test_a_read_only_ledger_is_refused_before_a_run(plan: Path, tmp_path: Path) -> None:
    done = natxy("run", plan, "--output", tmp_path / "out", inside=NO_LEDGER)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "/var/lib/natxy/ledger.json cannot be written: Read-only file system" in done.stderr
    assert not (tmp_path / "out").exists()


@needs.NAMESPACES
def test_what_changes_nothing_needs_no_ledger(simulated: Path, tmp_path: Path) -> None:
    done = natxy("run", simulated, "--output", tmp_path / "out", inside=NO_LEDGER)
    assert done.returncode == 0, done.stderr
