# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from natxy.doctor import disturbances
from natxy.doctor.disturbances import connection_table, probe_disturbances
from natxy.doctor.finding import Finding
from natxy.dut.transport.local import LocalTransport
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.system.machine_sysctls import MachineSysctls

SHARING = "tester's and gateway's cores"


@pytest.fixture
def cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes four cores whose files in /sys do not exist yet."""
    monkeypatch.setattr(disturbances, "CPUS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    return tmp_path


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def found(name: str, testbed: TestbedConfig | None = None) -> Finding | None:
    return next((finding for finding in probe_disturbances(testbed) if finding.name == name), None)


def state(name: str, testbed: TestbedConfig | None = None) -> tuple[bool | None, str]:
    finding = found(name, testbed)
    assert finding is not None
    assert (finding.remedy is None) == (finding.ok is True)
    return finding.ok, finding.value


def test_what_the_kernel_does_not_tell_is_unknown(cpus: Path) -> None:
    assert state("frequency scaling") == (None, "unknown: not visible here")
    assert state("boost") == (None, "unknown: not visible here")


@pytest.mark.parametrize(("second", "expected"), [("performance", True), ("schedutil", None)])
def test_one_core_with_another_governor_is_told(cpus: Path, second: str, expected: bool | None) -> None:
    for core, governor in enumerate(("performance", second)):
        write(cpus / f"cpu{core}/cpufreq/scaling_governor", governor)
    assert state("frequency scaling")[0] is expected


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("intel_pstate/no_turbo", "1", (True, "off")),
        ("intel_pstate/no_turbo", "0", (None, "on")),
        ("cpufreq/boost", "0", (True, "off")),
        ("cpufreq/boost", "1", (None, "on")),
    ],
)
def test_boost_by_either_file(cpus: Path, file: str, text: str, expected: tuple[bool | None, str]) -> None:
    write(cpus / file, text)
    assert state("boost") == expected
    finding = found("boost")
    assert finding is not None
    assert finding.remedy is None or f"echo {1 - int(text)} > {cpus / file}" in finding.remedy


def test_cores_of_a_lab(cpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state(SHARING) == (True, "tester 0, gateway 1, control 2: apart")
    assert state(SHARING, LabConfig(tester_cores=[1], dut_cores=[1]))[0] is None
    assert state(SHARING, LabConfig(tester_cores=[7]))[0] is False
    assert found(SHARING, SimulatedTestbedConfig(kind="simulated")) is None
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert state(SHARING) == (None, "tester 0, gateway 0, control 0: shared")


def test_hardware_threads_of_one_core_are_no_two_cores(cpus: Path) -> None:
    write(cpus / "cpu0/topology/thread_siblings_list", "0-1")
    ok, value = state(SHARING)
    assert ok is None
    assert value.endswith("core 1 is a hardware thread of a tester's core")
    assert state(SHARING, LabConfig(tester_cores=[0, 1], dut_cores=[2]))[0] is True


@pytest.mark.parametrize(("tester_cores", "ok"), [([0, 1, 2], True), ([0, 1, 2, 3], None)])
def test_natxy_itself_needs_a_core_beside_the_testers(cpus: Path, tester_cores: list[int], ok: bool | None) -> None:
    ends: dict[str, Any] = {"left": {"interface": "none1"}, "right": {"interface": "none2"}}
    dut = {"left": "d1", "right": "d2", "ssh": "dut.lab"}
    testbed = HardwareConfig.model_validate({"kind": "hardware", **ends, "dut": dut, "tester_cores": tester_cores})
    found_ok, value = state(SHARING, testbed)
    assert found_ok is ok
    assert value.endswith(": apart" if ok else ": none is left for natxy itself")


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        ({"ssh": "dut.lab"}, ""),
        ({}, "tester and DUT are the same machine: steer"),
        ({"addresses": "keep", "namespace": "dut"}, "tester and DUT are the same machine: steer"),
        ({"addresses": "keep"}, "if tester and DUT are the same machine: steer"),
    ],
)
def test_a_dut_on_this_machine_may_share_cores(cpus: Path, where: dict[str, str], remedy: str) -> None:
    dut = {"left": "d1", "right": "d2", **where}
    given = {"kind": "hardware", "left": {"interface": "none1"}, "right": {"interface": "none2"}, "dut": dut}
    testbed = HardwareConfig.model_validate(given)
    finding = found(SHARING, testbed)
    assert finding is not None
    assert (finding.remedy or "").startswith(remedy)
    assert finding.ok is (None if remedy else True)
    assert state("none1", testbed) == (False, "this machine has no such interface")


@pytest.mark.parametrize(
    ("entries", "buckets", "expected"),
    [(262144, 262144, True), (65536, 65536, None), (1_048_576, 65536, None), (0, 0, None)],
)
def test_small_connection_tables(
    monkeypatch: pytest.MonkeyPatch, entries: int, buckets: int, expected: bool | None
) -> None:
    sizes = {"max": str(entries), "buckets": str(buckets)}
    monkeypatch.setattr(disturbances, "read_there", lambda path, _: sizes[path.rpartition("_")[2]])
    assert connection_table(LocalTransport(MachineSysctls())).ok is expected


def test_only_root_finds_other_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ok, value = state("other natxy runs")
    assert ok is None
    assert value.startswith("unknown")
