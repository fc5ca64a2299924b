# SPDX-License-Identifier: Apache-2.0
"""Checks procedures whose connections have further frames in the trial that opens them."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol, data_bytes_of
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.units import Unit, format_duration, format_quantity
from natxy.plan.procedures.ageing import AgeingConfig
from natxy.plan.procedures.lives import ChurnConfig, TcpConnectionRateConfig
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.tester_cores import CoresOfTasks

# For how many lives of a connection new ones are opened.
_STEADY: Final = 2
_ROUNDING_S: Final = 1e-9
# Of the engine.
_WINDOW_BYTES: Final = 65_535
_LEAST_PROBES_FPS: Final = 0.01


def check_lives(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields what keeps the connections of an experiment from their frames."""
    procedure = experiment.procedure
    if procedure.needs_tcp and experiment.protocol != Protocol.TCP:
        text = f"{procedure.name} opens and closes connections of TCP; give `protocol: tcp`, or choose churn"
        yield Problem((*location, "protocol"), text)
    if not procedure.life(experiment.protocol):
        return
    ports = testbed.engine_ports
    if ports and ports.most_receivers > 1:
        text = f"{procedure.name} needs one core that receives and sends on a port, and {ports.most_receivers} cores "
        yield Problem(("testbed", "queues"), f"{text}share a port's {ports.queues} queues; set it to 1")
    tasks = ports.tester_cores if ports else None
    if isinstance(tasks, CoresOfTasks) and tasks.right.send != tasks.right.receive:
        text = f"{procedure.name} needs one core that sends and receives on the right port; give `send` and `receive` "
        yield Problem(("testbed", "tester_cores", "right"), f"{text}the same core")
    if isinstance(procedure, TcpConnectionRateConfig):
        yield from _check_window(procedure, experiment, location)
    if isinstance(procedure, ChurnConfig):
        yield from _check_churn(procedure, experiment, location)
    if isinstance(procedure, AgeingConfig):
        yield from _check_ageing(procedure, experiment, location)


def _check_window(procedure: TcpConnectionRateConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields what a host could not send at once, because the other one acknowledges only the last of the segments."""
    left, right = experiment.families_of_ports
    data_bytes = max(
        data_bytes_of(experiment.frames_of_port("left").sizes[0], left),
        data_bytes_of(experiment.frames_of_port("right").sizes[0], right),
    )
    for field, segments in (("request", procedure.request), ("response", procedure.response)):
        if segments * data_bytes > _WINDOW_BYTES:
            text = f"{segments} segments of {data_bytes:,} bytes are more than a window of {_WINDOW_BYTES:,} bytes; "
            text += f"give at most {_WINDOW_BYTES // data_bytes}, or a smaller `frame_size`"
            yield Problem((*location, "procedure", field), text)


def _check_churn(procedure: ChurnConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    opening_steps = 1 if experiment.protocol == Protocol.UDP else 2
    opened_s = opening_steps * procedure.step
    if procedure.age < opened_s + procedure.step - _ROUNDING_S:
        text = f"{format_duration(procedure.age)} are too short for the frames that open a connection; expected at "
        text += f"least {format_duration(opened_s + procedure.step)}: raise `age`, or lower `step`"
        yield Problem((*location, "procedure", "age"), text)
    udp = experiment.protocol == Protocol.UDP
    if udp and procedure.close != ChurnConfig.model_fields["close"].default:
        text = "connections of UDP are not closed, and expire; remove it, or give `protocol: tcp`"
        yield Problem((*location, "procedure", "close"), text)
    if procedure.lifetime is None:
        kept = "UDP connection" if udp else "closed TCP connection"
        text = (
            "nobody knows whether any connection goes; give `lifetime`, the longest time for which the gateway keeps "
        )
        text += f"an idle {kept}"
        yield Problem((*location, "procedure", "lifetime"), text)
        return
    if experiment.search is None or experiment.connections is None:
        return
    lifetimes = [hop.lifetimes_of(experiment.protocol) for hop in experiment.gateway.hops]
    planned = [each for own, _ in lifetimes for each in own.items()]
    known = [lifetime_s for both in lifetimes for each in both for lifetime_s in each.values()]
    if udp and known and procedure.lifetime > max(known):
        text = f"the gateway keeps no idle connection for longer than {max(known)} s; give the longest of its lifetimes"
        yield Problem((*location, "procedure", "lifetime"), text)
    if longer := next((each for each in planned if udp and each[1] > procedure.lifetime), None):
        text = (
            f"the gateway keeps connections for longer, {longer[1]} s ({longer[0]}); give the longest of its lifetimes"
        )
        yield Problem((*location, "procedure", "lifetime"), text)
    most_fps = experiment.search.max_rate
    opened = experiment.pair_count * experiment.connections
    enough = _STEADY * procedure.most_at_once(2**48, most_fps, experiment.protocol)
    if opened < enough:
        alive_s = procedure.life_s(experiment.protocol) + procedure.lifetime
        text = (
            f"a connection lives for {format_duration(alive_s)}, and at {format_quantity(most_fps, Unit.CPS)} all are "
        )
        text += (
            f"opened in {format_duration(opened / most_fps)}; give at least {round(enough / experiment.pair_count):,} "
        )
        text += "for a table in steady state, or lower the search's `max_rate`"
        yield Problem((*location, "connections"), text)


def _check_ageing(procedure: AgeingConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    states = procedure.states_of(experiment.protocol)
    if procedure.state not in states:
        text = f"connections of {experiment.protocol} cannot be left {procedure.state}; expected {' or '.join(states)}"
        yield Problem((*location, "procedure", "state"), text)
    if experiment.connections and experiment.connections / procedure.longest < _LEAST_PROBES_FPS:
        text = f"{experiment.connections:,} probes in {format_duration(procedure.longest)} are too few; give at "
        text += f"least {ceil(_LEAST_PROBES_FPS * procedure.longest):,}"
        yield Problem((*location, "connections"), text)
