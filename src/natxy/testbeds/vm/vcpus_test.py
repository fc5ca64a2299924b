# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
import threading
import time

from natxy.dut.linux.counters import Counters, parse_counters
from natxy.dut.linux.load import spent
from natxy.testbeds.vm.vcpus import read_times


def test_a_thread_that_works_is_busy_and_one_that_sleeps_is_not() -> None:
    ended = threading.Event()
    sleeper = threading.Thread(target=ended.wait)
    sleeper.start()
    assert sleeper.native_id is not None
    threads = [threading.get_native_id(), sleeper.native_id]
    before, used_s = parse_counters(read_times(threads)), time.thread_time()
    while time.thread_time() < used_s + 0.3:
        pass
    # A machine that pauses may count its pause as work.
    worked_s = time.thread_time() - used_s
    load = spent(before, parse_counters(read_times(threads)))
    ended.set()
    sleeper.join()
    assert load is not None
    works, sleeps = load.cores
    # Each time is rounded to hundredths at both ends.
    assert abs(works.busy_s - worked_s) < 0.05
    assert works.user_s >= worked_s - 0.02
    assert abs(sleeps.busy_s) < 0.05
    assert sleeps.idle_s > 0.25


def test_nothing_is_known_of_a_thread_that_has_ended() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert parse_counters(read_times([threading.get_native_id(), ended.pid])) == Counters()
