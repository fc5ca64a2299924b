# SPDX-License-Identifier: Apache-2.0
"""Checks the fields that a procedure takes or needs, and the ports or hosts that it runs between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.plan.checks.subscribers import core_of, of_command
from natxy.plan.experiment import Experiment
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.table_subscribers import TableSubscribers
from natxy.plan.model.units import Unit, format_duration, format_quantity
from natxy.plan.procedures import DECLARATIONS, suppliers, takers
from natxy.plan.procedures.frame_cost import FrameCostConfig
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.testbeds.vm import VmConfig
from natxy.plan.written import ExperimentPlan

# Old, unchanged and new ones; a prefix has a power of two.
_FEWEST_OF_CHANGE: Final = 4
# A hundredth of them is still a frame or more each way.
_FEWEST_SINGLE: Final = 200


def check_procedure(own: ExperimentPlan, location: Location) -> Iterator[Problem]:
    """Yields the fields that are missing or that the procedure does not take; `own` is the experiment as written."""
    procedure = own.procedure
    for field in own.model_fields_set:
        others = takers(field)
        if others and field not in procedure.takes:
            text = f"{procedure.name} doesn't take it, only {', '.join(others)}; remove it"
            yield Problem((*location, field), text)
    takes_phase1_rate = "phase1_rate" in procedure.takes
    if takes_phase1_rate and own.connections is not None and own.phase1_rate is None:
        text = "missing; phase 1 needs a rate safely below the gateway's maximum connection establishment rate: give "
        yield Problem((*location, "phase1_rate"), text + "a rate such as 20k, or {experiment: NAME, percent: 50}")
    if takes_phase1_rate and own.connections is None and own.phase1_rate is not None:
        yield Problem((*location, "phase1_rate"), "there is no phase 1 without `connections`; give these or remove it")
    if own.phase1_loss is not None and own.connections is None:
        yield Problem((*location, "phase1_loss"), "there is no phase 1 without `connections`; give these or remove it")
    if "rate" in procedure.takes and own.rate is None and procedure.rate_unit == Unit.CPS:
        yield Problem((*location, "rate"), f"missing; {procedure.name} opens connections at a known rate: give e.g. 1k")
    elif "rate" in procedure.takes and own.rate is None:
        text = f"missing; {procedure.name} measures at a known rate: give one such as 50k, or "
        text += f"{{experiment: NAME, percent: 100}} of an earlier {' or '.join(suppliers('rate'))}"
        yield Problem((*location, "rate"), text)
    if (command := procedure.dut_command_field) and own.gateway.in_virtual_time:
        text = "a simulated gateway runs no commands; remove it, and the gateway's own restart is what is measured"
        yield Problem((*location, "procedure", command), text)
    if procedure.stateful and "connections" in procedure.takes and own.connections is None:
        text = f"missing; {procedure.name} needs the connections to set up, e.g. 50k"
        yield Problem((*location, "connections"), text)


def check_softwire(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields a problem if the procedure needs an end of a softwire, and the tester plays none. The subscribers' end of
    MAP-T is enough; to check bindings, they have to share addresses."""
    procedure = experiment.procedure
    left, right = experiment.forms_of_ports
    if not procedure.at_softwire or left.in_softwire or right.in_softwire:
        return
    if not (left.mapped or right.mapped):
        text = f"for {procedure.name} the tester has to play one end of a softwire; give a chain such as [tester, "
        others = "{driver: map-t, by: jool-siit}]" if procedure.changes_bindings else "map-t], or [softwire, tester]"
        yield Problem((*location, "gateway"), f"{text}softwire] or [tester, {others}{of_command(experiment)}")
    elif not left.mapped:
        text = (
            f"for {procedure.name} of MAP-T the tester has to be its subscribers; give a chain such as [tester, map-t]"
        )
        yield Problem((*location, "gateway"), text)
    elif not (procedure.changes_bindings or experiment.can_spoof):
        text = f"{procedure.name} of MAP-T needs subscribers who share an address, because only the port of "
        text += "a packet shows that the packet is spoofed; give e.g. {ipv4: 198.18.128.0/30, ea_length: 4}"
        yield Problem((*location, "subscribers"), text)


