# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from natxy.system.process_owner import Owner
from natxy.system.programs import OWNER_VARIABLE
from tests.support.machine_state import differences, machine_state, touched_only


def test_the_state_has_what_is_there_once_for_the_machine() -> None:
    state = machine_state()
    assert "0" in state["cores in service"]
    assert {"vm.nr_hugepages", "kernel.sched_rt_runtime_us"} <= state["sysctls"].keys()
    # The kernel changes it whenever a process starts.
    assert "kernel.ns_last_pid" not in state["sysctls"]


def test_a_program_that_a_dead_natxy_left_is_seen_whatever_its_name() -> None:
    me = Owner.current()
    dead = Owner(me.pid, me.start_ticks + 1)
    with subprocess.Popen(["sleep", "612"], env=os.environ | {OWNER_VARIABLE: str(dead)}) as left:
        try:
            assert "sleep 612" in machine_state(owners=[dead])["programs"]
            assert machine_state(owners=[me])["programs"] == []
        finally:
            left.kill()


def test_a_file_counts_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    me = Owner.current()
    dead = Owner(me.pid, me.start_ticks + 1)
    file = tmp_path / f"natxy-memif-{dead}-1a"
    file.touch()
    # Files without an owner's name, such as a running Tayga's, count too.
    assert str(file) in machine_state(owners=[dead])["files"]
    assert str(file) not in machine_state(owners=[Owner(me.pid, me.start_ticks + 2)])["files"]


@pytest.mark.machine
def test_a_setting_of_the_machine_counts_where_it_was_touched() -> None:
    before = machine_state()
    after = machine_state()
    after["sysctls"]["vm.swappiness"] = "another"
    after["network"]["links"]["t-left"] = {"up": True}
    after["files"] += ["/run/natxy-tayga-1.pid"]

    def changed(touched: str) -> list[str]:
        lines = differences(touched_only(before, touched), touched_only(after, touched))
        return [line.partition(":")[0] for line in lines]

    assert changed("") == []
    assert changed("ip netns exec dut sysctl -w vm.swappiness=another") == []
    assert changed("sysctl -w vm.swappiness=another") == ["/sysctls/vm.swappiness"]
    assert changed("ip link add t-left") == ["/network/links/t-left"]
    assert changed("ip netns exec dut tayga --pidfile /run/natxy-tayga-1.pid") == ["/files"]
