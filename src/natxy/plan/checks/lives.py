# SPDX-License-Identifier: Apache-2.0
"""Checks of procedures whose connections have further frames in the trial that opens them."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.units import Unit, format_duration, format_quantity
from natxy.plan.procedures.ageing import AgeingConfig
from natxy.plan.procedures.lives import ChurnConfig
from natxy.plan.testbeds import TestbedConfig


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
    if isinstance(procedure, ChurnConfig):
        yield from _check_churn(procedure, experiment, location)
    if isinstance(procedure, AgeingConfig):
        yield from _check_ageing(procedure, experiment, location)


def _check_churn(procedure: ChurnConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    opened_s = max(step.age_s for step in procedure.life(experiment.protocol) if not procedure.is_later(step))
    if procedure.age < opened_s + procedure.step:
        text = f"{format_duration(procedure.age)} are too short for the frames that open a connection; expected at "
        text += f"least {format_duration(opened_s + procedure.step)}: raise `age`, or lower `step`"
        yield Problem((*location, "procedure", "age"), text)
    if procedure.lifetime is None or experiment.search is None or experiment.connections is None:
        return
    most_fps = experiment.search.max_rate
    alive_s = procedure.life_s(experiment.protocol) + procedure.lifetime
    opened = experiment.pair_count * experiment.connections
    if opened < most_fps * alive_s:
        text = f"at {format_quantity(most_fps, Unit.CPS)} the last connection is opened before the first one expires, "
        text += (
            f"{format_duration(alive_s)} after it; give at least {round(most_fps * alive_s / experiment.pair_count):,}"
        )
        yield Problem((*location, "connections"), f"{text}, or lower the search's `max_rate`")


def _check_ageing(procedure: AgeingConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    states = procedure.states_of(experiment.protocol)
    if procedure.state not in states:
        text = f"connections of {experiment.protocol} cannot be left {procedure.state}; expected {' or '.join(states)}"
        yield Problem((*location, "procedure", "state"), text)
    rate_fps = experiment.rate.rate if experiment.rate else None
    if rate_fps and experiment.connections and experiment.connections / rate_fps >= procedure.longest:
        text = f"opening {experiment.connections:,} connections at {format_quantity(rate_fps, Unit.CPS)} takes longer "
        text += f"than `longest`, {format_duration(procedure.longest)}; raise it, or ask for fewer connections"
        yield Problem((*location, "procedure", "longest"), text)
