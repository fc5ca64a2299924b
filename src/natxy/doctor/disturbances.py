# SPDX-License-Identifier: Apache-2.0
"""Examines a machine for what would bias a result: shared cores, power saving, other work. Nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from natxy.doctor.finding import Finding, read_text, read_there, unless, write
from natxy.doctor.interfaces import probe_interfaces
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport
from natxy.errors import NatxyError
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.system.machine import MachineLoad, cpu_flags, is_virtual_machine
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.namespaces import other_labs

QUIET_LOAD: Final = 0.5
NOTICED_STEAL_PERCENT: Final = 1.0

CPUS: Final = Path("/sys/devices/system/cpu")
FIXED: Final = "performance"
"""The governor that keeps a core at its highest frequency."""
# Linux's default on a machine with 4 GB of memory or more.
_USUAL_ENTRIES: Final = 262_144
# The kernel's own ratio where memory is scarce. With fewer buckets, every look-up walks a list.
_MOST_ENTRIES_A_BUCKET: Final = 4


def probe_disturbances(testbed: TestbedConfig | None = None) -> list[Finding]:
    """Examines this machine for a plan's testbed, which by default is a lab."""
    here = LocalTransport(MachineSysctls())
    return [
        *_cores(testbed or LabConfig()),
        *_clock(),
        *power_saving(here),
        *_hypervisor(),
        load(here),
        *_other_runs(),
        connection_table(here),
        *_tester_ports(testbed, here),
    ]


def _cores(testbed: TestbedConfig) -> list[Finding]:
    usable = sorted(os.sched_getaffinity(0))
    isolated = read_text(CPUS / "isolated")
    return [
        Finding("cores", True, f"{len(usable)} usable ({_listed(usable)})"),
        *_sharing(testbed, usable),
        Finding(
            "isolated cores",
            bool(isolated) or None,
            isolated or "none; optional",
            unless(bool(isolated), "boot with isolcpus= for cores that run nothing else"),
        ),
    ]


def _sharing(testbed: TestbedConfig, usable: Sequence[int]) -> list[Finding]:
    name = "tester's and gateway's cores"
    try:
        cores = testbed.assign_cores(usable) if testbed.has_gateway else None
    except NatxyError as error:
        return [Finding(name, False, str(error), "choose other cores in the plan's testbed")]
    if cores is None:
        return []
    who = f"tester {_listed(cores.tester)}, gateway {_listed(cores.dut) or 'elsewhere'}, control {cores.main}"
    if cores.shared:
        remedy = (
            "give the machine a second core: on one core, a gateway at its limit slows the tester and loses no frame"
        )
        return [Finding(name, None, f"{who}: shared", remedy)]
    if cores.main in cores.tester:
        remedy = "leave a core out of `tester_cores`: the engine polls them, and natxy itself needs one"
        return [Finding(name, None, f"{who}: none is left for natxy itself", remedy)]
    location = testbed.dut_location
    if location and location.ssh is None:
        condition = "if " if location.may_be_elsewhere else ""
        remedy = (
            f"{condition}tester and DUT are the same machine: steer the DUT's interrupts away from the tester's cores"
        )
        return [Finding(name, None, f"tester {_listed(cores.tester)}, gateway unknown", remedy)]
    siblings = {sibling for core in cores.tester for sibling in _siblings(core)} - set(cores.tester)
    if same := sorted(siblings.intersection((*cores.dut, cores.main))):
        remedy = "choose `tester_cores` and `dut_cores` on different physical cores, or switch hyper-threading off"
        return [Finding(name, None, f"{who}: core {_listed(same)} is a hardware thread of a tester's core", remedy)]
    return [Finding(name, True, f"{who}: apart")]


def _tester_ports(testbed: TestbedConfig | None, here: Transport) -> list[Finding]:
    ports = testbed.engine_ports if testbed and testbed.has_gateway else None
    return probe_interfaces(ports, here) if ports else []


def _siblings(core: int) -> set[int]:
    """Returns the hardware threads of the core's physical core."""
    listed = read_text(CPUS / f"cpu{core}/topology/thread_siblings_list") or str(core)
    spans = [part.partition("-") for part in listed.split(",")]
    return {sibling for first, _, last in spans for sibling in range(int(first), int(last or first) + 1)}


def _clock() -> list[Finding]:
    steady = {"constant_tsc", "nonstop_tsc"} <= cpu_flags()
    remedy = "rates and delays may drift: measure on a CPU with constant_tsc and nonstop_tsc"
    return [Finding("invariant TSC", steady or None, "yes" if steady else "no", unless(steady, remedy))]


