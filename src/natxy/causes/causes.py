# SPDX-License-Identifier: Apache-2.0
"""Concludes from the failures of a search why it found no rate: a sentence with the evidence, and what to do.

Each cause is a function. The first one that explains the facts is given, so the most certain ones come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from natxy.causes.facts import Facts, failures
from natxy.causes.flows import lossy_values, same_each_time, which
from natxy.causes.shape import how_many, percent, place, shape
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import PORTS_PER_ADDRESS
from natxy.plan.model.units import counted, enumerated, format_duration
from natxy.results.dut_counts import CONNTRACK, KERNEL, Rise
from natxy.results.trials import Purpose, TrialRecord

# A number of frames or connections that is nearly all of another.
_NEARLY: Final = 0.9
# From here on netfilter, which tries at most some hundreds of the ports, may miss the last free ones.
_CROWDED: Final = 0.9
# A few connections with the addresses and ports of others say nothing about a range of ports.
_REFUSED: Final = 0.97
# Netfilter's own bound on a chain is drawn at each boot, from 50 on (net/netfilter/nf_conntrack_core.c).
_LONG_CHAIN: Final = 50
_STEADY: Final = 0.02
_MOST_WORKERS: Final = 64
_ENTRIES_A_CONNECTION: Final = 2
_LEARNT_S: Final = 0.05
_MOST_NAMED: Final = 2
# Gateways limit the rate of their ICMP errors, so that few stand for many; one may be an answer to something else.
_TOLD: Final = 3
_LIMITS_A_HOST: Final = re.compile(r"ct count over|connlimit|limit\b.*\bsrcip|--connlimit")
_LIMITS_A_RATE: Final = re.compile(r"\blimit rate\b|-m limit\b|hashlimit")
_ERRORS: Final = {
    "icmp_unreachable": "unreachable", "icmpv6_unreachable": "unreachable", "icmp_time_exceeded": "time exceeded",
    "icmpv6_time_exceeded": "time exceeded",
}  # fmt: skip
_DAMAGED: Final = re.compile(r"\brx_errors\b|crc|fcs|align|symbol", re.I)
_TOO_LONG: Final = ("icmp_fragmentation_needed", "icmpv6_packet_too_big")


def explain(experiment: Experiment, trials: Iterable[TrialRecord], purpose: Purpose = Purpose.MEASURE) -> str:
    """Returns what the failures of a repetition have in common and their cause, as far as either is known.

    `purpose` chooses the trials. The text is empty if none of them failed by a loss, or nothing is known of the
    failures.
    """
    failed = failures(trials, purpose)
    if not failed:
        return ""
    facts = Facts(experiment, failed)
    cause = next(filter(None, (each(facts) for each in _CAUSES)), "")
    seen = "; ".join(filter(None, (shape(facts), which(facts))))
    return ": ".join(filter(None, (seen, cause)))


def explain_capacity(experiment: Experiment, trials: Iterable[TrialRecord]) -> str:
    """Returns what other than the table's size keeps a gateway from more connections; an empty text if nothing is
    known."""
    failed = failures(trials, Purpose.MEASURE)
    facts = Facts(experiment, failed) if failed else None
    return next(filter(None, (each(facts) for each in _LIMITS)), "") if facts else ""


def _corrupted(facts: Facts) -> str | None:
    corrupt, misrouted = facts.typical.corrupt, facts.typical.misrouted
    if corrupt + misrouted < _NEARLY * facts.lost:
        return None
    if corrupt >= misrouted:
        return (
            f"{corrupt:,} of the missing frames came through with a wrong checksum or length; switch the checksum, "
            "segmentation and receive offloads of the DUT's interfaces off (`ethtool -K`), and look at the gateway's "
            "translation"
        )
    return (
        f"{misrouted:,} of the missing frames came through with other addresses or ports than the plan's; compare the "
        "gateway's rules and pool with `addresses` and `translation`"
    )


def _chains(facts: Facts) -> str | None:
    rise = facts.counter("chaintoolong")
    if rise is None:
        return None
    counts = facts.typical.dut_counts
    buckets = counts.buckets if counts else None
    made = facts.typical.planned if facts.of_connections else facts.experiment.connections
    where = enough = ""
    if buckets and made:
        entries = _ENTRIES_A_CONNECTION * made
        where = f": {made:,} connections are {entries / buckets:.3g} entries a bucket in a table of {buckets:,} buckets"
        enough = f" to {made:,} or more"
    return (
        f"netfilter refuses connections whose hash chain is too long, from {_LONG_CHAIN} entries on ({rise.text()})"
        f"{where}; raise the gateway's `hash_size` (nf_conntrack_buckets){enough}; a larger table alone does not help"
    )


def _table_full(facts: Facts) -> str | None:
    counts = facts.typical.dut_counts
    rise = facts.counter("drop")
    if counts is None or not counts.table_size:
        return None
    replaced = counts.rise(CONNTRACK, "early_drop")
    if (counts.connections or 0) < _NEARLY * counts.table_size or not (rise or replaced):
        return None
    evidence = rise or Rise("early_drop", replaced, CONNTRACK)
    return (
        f"the connection tracking table is full: {counts.connections:,} of {counts.table_size:,} entries "
        f"({evidence.text()}); raise the gateway's `conntrack_max` (nf_conntrack_max), or ask for fewer `connections`"
    )


def _ports_used_up(facts: Facts) -> str | None:
    """Finds connections that end where all ports are taken: those of a range, or of an address that is given to several
    destinations."""
    spread, kept = facts.typical.result.sources, facts.kept
    if kept is None or spread is None or not spread.endpoints or spread.lowest_port is None:
        return None
    assert spread.highest_port is not None
    ports = spread.highest_port - spread.lowest_port + 1
    if spread.endpoints < _CROWDED * ports * spread.addresses:
        return None
    addresses = counted(spread.addresses, "public address")
    taken = f"the connections have {spread.endpoints:,} of the ports {spread.lowest_port} to {spread.highest_port} of "
    taken += addresses + (f" ({rise.text()})" if (rise := facts.counter("insert_failed")) else "")
    if facts.destinations > 1 and spread.endpoints > _REFUSED * spread.connections:
        return (
            f"{taken}, each a port of its own, although they lead to {facts.destinations:,} destinations: the gateway "
            "does not use a port again for another destination; give it more public addresses (`addresses.pool`), or "
            "ask for fewer `connections`"
        )
    parts = PORTS_PER_ADDRESS / ports
    if parts < 1 / _CROWDED:
        return None
    split = round(parts)
    if split <= _MOST_WORKERS and abs(parts - split) < _STEADY * parts:
        return (
            f"{taken}, which are one of {split} equal parts of its ports: the gateway's rule gives no others, or each "
            f"of {split} workers or subscribers has a part, and all connections fall to one of them; give the rule "
            "more ports, spread the connections over more hosts (`left_hosts`), run the gateway with fewer workers, or "
            "ask for fewer `connections`"
        )
    return (
        f"{taken}, and the gateway uses no others: give its rule or port set more ports, or ask for fewer `connections`"
        " or more destinations (`right_hosts`, destination ports)"
    )


def _few_ports(facts: Facts) -> str | None:
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


def _port_search(facts: Facts) -> str | None:
    """Finds a search for a port that ended early: nearly all ports are taken, or those near the one that was wanted.

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
    ports, addresses = PORTS_PER_ADDRESS * facts.destinations, counted(facts.public_addresses, "public address")
    each = f"the {ports:,} ports that {addresses} has" if facts.public_addresses == 1 else f"the ports of {addresses}"
    dense = "" if crowded else f", and {facts.hosts:,} hosts want the same ones, so that those taken lie side by side"
    spread = "" if crowded else "spread the source ports (`ports.source`), "
    return (
        f"netfilter gives up its search for a free port after some hundreds of tries ({rise.text()}): {tried:,} "
        f"connections to {counted(facts.destinations, 'destination')} need {percent(tried / facts.ports)} of {each}"
        f"{dense}; {spread}give the gateway more public addresses (`addresses.pool`), more destinations "
        "(`right_hosts`, destination ports), or ask for fewer `connections`"
    )


