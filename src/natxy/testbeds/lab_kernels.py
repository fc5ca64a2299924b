# SPDX-License-Identifier: Apache-2.0
"""Chooses the lab for a gateway: on the machine's own kernel, in user-mode Linux, or for natxy-reference; and states
what the machine lacks for it."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar, Final

from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.local import run_program
from natxy.errors import DutError, PlanError
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.linux import KernelModel
from natxy.plan.model.terms import Kernel
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.guest.kernel import find_guest
from natxy.testbeds.guest.lab import GuestLab
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.veth import SILENT_SYSCTLS

# DPDK's default for net_af_packet; shorter than the kernel's queue before it.
_PACKET_RING_FRAMES: Final = 512


class ReferenceLab(NetnsLab):
    """A lab whose gateway is natxy-reference, a program that opens the DUT's ends of the links itself."""

    _dut_sysctls: ClassVar[Mapping[str, int]] = SILENT_SYSCTLS

    def caveats(self) -> list[Caveat]:
        own = "The gateway is natxy's own reference program: the results describe the tester and the lab."
        return [*super().caveats(), limitation(own)]

    def counting(self) -> None:
        """Returns None: the program forwards past the kernel, whose counters know nothing of its frames."""

    def _buffer_frames(self) -> int:
        return _PACKET_RING_FRAMES

    def _set_links(self) -> None:
        """Does nothing: the program has the addresses and answers ARP and neighbour discovery."""


def lab_for(config: LabConfig, path: GatewayPath, dut_cores: int = 1) -> NetnsLab:
    """Returns the lab, not yet built. Raises PlanError when this machine cannot run the gateways on any kernel, or not
    on the one that the plan asks for."""
    addresses, gateways = path.ends, [hop.gateway for hop in path.hops]
    if len(gateways) > 1 and (reasons := [reason for each in gateways for reason in why_not(each)]):
        raise PlanError("; ".join(reasons))
    hops = [hop.addresses for hop in path.hops] if len(gateways) > 1 else []
    if _run_in_guest(gateways):
        return GuestLab(config, addresses, hops)
    if not hops and gateways[0].polls:
        return ReferenceLab(config, addresses)
    return NetnsLab(config, addresses, dut_cores, hops)


def runs_in_guest(gateway: GatewayConfig) -> bool:
    """Returns True when the gateway, or all gateways of a chain, run in user-mode Linux; raises PlanError as `lab_for`
    does."""
    return _run_in_guest(gateway.hops)


def _run_in_guest(gateways: Sequence[GatewayModel]) -> bool:
    guests = [each for each in gateways if _needs_guest(each)]
    if not guests:
        return False
    if other := next((each for each in gateways if each.lab_kernel == Kernel.OWN), None):
        raise PlanError(
            f"{guests[0].driver} runs in user-mode Linux here, and the gateways of a chain share a kernel, but "
            f"{other.driver} runs on the machine's own: install the module {guests[0].module}, choose another gateway "
            f"or `kind: vm`{', or remove `kernel: own`' if isinstance(other, KernelModel) else ''}"
        )
    return True


def _needs_guest(gateway: GatewayModel) -> bool:
    """Returns True when the plan or a missing module leads the gateway to user-mode Linux.

    Raises PlanError when it runs on neither kernel.
    """
    if gateway.lab_kernel == Kernel.USER_MODE or gateway.module is None:
        return gateway.lab_kernel == Kernel.USER_MODE
    if takes_module(gateway.module):
        return False
    without = f"{gateway.driver} needs the kernel module {gateway.module}, which {platform.release()} doesn't have"
    if gateway.lab_kernel == Kernel.OWN:
        also = ", or remove `kernel: own`" if isinstance(gateway, KernelModel) else ""
        raise PlanError(f"{without}: {gateway.module_remedy}{also}")
    try:
        find_guest()
    except PlanError as error:
        raise PlanError(f"{without}; user-mode Linux can run it instead, but {error}") from error
    return True


def why_not(gateway: GatewayModel) -> Iterator[str]:
    """Yields the reasons why the gateway cannot run on this machine, with remedies: `map646 is not installed: …`."""
    try:
        if _run_in_guest(gateway.hops):
            find_guest()
    except PlanError as error:
        yield str(error)
        return
    # A guest uses this machine's programs.
    programs = (GATEWAYS[hop.driver].programs(hop).items() for hop in gateway.hops)
    for program, remedy in dict(chain.from_iterable(programs)).items():
        if not shutil.which(program):
            yield f"{program} is not installed: {remedy}"


def takes_module(name: str) -> bool:
    """Returns True when the machine's own kernel has the module or can load it."""
    if Path(f"/sys/module/{name}").exists():
        return True
    try:
        return run_program(["modprobe", "--dry-run", name], check=False).returncode == 0
    except DutError:
        return False
