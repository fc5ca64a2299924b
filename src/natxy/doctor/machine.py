# SPDX-License-Identifier: Apache-2.0
"""Examines this machine: what natxy needs, what is missing, and which gateways can be measured.

A probe changes nothing, except in a network namespace that ends with the probe.
"""

from __future__ import annotations

import math
import os
import platform
import re
import shlex
import shutil
import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from natxy.cleanup.leftovers import described
from natxy.doctor.disturbances import probe_disturbances
from natxy.doctor.finding import Change, Finding, install, read_text, unless
from natxy.doctor.testbed import probe_testbed
from natxy.doctor.virtual_machine import probe_virtual_machine
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.local import run_program
from natxy.engine.program import find_engine
from natxy.errors import DutError, NatxyError
from natxy.installation import installed_again
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.vm import VmConfig
from natxy.standing.labs import standing_labs
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import REMEDY, is_read_only
from natxy.testbeds.guest.kernel import find_guest
from natxy.testbeds.lab_kernels import why_not

THIS_MACHINE: Final = "this machine"

# From <linux/socket.h>; Python has no name for it.
_AF_XDP: Final = 44
# Older kernels count BPF maps against RLIMIT_MEMLOCK, and AF_XDP fails at the usual limit.
_OLDEST_KERNEL: Final = (5, 11)
# Huge pages for an engine, and how many times that has to be available for natxy to reserve them itself.
_HUGE_KIB: Final = 512 * 1024
_SPARE: Final = 4
# Ends the reason why a gateway is skipped of which a program is missing.
_PACKAGE: Final = re.compile(r"apt install ([\w.+-]+)$")
_USUAL_HUGE_PAGE_KIB: Final = 2048
# How much of what killed runs left is named.
_MOST_LEFT: Final = 5


def probe_machines(plan: ResolvedPlan | None = None) -> dict[str, list[Finding]]:
    """Examines this machine and those of the plan's testbed, and returns the findings by machine.

    Without a plan, the testbed is a lab. Nothing is raised: what cannot be found out is a finding.
    """
    others = probe_testbed(plan) if plan else {}
    if others and plan and not plan.testbed.is_local:
        return others
    here = [
        *(finding for probe in _PROBES for finding in probe()),
        *_way_to_testers(plan),
        *_virtual_machine(plan),
        *_gateways(plan),
        *probe_disturbances(plan.testbed if plan else None),
    ]
    return {THIS_MACHINE: here, **others}


def _root() -> list[Finding]:
    root = os.geteuid() == 0
    return [Finding("root", root, "yes" if root else f"no, user {os.geteuid()}", unless(root, "run natxy with sudo"))]


def _kernel() -> list[Finding]:
    release = platform.release()
    major, minor = (int("".join(filter(str.isdigit, part)) or 0) for part in release.split(".")[:2])
    new_enough = (major, minor) >= _OLDEST_KERNEL
    wanted = f"use Linux {_OLDEST_KERNEL[0]}.{_OLDEST_KERNEL[1]} or newer"
    return [Finding("kernel", new_enough, f"{platform.system()} {release}", unless(new_enough, wanted))]


def _hugepages() -> list[Finding]:
    meminfo = dict(line.split(":", 1) for line in (read_text("/proc/meminfo") or "").splitlines())
    total, free, size, available = (
        meminfo.get(key, "0").strip() for key in ("HugePages_Total", "HugePages_Free", "Hugepagesize", "MemAvailable")
    )
    if total != "0":
        return [Finding("hugepages", True, f"{free} of {total} free, {size} each")]
    size_kib, available_kib = (int(text.removesuffix(" kB")) for text in (size, available))
    if not size_kib:
        return [Finding("hugepages", None, "the kernel has none; optional", "use a kernel with CONFIG_HUGETLBFS")]
    command = ("sysctl", f"vm.nr_hugepages={math.ceil(_HUGE_KIB / size_kib)}")
    # Larger pages are seldom to be had once the machine has run for a while, and scarce memory is the owner's to share.
    safe = size_kib == _USUAL_HUGE_PAGE_KIB and available_kib >= _SPARE * _HUGE_KIB
    changes = (Change(command, ("sysctl", "vm.nr_hugepages=0")),) if safe else ()
    return [Finding("hugepages", None, "none; optional", shlex.join(command), changes)]