def _too_long(facts: Facts) -> str | None:
    told = _foreign(facts, _TOO_LONG)
    rise = facts.counter("IpFragFails", "Ip6InTooBigErrors", "Ip6FragFails", shown_by=KERNEL)
    if told < min(_TOLD, facts.lost) and rise is None:
        return None
    evidence = rise.text() if rise else f"{told:,} ICMP errors say so"
    return (
        f"the frames are too long for a link of the DUT ({evidence}); raise the MTU of its interfaces, or give a "
        "smaller `frame_size`"
    )


def _a_host(facts: Facts) -> str | None:
    """Finds a limit of connections: the same number is kept at every rate, and no counter of a full table rose.

    The connections above the limit are more than a few, or exactly the last ones of each trial.
    """
    kept = facts.kept
    rules = [rule for rule in _rules(facts) if _LIMITS_A_HOST.search(rule)]
    if kept is None or (kept > _NEARLY * facts.typical.planned and not facts.only_the_same_last):
        return None
    # A search for the table's capacity expects such a number, and a limit does not choose among ports or addresses.
    if not rules and (facts.experiment.connections is None or lossy_values(facts)):
        return None
    each = f"{round(kept / facts.hosts):,} each of {counted(facts.hosts, 'host')}"
    if rules:
        return (
            f"the gateway keeps {counted(kept, 'connection')} and no more, {each}: a rule of its filter limits them"
            f"{_named(rules)}; use more hosts (`left_hosts`), ask for fewer `connections`, or raise the limit"
        )
    # At a single rate, the number may be that of the rate.
    slow, slower = ("", "") if facts.spans else (", or the rate is too high for it", ", lower the rate of phase 1")
    return (
        f"the gateway keeps {counted(kept, 'connection')} and no more, {each}: its table is full, or it limits the "
        f"connections of a host{slow}; enlarge the gateway's table, use more hosts (`left_hosts`){slower}, or ask for "
        "fewer `connections`"
    )


