# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with an experiment between hosts before any machine is touched."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import Location, Problem
from natxy.plan.procedures.tcp_goodput import MOST_FLOWS, USUAL_LONGEST_FRAME
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.testbeds.loop import LoopConfig


def check_hosts(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    name = experiment.procedure.name
    if not experiment.procedure.between_hosts:
        if isinstance(testbed, HostsConfig):
            text = f"{name} needs the tester's own ports, which the testbed 'hosts' doesn't have; "
            yield Problem((*location, "procedure"), text + "choose `kind: hardware`, or tcp-goodput")
        return
    if not experiment.gateway.forwards_tcp:
        text = f"{experiment.gateway.driver} forwards UDP alone, and {name} is one of TCP; choose another gateway"
        yield Problem((*location, "gateway"), text)
    if isinstance(testbed, LoopConfig):
        yield Problem((*location, "procedure"), f"{name} is of a gateway, and the testbed 'loop' has none; use a lab")
    if experiment.flows and experiment.flows > MOST_FLOWS:
        yield Problem((*location, "flows"), f"iperf3 has up to {MOST_FLOWS}, not {experiment.flows:,}; lower it")
    if experiment.frame_size < USUAL_LONGEST_FRAME:
        text = f"the frames of {name} are as long as its hosts make them, up to an MTU of at least 1500 bytes; give "
        yield Problem((*location, "frame_size"), text + f"{USUAL_LONGEST_FRAME} or more, or remove it")
    if isinstance(testbed, HardwareConfig):
        for side, port in (("left", testbed.left), ("right", testbed.right)):
            if port.pci:
                text = f"the hosts of {name} need an interface of the kernel, and this device has another driver; "
                yield Problem(("testbed", side, "pci"), text + "bind it to the kernel's own, and give `interface`")