def power_saving(machine: Transport) -> list[Finding]:
    """Examines the settings that change the frequency of a core."""
    elsewhere = "fix the frequency in the firmware, or on the virtual machine's host"
    asked = f"grep -H . {CPUS}/cpu*/cpufreq/scaling_governor"
    lines = machine.run(["sh", "-c", asked], check=False).stdout.split()
    governors = dict(line.split(":", 1) for line in lines)
    if not governors:
        governor = Finding("frequency scaling", None, "unknown: not visible here", elsewhere)
    else:
        changes = tuple(write(file, FIXED, now) for file, now in governors.items() if now != FIXED)
        remedy = unless(not changes, f"cpupower frequency-set -g {FIXED}")
        value = f"governor {', '.join(sorted({*governors.values()}))}"
        governor = Finding("frequency scaling", not changes or None, value, remedy, changes)
    return [governor, _boost(machine, elsewhere)]


def _boost(machine: Transport, elsewhere: str) -> Finding:
    """Examines the file of whichever driver there is. Intel's means that boost is off, the others' that it is on."""
    for file, off in (("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")):
        if (state := read_there(CPUS / file, machine)) is not None:
            remedy = f"boost makes a core faster only while it is cool: echo {off} > {CPUS / file}"
            is_off = state == off
            changes = () if is_off else (write(CPUS / file, off, state),)
            return Finding("boost", is_off or None, "off" if is_off else "on", unless(is_off, remedy), changes)
    return Finding("boost", None, "unknown: not visible here", elsewhere)


def _hypervisor() -> list[Finding]:
    if not is_virtual_machine():
        return [Finding("hypervisor", True, "none")]
    now = MachineLoad.now()
    if now.stolen_ticks is None:
        steal = Finding("steal time", None, "unknown: not in /proc/stat", "see `top` on the host")
    else:
        percent = 100 * now.stolen_ticks / max(1, now.all_ticks)
        quiet = percent < NOTICED_STEAL_PERCENT
        remedy = unless(quiet, "the host takes CPU time away: measure when it is idle, or on dedicated cores")
        # Many hosts take time without reporting it.
        steal = Finding("steal time", quiet or None, f"{percent:.2f} % since boot, as reported by the host", remedy)
    return [
        Finding(
            "hypervisor",
            None,
            "yes; a virtual machine pauses, so more trials are invalid",
            "measure results for publication on a physical machine",
        ),
        steal,
    ]


def load(machine: Transport) -> Finding:
    """Examines the machine's mean load of the last minute."""
    minute = float((read_there("/proc/loadavg", machine) or "nan").split()[0])
    idle = minute < QUIET_LOAD
    remedy = unless(
        idle, "stop other work on this machine before measuring; the report says whether it disturbed trials"
    )
    return Finding("load", idle or None, f"{minute:.2f} (mean of the last minute)", remedy)


def _other_runs() -> list[Finding]:
    name = "other natxy runs"
    if os.geteuid() != 0:
        return [Finding(name, None, "unknown: only root can read where labs are listed", "run natxy with sudo")]
    try:
        others = [str(owner.pid) for owner in other_labs()]
    except NatxyError as error:
        return [Finding(name, None, f"unknown: {error}", "mend or delete that file")]
    remedy = unless(not others, "wait until they end: simultaneous runs disturb each other")
    found = f"labs of the processes {', '.join(others)}" if others else "none in a lab"
    return [Finding(name, not others or None, found, remedy)]


def connection_table(machine: Transport) -> Finding:
    """Examines the default size of Linux's connection tracking table."""
    entries, buckets = (
        int(read_there(f"/proc/sys/net/netfilter/nf_conntrack_{name}", machine) or 0) for name in ("max", "buckets")
    )
    if not entries:
        return Finding(
            "connection tracking", None, "not loaded; nftables and iptables need it", "modprobe nf_conntrack"
        )
    roomy = entries >= _USUAL_ENTRIES and entries <= _MOST_ENTRIES_A_BUCKET * buckets
    remedy = unless(roomy, "set `conntrack_max` and `hash_size` of the plan's gateways; a run restores them")
    value = f"at most {entries} entries, {buckets} hash buckets"
    return Finding("connection tracking", roomy or None, value, remedy)


def _listed(cores: Sequence[int]) -> str:
    return ", ".join(map(str, cores))
