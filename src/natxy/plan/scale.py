# SPDX-License-Identifier: Apache-2.0
"""Computes what the connections of an experiment need of its gateway, at the lowest rates that the plan allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import MOST_POOL_ADDRESSES, GatewayModel, TableNeed
from natxy.plan.model.addresses import IPNetwork
from natxy.plan.model.problems import Location
from natxy.plan.model.terms import TranslationKind
from natxy.plan.model.units import format_duration
from natxy.plan.resolved_plan import ResolvedPlan

# The size of an entry in engine/state/entry_form.hpp. Where IPv6 addresses differ in more than four bytes, which is
# rare, a connection takes 32 bytes more.
_STATE_BYTES: Final = 16


def slowest_phase1_fps(experiment: Experiment, others: Mapping[str, Experiment]) -> float | None:
    """Returns the rate of phase 1, at its lowest if it is a share of what one of `others` measures.

    None if there is no phase 1, or that experiment is missing.
    """
    rate = experiment.phase1_rate
    if rate is None:
        return None
    source = others.get(rate.experiment or "")
    return rate.given_by(source.search.min_rate if source and source.search else None)


def table_need(experiment: Experiment, phase1_fps: float | None) -> TableNeed | None:
    """Returns what the experiment needs of the gateway's table if phase 1 has this rate; None without connections.

    A search for a table's capacity needs it for as many connections as it may try.
    """
    pairs, procedure = experiment.pair_count, experiment.procedure
    # Pairs share those that a search for the capacity tries.
    connections = pairs * experiment.connections if experiment.connections else _most_tried(experiment)
    if connections is None:
        return None
    sized = experiment.model_copy(update={"connections": experiment.connections or connections})
    most_fps = experiment.search.max_rate if experiment.search else None
    at_once = procedure.most_at_once(connections, most_fps, experiment.protocol)
    return TableNeed(
        at_once,
        min(at_once, pairs * sized.left_endpoints),
        pairs * sized.right_endpoints,
        _longest_wait_s(sized, phase1_fps),
        hosts=pairs * sized.addresses.left_hosts.size,
        remote_hosts=pairs * sized.addresses.right_hosts.size,
        softwires=experiment.subscribers.count if experiment.subscribers else 1,
        protocol=experiment.protocol,
    )


def _longest_wait_s(experiment: Experiment, phase1_fps: float | None) -> float:
    """Returns the longest time for which a connection has to be kept without a frame."""
    protocol = experiment.protocol
    ages_s = [0.0, *(step.age_s for step in experiment.procedure.life(protocol))]
    if len(ages_s) == 1:
        return experiment.longest_trial_s(phase1_fps)
    gap_s = max(later - earlier for earlier, later in pairwise(ages_s))
    rate_fps = experiment.rate.rate if experiment.rate else None
    if not experiment.procedure.keeps_to_the_end or rate_fps is None:
        return gap_s
    return gap_s + (experiment.connections or 0) / rate_fps


def _most_tried(experiment: Experiment) -> int | None:
    """Returns the most connections that a search for the table's capacity tries; None for other procedures."""
    most = experiment.procedure.most_connections
    # Doubling ends with a number that the table cannot hold.
    sizes = (size for hop in experiment.gateway.hops for size in hop.table_sizes.values())
    return most and min([most, *(2 * size for size in sizes)])


@dataclass(frozen=True)
class HopNeed:
    """Says what an experiment's connections need of one gateway of its path.

    `at` is the gateway's place in the setting `gateway`. `pool` has its public addresses; None for the gateway's own
    address alone.
    """

    gateway: GatewayModel
    at: Location
    kind: TranslationKind | None
    pool: IPNetwork | None
    need: TableNeed
    is_last: bool

    @property
    def ports(self) -> tuple[int, int] | None:
        """The ports of public addresses that connections need at once, and those that can be counted on.

        None if the gateway has no pool of ports.
        """
        needed = self.gateway.ports_needed(self.need, self.kind)
        return None if needed is None else (needed, _ports_of(self.gateway, self.need, self.addresses))

    @property
    def addresses(self) -> int:
        """The number of public addresses."""
        return self.pool.num_addresses if self.pool else 1


