# SPDX-License-Identifier: Apache-2.0
"""Checks that a core serves the subscribers of an experiment, and that nothing else has their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

from natxy.plan.address_presets import SAFE_NETWORKS
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.model.addresses import IPNetwork
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.subscribers import AnySubscribers, Subscribers
from natxy.plan.model.table_subscribers import TableSubscribers
from natxy.plan.model.terms import CORES, EDGES, MapEnd
from natxy.plan.model.traffic import Directions, PortRange
from natxy.plan.path import OWN_NETWORK
from natxy.plan.procedures.binding_check import BindingCheckConfig
from natxy.plan.written import Plan


def core_of(experiment: Experiment) -> GatewayModel | None:
    """Returns the gateway that is the core of softwires, or of MAP-T; None if there is none."""
    boxes = zip(experiment.gateway.boxes, experiment.kinds or (), strict=False)
    return next((box for box, kind in boxes if kind in CORES), None)


def of_command(experiment: Experiment) -> str:
    """Returns what makes a `command` an end of a softwire, if the gateway has one."""
    if not any(isinstance(hop, CommandConfig) for hop in experiment.gateway.hops):
        return ""
    named = "names {softwire_own} or {softwire_far}"
    return f"; a `command` is an end of a softwire if one of its commands {named}, and never one of MAP-T"


def check_subscribers(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Refuses subscribers without a core that serves them, and hosts that are no subscribers."""
    own, at = experiment.subscribers, (*location, "subscribers")
    if own is None:
        return
    kinds = experiment.kinds or ()
    ends = [number for number, kind in enumerate(kinds) if kind in EDGES | CORES]
    if not ends:
        text = (
            "only the core of a softwire has subscribers, or that of MAP-T; give a chain such as [tester, softwire], "
        )
        yield Problem(at, f"{text}or remove it{of_command(experiment)}")
        return
    edge, core = (experiment.gateway.boxes[number] for number in ends[:2])
    if not edge.is_played:
        what = "MAP-T" if kinds[ends[0]] == MapEnd.EDGE else "the softwire"
        text = f"the tester plays the subscribers, so the edge of {what} has to be `tester`; give it as the first box"
        yield Problem(at, text)
        return
    if isinstance(own, HomesPlan):
        yield from _check_homes(experiment, own, core, at)
    else:
        if too_many := _too_many(own, core):
            yield Problem((*at, "table") if isinstance(own, TableSubscribers) else at, too_many)
        if isinstance(own, TableSubscribers):
            yield from _check_table(plan, experiment, own, core, at)
        if own.share_addresses:
            yield from _check_owned_ports(experiment, own.port_limits, (*location, "ports"))
    yield from _check_prefix_of_ends(plan, experiment, own, at)
    yield from _check_hosts(experiment, own, location)


def _check_homes(experiment: Experiment, own: HomesPlan, core: GatewayModel, at: Location) -> Iterator[Problem]:
    """Refuses homes with one address where the core does not tell them apart by their softwires."""
    if MapEnd.EDGE in (experiment.kinds or ()):
        text = "homes with one address have softwires, as in DS-Lite, and MAP-T has none; give `ipv4` instead"
        yield Problem((*at, "inner"), text)
    elif not core.keeps_homes_apart:
        text = (
            f"{core.driver} does not keep homes with one address apart: the core itself has to be a NAT that knows "
            "the softwire of each connection, for which Linux would need a connection tracking zone for each softwire. "
            "Give vpp-dslite, {driver: reference, mode: nat}, or {driver: command, stateful: true, masquerades: true, "
            "…}, or give each home an address of its own by `ipv4`"
        )
        yield Problem((*at, "inner"), text)
    if isinstance(experiment.procedure, BindingCheckConfig):
        text = "homes with one address may send it from any softwire, so that there is no binding to check; give `ipv4`"
        yield Problem((*at, "inner"), text)


