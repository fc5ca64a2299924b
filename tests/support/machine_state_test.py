# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess

from natxy.system.process_owner import Owner
from natxy.system.programs import OWNER_VARIABLE
from tests.support.machine_state import machine_state


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
            assert "sleep 612" in machine_state()["programs"]
        finally:
            left.kill()