def _limiter(facts: Facts) -> str | None:
    rules = [rule for rule in _rules(facts) if _LIMITS_A_RATE.search(rule)]
    queue = next((rise for rise in facts.explained_by if rise.shown_by == "tc -s qdisc"), None)
    if queue is None and not (rules and facts.capped):
        return None
    evidence = f" ({queue.text()})" if queue else _named(rules)
    return (
        f"a rate limiter lets about {facts.rate(facts.points[0].arrived_fps)} pass{evidence}; raise or remove it, or "
        "search below it with a lower `min_rate`"
    )


def _capped(facts: Facts) -> str | None:
    if not facts.capped:
        return None
    arrived = facts.rate(facts.points[0].arrived_fps)
    return (
        f"about {arrived} come through whatever rate is offered, which is all that the gateway can do, or a rate "
        "limiter's setting; look for one (`tc qdisc`, rules with `limit`), or search below it with a lower `min_rate`"
    )


def _filtered(facts: Facts) -> str | None:
    """Finds rules that drop: one that counted what is missing, or those that do not count, if the kernel kept it."""
    listed = next((rise for rise in facts.explained_by if rise.shown_by == "nft list ruleset"), None)
    if listed:
        return (
            f"a filter of the gateway drops the {facts.what}: the rule `{listed.counter}` counted {listed.by:,}; "
            "let them pass, or switch the rule off for the test"
        )
    if not facts.silent_rules or facts.kept_back < _NEARLY * facts.lost:
        return None
    return (
        f"the DUT received the {facts.what} and did not send {facts.kept_back:,} of them on, and it has a rule that "
        f"drops without counting{_named(facts.silent_rules)}; let them pass, or switch the rule off for the test"
    )


def _learning(facts: Facts) -> str | None:
    """Finds a few frames that are missing at the start of every trial, whatever the rate."""
    within = facts.lost_within_s
    if facts.of_connections or within is None or within[1] > _LEARNT_S or not (facts.same_count or not facts.spans):
        return None
    rules = f", or a rule of its filter drops them{_named(facts.silent_rules)}" if facts.silent_rules else ""
    return (
        f"{how_many(facts)} are lost in the first {format_duration(max(0.001, within[1]))} of a trial and none later: "
        f"the gateway loses the first frames of flows, hosts or neighbours that it has yet to learn{rules}; let it "
        "keep what it has learnt for longer than the pause between trials, send traffic that is not counted before "
        "each trial (`timing: {warm_up: 100ms}`), use fewer hosts or flows, or allow this loss with `loss_tolerance`"
    )


def _damaged(facts: Facts) -> str | None:
    damaged = next((rise for rise in facts.explained_by if _DAMAGED.search(rise.counter)), None)
    if damaged is None:
        return None
    return (
        f"frames come to the DUT's card damaged ({damaged.text()}); replace the cable or its transceivers, and compare "
        "the speed and duplex of both ends (`ethtool`)"
    )


def _between(facts: Facts) -> str | None:
    """Finds frames that are lost between the tester's ports and the DUT's interfaces, which count what they pass."""
    load, result = facts.typical.dut_load, facts.typical.result
    if load is None or not load.interfaces:
        return None
    came, left = (sum(getattr(each, name) for each in load.interfaces) for name in ("received", "sent"))
    lost = {
        "do not come to the DUT's interfaces": sum(stream.sent for stream in result.streams) - came,
        "leave the DUT's interfaces and do not come to the tester": left
        - sum(each.received for each in result.streams),
    }
    words, number = max(lost.items(), key=lambda each: each[1])
    if load.interfaces_lost or not _NEARLY * facts.lost <= number <= facts.lost / _NEARLY:
        return None
    return (
        f"{number:,} frames {words}, and no card counts them: a card, the switch or a cable between the tester and the "
        "DUT loses them; look at the switch's counters and flow control (`ethtool -a`), and connect the two directly"
    )


