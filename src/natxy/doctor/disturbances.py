# SPDX-License-Identifier: Apache-2.0
"""What of a machine would bias a result: the second half of `natxy doctor`. Everything here only looks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from natxy.doctor.finding import Finding, read_text, read_there, unless
from natxy.doctor.interfaces import probe_interfaces
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport
from natxy.errors import NatxyError
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.system.machine import NOTICED_STEAL_PERCENT, QUIET_LOAD, MachineLoad, cpu_flags, is_virtual_machine
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.namespaces import other_labs

CPUS: Final = Path("/sys/devices/system/cpu")
# What Linux makes of itself on a machine with 4 GB or more.
_USUAL_ENTRIES: Final = 262_144
# The kernel's own choice where memory is short; with fewer buckets every look-up walks a list.
_MOST_ENTRIES_A_BUCKET: Final = 4


def probe_disturbances(testbed: TestbedConfig | None = None) -> list[Finding]:
    """Of this machine. `testbed`: of the plan that is to be measured; None: that of a lab, which a plan without one
    has."""
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
            unless(bool(isolated), "boot with isolcpus= for cores that the kernel gives to nothing else"),
        ),
    ]


def _sharing(testbed: TestbedConfig, usable: Sequence[int]) -> list[Finding]:
    name = "tester's and gateway's cores"
    try:
        cores = testbed.assign_cores(usable) if testbed.has_gateway else None
    except NatxyError as error:
        return [Finding(name, False, str(error), "choose others in the plan's testbed")]
    if cores is None:
        return []
    who = f"tester {_listed(cores.tester)}, gateway {_listed(cores.dut) or 'elsewhere'}, control {cores.main}"
    if cores.shared:
        remedy = "give the machine a second core: a gateway at its limit slows a tester on its core, and loses no frame"
        return [Finding(name, None, f"{who}: shared", remedy)]
    location = testbed.dut_location
    if location and location.ssh is None:
        one = "if tester and DUT are one machine" if location.may_be_elsewhere else "tester and DUT are one machine"
        remedy = f"{one}: steer the DUT's interrupts to other cores than the tester's"
        return [Finding(name, None, f"tester {_listed(cores.tester)}, gateway unknown", remedy)]
    beside = {sibling for core in cores.tester for sibling in _siblings(core)} - set(cores.tester)
    if both := sorted(beside.intersection((*cores.dut, cores.main))):
        remedy = "choose `tester_cores` and `dut_cores` on different physical cores, or switch hyper-threading off"
        return [Finding(name, None, f"{who}: core {_listed(both)} is a hardware thread of a tester's core", remedy)]
    return [Finding(name, True, f"{who}: apart")]


def _tester_ports(testbed: TestbedConfig | None, here: Transport) -> list[Finding]:
    ports = testbed.engine_ports if testbed and testbed.has_gateway else None
    return probe_interfaces(ports, here) if ports else []


def _siblings(core: int) -> set[int]:
    """Hardware threads of one physical core."""
    listed = read_text(CPUS / f"cpu{core}/topology/thread_siblings_list") or str(core)
    spans = [part.partition("-") for part in listed.split(",")]
    return {sibling for first, _, last in spans for sibling in range(int(first), int(last or first) + 1)}


def _clock() -> list[Finding]:
    steady = {"constant_tsc", "nonstop_tsc"} <= cpu_flags()
    remedy = "rates and delays may drift: measure on a CPU with constant_tsc and nonstop_tsc"
    return [Finding("invariant TSC", steady or None, "yes" if steady else "no", unless(steady, remedy))]


def power_saving(machine: Transport) -> list[Finding]:
    elsewhere = "fix the cores' frequency in the firmware, or on the virtual machine's host"
    asked = f"cat {CPUS}/cpu*/cpufreq/scaling_governor"
    governors = {*machine.run(["sh", "-c", asked], check=False).stdout.split()}
    if not governors:
        governor = Finding("frequency scaling", None, "unknown: not visible here", elsewhere)
    else:
        fixed = governors == {"performance"}
        remedy = unless(fixed, "cpupower frequency-set -g performance")
        governor = Finding("frequency scaling", fixed or None, f"governor {', '.join(sorted(governors))}", remedy)
    return [governor, _boost(machine, elsewhere)]


def _boost(machine: Transport, elsewhere: str) -> Finding:
    """One driver's file says that it is off, the others' that it is on."""
    for file, off in (("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")):
        if (state := read_there(CPUS / file, machine)) is not None:
            remedy = f"a core is faster while it is cool: echo {off} > {CPUS / file}"
            is_off = state == off
            return Finding("boost", is_off or None, "off" if is_off else "on", unless(is_off, remedy))
    return Finding("boost", None, "unknown: not visible here", elsewhere)


def _hypervisor() -> list[Finding]:
    if not is_virtual_machine():
        return [Finding("hypervisor", True, "none")]
    now = MachineLoad.now()
    if now.stolen_ticks is None:
        steal = Finding("steal time", None, "unknown: /proc/stat doesn't tell", "ask the host's `top` for it")
    else:
        percent = 100 * now.stolen_ticks / max(1, now.all_ticks)
        quiet = percent < NOTICED_STEAL_PERCENT
        remedy = unless(quiet, "the host takes CPU time away: measure when it is quieter, or on dedicated cores")
        # Many hosts take time and don't say so.
        steal = Finding("steal time", quiet or None, f"{percent:.2f} % since boot, as the host tells it", remedy)
    return [
        Finding(
            "hypervisor",
            None,
            "yes; a virtual machine's pauses make more trials invalid",
            "measure on a machine of its own what is to be published",
        ),
        steal,
    ]


def load(machine: Transport) -> Finding:
    minute = float((read_there("/proc/loadavg", machine) or "nan").split()[0])
    idle = minute < QUIET_LOAD
    remedy = unless(idle, "end other work on this machine before measuring")
    return Finding("load", idle or None, f"{minute:.2f} (mean of the last minute)", remedy)


def _other_runs() -> list[Finding]:
    try:
        others = [str(owner.pid) for owner in other_labs()]
    except NatxyError as error:
        return [Finding("other natxy runs", None, f"unknown: {error}", "see to it that `ip netns list` works")]
    remedy = unless(not others, "wait until they have ended: two runs at once disturb each other")
    found = f"labs of the processes {', '.join(others)}" if others else "none in a lab"
    return [Finding("other natxy runs", not others or None, found, remedy)]


def connection_table(machine: Transport) -> Finding:
    entries, buckets = (
        int(read_there(f"/proc/sys/net/netfilter/nf_conntrack_{name}", machine) or 0) for name in ("max", "buckets")
    )
    if not entries:
        return Finding("connection tracking", None, "not there; for nftables and iptables", "modprobe nf_conntrack")
    roomy = entries >= _USUAL_ENTRIES and entries <= _MOST_ENTRIES_A_BUCKET * buckets
    remedy = unless(roomy, "set `conntrack_max` and `hash_size` of the plan's gateways; a run gives them back")
    value = f"at most {entries} entries, {buckets} hash buckets"
    return Finding("connection tracking", roomy or None, value, remedy)


def _listed(cores: Sequence[int]) -> str:
    return ", ".join(map(str, cores))
