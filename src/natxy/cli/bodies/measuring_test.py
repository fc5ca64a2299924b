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
