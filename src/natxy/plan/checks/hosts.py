# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with an experiment between hosts before any machine is touched."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import Location, Problem
from natxy.plan.procedures.tcp_goodput import MOST_FLOWS, USUAL_LONGEST_FRAME
from natxy.plan.testbeds import TestbedConfig


def check_hosts(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    name = experiment.procedure.name
    if not experiment.procedure.between_hosts:
        if not testbed.has_ports:
            text = f"{name} needs the tester's own ports, which the testbed {testbed.kind!r} doesn't have; "
            yield Problem((*location, "procedure"), text + "choose `kind: hardware`, or tcp-goodput")
        return
    if not experiment.gateway.forwards_tcp:
        text = f"{experiment.gateway.driver} forwards UDP alone, and {name} is one of TCP; choose another gateway"
        yield Problem((*location, "gateway"), text)
    if not testbed.has_gateway:
        text = f"{name} measures a gateway, and the testbed {testbed.kind!r} has none; use a lab"
        yield Problem((*location, "procedure"), text)
    if experiment.flows and experiment.flows > MOST_FLOWS:
        yield Problem((*location, "flows"), f"iperf3 has up to {MOST_FLOWS}, not {experiment.flows:,}; lower it")
    if experiment.frame_size < USUAL_LONGEST_FRAME:
        text = f"the frames of {name} are as long as its hosts make them, up to an MTU of at least 1500 bytes; give "
        yield Problem((*location, "frame_size"), text + f"{USUAL_LONGEST_FRAME} or more, or remove it")
    if testbed.has_gateway and testbed.engine_ports:
        for side, port in testbed.engine_ports.of_cable.items():
            if port.pci:
                text = f"the hosts of {name} need an interface of the kernel, and this device has another driver; "
                yield Problem(("testbed", side, "pci"), text + "bind it to the kernel's own, and give `interface`")
