# SPDX-License-Identifier: Apache-2.0
"""Finds in the failures of a search that the gateway has no port for more connections, or does not find one."""

from __future__ import annotations

from typing import Final

from natxy.causes.facts import Facts
from natxy.causes.shape import percent
from natxy.plan.gateways.base import PORTS_PER_ADDRESS
from natxy.plan.model.units import counted

# A number of ports or connections that is nearly all of another.
_NEARLY: Final = 0.9
# From here on netfilter, which tries at most some hundreds of the ports, may miss the last free ones.
_CROWDED: Final = 0.9
# A few connections with the addresses and ports of others say nothing about a range of ports.
_REFUSED: Final = 0.97
_STEADY: Final = 0.005
_FIRST_PORT: Final = 65_536 - PORTS_PER_ADDRESS
_MOST_WORKERS: Final = 64


def ports_used_up(facts: Facts) -> str | None:
    """Finds connections that end where all ports are taken: those of a range, or of an address that is given to several
    destinations.

    A gateway that keeps source ports has those of the plan, which say nothing about its own.
    """
    spread, kept = facts.typical.result.sources, facts.kept
    if kept is None or spread is None or not spread.endpoints or spread.lowest_port is None:
        return None
    assert spread.highest_port is not None
    ports, rise = spread.highest_port - spread.lowest_port + 1, facts.counter("insert_failed")
    source = facts.experiment.ports.source
    as_sent = source.min <= spread.lowest_port and spread.highest_port <= source.max and ports >= _NEARLY * source.size
    if spread.endpoints < _NEARLY * ports * spread.addresses or (as_sent and ports < _NEARLY * PORTS_PER_ADDRESS):
        return None
    # Each port of each address may be given once to each destination of a pair.
    each, destinations = spread.connections / spread.endpoints, facts.experiment.right_endpoints
    evidence = f" ({rise.text()})" if rise else ""
    addresses = counted(spread.addresses, "public address", "public addresses")
    span = f"the ports {spread.lowest_port} to {spread.highest_port} of {addresses}"
    taken = f"the connections have {spread.endpoints:,} of {span}{evidence}"
    if ports >= _NEARLY * PORTS_PER_ADDRESS:
        if destinations == 1 or each > 1 / _NEARLY:
            return None
        return (
            f"{taken}, each a port of its own, although they lead to {destinations:,} destinations: the gateway does "
            "not use a port again for another destination; give it more public addresses (`addresses.pool`), or ask "
            "for fewer `connections`"
        )
    if each < _NEARLY * destinations:
        return None
    # Ports that are given in their order end at any number that a table may hold.
    full = "" if rise else ", or its table is full with as many"
    split = round(PORTS_PER_ADDRESS / ports)
    if _is_part(spread.lowest_port, ports, split):
        return (
            f"{taken}, which are one of {split} equal parts of its ports: the gateway's rule gives no others, or each "
            f"of {split} workers or subscribers has a part, and all connections fall to one of them{full}; give the "
            "rule more ports, spread the connections over more hosts (`left_hosts`), run the gateway with fewer "
            "workers, or ask for fewer `connections`"
        )
    return (
        f"{taken}: the gateway's rule or port set gives no others{full}; give it more ports, or ask for fewer "
        "`connections` or more destinations (`right_hosts`, destination ports)"
    )


def _is_part(lowest: int, ports: int, split: int) -> bool:
    """Returns True if a range of ports is one of so many equal parts of those of an address."""
    part = PORTS_PER_ADDRESS / split
    off_start = (lowest - _FIRST_PORT) / part
    return (
        1 < split <= _MOST_WORKERS
        and abs(part - ports) < _STEADY * part
        and abs(off_start - round(off_start)) < _STEADY * split
    )


def few_ports(facts: Facts) -> str | None:
    """Finds a port range or port set far below that of an address: the same number of connections gets a port."""
    rise, kept = facts.counter("insert_failed"), facts.kept
    if rise is None or kept is None or kept > min(_CROWDED * facts.ports, _REFUSED * facts.typical.planned):
        return None
    each = kept / facts.destinations
    if each > _CROWDED * PORTS_PER_ADDRESS:
        return None
    return (
        f"{counted(kept, 'connection')} to {counted(facts.destinations, 'destination')} get a port, and all others none"
        f" ({rise.text()}): the gateway has {each:,.6g} ports for a destination; give its rule or port set more ports, "
        "let its other ranges be used too, or ask for fewer `connections` or more destinations (`right_hosts`, "
        "destination ports)"
    )


def port_search(facts: Facts) -> str | None:
    """Finds a search for a port that ended early: nearly all ports are taken, or the ports near the wanted port are.

    Netfilter looks at up to 128 ports from the wanted one on, and at fewer from a few random ones on
    (net/netfilter/nf_nat_core.c).
    """
    rise = facts.counter("insert_failed")
    if rise is None:
        return None
    tried = facts.typical.planned if facts.of_connections else facts.experiment.connections or 0
    crowded = tried >= _CROWDED * facts.ports / facts.public_addresses
    if not crowded and facts.hosts <= facts.public_addresses:
        return (
            f"netfilter could not add the connections, because others had the same addresses and ports ({rise.text()});"
            " look at the gateway's rules for addresses and ports that several connections would share"
        )
    ports = PORTS_PER_ADDRESS * facts.destinations
    addresses = counted(facts.public_addresses, "public address", "public addresses")
    each = f"the {ports:,} ports that {addresses} has" if facts.public_addresses == 1 else f"the ports of {addresses}"
    dense = "" if crowded else f", and {facts.hosts:,} hosts want the same ones, so that those taken lie side by side"
    spread = "" if crowded else "spread the source ports (`ports.source`), "
    return (
        f"netfilter gives up its search for a free port after some hundreds of tries ({rise.text()}): {tried:,} "
        f"connections to {counted(facts.destinations, 'destination')} need {percent(tried / facts.ports)} of {each}"
        f"{dense}; {spread}give the gateway more public addresses (`addresses.pool`), more destinations "
        "(`right_hosts`, destination ports), or ask for fewer `connections`"
    )
