# SPDX-License-Identifier: Apache-2.0
"""Which kernel a lab's gateway is made of."""

from __future__ import annotations

import platform
from pathlib import Path

from natxy.dut.transport.local import run_program
from natxy.errors import DutError, PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.model.terms import Kernel
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.guest.files import find_guest
from natxy.testbeds.guest.lab import GuestLab
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.reference_lab import ReferenceLab


def lab_for(config: LabConfig, addresses: AddressPlan, gateway: GatewayConfig, dut_cores: int = 1) -> NetnsLab:
    """PlanError when this machine cannot run the gateway on the kernel it is to have, or on any."""
    if runs_in_guest(gateway):
        return GuestLab(config, addresses)
    if gateway.polls:
        return ReferenceLab(config, addresses)
    return NetnsLab(config, addresses, dut_cores)


def runs_in_guest(gateway: GatewayConfig) -> bool:
    """PlanError as `lab_for`."""
    return _kernel_of(gateway) == Kernel.USER_MODE


def takes_module(name: str) -> bool:
    """Whether the machine's own kernel has the module, or can load it."""
    if Path(f"/sys/module/{name}").exists():
        return True
    try:
        return run_program(["modprobe", "--dry-run", name], check=False).returncode == 0
    except DutError:
        return False


def _kernel_of(gateway: GatewayConfig) -> Kernel:
    if gateway.module is None:
        return gateway.lab_kernel or Kernel.OWN
    if gateway.lab_kernel != Kernel.USER_MODE and takes_module(gateway.module):
        return Kernel.OWN
    without = f"{gateway.driver} needs the kernel module {gateway.module}, which {platform.release()} doesn't have"
    if gateway.lab_kernel == Kernel.OWN:
        raise PlanError(f"{without}: install it, e.g. `apt install jool-dkms`, or remove `kernel: own`")
    if gateway.lab_kernel is None:
        try:
            find_guest()
        except PlanError as error:
            raise PlanError(f"{without}; user-mode Linux can run it instead, but {error}") from error
    return Kernel.USER_MODE
