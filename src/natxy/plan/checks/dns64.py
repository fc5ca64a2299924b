# SPDX-License-Identifier: Apache-2.0
"""Checks that queries go to a DNS64 server, and that nothing else does."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family
from natxy.plan.model.units import format_duration
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.procedures.dns64_rate import DNS_PORT, QUERY_FRAME_BYTES, Dns64RateConfig


def check_dns64(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the reasons why the gateway cannot be asked, or why a server cannot be measured so."""
    procedure, gateway = experiment.procedure, experiment.gateway
    prefix = gateway.dns64_prefix
    if not procedure.asks_dns64:
        if server := next((hop for hop in gateway.hops if hop.dns64_prefix), None):
            asking = " or ".join(name for name, other in DECLARATIONS.items() if other.asks_dns64)
            text = f"{server.title} is a DNS64 server, which forwards no frames; choose {asking}"
            yield Problem((*location, "procedure"), text)
        return
    if not gateway.is_gateway:
        if isinstance(procedure, Dns64RateConfig) and procedure.aaaa_percent < 100:
            text = "without a gateway the tester's authority answers, and makes no addresses; give `aaaa_percent: 100`"
            yield Problem((*location, "procedure", "aaaa_percent"), text)
    elif prefix is None:
        text = f"{procedure.name} asks a DNS64 server, and {gateway.title} is none; choose unbound, bind9, "
        text += "pdns-recursor or knot-resolver, or give `dns64`, the prefix, to a gateway of your own commands"
        yield Problem((*location, "gateway"), text)
    elif prefix.prefixlen not in gateway.embedding_lengths:
        able = " or ".join(f"/{length}" for length in sorted(gateway.embedding_lengths))
        text = f"{gateway.driver} takes no /{prefix.prefixlen}; expected a {able}"
        yield Problem((*location, "gateway", "prefix"), text)
    yield from _check_queries(experiment, location)
    timeout_s, drain_s = procedure.frame_timeout_s, experiment.timing.drain
    if timeout_s is not None and drain_s < timeout_s:
        text = f"the last answers may come after {format_duration(timeout_s)}, and the drain ends after "
        yield Problem((*location, "timing", "drain"), f"{text}{format_duration(drain_s)}; raise it")


def _check_queries(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Refuses fields that change the tester's queries, which all have one form."""
    name = experiment.procedure.name
    if experiment.families != (Family.IPV6, Family.IPV6):
        text = f"{name} asks over IPv6, for hosts that have nothing else; give `family: ipv6` and no `translation`"
        yield Problem((*location, "family"), text)
    if experiment.protocol != Protocol.UDP:
        yield Problem((*location, "protocol"), f"{name} asks over UDP; remove it")
    if experiment.extension_headers.bytes:
        yield Problem((*location, "extension_headers"), f"the queries of {name} have none; remove it")
    if experiment.mix:
        yield Problem((*location, "mix"), f"the queries of {name} have {QUERY_FRAME_BYTES} bytes; remove it")
    elif experiment.frame_size != QUERY_FRAME_BYTES:
        text = f"the queries of {name} have {QUERY_FRAME_BYTES} bytes; remove it"
        yield Problem((*location, "frame_size"), text)
    destination = experiment.ports.destination
    if (destination.min, destination.max) != (DNS_PORT, DNS_PORT) or experiment.ports.reverse:
        text = f"{name} asks at port {DNS_PORT}, and nothing is sent from the right; give the source ports alone"
        yield Problem((*location, "ports"), text)
    if experiment.addresses.left_hosts.size > 1 or experiment.addresses.right_hosts.size > 1:
        text = f"{name} asks from one address, and one address is the authority; remove it"
        yield Problem((*location, "addresses"), text)