def _check_table(
    plan: Plan, experiment: Experiment, own: TableSubscribers, core: GatewayModel, at: Location
) -> Iterator[Problem]:
    """Refuses a table where a rule is needed, and a core's end that something else has."""
    if MapEnd.EDGE in (experiment.kinds or ()):
        text = "a rule gives the addresses of MAP-T's subscribers; give `ipv4`, `ipv6` and `ea_length` instead"
        yield Problem((*at, "table"), text)
    if isinstance(core, CommandConfig) and core.names_rule:
        text = "the commands of the core have {rule_…}, and a table is no rule; let them read the same table, or give "
        yield Problem((*at, "table"), f"{text}`ipv4`, `ipv6` and `ea_length` instead")
    if own.core is None:
        return
    end = IPv6Network(own.core)
    if not _may_be(plan, end):
        text = f"the core's end is {own.core}, outside the benchmark and private ranges (RFC 6815); give one such as "
        text += "fd00:2:5::1, or set `allow_public_destinations: true` on an isolated network"
        yield Problem((*at, "core"), text)
    elif own.core in own.bindings.ends:
        yield Problem((*at, "core"), f"the core's end is {own.core}, which a subscriber has, too; give another")
    elif taken := next((each for each in networks_besides(experiment) if each.overlaps(end)), None):
        yield Problem(
            (*at, "core"), f"the core's end is {own.core}, in {taken}, which a link or natxy has; give another"
        )


def _check_hosts(experiment: Experiment, own: AnySubscribers, location: Location) -> Iterator[Problem]:
    """Refuses hosts that are no subscribers, and subscribers with addresses that a link or a right host has."""
    hosts = experiment.addresses.left_hosts
    if isinstance(own, Subscribers):
        are_all = all(each.first in own.ipv4 and each.last in own.ipv4 for each in hosts.ranges)
        text = f"{hosts} are not all in {own.ipv4}, the subscribers' addresses; leave them out, or give others"
    else:
        are_all = hosts == own.addresses
        text = f"{hosts} are not the subscribers, {own.addresses}; leave the hosts out, because all subscribers send"
    if overlap := None if isinstance(own, HomesPlan) else _overlap(experiment, own):
        yield Problem((*location, "subscribers"), overlap)
    elif not are_all:
        yield Problem((*location, "addresses", "left_hosts"), text)


def _overlap(experiment: Experiment, own: Subscribers | TableSubscribers) -> str | None:
    """Returns which network overlaps the subscribers' addresses, and what to do; None if there is none."""
    left, right = experiment.addresses.left, experiment.addresses.right
    between = (hop.addresses.left.dut.network for hop in experiment.path.hops[1:])
    networks = [
        (left.dut.network, "the left link itself"),
        (right.dut.network, "the right link itself"),
        *((network, "behind the right link") for network in right.behind),
        *((network, "the link between two gateways") for network in between),
    ]
    named = f"`ipv4` is {own.ipv4}" if isinstance(own, Subscribers) else f"the table's addresses are in {own.ipv4}"
    for network, what in networks:
        if isinstance(network, IPv4Network) and network.overlaps(own.ipv4):
            return f"{named}, and overlaps {network}, {what}; give another, e.g. 198.18.128.0/24"
    return None


