# SPDX-License-Identifier: Apache-2.0
"""What `natxy doctor` finds at the DUT of a testbed of real machines, and at hosts that are reached by ssh.

Everything here only looks. Nothing is raised: a machine that cannot be reached is a finding too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

from natxy.doctor.disturbances import connection_table, load, power_saving
from natxy.doctor.finding import Finding, unless
from natxy.doctor.interfaces import probe_interface
from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.base import Transport
from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.testbeds.machines import DutLocation, LinkSetUp
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.cabled import dut_transport

_OF_A_HOST: Final = {
    "iperf3": "apt install iperf3",
    "ip": "apt install iproute2",
    "ss": "apt install iproute2",
    "sysctl": "apt install procps",
}


@dataclass(frozen=True)
class _Place:
    """`programs` that have to be there, each with how to get it. `named_only`: what the interfaces are called need not
    be known to the machine's kernel."""

    name: str
    transport: Transport
    interfaces: tuple[str, ...]
    programs: Mapping[str, str]
    tracks_connections: bool = False
    named_only: bool = False


def probe_places(plan: ResolvedPlan) -> dict[str, list[Finding]]:
    """By the places' names, such as `DUT, ssh root@dut.lab`; none of a testbed that this machine makes."""
    places = [
        _Place(f"{side} host", SshTransport(host.ssh), (host.interface,), _OF_A_HOST)
        for side, host in plan.testbed.remote_hosts.items()
    ]
    if location := plan.testbed.dut_location:
        places.append(_dut(location, plan))
    return {f"{place.name}, {place.transport.describe()}": [*_probe(place)] for place in places}


def _dut(location: DutLocation, plan: ResolvedPlan) -> _Place:
    gateways = [experiment.gateway for experiment in plan.experiments]
    programs = {
        program: remedy
        for gateway in gateways
        for program, remedy in GATEWAYS[gateway.driver].programs(gateway).items()
    }
    return _Place(
        "the DUT's commands" if location.may_be_elsewhere else "DUT",
        dut_transport(location, MachineSysctls()),
        (location.left, location.right),
        programs,
        tracks_connections=any(gateway.keeps_conntrack for gateway in gateways),
        named_only=location.addresses == LinkSetUp.KEEP,
    )


def _probe(place: _Place) -> Iterator[Finding]:
    with place.transport if isinstance(place.transport, SshTransport) else nullcontext():
        try:
            yield from _findings(place)
        except DutError as error:
            yield Finding("access", False, str(error), "natxy logs in there, and is asked for nothing: see to that")


def _findings(place: _Place) -> Iterator[Finding]:
    """DutError when the machine doesn't answer."""
    machine = place.transport
    system = machine.run(["uname", "-sr"], check=False).stdout.strip()
    if not system.startswith("Linux"):
        remedy = "see to its power saving, offloads and other work yourself"
        yield Finding("system", None, f"{system or 'unknown'}; only Linux is looked at", remedy)
        return
    yield Finding("system", True, system)
    user = machine.run(["id", "-u"]).stdout.strip()
    remedy = "log in as root, or say `as_root: [sudo, -n]` in the testbed's `ssh`"
    yield Finding("root", user == "0", "yes" if user == "0" else f"no, user {user}", unless(user == "0", remedy))
    for program, remedy in place.programs.items():
        there = _has(machine, program)
        yield Finding(program, there, "installed" if there else "not installed", unless(there, remedy))
    cores: tuple[int, ...] = ()
    if isinstance(machine, SshTransport):
        cores = machine.hot_plug.cores()
        yield Finding("cores", True, f"{len(cores)} in service ({', '.join(map(str, cores))})")
        yield from power_saving(machine)
        yield load(machine)
        if place.tracks_connections:
            yield connection_table(machine)
    if not _has(machine, "ethtool"):
        yield Finding("ethtool", None, "not installed; offloads and queues are unknown", "apt install ethtool")
        return
    for interface in place.interfaces:
        for finding in probe_interface(interface, machine, len(cores)):
            yield replace(finding, ok=None) if place.named_only and finding.ok is False else finding


def _has(machine: Transport, program: str) -> bool:
    # Not with 127, which says of a transport's command that it is missing itself.
    return machine.run(["sh", "-c", 'command -v "$1" || exit 1', "sh", program], check=False).returncode == 0
