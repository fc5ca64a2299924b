# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from natxy.doctor import virtual_machine as module
from natxy.doctor.virtual_machine import probe_virtual_machine
from natxy.errors import PlanError
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.vm.image import VmImage


def machine(monkeypatch: pytest.MonkeyPatch, *, kvm: bool = True, qemu: bool = True, image: str = "") -> None:
    """Pretends that this machine has QEMU, a KVM that works, and an image; `image` says why not."""

    def find(_: VmConfig) -> VmImage:
        if image:
            raise PlanError(image)
        return VmImage(Path("/vm/disk.img"), "raw", Path("/vm/key"))

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if qemu else None)
    monkeypatch.setattr(module, "boots_with", lambda _: kvm)
    monkeypatch.setattr(module, "find_image", find)
    monkeypatch.setattr(module, "TUN", "/dev/null")


def found(testbed: VmConfig | None) -> list[tuple[str, bool | None, str]]:
    return [(finding.name, finding.ok, finding.value) for finding in probe_virtual_machine(testbed)]


@pytest.mark.parametrize("testbed", [None, VmConfig(kind="vm"), VmConfig(kind="vm", accelerator="kvm")])
def test_a_machine_with_all(monkeypatch: pytest.MonkeyPatch, testbed: VmConfig | None) -> None:
    machine(monkeypatch)
    image = ("virtual machine", True, "its image is /vm/disk.img")
    assert found(testbed) == [image, ("KVM", True, "a guest boots with it")]


@pytest.mark.parametrize(("accelerator", "ok"), [(None, None), ("kvm", False), ("tcg", True)])
def test_without_kvm(monkeypatch: pytest.MonkeyPatch, accelerator: str | None, *, ok: bool | None) -> None:
    machine(monkeypatch, kvm=False)
    _, kvm = probe_virtual_machine(VmConfig.model_validate({"kind": "vm", "accelerator": accelerator}))
    assert kvm.ok is ok
    assert (kvm.remedy is None) == (ok is True)
    assert ("TCG" in kvm.value) == (accelerator is None)


def test_what_a_plan_needs_is_an_error_and_optional_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, image="/vm, the virtual machine, is missing: run `make vm` as root")
    assert found(None) == [("virtual machine", None, "not ready; optional")]
    [finding] = probe_virtual_machine(VmConfig(kind="vm"))
    assert (finding.ok, finding.value) == (False, "/vm, the virtual machine, is missing")
    assert finding.remedy == "run `make vm` as root"


def test_an_own_image_that_is_missing_is_in_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, image="testbed.image: /x is no file that natxy can read; give the path of one")
    [finding] = probe_virtual_machine(VmConfig(kind="vm", image=Path("/x"), key=Path("/y")))
    assert (finding.ok, finding.remedy) == (False, "correct the plan's testbed")


def test_without_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, qemu=False)
    [finding] = probe_virtual_machine(VmConfig(kind="vm"))
    assert (finding.ok, finding.remedy) == (False, "run `make vm`")


def test_without_the_kernels_taps(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch)
    monkeypatch.setattr(module, "TUN", "/no/tun")
    assert [(finding.name, finding.ok) for finding in probe_virtual_machine(VmConfig(kind="vm"))] == [
        ("virtual machine", True),
        ("/no/tun", False),
        ("KVM", True),
    ]
