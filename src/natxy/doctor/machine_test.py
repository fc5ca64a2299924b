# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.doctor import machine
from natxy.doctor.machine import THIS_MACHINE, probe_machines


def test_every_finding_says_something_and_every_fault_has_a_remedy() -> None:
    found = probe_machines()
    assert [*found] == [THIS_MACHINE]
    findings = found[THIS_MACHINE]
    assert len({finding.name for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.value
        assert (finding.remedy is None) == (finding.ok is True), finding


@pytest.mark.parametrize(
    ("size_kib", "available_mib", "remedy", "changes"),
    [
        (2048, 2048, "sysctl vm.nr_hugepages=256", 1),
        (2048, 2047, "sysctl vm.nr_hugepages=256", 0),
        (1 << 20, 65_536, "sysctl vm.nr_hugepages=1", 0),
        (64, 65_536, "sysctl vm.nr_hugepages=8192", 0),
        (0, 65_536, "use a kernel with CONFIG_HUGETLBFS", 0),
    ],
)
def test_huge_pages_are_reserved_where_memory_is_plentiful(
    monkeypatch: pytest.MonkeyPatch, size_kib: int, available_mib: int, remedy: str, changes: int
) -> None:
    meminfo = f"MemAvailable: {1024 * available_mib} kB\n"
    if size_kib:
        meminfo += f"HugePages_Total: 0\nHugepagesize: {size_kib} kB\n"
    monkeypatch.setattr(machine, "read_text", lambda _: meminfo)
    (found,) = machine._hugepages()
    assert (found.ok, found.remedy, len(found.changes)) == (None, remedy, changes)


def test_each_missing_driver_has_a_package_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "Path", lambda _: tmp_path)
    packages = [change.undo[-1] for found in machine._dpdk_drivers() for change in found.changes]
    assert packages == ["librte-net-af-xdp23", "librte-net-af-packet23"]


@pytest.mark.parametrize(
    ("reasons", "packages"),
    [
        (["tayga is not installed: apt install tayga", "nft is not installed: apt install nftables"], 2),
        (["tayga is not installed: apt install tayga", "user-mode Linux is not installed: run `make jool`"], 0),
        ([], 0),
    ],
)
def test_a_gateway_s_packages_are_installed_if_they_suffice(
    monkeypatch: pytest.MonkeyPatch, reasons: list[str], packages: int
) -> None:
    monkeypatch.setattr(machine, "why_not", lambda _: iter(reasons))
    for found in machine._gateways(None):
        assert len(found.changes) == packages


def test_a_driver_s_package_is_of_the_release_s_dpdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x86_64-linux-gnu").mkdir()
    (tmp_path / "x86_64-linux-gnu" / "librte_ethdev.so.25").touch()
    monkeypatch.setattr(machine, "Path", lambda _: tmp_path)
    packages = [change.undo[-1] for found in machine._dpdk_drivers() for change in found.changes]
    assert packages == ["librte-net-af-xdp25", "librte-net-af-packet25"]