def _engine() -> list[Finding]:
    try:
        program = find_engine()
        version = run_program([str(program), "--version"], timeout_s=10).stdout.strip()
    except NatxyError as error:
        return [Finding("natxy-engine", False, str(error), installed_again())]
    return [Finding("natxy-engine", True, f"{version} ({program})")]


def _dpdk_drivers() -> list[Finding]:
    folders = [*Path("/usr/lib").glob("*/dpdk/pmds-*"), *Path("/usr/local/lib").glob("*/dpdk/pmds-*")]
    findings = []
    for driver, package in {"af_xdp": "librte-net-af-xdp", "af_packet": "librte-net-af-packet"}.items():
        found = any(next(folder.glob(f"librte_net_{driver}.so*"), None) for folder in folders)
        name = f"DPDK driver net_{driver}"
        findings.append(Finding(name, True, "installed") if found else _not_installed(name, package + _dpdk()))
    return findings


def _dpdk() -> str:
    """Returns what ends the names of DPDK's packages, as the files of its libraries: 23 on Debian 12."""
    library = next(Path("/usr/lib").glob("*/librte_ethdev.so.[0-9][0-9]"), None)
    return library.suffix.removeprefix(".") if library else "23"


def _programs() -> list[Finding]:
    wanted = {
        "ip": (["-V"], "iproute2"),
        "ethtool": (["--version"], "ethtool"),
        "sysctl": (["--version"], "procps"),
    }
    findings = []
    for program, (arguments, package) in wanted.items():
        if shutil.which(program):
            findings.append(Finding(program, True, run_program([program, *arguments], check=False).stdout.strip()))
        else:
            findings.append(_not_installed(program, package))
    return findings


def _way_to_testers(plan: ResolvedPlan | None) -> list[Finding]:
    """Examines what connects this machine with the plan's further testers, if it has any."""
    if plan is None or not plan.testbed.further_testers:
        return []
    return [Finding("ssh", True, "installed") if shutil.which("ssh") else _not_installed("ssh", "openssh-client")]


def _not_installed(name: str, package: str) -> Finding:
    return Finding(name, False, "not installed", f"apt install {package}", (install(package),))


def _gateways(plan: ResolvedPlan | None) -> list[Finding]:
    """Examines the plan's gateways that would run here; without a plan, all that a lab can have."""
    if plan is None:
        gateways = _lab_gateways()
    else:
        gateways = [experiment.gateway for experiment in plan.experiments] if plan.testbed.gateway_is_local else []
    reasons_by_driver: dict[str, dict[str, None]] = {}
    for gateway in gateways:
        reasons_by_driver.setdefault(gateway.title, {}).update(dict.fromkeys(why_not(gateway)))
    return [
        Finding(
            f"gateway {driver}",
            not reasons or None,
            f"skipped: {'; '.join(reasons)}" if reasons else "can be measured",
            unless(not reasons, "needed only to measure this gateway"),
            _packages(reasons),
        )
        for driver, reasons in reasons_by_driver.items()
    ]


def _packages(reasons: Iterable[str]) -> tuple[Change, ...]:
    """Returns how the packages of a gateway are installed, if nothing else keeps it from being measured."""
    named = [_PACKAGE.search(reason) for reason in reasons]
    return tuple(install(package[1]) for package in named if package) if all(named) else ()