def needs_of_hops(experiment: Experiment, need: TableNeed) -> Iterator[HopNeed]:
    """Yields what each gateway needs, from left to right; `need` is that of the left hosts' connections."""
    hops = experiment.gateway.located_hops
    for number, (at, gateway) in enumerate(hops):
        # Addresses that are wrong may make no path, and only a chain needs it.
        addresses = experiment.path.hops[number].addresses if len(experiment.gateway.boxes) > 1 else None
        own = addresses.translation if addresses else experiment.translation
        pool = addresses.pool if addresses else experiment.addresses.pool
        found = HopNeed(
            gateway=gateway,
            at=at,
            kind=own.kind if own else None,
            pool=own.pool if own else pool,
            need=need,
            is_last=number == len(hops) - 1,
        )
        yield found
        if (ports := found.ports) is not None:
            # The next gateway sees public addresses in place of the hosts, with as many ports as were needed.
            need = replace(need, hosts=min(need.hosts, found.addresses), endpoints=min(need.endpoints, ports[0]))


def ports(experiment: Experiment, need: TableNeed) -> tuple[int, int] | None:
    """Returns the ports of public addresses that connections need at once, and those that can be counted on, of the
    gateway that has the fewest for them. None if no gateway has a pool of ports."""
    found = [own for each in needs_of_hops(experiment, need) if (own := each.ports)]
    return max(found, key=lambda own: own[0] / own[1]) if found else None


def _ports_of(gateway: GatewayModel, need: TableNeed, addresses: int) -> int:
    return int(gateway.ports_of_address * gateway.addresses_in_use(need, addresses))


def state_table_bytes(need: TableNeed) -> int:
    """Returns the size of the tester's own state table."""
    return _STATE_BYTES * need.connections


@dataclass(frozen=True)
class Shortfall:
    """Names a setting that is too small for an experiment's connections. `planned` is False for a value that the plan
    leaves to the DUT, which may have another one."""

    setting: Location
    planned: bool
    text: str


def shortfalls(experiment: Experiment, need: TableNeed) -> Iterator[Shortfall]:
    """Yields what is too small: tables, lifetimes, and the ports of public addresses."""
    for hop in needs_of_hops(experiment, need):
        yield from _small_tables(experiment, hop)
        yield from _short_lives(hop)
        if (found := hop.ports) and found[0] > found[1]:
            yield _too_few_ports(experiment, hop, *found)


def _small_tables(experiment: Experiment, hop: HopNeed) -> Iterator[Shortfall]:
    gateway, need = hop.gateway, hop.need
    # The table's size is what a search for its capacity finds.
    sizes = gateway.table_sizes if experiment.connections else {}
    for field, size in sizes.items():
        if size < need.connections:
            text = f"the table of {size} entries is smaller than the {need.connections} connections; "
            yield Shortfall(("gateway", *hop.at, field), True, f"{text}raise it, or ask for fewer connections")
    for field, size in gateway.usual_table_sizes.items() if experiment.connections else ():
        if field not in sizes and size < need.connections:
            text = (
                f"{gateway.driver} has {size:,} entries unless the DUT was set up otherwise; set {field} to at least "
            )
            yield Shortfall(("gateway", *hop.at, field), False, f"{text}{need.connections}")
    for field, most in gateway.most_hosts.items():
        if need.hosts > most:
            text = f"it has {most:,} addresses for {need.hosts:,} left hosts, each of which needs one; "
            yield Shortfall(
                ("gateway", *hop.at, field), True, f"{text}give a shorter prefix, or ask for fewer left hosts"
            )