def _too_many(own: Subscribers | TableSubscribers, core: GatewayModel) -> str | None:
    """Returns in what respect a core does not serve so many subscribers, and what to do."""
    if isinstance(own, TableSubscribers):
        remedy = fewer_ranges = "a shorter table"
    else:
        by_bits = own.ea_length is not None and own.bindings.psid_length > 0
        remedy = "a smaller `ea_length`" if by_bits else "an `ipv4` with a longer prefix"
        fewer_ranges = "a smaller `ea_length`, or a smaller `offset`"
    bits = own.bindings.psid_length
    psids, addresses = 1 << bits, own.ipv4.num_addresses
    ranges = own.count * len(own.bindings.subscriber(0).ports.ranges)
    if core.most_psids and psids > core.most_psids:
        return (
            f"{psids:,} subscribers share each address, a PSID of {bits} bits, and {core.driver} takes "
            f"at most {core.most_psids:,}; give {remedy}"
        )
    if core.most_shared_addresses and addresses > core.most_shared_addresses:
        return (
            f"`ipv4` is {own.ipv4} with {addresses:,} addresses, and {core.driver} takes at most "
            f"{core.most_shared_addresses:,}; give an `ipv4` with a longer prefix"
        )
    if own.count > core.most_subscribers:
        return f"{core.driver} takes at most {core.most_subscribers:,} subscribers, not {own.count:,}; give {remedy}"
    if own.share_addresses and ranges > core.most_port_ranges:
        return (
            f"{own.count:,} subscribers that share addresses have {ranges:,} ranges of ports, and {core.driver} takes "
            f"{core.most_port_ranges:,}; give {fewer_ranges}"
        )
    return None


def networks_besides(experiment: Experiment) -> list[IPNetwork]:
    """Returns the networks of the links at the ends, of what is behind them, and natxy's own."""
    links = (experiment.addresses.left, experiment.addresses.right)
    return [OWN_NETWORK, *(network for link in links for network in (link.dut.network, *link.behind))]


def _check_prefix_of_ends(plan: Plan, experiment: Experiment, own: AnySubscribers, at: Location) -> Iterator[Problem]:
    """Refuses a prefix of subscribers' ends that test traffic must not go to, or that something else has."""
    prefix = own.ipv6
    if isinstance(own, TableSubscribers):
        at, named = (*at, "table"), f"the subscribers' ends are in {prefix}"
    else:
        named = f"`ipv6` is {prefix}"
    if not _may_be(plan, prefix):
        text = f"{named}, outside the benchmark and private ranges (RFC 6815); give one such as fd00:2:6::/48, or set "
        if isinstance(own, TableSubscribers):
            text = f"{named}, which is in none of the benchmark and private ranges (RFC 6815); give others, or set "
        yield Problem(at, f"{text}`allow_public_destinations: true` on an isolated network")
        return
    dmrs = [domain.prefix] if (domain := experiment.map_domain) else []
    if taken := next((each for each in [*networks_besides(experiment), *dmrs] if each.overlaps(prefix)), None):
        what = "the default mapping rule" if taken in dmrs else "a link or natxy's own end of a softwire"
        yield Problem(at, f"{named}, and overlaps {taken}, which {what} has; give another")


def _may_be(plan: Plan, network: IPv6Network) -> bool:
    is_safe = any(isinstance(each, IPv6Network) and network.subnet_of(each) for each in SAFE_NETWORKS)
    return is_safe or plan.allow_public_destinations


def _check_owned_ports(experiment: Experiment, limits: tuple[int, int], at: Location) -> Iterator[Problem]:
    """Refuses ports beyond the lowest and the highest one that a subscriber may have, where they are those of
    subscribers."""
    first, last = limits
    used: dict[Location, PortRange] = {}
    # Spoofed frames come from subscribers, whatever way the traffic goes.
    spoofed = isinstance(experiment.procedure, BindingCheckConfig)
    if experiment.makes_connections or spoofed or experiment.directions != Directions.REVERSE:
        used["source",] = experiment.ports.source
    if not experiment.makes_connections and experiment.directions != Directions.FORWARD:
        own = ("reverse", "destination") if experiment.ports.reverse else ("destination",)
        used[own] = experiment.ports.in_reverse.destination
    for field, ports in used.items():
        if ports.min < first:
            text = f"no subscriber has ports below {first:,}; give {first}-{max(first, ports.max)}, or another `offset`"
            yield Problem((*at, *field), text)
        elif ports.max > last:
            text = f"no subscriber has ports above {last:,}; give {min(max(first, ports.min), last)}-{last}"
            yield Problem((*at, *field), text)
