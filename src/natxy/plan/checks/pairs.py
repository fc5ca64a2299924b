# SPDX-License-Identifier: Apache-2.0
"""Checks traffic between several pairs of interfaces."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.checks.addresses import check_destinations
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Kernel
from natxy.plan.model.units import counted
from natxy.plan.moved import block_of
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.plan.written import Plan


def check_pairs(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields what keeps a testbed, a gateway or addresses from more than one pair of interfaces."""
    pairs, testbed, gateway = experiment.pair_count, plan.testbed, experiment.gateway
    if experiment.start_interval and experiment.pairs is None:
        yield Problem((*location, "start_interval"), "it needs several pairs of interfaces; give `pairs` or remove it")
    if experiment.start_interval and testbed.in_virtual_time:
        text = "a simulated gateway forwards only streams that begin together; remove it, or choose a lab"
        yield Problem((*location, "start_interval"), text)
    if pairs == 1:
        return
    at = (*location, "pairs")
    if pairs > testbed.most_pairs:
        text = f"the testbed {testbed.kind!r} has {counted(testbed.most_pairs, 'pair')} of interfaces, not {pairs}; "
        remedy = "give the testbed `more_pairs`" if testbed.kind == "hardware" else "choose a lab, or `kind: hardware`"
        yield Problem(at, text + f"{remedy}, or remove it")
    if not gateway.serves_pairs:
        text = f"{gateway.title} is set up between two interfaces only; "
        yield Problem(at, text + "choose linux-forward, nftables or iptables, or remove it")
    elif gateway.lab_kernel == Kernel.USER_MODE:
        yield Problem(at, "user-mode Linux has one pair of interfaces in a lab; remove `kernel: user-mode`")
    elif experiment.translation:
        yield Problem(at, "the hosts of a translation are those of one pair; remove one of the two")
    if isinstance(experiment.procedure, TableCapacityConfig) and experiment.procedure.initial_connections < pairs:
        text = f"the {pairs} pairs of interfaces share the connections; give at least one for each"
        yield Problem((*location, "procedure", "initial_connections"), text)
    addresses = experiment.addresses
    of_one_pair = {
        "background": experiment.background,
        "addresses.pool": addresses.pool,
        "addresses.on_link": addresses.left.on_link or addresses.right.on_link,
        "gateway.neighbors": gateway.neighbors if isinstance(gateway, NeighborsModel) else None,
    }
    for field in (field for field, given in of_one_pair.items() if given):
        yield Problem(at, f"{field} is for one pair of interfaces; remove one of the two")
    yield from _check_room(plan, experiment, location)


def _check_room(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields an error if a pair's addresses are those of another pair, or public ones."""
    addresses, pairs, at = experiment.addresses, experiment.pair_count, (*location, "addresses")
    spaces = []
    for side, link in (("left", addresses.left), ("right", addresses.right)):
        block = block_of(link)
        end = block.start + pairs * (block.stop - block.start)
        if end > 1 << link.dut.max_prefixlen:
            text = f"the addresses of the {side} side are too far apart to be those of {pairs} pairs; give closer ones"
            yield Problem((*at, side), text)
            return
        spaces.append(range(block.start, end))
    left, right = spaces
    if experiment.families[0] == experiment.families[1] and left.start < right.stop and right.start < left.stop:
        text = f"the addresses of {pairs} pairs, each side's one prefix above those before, are the other side's too"
        yield Problem(at, f"{text}; give the sides addresses that are closer together, or farther from the other side")
        return
    for number in range(1, pairs):
        moved = addresses.of_pair(number)
        yield from check_destinations(plan, moved.left_hosts, (*at, "left_hosts"))
        yield from check_destinations(plan, moved.right_hosts, (*at, "right_hosts"))