def _virtual_machine(plan: ResolvedPlan | None) -> list[Finding]:
    """Examines the virtual machine of a plan that has one; without a plan, the one that `make vm` builds."""
    if plan is None:
        return probe_virtual_machine(None)
    return probe_virtual_machine(plan.testbed) if isinstance(plan.testbed, VmConfig) else []


def _iperf3() -> list[Finding]:
    if not shutil.which("iperf3"):
        skipped = "not installed; tcp-goodput is skipped"
        return [Finding("iperf3", None, skipped, "apt install iperf3", (install("iperf3"),))]
    return [Finding("iperf3", True, run_program(["iperf3", "--version"], check=False).stdout.splitlines()[0])]


def _namespaces() -> list[Finding]:
    veth = ["ip", "link", "add", "name", "left", "type", "veth", "peer", "name", "right"]
    remedy = "run as root, outside a container without CAP_NET_ADMIN and CAP_SYS_ADMIN"
    return [
        _attempt("network namespaces", ["unshare", "--net", "true"], remedy),
        _attempt("veth pairs", ["unshare", "--net", *veth], remedy + ", with the kernel module veth"),
    ]


def _sysctls() -> list[Finding]:
    set_able = not is_read_only()
    return [
        Finding("sysctls", set_able, "can be set" if set_able else "/proc/sys is read-only", unless(set_able, REMEDY))
    ]


def _af_xdp() -> list[Finding]:
    try:
        socket.socket(_AF_XDP, socket.SOCK_RAW, 0).close()
    except OSError as error:
        remedy = "run as root on a kernel with CONFIG_XDP_SOCKETS, or set `io: af_packet` in the plan's testbed"
        return [Finding("AF_XDP sockets", False, error.strerror or str(error), remedy)]
    return [Finding("AF_XDP sockets", True, "can be opened")]


def _guest() -> list[Finding]:
    try:
        files = find_guest()
    except NatxyError as error:
        remedy = "optional: without it, Jool needs a kernel that loads its module"
        return [Finding("user-mode Linux", None, str(error), remedy)]
    return [Finding("user-mode Linux", True, f"{files.version}, with Jool's modules ({files.folder})")]


def _stale() -> list[Finding]:
    name = "left by killed runs"
    try:
        left = [f"{described(entry)} (process {entry.process().pid})" for entry in Ledger().left()]
    except DutError as error:
        return [Finding(name, None, str(error), "mend or delete that file")]
    if left:
        more = [f"and {len(left) - _MOST_LEFT} more"] if len(left) > _MOST_LEFT else []
        return [Finding(name, None, "; ".join(left[:_MOST_LEFT] + more), "`natxy cleanup` undoes it")]
    if os.geteuid() != 0:
        return [Finding(name, None, "unknown: only root can read what runs of root left", "run natxy with sudo")]
    return [Finding(name, True, "nothing")]


def _labs() -> list[Finding]:
    try:
        standing = [f"that of {name} (process {keeper.pid})" for keeper, name in standing_labs().items()]
    except DutError:
        # The finding on what killed runs left says it.
        return []
    return [Finding("standing lab", None, each, "`natxy lab down` removes it") for each in standing]


_PROBES: Sequence[Callable[[], list[Finding]]] = (
    _root,
    _kernel,
    _hugepages,
    _engine,
    _dpdk_drivers,
    _programs,
    _iperf3,
    _namespaces,
    _sysctls,
    _af_xdp,
    _guest,
    _stale,
    _labs,
)


def _attempt(name: str, argv: Sequence[str], remedy: str) -> Finding:
    try:
        run_program(argv)
    except NatxyError as error:
        return Finding(name, False, str(error), remedy)
    return Finding(name, True, "can be made")


def _lab_gateways() -> list[GatewayModel]:
    """Returns the default settings of every driver that a lab can set up."""
    return [
        TypeAdapter[GatewayModel](GatewayConfig).validate_python({"driver": name})
        for name, driver in GATEWAYS.items()
        if issubclass(driver, LinuxGateway)
    ]