def left_to_the_dut(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of the experiments for which a setting may be too small that the plan leaves to the DUT, by
    the sentence that says which.

    Table sizes on this machine are left out, because they can be read here.
    """
    others = {experiment.name: experiment for experiment in plan.experiments}
    found: dict[str, list[str]] = {}
    for experiment in plan.experiments:
        if need := table_need(experiment, slowest_phase1_fps(experiment, others)):
            local = experiment.gateway.hops if plan.testbed.gateway_is_local else ()
            read_here = {name for hop in local for name in hop.usual_table_sizes}
            for short in shortfalls(experiment, need):
                if short.setting[-1] not in read_here:
                    found.setdefault(short.text, []).append(experiment.name)
    return found


def foreseen_refusals(plan: ResolvedPlan) -> dict[str, list[str]]:
    """Returns the names of the experiments whose gateway may refuse connections at any rate although its table has room
    for them, by the reason."""
    found: dict[str, list[str]] = {}
    for experiment in plan.experiments:
        # The reasons do not depend on a rate.
        if need := table_need(experiment, None):
            for hop in needs_of_hops(experiment, need):
                for reason in hop.gateway.refusals(hop.need, hop.addresses):
                    found.setdefault(reason, []).append(experiment.name)
    return found


def _short_lives(hop: HopNeed) -> Iterator[Shortfall]:
    gateway, longest_s = hop.gateway, hop.need.longest_trial_s
    longest, enough = format_duration(longest_s), int(longest_s) + 1
    planned, usual = gateway.lifetimes_of(hop.need.protocol)
    for field, timeout_s in planned.items():
        if timeout_s <= longest_s:
            yield Shortfall(
                ("gateway", *hop.at, *field.split(".")),
                True,
                f"entries would end after {timeout_s} s, but the longest trial takes {longest}; set {field} to at "
                f"least {enough}, ask for fewer connections, or raise the lowest rate at which they are made",
            )
    for field, timeout_s in usual.items():
        if timeout_s <= longest_s:
            text = f"connections live {timeout_s} s unless the DUT was set up otherwise, but the longest trial takes "
            yield Shortfall(("gateway", *hop.at, field), False, f"{text}{longest}; set {field} to at least {enough}")


def _too_few_ports(experiment: Experiment, hop: HopNeed, needed: int, room: int) -> Shortfall:
    gateway, pool = hop.gateway, hop.pool
    if pool is None or not hop.is_last:
        text = f"they need {needed} ports of the gateway's address at once, which has {room}; give more destination "
        more = "" if gateway.no_pool or not hop.is_last else ", or several public addresses in `addresses.pool`"
        return Shortfall(("connections",), True, f"{text}ports or `right_hosts`, or ask for fewer connections{more}")
    in_use = gateway.addresses_in_use(hop.need, pool.num_addresses)
    # The division above may leave a little less than a whole address.
    all_in_use = round(in_use, 6) == pool.num_addresses
    counted = "" if all_in_use else f" that can be counted on, {gateway.why_not_all(hop.need, in_use)}"
    enough = enough_addresses(gateway, hop.need, needed)
    more = "more left hosts" if enough is None else f"at least {enough} addresses"
    fewer = "source ports and left hosts" if experiment.translation else "connections"
    return Shortfall(
        ("translation" if experiment.translation else "addresses", "pool"),
        True,
        f"the pool {pool} has {room} ports{counted}, but the connections need {needed} at once; give it {more}, or ask "
        f"for fewer {fewer}",
    )


def enough_addresses(gateway: GatewayModel, need: TableNeed, needed: int) -> int | None:
    """Returns the size of a prefix whose addresses have the ports `needed`; None if more would not help."""
    addresses = 1 << (-(-needed // gateway.ports_of_address) - 1).bit_length()
    while _ports_of(gateway, need, addresses) < needed:
        addresses *= 2
        if addresses > MOST_POOL_ADDRESSES:
            return None
    return addresses
