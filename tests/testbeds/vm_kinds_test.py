# SPDX-License-Identifier: Apache-2.0
"""Tests the testbed `vm` with each kind of NIC, with several queues, with a disk as a user would have one, and its
reset."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.api import RunListener, load_plan, run_plan
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.transport.boot import boot_id
from natxy.results.reader import RunReader
from natxy.results.records import DutRecord, ExperimentRecord, State
from natxy.testbeds.vm.machine import VirtualMachine
from tests.support import needs
from tests.support.own_disk import NAMES, PORT, PROGRAMS, own_disk

pytestmark = [*needs.LAB, *needs.VM, needs.TUN, pytest.mark.cards]

# A busy machine takes the virtual machine's processor away for long.
PLAN: Final = """
name: vm
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms, max_backlog: 99%}}
repeat: 1
testbed: {{kind: vm, {testbed}}}
defaults:
  max_invalid: 50
  search: {{min_rate: 200, max_rate: 400, error: 200}}
experiments:
"""
FORWARDING: Final = "{name: forwarding, gateway: linux-forward, procedure: throughput}"
NAT44: Final = "{name: nat44, gateway: nftables, procedure: throughput, connections: 200, phase1_rate: 400}"
# Without KVM, a boot may take minutes on a busy machine. The connections have to live as long.
LIFETIME_S: Final = 300
RESET: Final = (
    f"{{name: reset, gateway: {{driver: nftables, udp_timeout_s: {LIFETIME_S}, udp_stream_timeout_s: {LIFETIME_S}}}, "
    "procedure: {name: reset, steady: 1s, recovery: 3 min}, rate: 100, cores: 1, directions: forward, "
    "connections: 200, phase1_rate: 400, max_invalid: 2}"
)


@pytest.mark.parametrize(("nic", "driver"), [("virtio", "virtio_net"), ("e1000e", "e1000e"), ("vmxnet3", "vmxnet3")])
def test_each_kind_of_nic_forwards(tmp_path: Path, nic: str, driver: str) -> None:
    dut = forwarding(tmp_path, f"nic: {nic}")
    assert dut.settings["NICs"].startswith(nic)
    for side in NAMES:
        assert dut.hardware[f"{side} driver"].split()[0] == driver


def test_frames_reach_both_queues_of_each_nic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[str, list[int]] = {}
    remove = LinuxGateway.remove

    def count_and_remove(gateway: LinuxGateway[Any]) -> None:
        for interface in gateway.interfaces.names:
            told = gateway.transport.run(["ethtool", "--statistics", interface]).stdout
            counted[interface] = [int(frames) for frames in re.findall(r"rx_queue_\d+_packets: (\d+)", told)]
        remove(gateway)

    monkeypatch.setattr(LinuxGateway, "remove", count_and_remove)
    dut = forwarding(tmp_path, "queues: 2, cpus: 2")
    assert dut.settings["NICs"] == "virtio, 2 queues each"
    for side in NAMES:
        assert dut.hardware[f"{side} queues"] == "2 combined"
        assert len(counted[side]) == 2
        # At least 40 frames of random ports: a queue that has a tenth of them is 5 standard deviations from half.
        assert min(counted[side]) >= sum(counted[side]) / 10 >= 4


@needs.programs(*PROGRAMS)
def test_a_disk_of_the_users_own_boots_and_is_left_as_it_was(tmp_path: Path) -> None:
    own = own_disk(tmp_path)
    before = own.disk.stat().st_mtime_ns
    names = ", ".join(f"{side}: {name}" for side, name in NAMES.items())
    dut = forwarding(tmp_path, f"image: {own.disk}, key: {own.key}, port: {PORT}, {names}")
    assert dut.settings["image"] == str(own.disk)
    assert "root=/dev/vda2" in dut.hardware["kernel command line"]
    assert own.disk.stat().st_mtime_ns == before


def test_a_reset_boots_the_system_and_sets_its_gateway_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    took_s: list[float] = []
    restart = LinuxGateway.restart

    def watched_restart(gateway: LinuxGateway[Any]) -> None:
        machine = gateway.transport
        assert isinstance(machine, VirtualMachine)
        before, begun = boot_id(machine), time.monotonic()
        restart(gateway)
        took_s.append(time.monotonic() - begun)
        assert boot_id(machine) != before
        # All of this the system had lost.
        assert machine.hot_plug.cores() == (0,)
        assert gateway.read_sysctl("net.netfilter.nf_conntrack_udp_timeout") == str(LIFETIME_S)
        assert "masquerade" in gateway.configuration()

    monkeypatch.setattr(LinuxGateway, "restart", watched_restart)
    reset, nat44 = measured(tmp_path, "cpus: 2", RESET, NAT44)
    # It has figures only if frames came back with the addresses that the gateway gives them.
    [figures] = [each.figures for each in reset.repetitions]
    assert figures["timestamps"] is not None
    # The gateway forwards before it has its cores.
    assert figures["timestamps"] > took_s[-1] / 2
    assert nat44.state == State.DONE


def forwarding(folder: Path, testbed: str) -> DutRecord:
    """Measures forwarding on such a testbed, and returns what is known of the gateway's machine."""
    [experiment] = measured(folder, testbed, FORWARDING)
    [value] = experiment.values
    assert value is not None
    assert 200 <= value <= 400
    return experiment.duts[0]


def measured(folder: Path, testbed: str, *experiments: str) -> list[ExperimentRecord]:
    """Measures in this process, so that a test can look at the gateway meanwhile."""
    plan = folder / "plan.yaml"
    plan.write_text(PLAN.format(testbed=testbed) + "".join(f"  - {each}\n" for each in experiments))
    code = run_plan(load_plan(plan), folder / "out", RunListener())
    found = RunReader(folder / "out").run.experiments
    assert code == 0, [each.reason for each in found]
    return found
