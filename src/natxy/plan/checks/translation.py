# SPDX-License-Identifier: Apache-2.0
"""Checks a translation between families: the gateway's ability, its connections, and its addresses."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Network

from natxy.plan.checks.addresses import check_destinations
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import WELL_KNOWN_PREFIX, WELL_KNOWN_SPACE, AddressPreset, Translation
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import SoftwireEnd, TranslationKind
from natxy.plan.written import ExperimentPlan, Plan


def check_translation(plan: Plan, own: ExperimentPlan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    kind = own.translation.kind if own.translation else None
    at = (*location, "translation")
    gateway = experiment.gateway
    if kind not in gateway.translations:
        yield Problem(at, _impossible(gateway, kind))
    if kind is None:
        return
    if own.family not in (None, kind.families[0]):
        yield Problem((*location, "family"), f"{kind} has {kind.families[0]} on the left; remove it")
    yield from _check_connections(kind, experiment, location)
    yield from _check_addresses(plan, kind, experiment, at)


def _impossible(gateway: GatewayModel, kind: TranslationKind | None) -> str:
    """Says that a gateway cannot translate so, and what to do."""
    able = ", ".join(sorted(each for each in gateway.translations if each))
    if (gateway.softwire_ends or gateway.map_ends) and not gateway.translations:
        alone = gateway.softwire_ends and SoftwireEnd.EDGE not in gateway.softwire_ends
        both = f"{{driver: chain, gateways: [{'softwire' if alone else gateway.driver}, {gateway.driver}]}}"
        what = "a softwire" if gateway.softwire_ends else "MAP-T"
        return f"{gateway.driver} is one end of {what}; give the other end too: `gateway: {both}`"
    if not able and not gateway.translations:
        return f"the translations of {gateway.title} do not fit together; choose another order, or other gateways"
    can = f"only {able}" if able else "none from end to end" if len(gateway.boxes) > 1 else "none"
    return f"{gateway.title} translates {can}; " + ("remove it" if kind else "name one, or choose another gateway")


def _ipv6_networks(experiment: Experiment) -> Iterator[IPv6Network]:
    """Yields the networks of the IPv6 side: its link, and what is behind it."""
    sides = (experiment.addresses.left, experiment.addresses.right)
    networks = (network for link in sides for network in (link.dut.network, *link.behind))
    yield from (network for network in networks if isinstance(network, IPv6Network))


def _check_connections(kind: TranslationKind, experiment: Experiment, location: Location) -> Iterator[Problem]:
    if kind.is_stateless and experiment.uses_connections:
        text = f"{kind} keeps no connections, which {experiment.procedure.name} asks for here; choose nat64 or nat46"
        yield Problem((*location, "translation"), text)
    if kind == TranslationKind.NAT64 and not experiment.makes_connections:
        text = "missing; through a nat64 only established connections have replies: give the connections of phase 1"
        yield Problem((*location, "connections"), f"{text}, e.g. 50k, or `translation: siit`")


def _check_addresses(plan: Plan, kind: TranslationKind, experiment: Experiment, at: Location) -> Iterator[Problem]:
    translation = experiment.translation
    assert translation is not None
    if translation.pool.version != experiment.addresses.right.dut.version:
        text = f"{translation.pool} replaces the left hosts on the right, so it must be of the right side's family"
        yield Problem((*at, "pool"), text)
    for gateway in experiment.gateway.hops:
        if not gateway.takes_well_known_prefix and translation.prefix.subnet_of(WELL_KNOWN_SPACE):
            text = (
                f"{gateway.driver} refuses {WELL_KNOWN_PREFIX} with addresses that are not global (RFC 6052 §3.1), and "
                f"all other prefixes of {WELL_KNOWN_SPACE}; choose another prefix, e.g. 2001:2:0:64::/96, or a gateway "
                "such as jool"
            )
            yield Problem((*at, "prefix"), text)
        if translation.prefix.prefixlen not in gateway.embedding_lengths:
            able = " or ".join(f"/{length}" for length in sorted(gateway.embedding_lengths))
            text = f"{gateway.driver} takes no /{translation.prefix.prefixlen}; expected a {able}"
            yield Problem((*at, "prefix"), text)
    within = next((own for own in _ipv6_networks(experiment) if own.overlaps(translation.prefix)), None)
    if within and kind != TranslationKind.CLAT:
        text = f"it stands for IPv4 hosts, and {within} of the plan's IPv6 hosts overlaps it; choose another prefix"
        yield Problem((*at, "prefix"), text)
    hosts = experiment.addresses
    addressed = [(hosts.right_hosts, experiment.left_destinations)]
    if kind.is_stateless or not experiment.makes_connections:
        addressed.append((hosts.left_hosts, experiment.right_destinations))
    if kind == TranslationKind.CLAT:
        yield from _check_clat(translation, experiment, at)
    for own, seen in addressed:
        if kind == TranslationKind.CLAT:
            seen = _across_a_clat(translation, own, seen)
        if seen is None:
            yield _unseen(kind, own, translation, at)
        elif seen.first.version == 4:
            yield from check_destinations(plan, seen, (*at, "mappings"))


def _unseen(kind: TranslationKind, own: AddressRanges, translation: Translation, at: Location) -> Problem:
    """Says why hosts have no addresses on the other side."""
    if kind == TranslationKind.CLAT and own.first.version == 6:
        text = f"{own} is not behind {translation.prefix}, so it stands for no IPv4 host; give `right_hosts` that are"
        return Problem((*at, "prefix"), text)
    if kind == TranslationKind.CLAT:
        return Problem((*at, "mappings"), f"none covers {own}, so it has no IPv6 address; add one")
    if own.first.version == 4:
        text = f"with {own} it divides the bits that vary, because bits 64 to 71 are left out (RFC 6052 §2.2)"
        return Problem((*at, "prefix"), f"{text}; choose another length, such as /64 or /96, or fewer hosts")
    return Problem((*at, "mappings"), f"none covers {own}, so no IPv4 host can send there; add one")


def _check_clat(translation: Translation, experiment: Experiment, at: Location) -> Iterator[Problem]:
    addresses = experiment.addresses
    if any(each.version == 6 and translation.prefix.subnet_of(each) for each in addresses.right.behind):
        text = f"{translation.prefix} stands for all IPv4 hosts, and the gateway would lose its default route; give "
        yield Problem((*at[:-1], "addresses", "right"), f"{text}`behind` only the parts that have the right hosts")
    if addresses.preset == AddressPreset.MULTIPLE and addresses.right_hosts.size == 1:
        text = "it divides the bits of the right hosts that vary, because bits 64 to 71 are left out (RFC 6052 §2.2)"
        yield Problem((*at, "prefix"), f"{text}; choose another length, such as /64 or /96, or one host")


def _across_a_clat(translation: Translation, own: AddressRanges, seen: AddressRanges | None) -> AddressRanges | None:
    """Returns None for IPv4 hosts that have no mapping; behind the prefix, they would be on the other side."""
    mapped = all(translation.mapping_of(each.first) for each in own.ranges)
    return seen if mapped or own.first.version == 6 else None
