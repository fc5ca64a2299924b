# SPDX-License-Identifier: Apache-2.0
"""Tests the testbed `vm` from end to end: gateways on a Debian of their own, reached by ssh, and its sudden end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

import pytest

from natxy.engine.messages.results import Verdict
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.system.ledger import Ledger
from natxy.testbeds.vm.accelerator import QEMU
from natxy.testbeds.vm.image import image_folder
from tests.support import needs
from tests.support.command import HANG_S, command, natxy

pytestmark = [*needs.LAB, *needs.VM, needs.TUN]

# Jool 4.1.9 spoils the checksum of one in 65,536 frames from IPv4 to IPv6. Without KVM the virtual machine's processor
# is slow, and a busy machine takes it away for long.
HEAD: Final = """
name: vm
timing: {preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms, max_backlog: 99%}
repeat: 1
testbed: {kind: vm, cpus: 2}
defaults:
  max_invalid: 50
  search: {min_rate: 200, max_rate: 400, error: 200}
experiments:
"""
EVERY_DRIVER: Final = """
  - {name: linux-forward, gateway: linux-forward, procedure: throughput, cores: 1}
  - {name: nftables, gateway: nftables, procedure: throughput, connections: 200, phase1_rate: 400}
  - {name: nftables-table, gateway: nftables, procedure: tear-down-rate, connections: 200, phase1_rate: 400}
  - {name: iptables, gateway: iptables, procedure: connection-rate, connections: 200}
  - {name: tayga, gateway: tayga, translation: siit, procedure: throughput}
  - {name: jool, gateway: jool, translation: nat64, procedure: throughput, connections: 200, phase1_rate: 400,
     loss_tolerance: {reverse: 1%}}
  - {name: jool-table, gateway: jool, translation: nat64, procedure: tear-down-rate, connections: 200, phase1_rate: 400}
"""
# A chain has the interfaces while it is measured, and the last gateway has them again.
CHAINS: Final = """
  - {name: xlat, gateway: {driver: chain, gateways: [jool-siit, jool]}, procedure: throughput, connections: 200,
     phase1_rate: 400, loss_tolerance: 1%}
  - {name: nat, gateway: {driver: chain, gateways: [linux-forward, nftables]}, procedure: throughput, connections: 200,
     phase1_rate: 400}
  - {name: forward, gateway: linux-forward, procedure: throughput}
"""
ENDLESS: Final = """
  - {name: steady, gateway: linux-forward, procedure: throughput, timing: {preset: lab, trial: 5s}}
"""


def written(folder: Path, experiments: str) -> Path:
    plan = folder / "plan.yaml"
    plan.write_text(HEAD + experiments)
    return plan


def left(owner: int) -> list[str]:
    """Returns what the process left: namespaces, programs, entries of the ledger."""
    namespaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.split()
    found = [name for name in namespaces if str(owner) in name.split("-")]
    found += [f"QEMU {pid}" for pid in machines_of(owner)]
    return found + [entry.what for entry in Ledger().entries() if entry.process().pid == owner]


def machines_of(owner: int) -> list[int]:
    """Returns the processes that are virtual machines of a natxy, by the mark that it gives its programs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"NATXY_OWNER={owner}-".encode() in (process / "environ").read_bytes()
            if marked and QEMU.encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def settings(experiment: ExperimentRecord) -> dict[str, str]:
    return experiment.duts[0].settings


@pytest.mark.more
def test_every_linux_driver_is_measured_on_a_machine_of_its_own(tmp_path: Path) -> None:
    before = (image_folder() / "disk.img").stat().st_mtime_ns
    done = natxy("run", written(tmp_path, EVERY_DRIVER), "--output", tmp_path / "out")
    # 4 where clearing a small table does not stand out from clearing an empty one, so that there is no tear-down rate.
    assert done.returncode in (0, 4), done.stdout + done.stderr
    experiments = RunReader(tmp_path / "out").run.experiments
    assert len(experiments) == 7
    busy_s = 0.0
    for each in experiments:
        passed = [trial for _, _, trial in each.all_trials if trial.verdict is Verdict.PASS]
        assert passed, done.stdout
        for trial in passed:
            assert trial.received >= 0.99 * trial.planned > 0
            assert trial.misrouted == trial.corrupt == 0
        if each.name.endswith("-table"):
            # Known only if the gateway's own table held as many connections as the tester had established.
            assert each.repetitions[0].figures.get("full") is not None, done.stdout
        else:
            assert each.state == State.DONE, done.stdout
            [value] = each.values
            assert value is not None
            assert 200 <= value <= 400
        # The frames came through the virtual machine's own interfaces, and cost it time.
        loads = [(trial, trial.dut_load) for trial in passed if trial.dut_load]
        assert loads
        for trial, load in loads:
            assert {interface.name for interface in load.interfaces} == {"left", "right"}
            assert sum(interface.sent for interface in load.interfaces) >= trial.received
        busy_s += sum(load.busy_s for _, load in loads)
        # The kernel is the virtual machine's, not this one's.
        assert settings(each)["kernel"].startswith("Linux 6.1.")
        assert settings(each)["kernel"] != f"Linux {os.uname().release}"
    # A few hundred frames may take an idle machine less than the tick that its kernel counts in.
    assert busy_s > 0
    router, *gateways = experiments
    # The second virtual CPU was out of service, and came back.
    assert settings(router)["cores in service"] == "0"
    assert {settings(each)["cores in service"] for each in gateways} == {"0, 1"}
    # One boot has to do for all of them.
    assert len({settings(each)["boot"] for each in experiments}) == 1
    assert gateways[-1].duts[0].version.startswith("Jool 4.1")
    assert (image_folder() / "disk.img").stat().st_mtime_ns == before


@pytest.mark.more
def test_several_gateways_have_a_namespace_each_in_one_machine(tmp_path: Path) -> None:
    done = natxy("run", written(tmp_path, CHAINS), "--output", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    xlat, nat, forward = RunReader(tmp_path / "out").run.experiments
    for each in (xlat, nat, forward):
        assert each.state == State.DONE, done.stdout
        assert each.values[0]
    assert [dut.name for dut in xlat.duts] == ["jool-siit", "jool"]
    assert "2001:2:0:46::a00:2/128" in xlat.duts[0].configuration
    loads = [trial.dut_load for _, _, trial in nat.all_trials if trial.dut_load]
    assert {tuple(interface.name for interface in load.interfaces) for load in loads} == {
        ("left", "dut1-right", "dut2-left", "right")
    }
    # One boot has to do for all of them.
    assert len({settings(each)["boot"] for each in (xlat, nat, forward)}) == 1


@pytest.mark.long
def test_a_machine_that_loses_its_power_in_a_trial_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    plan, out = written(tmp_path, ENDLESS), tmp_path / "out"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command("run", plan, "--output", out), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + HANG_S
        while "step" not in (tmp_path / "log").read_text() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        [machine] = machines_of(process.pid)
        os.kill(machine, signal.SIGKILL)
        assert process.wait(timeout=HANG_S) == 4, (tmp_path / "log").read_text()
    finally:
        process.kill()
        process.wait()
    assert left(process.pid) == []
    [experiment] = RunReader(out).run.experiments
    assert experiment.state == State.FAILED
    assert "the virtual machine has ended" in experiment.reason
