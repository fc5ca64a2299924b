# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from natxy.cli import measuring as module
from natxy.cli.console import LastingConsole
from natxy.cli.measuring import _is_of, check_machine
from natxy.plan.testbeds.machines import DutLocation, SshTarget
from natxy.plan.yaml.loading import load_plan
from natxy.system.ledger import Entry, Kind, Place
from natxy.testbeds.vm.image import VmImage

VM: Final = Path(__file__).parents[3] / "plans" / "vm.yaml"


def test_what_is_left_concerns_the_plans_machines_by_their_whole_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dut = DutLocation(left="a", right="b", ssh=SshTarget(host="gw", user="root", config=Path("ours")))
    plan: Any = SimpleNamespace(testbed=SimpleNamespace(dut_location=dut, remote_hosts={}))

    def concerned(**target: object) -> bool:
        return _is_of(plan, entry_at(Place(boot_id="x", ssh=json.dumps({"host": "gw", "user": "root", **target}))))

    def entry_at(place: Place) -> Entry:
        return Entry(kind=Kind.SETTING, what="a sysctl", place=place, owner="1-1", boot_id="x")

    assert concerned(config=str(tmp_path / "ours"))
    assert not concerned(config="/another/config")
    assert not concerned(config=str(tmp_path / "ours"), port=2222)
    assert _is_of(plan, entry_at(Place(boot_id="x")))


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
