# SPDX-License-Identifier: Apache-2.0
"""Checks the addresses of the two links and of the hosts that the tester plays."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from natxy.plan.address_presets import is_safe
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import MOST_POOL_ADDRESSES, GatewayModel
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import AddressPreset, LinkAddresses
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family
from natxy.plan.written import ExperimentPlan, Plan


def check_addresses(plan: Plan, own: ExperimentPlan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    at = (*location, "addresses")
    addresses = experiment.addresses
    left_family, right_family = experiment.families
    sides: tuple[tuple[str, Family, LinkAddresses, AddressRanges], ...] = (
        ("left", left_family, addresses.left, addresses.left_hosts),
        ("right", right_family, addresses.right, addresses.right_hosts),
    )
    given = own.addresses
    if given.networks > 1 and experiment.translation:
        text = "networks are for gateways that do not change the family, as those of RFC 2544 §12; remove it"
        yield Problem((*at, "networks"), text)
    if given.on_link and (given.networks > 1 or given.preset == AddressPreset.MULTIPLE):
        other = "networks" if given.networks > 1 else "`multiple`"
        yield Problem((*at, "on_link"), f"hosts are on the link itself or behind it ({other}); remove one of the two")
    for side, family, link, hosts in sides:
        if given.on_link and getattr(given, side):
            yield Problem((*at, "on_link"), f"{side} is a link of your own; give its own `on_link` there instead")
        if given.networks > 1 and getattr(given, side):
            yield Problem((*at, "networks"), f"{side} is a link of your own; give its own `networks` there instead")
        if given.preset == AddressPreset.MULTIPLE and getattr(given, side) and not getattr(given, f"{side}_hosts"):
            text = f"missing; `multiple` on a link of your own needs its range, e.g. {{first: {hosts.first}, last: …}}"
            yield Problem((*at, f"{side}_hosts"), text)
        versions = {link.dut.version, link.tester.version, hosts.first.version, *(net.version for net in link.behind)}
        if versions != {4 if family == Family.IPV4 else 6}:
            yield Problem((*at, side), f"this side's family is {family}, but not all addresses are")
            continue
        if link.dut.network != link.tester.network or link.dut.ip == link.tester.ip:
            yield Problem((*at, side), f"{link.dut} and {link.tester} must be two addresses of one link")
        reached = (ip_network(link.tester.ip), *link.answered)
        # The numbers of homes with one address are in no packet.
        in_packets = side == "right" or not isinstance(experiment.subscribers, HomesPlan)
        if in_packets and (unreached := next((each for each in hosts.ranges if not each.within(reached)), None)):
            text = (
                f"the gateway has no route to all of {unreached.first} to {unreached.last}; add one to `{side}.behind`"
            )
            yield Problem((*at, f"{side}_hosts"), text)
        if link.dut.ip in hosts:
            yield Problem((*at, f"{side}_hosts"), f"{link.dut.ip} is the gateway's own; leave it out of the range")
        yield from check_destinations(plan, hosts, (*at, f"{side}_hosts"))
    yield from _check_pool(plan, experiment, at)
    left, right = addresses.left.dut.network, addresses.right.dut.network
    twice = {*addresses.left.behind} & {*addresses.right.behind}
    if left.version == right.version and left.overlaps(right):
        text = f"the networks of the two links overlap, {left} on the left and {right} on the right"
        yield Problem(at, f"{text}; give each its own")
    elif twice:
        yield Problem(at, f"{min(map(str, twice))} is behind both links; give each its own")


def _check_pool(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the problems of the public addresses that the gateway gives connections without a translation."""
    addresses, pool, at = experiment.addresses, experiment.addresses.pool, (*location, "pool")
    if lacking := next((hop for hop in experiment.gateway.hops if hop.needs_pool), None):
        yield from _check_own_pool(experiment, lacking, at)
    if pool is None:
        return
    if experiment.translation:
        yield Problem(at, f"a {experiment.translation.kind} has a pool of its own; give `translation` the `pool`")
        return
    if refused := experiment.gateway.no_pool:
        yield Problem(at, refused)
        return
    if pool.version != addresses.right.dut.version:
        yield Problem(at, f"{pool} replaces the left hosts on the right, so it must be of the right side's family")
        return
    if pool.num_addresses > MOST_POOL_ADDRESSES:
        yield Problem(at, f"{pool} has more than {MOST_POOL_ADDRESSES:,} addresses; give a longer prefix")
        return
    played = (*addresses.left_hosts.ranges, *addresses.right_hosts.ranges, addresses.right.tester.ip)
    for each in played:
        first, last = (each.first, each.last) if isinstance(each, AddressRange) else (each, each)
        if first.version == pool.version and int(first) <= int(pool[-1]) and int(last) >= int(pool[0]):
            yield Problem(
                at,
                f"{pool} and {each} have addresses in common, but the tester plays the latter; choose "
                "addresses that nothing else has",
            )
            break
    yield from check_destinations(plan, AddressRanges.model_validate({"first": pool[0], "last": pool[-1]}), at)


def _check_own_pool(experiment: Experiment, gateway: GatewayModel, at: Location) -> Iterator[Problem]:
    """Refuses to leave a gateway without public addresses of its own, where it cannot have those of its interfaces."""
    pool, own = experiment.addresses.pool, experiment.addresses.right.dut.ip
    text = f"{gateway.driver} gives connections no address of an interface; give it others, e.g. 198.19.0.4/30"
    if experiment.gateway.hops[-1] is not gateway:
        text = f"a pool is that of the last gateway, and {gateway.driver} needs one; let it be the last of the chain"
        yield Problem(at, text)
    elif pool is None:
        yield Problem(at, f"missing; {text}")
    elif own in pool:
        yield Problem(at, f"{own} is the gateway's own on the right, and {text}")


def check_destinations(plan: Plan, hosts: AddressRanges, at: Location) -> Iterator[Problem]:
    """Yields an error for public addresses, to which test traffic must not leak (RFC 6815)."""
    if not plan.allow_public_destinations and not is_safe(hosts):
        text = f"{hosts} is outside the benchmark and private ranges, and test traffic must not leak (RFC 6815); "
        yield Problem(at, text + "choose others, or set `allow_public_destinations: true` on an isolated network")
