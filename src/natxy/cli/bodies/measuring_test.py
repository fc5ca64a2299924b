# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from natxy.cli.bodies import measuring as module
from natxy.cli.bodies.measuring import check_machine
from natxy.cli.console import LastingConsole
from natxy.plan.yaml.loading import load_plan
from natxy.testbeds.vm.image import VmImage

VM: Final = Path(__file__).parents[4] / "plans" / "vm.yaml"


def test_a_virtual_machine_without_its_image_will_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "check_cores", lambda _: None)
    monkeypatch.setattr(module, "check_sysctls", lambda _: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plan = load_plan(VM)
    check_machine(plan, LastingConsole())
    printed = " ".join(capsys.readouterr().out.split())
    assert f"Will fail: {', '.join(each.name for each in plan.experiments)}: " in printed
    assert f"{tmp_path}/natxy/vm-bookworm, the virtual machine, is missing: run `make vm`" in printed


@pytest.mark.parametrize(("accelerator", "executed"), [("kvm", "KVM"), ("tcg", "TCG (no KVM")])
def test_what_will_boot_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], accelerator: str, executed: str
) -> None:
    monkeypatch.setattr(module, "check_cores", lambda _: None)
    monkeypatch.setattr(module, "check_sysctls", lambda _: None)
    monkeypatch.setattr(module, "find_image", lambda _: VmImage(Path("/vm/disk.img"), "raw", Path("/vm/key")))
    monkeypatch.setattr(module, "choose_accelerator", lambda _: accelerator)
    check_machine(load_plan(VM), LastingConsole())
    printed = " ".join(capsys.readouterr().out.split())
    assert f"The virtual machine: /vm/disk.img, run by QEMU with {executed}" in printed


def test_doubtful_results_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "check_cores", lambda _: None)
    monkeypatch.setattr(module, "check_sysctls", lambda _: None)
    file = tmp_path / "plan.yaml"
    cabled = "{kind: hardware, left: {interface: a}, right: {interface: b}, dut: {ssh: dut, left: c, right: d}}"
    siit = "procedure: throughput, translation: siit, search: {min_rate: 1k, max_rate: 9k}"
    file.write_text(
        f"name: plan\ntestbed: {cabled}\nexperiments:\n"
        f"  - {{name: one, gateway: tayga, {siit}}}\n  - {{name: other, gateway: map646, {siit}}}\n"
        "  - {name: third, gateway: {driver: nftables, hash_size: 4096, conntrack_max: 300k}, addresses: multiple,\n"
        "     procedure: connection-rate, connections: 200k, search: {min_rate: 20k, max_rate: 60k}}\n"
    )
    check_machine(load_plan(file), LastingConsole())
    warned = " ".join(capsys.readouterr().err.split())
    assert "warning: map646 has never run map646 itself" in warned
    assert "warning: one: tayga sends one frame in 65,536 to IPv6 with a UDP checksum of 0" in warned
    assert "warning: third: the 200,000 connections are 48.8 for each of the 4,096 hash buckets" in warned
    assert warned.count("warning") == 3
