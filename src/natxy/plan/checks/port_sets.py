# SPDX-License-Identifier: Apache-2.0
"""Checks the procedure `port-set`: that the ports are known, and that enough connections can be tried."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.port_set import PortSetConfig


def check_port_set(experiment: Experiment, location: Location) -> Iterator[Problem]:
    own, gateways = experiment.procedure, experiment.gateway.own_ports
    if not isinstance(own, PortSetConfig) or experiment.gateway.keeps_connections is False:
        return
    at = (*location, "procedure")
    ports = own.ports_of(gateways)
    if ports is None:
        text = (
            f"missing; {experiment.gateway.title} names no port set: give it here, e.g. {{psid: 3, psid_length: 6}}, "
            "or give the gateway a `port_set`"
        )
        yield Problem((*at, "port_set"), text)
        return
    if gateways and ports != gateways:
        yield Problem((*at, "port_set"), "the gateway has another `port_set`; remove one of the two")
    tried, sources = own.tried(ports), experiment.ports.source.size
    if sources < tried:
        text = f"{sources:,} source ports are fewer than the {tried:,} connections that are tried to one destination; "
        yield Problem((*location, "ports", "source"), f"{text}give {tried:,}, or a longer `psid_length`")
    if experiment.ports.destination.size < own.destinations:
        text = f"{experiment.ports.destination.size:,} are fewer than the procedure's {own.destinations} `destinations`"
        yield Problem((*location, "ports", "destination"), f"{text}; give as many, or fewer of these")
    rate_fps = experiment.rate.rate if experiment.rate else None
    if rate_fps:
        yield from _check_lifetimes(experiment, 2 * tried * own.destinations / rate_fps, (*location, "rate"))


def _check_lifetimes(experiment: Experiment, made_s: float, at: Location) -> Iterator[Problem]:
    """Refuses a rate at which connections end before all are made and have had a reply: their ports would then be used
    again."""
    longest_s = made_s + 2 * experiment.timing.drain
    for hop in experiment.gateway.hops:
        planned, usual = hop.lifetimes_of(experiment.protocol)
        for field, timeout_s in {**usual, **planned}.items():
            if timeout_s <= longest_s:
                text = (
                    f"at this rate the connections are made and asked for replies within {format_duration(longest_s)}, "
                    f"and those of {hop.driver} end after {timeout_s} s: give a higher rate, or a `{field}` of "
                    f"{int(longest_s) + 1}"
                )
                yield Problem(at, text)