def check_bindings(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the reasons why bindings of subscribers cannot be changed, if the procedure does so."""
    procedure = experiment.procedure
    if not procedure.changes_bindings or any(check_softwire(experiment, location)):
        return
    if experiment.subscribers is None:
        text = f"missing; {procedure.name} changes the bindings of a core's subscribers: give a chain such as [tester, "
        yield Problem((*location, "subscribers"), text + "softwire], and e.g. {ipv4: 198.18.128.0/24}")
        return
    if isinstance(experiment.subscribers, HomesPlan):
        text = f"{procedure.name} changes the bindings of addresses, and the AFTR of homes with one address has none; "
        yield Problem((*location, "subscribers"), f"{text}give `ipv4`, e.g. {{ipv4: 198.18.128.0/24}}, or a `table`")
        return
    core = core_of(experiment)
    if not (core and core.changes_bindings):
        text = f"natxy changes no bindings of {experiment.gateway.title} while traffic flows; choose softwire, lwaftr, "
        text += "snabb, vpp, {driver: map-t, by: jool-siit}, reference without a NAT, or a `command` with "
        yield Problem((*location, "gateway"), f"{text}`add_binding` and `remove_binding`")
    elif core.needs_table_to_change and not isinstance(experiment.subscribers, TableSubscribers):
        text = f"{core.driver} computes the subscribers of a rule, so that none of them has a binding; give a `table`"
        yield Problem((*location, "subscribers"), text)
    hosts = experiment.addresses.left_hosts
    if len(hosts.ranges) > 1 or hosts.ranges[0].low_bit or hosts.size < _FEWEST_OF_CHANGE:
        text = (
            f"{procedure.name} changes the bindings of whole addresses, and needs at least {_FEWEST_OF_CHANGE} of "
            "them, one after the other; give e.g. {ipv4: 198.18.128.0/24}, or a `table` of such addresses, and no "
            "`left_hosts`"
        )
        yield Problem((*location, "subscribers"), text)


def check_counter(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the reason why the gateway's instructions cannot be counted, if the procedure does so."""
    procedure = experiment.procedure
    if procedure.counts_instructions and not testbed.counts_instructions:
        text = (
            f"{procedure.name} counts the gateway's instructions, which natxy does in `kind: vm` or `kind: lab`, and "
        )
        yield Problem((*location, "procedure"), f"{text}not in {testbed.kind!r}; measure the gateway there")
    if isinstance(procedure, FrameCostConfig):
        yield from _check_frame_cost(procedure, testbed, experiment, location)


def _check_frame_cost(
    procedure: FrameCostConfig, testbed: TestbedConfig, experiment: Experiment, location: Location
) -> Iterator[Problem]:
    frames = round(procedure.single_rate * experiment.timing.trial)
    if frames < _FEWEST_SINGLE:
        text = f"a trial of {format_duration(experiment.timing.trial)} has {frames:,} frames one by one at "
        text += f"{format_quantity(procedure.single_rate, Unit.FPS)}; expected at least {_FEWEST_SINGLE}: raise "
        yield Problem((*location, "timing", "trial"), f"{text}`trial`, or `single_rate`")
    if isinstance(testbed, VmConfig):
        if testbed.cpus not in {None, 1}:
            text = f"{procedure.name} counts the instructions of one virtual CPU, not of {testbed.cpus}; set it to 1"
            yield Problem(("testbed", "cpus"), text)
        if testbed.accelerator == "kvm":
            text = f"{procedure.name} counts the instructions that QEMU executes itself; set it to `tcg`"
            yield Problem(("testbed", "accelerator"), text)


def check_hosts(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the reasons why the tester's ports, or the hosts that replace them, cannot carry out the experiment."""
    procedure = experiment.procedure
    if not procedure.between_hosts:
        if not testbed.has_ports:
            others = " or ".join(name for name, other in DECLARATIONS.items() if other.between_hosts)
            text = f"{procedure.name} needs the tester's own ports, which the testbed {testbed.kind!r} doesn't have; "
            yield Problem((*location, "procedure"), f"{text}choose `kind: hardware`, or {others}")
        ports = testbed.engine_ports
        if procedure.pairs_frames and ports and ports.most_receivers > 1:
            text = f"{procedure.name} needs all frames of a direction on one core, and {ports.most_receivers} "
            text += f"cores of the tester share a port's {ports.queues} queues; set it to 1, or give 2 `tester_cores`"
            text += " or one core to each `receive`"
            yield Problem(("testbed", "queues"), text)
        return
    if any(box.is_played for box in experiment.gateway.boxes):
        text = f"the hosts of {procedure.name} play no box of a chain; give a gateway in place of `tester`"
        yield Problem((*location, "gateway"), text)
    if isinstance(testbed, MemifConfig):
        text = f"the hosts of {procedure.name} need network interfaces of the kernel, and {testbed.kind!r} has none; "
        yield Problem((*location, "procedure"), f"{text}use a lab")
    if not testbed.has_gateway:
        text = f"{procedure.name} measures a gateway, and the testbed {testbed.kind!r} has none; use a lab"
        yield Problem((*location, "procedure"), text)
    if experiment.mix or experiment.extension_headers.bytes:
        field = "mix" if experiment.mix else "extension_headers"
        yield Problem((*location, field), f"the hosts of {procedure.name} make their own frames; remove it")
    smallest = procedure.usual_frame_size
    if smallest and experiment.frame_size < smallest:
        text = f"the hosts of {procedure.name} choose the size of their frames, up to an MTU of at least 1500 bytes; "
        yield Problem((*location, "frame_size"), f"{text}give {smallest} or more, or remove it")
    if testbed.has_gateway and testbed.engine_ports:
        for side, port in testbed.engine_ports.of_cable.items():
            if port.pci:
                text = f"the hosts of {procedure.name} need a network interface of the kernel, and this device has "
                text += "another driver; bind it to the kernel's driver, and give `interface`"
                yield Problem(("testbed", side, "pci"), text)
            if port.vlan:
                text = f"the hosts of {procedure.name} send frames without tags; remove the VLANs of both ports"
                yield Problem(("testbed", side, "vlan"), text)
