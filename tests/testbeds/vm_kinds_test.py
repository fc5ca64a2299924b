# SPDX-License-Identifier: Apache-2.0
"""Tests the testbed `vm` with each kind of NIC, and with a disk as a user would have one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import DutRecord
from tests.support import needs
from tests.support.command import natxy
from tests.support.own_disk import NAMES, PORT, PROGRAMS, own_disk

pytestmark = [*needs.LAB, needs.VM, needs.TUN, pytest.mark.cards]

# A busy machine takes the virtual machine's processor away for long.
PLAN: Final = """
name: vm
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms, max_backlog: 99%}}
repeat: 1
testbed: {{kind: vm, {testbed}}}
defaults: {{max_invalid: 50}}
experiments:
  - name: forwarding
    gateway: linux-forward
    procedure: throughput
    search: {{min_rate: 200, max_rate: 400, error: 200}}
"""


@pytest.mark.parametrize(("nic", "driver"), [("virtio", "virtio_net"), ("e1000e", "e1000e"), ("vmxnet3", "vmxnet3")])
def test_each_kind_of_nic_forwards(tmp_path: Path, nic: str, driver: str) -> None:
    dut = measured(tmp_path, f"nic: {nic}")
    assert dut.settings["NICs"].startswith(nic)
    for side in NAMES:
        assert dut.hardware[f"{side} driver"].split()[0] == driver


@needs.programs(*PROGRAMS)
def test_a_disk_of_the_users_own_boots_and_is_left_as_it_was(tmp_path: Path) -> None:
    own = own_disk(tmp_path)
    before = own.disk.stat().st_mtime_ns
    names = ", ".join(f"{side}: {name}" for side, name in NAMES.items())
    dut = measured(tmp_path, f"image: {own.disk}, key: {own.key}, port: {PORT}, {names}")
    assert dut.settings["image"] == str(own.disk)
    assert "root=/dev/vda2" in dut.hardware["kernel command line"]
    assert own.disk.stat().st_mtime_ns == before


def measured(folder: Path, testbed: str) -> DutRecord:
    """Measures forwarding on such a testbed, and returns what is known of the gateway's machine."""
    plan = folder / "plan.yaml"
    plan.write_text(PLAN.format(testbed=testbed))
    done = natxy("run", plan, "--output", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    [experiment] = RunReader(folder / "out").run.experiments
    [value] = experiment.values
    assert value is not None
    assert 200 <= value <= 400
    assert experiment.dut is not None
    return experiment.dut