def _refused(facts: Facts) -> str | None:
    told: dict[str, int] = {}
    for kind, words in _ERRORS.items():
        told[words] = told.get(words, 0) + _foreign(facts, [kind])
    most = max(told, key=lambda words: told[words])
    if told[most] < min(_TOLD, facts.lost):
        return None
    return (
        f"the gateway answers with {told[most]:,} ICMP errors, {most}; look at its routes, rules and limits, and at "
        "foreign.pcap in the run's folder, which has these frames"
    )


def _unrouted(facts: Facts) -> str | None:
    rise = facts.counter(
        "IpInNoRoutes", "IpExtInNoRoutes", "IpOutNoRoutes", "Ip6InNoRoutes", "Ip6OutNoRoutes", "IpInAddrErrors",
        "Ip6InAddrErrors", "TcpExtIPReversePathFilter", shown_by=KERNEL,
    )  # fmt: skip
    if rise is None:
        return None
    return (
        f"the DUT has no route for the {facts.what}, or refuses their addresses ({rise.text()}); compare its routes "
        "and rp_filter with the plan's `addresses`"
    )


def _unresolved(facts: Facts) -> str | None:
    tables = {rise for rise in facts.explained_by if rise.shown_by.startswith("lnstat")}
    if not tables:
        return None
    return (
        f"the DUT did not know the MAC addresses of neighbours ({tables.pop().text()}); raise "
        "net.ipv4.neigh.default.gc_thresh3 (net.ipv6), or put hosts behind a router instead of `on_link`"
    )


def _too_slow(facts: Facts) -> str | None:
    queues = ("ip -s -s", "ethtool", "cat /proc/net/softnet")
    full = [rise.text() for rise in facts.explained_by if rise.shown_by.startswith(queues)]
    if not full:
        return None
    return (
        f"the DUT drops the {facts.what} before its gateway has seen them ({enumerated(full)}): it is too slow for the "
        "search's lowest rate, or its queues are too short; lower `min_rate`, or raise net.core.netdev_max_backlog and "
        "the cards' rings (`ethtool -G`)"
    )


def _counted(facts: Facts) -> str | None:
    if not facts.explained_by:
        return None
    rises = enumerated([rise.text() for rise in facts.explained_by])
    return f"the DUT counted them: {rises}; look up what this counter means for your gateway"


def _one_way(facts: Facts) -> str | None:
    name = facts.only_direction
    if name is None:
        return None
    stream = next(each for each in facts.typical.result.streams if each.name == name)
    what = "nothing arrives" if not stream.received else "frames are lost"
    return f"{what} in the direction {name} alone; look at the gateway's routes, rules and interfaces of that direction"


def _of_flows(facts: Facts) -> str | None:
    if values := lossy_values(facts):
        return (
            f"the gateway treats the {values.text} otherwise than the others; look at its rules, its port sets, and "
            "how it spreads flows over cores and queues (`ethtool -x`)"
        )
    if same_each_time(facts):
        return (
            f"the gateway treats these {facts.what} otherwise than the others, whatever else it has to do; look at its "
            "rules and port sets, and how it spreads flows over cores and queues (`ethtool -x`)"
        )
    return None


def _placed(facts: Facts) -> str | None:
    where = place(facts)
    return f"{facts.what} are lost {where}" if where else None


_CAUSES: Final[tuple[Callable[[Facts], str | None], ...]] = (
    _corrupted,
    _chains,
    _table_full,
    _ports_used_up,
    _few_ports,
    _port_search,
    _too_long,
    _a_host,
    _learning,
    _limiter,
    _filtered,
    _unrouted,
    _unresolved,
    _refused,
    _damaged,
    _too_slow,
    _capped,
    _counted,
    _between,
    _of_flows,
    _one_way,
    _placed,
)
_LIMITS: Final = (_chains, _ports_used_up, _few_ports, _port_search, _a_host)


def _rules(facts: Facts) -> list[str]:
    """Returns the rules that counted what is missing, and those that drop without counting."""
    counted_by = [rise.counter for rise in facts.explained_by if rise.shown_by == "nft list ruleset"]
    return [*counted_by, *facts.silent_rules]


def _named(rules: Iterable[str]) -> str:
    named = [f"`{rule}`" for rule in rules][:_MOST_NAMED]
    return f" ({' or '.join(named)})" if named else ""


def _foreign(facts: Facts, kinds: Iterable[str]) -> int:
    return sum(port.foreign.get(kind, 0) for port in facts.typical.result.ports for kind in kinds)
