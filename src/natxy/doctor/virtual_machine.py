# SPDX-License-Identifier: Apache-2.0
"""Examines whether this machine can boot the virtual machine of a testbed `vm`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from natxy.doctor.finding import Finding
from natxy.errors import PlanError
from natxy.installation import by_make
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.vm.accelerator import QEMU, boots_with
from natxy.testbeds.vm.image import find_image
from natxy.testbeds.vm.taps import TUN

_FOR_KVM: Final = (
    "allow virtualization in this machine's firmware, or nested virtualization if it is a virtual machine, and load "
    "kvm_intel or kvm_amd"
)


def probe_virtual_machine(config: VmConfig | None) -> list[Finding]:
    """Returns what a virtual machine needs. Without a plan it is optional. KVM is not tried out where the rest is
    missing."""
    try:
        if shutil.which(QEMU) is None:
            raise PlanError(f"{QEMU} is not installed on this machine: {by_make('vm')}")
        image = find_image(config or VmConfig(kind="vm"))
    except PlanError as error:
        if config is None:
            return [Finding("virtual machine", None, "not ready; optional", by_make("vm"))]
        value, _, remedy = str(error).partition(": run ")
        return [Finding("virtual machine", False, value, f"run {remedy}" if remedy else "correct the plan's testbed")]
    findings = [Finding("virtual machine", True, f"its image is {image.disk}")]
    if not Path(TUN).exists():
        findings.append(Finding(TUN, False if config else None, "missing", "load the kernel's module tun"))
    return [*findings, _kvm(config)]


def _kvm(config: VmConfig | None) -> Finding:
    wanted = config.accelerator if config else None
    if wanted == "tcg":
        return Finding("KVM", True, "not tried out: the plan says accelerator: tcg")
    if boots_with("kvm"):
        return Finding("KVM", True, "a guest boots with it")
    slower = "no guest boots with it"
    if wanted is None:
        slower += "; QEMU executes the instructions itself (TCG), many times slower"
    return Finding("KVM", False if wanted else None, slower, _FOR_KVM)
