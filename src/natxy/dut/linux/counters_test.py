# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.counters import NEAR, Counters, ReceiveCounters, parse_counters, read_here, reading_command

READING = """\
/proc/uptime:3600.25 7100.10
/proc/stat:cpu  300 0 200 14000 0 10 90 0 0 0
/proc/stat:cpu0 100 20 100 7000 50 5 40 3 0 0
/proc/stat:cpu3 200 0 100 7000 0 5 50 0 0 0
/proc/stat:intr 987654 12 0 0
/proc/stat:ctxt 55
/proc/net/softnet_stat:00000010 00000002 00000001 00000000 0 0 0 0
/proc/net/softnet_stat:\
0000ffff 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003
/proc/meminfo:MemTotal:        1000 kB
/proc/meminfo:MemAvailable:     400 kB
/proc/meminfo:HugePages_Total:    7
/sys/class/net/eth1/statistics/rx_packets:123
/sys/class/net/eth1/statistics/rx_dropped:4
/sys/class/thermal/thermal_zone0/temp:45500
/sys/class/thermal/thermal_zone1/temp:-274000
/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq:2000000
/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq:3000000
"""


def test_all_that_linux_tells_is_read() -> None:
    found = parse_counters(READING)
    assert (found.uptime_s, found.interrupts) == (3600.25, 987654)
    assert found.cores.keys() == {0, 3}
    assert found.cores[0] == pytest.approx(
        {"user": 1, "nice": 0.2, "system": 1, "idle": 70, "iowait": 0.5, "irq": 0.05, "softirq": 0.4, "steal": 0.03}
    )
    # The first line is broken; only the one that names its core is taken.
    assert found.receive == {3: ReceiveCounters(0xFFFF, 0, 3)}
    assert found.interfaces == {"eth1": {"rx_packets": 123, "rx_dropped": 4}}
    assert (found.memory_bytes, found.available_bytes) == (1_024_000, 409_600)
    assert (found.temperature_c, found.frequency_hz) == (45.5, 2.5e9)


def test_lines_of_an_older_kernel_belong_to_the_cores_in_service() -> None:
    stat = "/proc/stat:cpu1 1 1 1 1 1 1 1 1\n/proc/stat:cpu4 1 1 1 1 1 1 1 1\n"
    line = "/proc/net/softnet_stat:{:08x} 00000000 00000000 00000000\n"
    assert parse_counters(stat + line.format(5) + line.format(6)).receive == {
        1: ReceiveCounters(5, 0, 0),
        4: ReceiveCounters(6, 0, 0),
    }
    # Which core the only line is of, nobody knows.
    assert parse_counters(stat + line.format(5)).receive == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no file here\n",
        "/proc/stat:\n/proc/stat:cpu0\n/proc/stat:cpu0 1 2 3\n/proc/stat:cpu 1 1 1 1 1 1 1 1",
        "/proc/stat:cpu0 1 1 1 -1 1 1 1 1\n/proc/stat:cpu0 1 1 1 0x1 1 1 1 1\n/proc/stat:cpu0 1 1 1 ١ 1 1 1 1",
        f"/proc/stat:cpu0 1 1 1 {'9' * 5000} 1 1 1 1",
        "/proc/stat:cpu999999999 1 1 1 1 1 1 1 1",
        f"/proc/stat:intr {'9' * 5000}\n/proc/uptime:nan 1\n/proc/uptime:1e999",
        "/proc/uptime:inf\n/proc/meminfo:MemTotal: 99999999999999999999 kB\n/proc/meminfo:MemAvailable: \x1b[2J kB",
        "/sys/class/net/../../etc/statistics/rx_packets:1\n/sys/class/net/eth1/statistics/rx_packets:-1",
        "/sys/class/thermal/thermal_zone0/temp:4e9\n/sys/class/thermal/thermal_zone1/temp:999999999",
    ],
)
def test_what_no_kernel_writes_is_no_counter(text: str) -> None:
    assert parse_counters(text) == Counters()


@given(st.text() | st.lists(st.sampled_from(READING.split())).map(" ".join) | st.text("/proc/stat: cpu0123456789\n"))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert isinstance(parse_counters(text), Counters)


def test_the_command_prints_what_is_read_here() -> None:
    argv = reading_command(DutInterfaces("lo", "absent"))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    told, here = parse_counters(done.stdout), parse_counters(read_here())
    assert told.cores.keys() == here.cores.keys() != set()
    assert told.receive.keys() == here.receive.keys()
    assert told.uptime_s == pytest.approx(here.uptime_s, abs=5)
    assert told.memory_bytes == int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert told.interfaces.keys() == {"lo"}
    assert "absent" not in done.stdout + done.stderr


def test_an_interface_cannot_be_taken_for_a_part_of_the_command() -> None:
    argv = reading_command(DutInterfaces("$(id)", "; id"), without=NEAR)
    assert [word for word in argv if "id" in word.split("/")[-1]] == []
    assert sum("$(id)" in word for word in argv) == sum("; id" in word for word in argv) > 3
    assert not any(file in argv for file in NEAR)
    assert not [word for word in reading_command(DutInterfaces("a", "b", dpdk=True)) if "class/net" in word]
