# SPDX-License-Identifier: Apache-2.0
"""Examines the machines of a plan's testbed: its DUT, and further testers and hosts, which are reached by ssh.

Nothing is changed there, and nothing is raised: a machine that cannot be reached is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

from natxy.doctor.disturbances import connection_table, load, power_saving
from natxy.doctor.finding import Finding, unless
from natxy.doctor.interfaces import probe_interface
from natxy.dut.base import DutInterfaces, InterfacePair
from natxy.dut.networks import check_free, other_uses
from natxy.dut.registry import GATEWAYS
from natxy.dut.transport.base import Transport
from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError, PlanError
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.machines import DutLocation, LinkSetUp, TesterLocation
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.cabled import dut_transport

_HOST_PROGRAMS: Final = {
    "iperf3": "apt install iperf3",
    "ip": "apt install iproute2",
    "ss": "apt install iproute2",
    "sysctl": "apt install procps",
}

_TESTER_PROGRAMS: Final = {"ip": "apt install iproute2", "sysctl": "apt install procps"}


@dataclass(frozen=True)
class _Machine:
    """A machine to examine.

    `programs` have to be installed; each has its remedy. `addresses` are those of the plan's tests, on the links of a
    `dut`. Interfaces that are `set_up_by_user` need not be known to the machine's kernel. `tester`: None unless it is
    one.
    """

    name: str
    transport: Transport
    interfaces: tuple[str, ...]
    programs: Mapping[str, str]
    dut: DutInterfaces | None = None
    tracks_connections: bool = False
    addresses: tuple[AddressPlan, ...] = ()
    set_up_by_user: bool = False
    tester: TesterLocation | None = None


def probe_testbed(plan: ResolvedPlan) -> dict[str, list[Finding]]:
    """Returns the findings by machine, such as `DUT, ssh root@dut.lab`; none for a testbed that natxy makes itself."""
    machines = [
        _Machine(f"{side} host", SshTransport(host.ssh), (host.interface,), _HOST_PROGRAMS)
        for side, host in plan.testbed.remote_hosts.items()
    ]
    machines += [
        _Machine(
            "tester",
            SshTransport(tester.location.ssh),
            tuple(port.interface for port in tester.ports.of_cables if port.interface),
            _TESTER_PROGRAMS | {tester.location.engine: "install natxy there, or give the path by `engine`"},
            tester=tester.location,
        )
        for tester in plan.testbed.further_testers
    ]
    machines += [_dut(number, location, plan) for number, location in enumerate(plan.testbed.dut_locations)]
    return {f"{machine.name}, {machine.transport.describe()}": [*_probe(machine)] for machine in machines}


def _dut(number: int, location: DutLocation, plan: ResolvedPlan) -> _Machine:
    in_a_row = len(plan.testbed.dut_locations) > 1
    hops = [experiment.path.hops for experiment in plan.experiments]
    gateways = [each.gateway for own in hops for each in (own[number : number + 1] if in_a_row else own)]
    programs = {
        program: remedy
        for gateway in gateways
        for program, remedy in GATEWAYS[gateway.driver].programs(gateway).items()
    }
    further = tuple(InterfacePair(pair.left, pair.right) for pair in plan.testbed.further_dut_pairs)
    interfaces = DutInterfaces(location.left, location.right, further=further)
    return _Machine(
        "the DUT's commands" if location.may_be_elsewhere else f"DUT {number + 1}" if in_a_row else "DUT",
        dut_transport(location, MachineSysctls()),
        interfaces.names,
        programs,
        interfaces,
        tracks_connections=any(gateway.keeps_conntrack for gateway in gateways),
        addresses=() if location.may_be_elsewhere else tuple({own[number].addresses: None for own in hops}),
        set_up_by_user=location.addresses == LinkSetUp.KEEP,
    )


def _probe(machine: _Machine) -> Iterator[Finding]:
    with machine.transport if isinstance(machine.transport, SshTransport) else nullcontext():
        try:
            yield from _findings(machine)
        except DutError as error:
            # What cannot be reached says what to do about it.
            why, _, remedy = str(error).rpartition("; ")
            yield Finding("access", False, why or remedy, remedy if why else "make sure that ssh logs in there")


def _findings(machine: _Machine) -> Iterator[Finding]:
    """Raises DutError if the machine does not answer."""
    transport = machine.transport
    system = transport.run(["uname", "-sr"], check=False).stdout.strip()
    if not system.startswith("Linux"):
        remedy = "check its power saving, offloads and other work yourself"
        yield Finding("system", None, f"{system or 'unknown'}; only Linux is examined", remedy)
        return
    yield Finding("system", True, system)
    user = transport.run(["id", "-u"]).stdout.strip()
    remedy = "log in as root, or set `as_root: [sudo, -n]` in the testbed's `ssh`"
    yield Finding("root", user == "0", "yes" if user == "0" else f"no, user {user}", unless(user == "0", remedy))
    for program, remedy in machine.programs.items():
        there = _has(transport, program)
        yield Finding(program, there, "installed" if there else "not installed", unless(there, remedy))
    if machine.dut and machine.addresses:
        yield _networks(machine, machine.dut)
    cores: tuple[int, ...] = ()
    if isinstance(transport, SshTransport):
        cores = transport.hot_plug.cores()
        yield _cores(cores, machine.tester)
        yield from power_saving(transport)
        yield load(transport)
        if machine.tracks_connections:
            yield connection_table(transport)
    if not _has(transport, "ethtool"):
        yield Finding("ethtool", None, "not installed; offloads and queues are unknown", "apt install ethtool")
        return
    for interface in machine.interfaces:
        for finding in probe_interface(interface, transport, len(cores)):
            yield replace(finding, ok=None) if machine.set_up_by_user and finding.ok is False else finding


def _cores(present: tuple[int, ...], tester: TesterLocation | None) -> Finding:
    value = f"{len(present)} in service ({', '.join(map(str, present))})"
    if tester is None or {*present}.difference(tester.cores or present[:1]):
        return Finding("cores", True, value)
    remedy = "leave one out of the tester's `cores`: the engine polls them, and what ssh starts needs one"
    return Finding("cores", None, f"{value}, all for the engine's workers", remedy)


def _networks(machine: _Machine, dut: DutInterfaces) -> Finding:
    # An experiment with fewer pairs leaves the other interfaces to whatever has them.
    uses = {
        count: other_uses(
            machine.transport, replace(dut, further=dut.further[:count]), sets_links=not machine.set_up_by_user
        )
        for count in {len(addresses.further) for addresses in machine.addresses}
    }
    try:
        for addresses in machine.addresses:
            check_free(machine.transport, uses[len(addresses.further)], addresses)
    except PlanError as error:
        return Finding("networks", False, "used by the test and by something else", str(error))
    return Finding("networks", True, "the test's are used by nothing else")


def _has(machine: Transport, program: str) -> bool:
    # The exit code must not be 127, by which a transport reports that the command itself is missing.
    return machine.run(["sh", "-c", 'command -v "$1" || exit 1', "sh", program], check=False).returncode == 0
