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
from natxy.causes.periodic import period
from natxy.causes.ports import few_ports, port_search, ports_used_up
from natxy.causes.shape import how_many, place, shape
from natxy.causes.softwires import wrong_ends
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import counted, enumerated, format_duration
from natxy.results.dut_counts import CONNTRACK, KERNEL, Rise
from natxy.results.trials import Purpose, TrialRecord

# A number of frames or connections that is nearly all of another.
_NEARLY: Final = 0.9
# Netfilter's own bound on a chain is drawn at each boot, from 50 on (net/netfilter/nf_conntrack_core.c).
_LONG_CHAIN: Final = 50
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
_DAMAGED: Final = re.compile(r"crc|fcs|align|symbol", re.I)
_LENGTH: Final = re.compile(r"length|too_?long|over_?size|jabber", re.I)
_FRAGMENTS: Final = ("ipv4_fragment", "ipv6_fragment")
# What the tester calls frames that are wrong as a subscriber's, how they came, and what to do.
_OF_SUBSCRIBERS: Final = {
    "wrong_softwire": (
        "in a softwire whose ends are not those of their inner addresses and ports",
        "compare the gateway's mapping rule or binding table, its PSIDs and its own end with the plan's",
    ),
    "headers_in_softwire": (
        "with a header between their two IP headers",
        "switch the tunnel's encapsulation limit off (`encaplimit none`)",
    ),
    "not_in_softwire": ("as plain IPv4", "look at the gateway's routes into the softwire"),
    "in_softwire": ("in a softwire that ends before", "look at the end that should take them out of it"),
    "spent_hop_limit": (
        "with an outer hop limit of 1 or 0, with which no router forwards them",
        "let the gateway set the hop limit of its outer headers (`hoplimit 64`) instead of copying one",
    ),
    "wrong_mapping": (
        "with IPv6 addresses that are not those of their subscriber's address and port and of a host behind the prefix",
        "compare the gateway's mapping rule, its PSID and its prefix (DMR) with the plan's",
    ),
    "not_mapped": ("as plain IPv4", "look at the gateway's rules and routes to its translation"),
    "outside_port_set": (
        "with a port that their subscriber does not have",
        "compare the ports of the gateway's NAT with the port set: offset, PSID and its length",
    ),
}
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
    values = lossy_values(facts)
    # Where sizes repeat, so does a loss of one of them.
    again = None if values and values.name == "frame_size" else period(facts)
    when = again.lost_what(facts) if again else ""
    # Long trials at low rates meet more stops than short ones at high rates.
    depends = "" if again and facts.falls else shape(facts)
    seen = "; ".join(filter(None, (depends, which(facts), when)))
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


def _in_softwires(facts: Facts) -> str | None:
    told = {kind: count for kind in _OF_SUBSCRIBERS if (count := _foreign(facts, [kind]))}
    if not told or sum(told.values()) < _NEARLY * facts.lost:
        return None
    first, *others = sorted(told, key=lambda kind: -told[kind])
    came = [f"{told[first]:,} of the missing frames came through {_OF_SUBSCRIBERS[first][0]}"]
    came += [f"{told[kind]:,} {_OF_SUBSCRIBERS[kind][0]}" for kind in others]
    if ends := wrong_ends(facts.typical.result.samples, facts.experiment):
        came[-1] += f" ({ends})"
    return f"{enumerated(came)}; {_OF_SUBSCRIBERS[first][1]}; foreign.pcap in the run's folder has the first of them"


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


def _too_long(facts: Facts) -> str | None:
    told = _foreign(facts, _TOO_LONG)
    rise = facts.counter("IpFragFails", "Ip6InTooBigErrors", "Ip6FragFails", shown_by=KERNEL)
    rise = rise or next((each for each in facts.explained_by if _LENGTH.search(each.counter)), None)
    if told < min(_TOLD, facts.lost) and rise is None:
        return None
    evidence = rise.text() if rise else f"{told:,} ICMP errors say so"
    return (
        f"the frames are too long for a link of the DUT ({evidence}); raise the MTU of its interfaces, or give "
        "smaller frames"
    )


def _limited(facts: Facts) -> str | None:
    """Finds a rule that limits the connections of a host: it keeps the same number at every rate, or kept them back."""
    kept, rules = facts.kept, [rule for rule in _rules(facts) if _LIMITS_A_HOST.search(rule)]
    if not rules:
        return None
    if kept is None or not _leaves_out(facts, kept):
        if facts.kept_back < _NEARLY * facts.lost and not _counted_by(facts, rules):
            return None
        return (
            f"a rule of the gateway's filter limits the connections of a host{_named(rules)}; use more hosts "
            "(`left_hosts`), ask for fewer `connections`, or raise the limit"
        )
    return (
        f"{_keeps(facts, kept)}: a rule of its filter limits them{_named(rules)}; use more hosts (`left_hosts`), ask "
        "for fewer `connections`, or raise the limit"
    )


def _a_host(facts: Facts) -> str | None:
    """Finds a limit of connections: the same number is kept at every rate, and no counter of a full table rose."""
    kept = facts.kept
    # A search for the table's capacity expects such a number, and a limit does not choose among ports or addresses.
    of_values = lossy_values(facts) is not None and not facts.only_the_same_last
    if kept is None or not _leaves_out(facts, kept) or facts.experiment.connections is None or of_values:
        return None
    # At a single rate, the number may be that of the rate.
    slow, slower = ("", "") if facts.spans else (", or the rate is too high for it", ", lower the rate of phase 1")
    return (
        f"{_keeps(facts, kept)}: its table is full, or it limits the connections of a host{slow}; enlarge the "
        f"gateway's table, use more hosts (`left_hosts`){slower}, or ask for fewer `connections`"
    )


def _leaves_out(facts: Facts, kept: int) -> bool:
    """Returns True if a limit left out more than a few connections, or exactly the last ones of each trial."""
    return kept <= _NEARLY * facts.typical.planned or facts.only_the_same_last


def _keeps(facts: Facts, kept: int) -> str:
    each = f"{round(kept / facts.hosts):,} each of {counted(facts.hosts, 'host')}"
    return f"the gateway keeps {counted(kept, 'connection')} and no more, {each}"


def _limiter(facts: Facts) -> str | None:
    """Finds a rate limiter: a queue that counted the missing frames, or a rule with a limit of the rate."""
    rules = [rule for rule in _rules(facts) if _LIMITS_A_RATE.search(rule)]
    queue = next((rise for rise in facts.explained_by if rise.shown_by == "tc -s qdisc"), None)
    by_rule = bool(rules) and (facts.capped or facts.kept_back >= _NEARLY * facts.lost or _counted_by(facts, rules))
    if queue is None and not by_rule:
        return None
    evidence = f" ({queue.text()})" if queue else _named(rules)
    passing = (
        f"about {facts.rate(facts.points[0].arrived_fps)}" if queue or facts.capped else f"some of the {facts.what}"
    )
    return (
        f"a rate limiter lets {passing} pass{evidence}; raise or remove the limit, or search below it with a lower "
        "`min_rate`"
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
            f"let the {facts.what} pass, or switch the rule off for the test"
        )
    if not facts.silent_rules or facts.kept_back < _NEARLY * facts.lost:
        return None
    return (
        f"the DUT received the {facts.what} and did not send {facts.kept_back:,} of them on, and it has a rule that "
        f"drops without counting{_named(facts.silent_rules)}; let the {facts.what} pass, or switch the rule off for "
        "the test"
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
    """Finds frames that are lost between the tester's ports and the DUT's interfaces, which count what they pass.

    A gateway that bypasses the kernel has interfaces that count nothing, or only some frames.
    """
    load, result = facts.typical.dut_load, facts.typical.result
    streams = result.streams
    arrived = sum(each.received + each.timed_out + each.duplicate + each.corrupt + each.misrouted for each in streams)
    dropped = sum(port.missed + port.no_buffer + port.kernel_drops for port in result.ports)
    interfaces = load.interfaces if load else ()
    # Between two gateways there is no tester.
    ends = interfaces if len(facts.experiment.gateway.hops) == 1 else (interfaces[:1] + interfaces[-1:])
    came, left = (sum(getattr(each, name) for each in ends) for name in ("received", "sent"))
    if load is None or load.interfaces_lost or load.dropped or min(came, left) < max(1, arrived):
        return None
    lost = {
        "do not come to the DUT's interfaces": sum(stream.sent for stream in streams) - came,
        "leave the DUT's interfaces and do not come to the tester": left - arrived - dropped,
    }
    words, number = max(lost.items(), key=lambda each: each[1])
    if not _NEARLY * facts.lost <= number <= facts.lost / _NEARLY:
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
    of_it = [stream for stream in facts.typical.result.streams if stream.source.direction == name]
    what = "frames are lost" if any(stream.received for stream in of_it) else "nothing arrives"
    return f"{what} in the direction {name} alone; look at the gateway's routes, rules and interfaces of that direction"


def _fragmented(facts: Facts) -> str | None:
    told = _foreign(facts, _FRAGMENTS)
    # Each frame comes in two of them at least.
    if told < _NEARLY * facts.lost:
        return None
    if facts.experiment.softwire:
        which = "inner" if _foreign(facts, _FRAGMENTS[:1]) else "outer"
        return (
            f"{told:,} fragments of the {which} packets come through in their place; raise the MTU of the links with "
            "the softwires by 40 bytes, so that no packet is cut (RFC 6333 §5.3), or give smaller frames"
        )
    return (
        f"{told:,} fragments come through in their place; set `dont_fragment: true`, because a translator cuts IPv4 "
        "packets without DF to the smallest MTU of IPv6 (RFC 7915 §4), raise the MTU of the gateway's interfaces, or "
        "give smaller frames"
    )


def _of_flows(facts: Facts) -> str | None:
    values = lossy_values(facts)
    if values and values.are_too_long:
        return (
            "they are too long for a link of the gateway; raise the MTU of its interfaces, or choose a `mix` without "
            "them"
        )
    if values:
        return (
            f"the gateway treats the {values.text} otherwise than the others; look at its rules, its port sets, and "
            "how it spreads flows over cores and queues (`ethtool -x`)"
        )
    if same_each_time(facts):
        return (
            f"the gateway treats these {'connections' if facts.of_connections else 'flows'} otherwise than the others, "
            "whatever else it has to do; look at its rules and port sets, and how it spreads flows over cores and "
            "queues (`ethtool -x`)"
        )
    return None


def _periodic(facts: Facts) -> str | None:
    again = period(facts)
    if again is None:
        return None
    if again.timed:
        return (
            "something stops the gateway again and again; look for its timers (expiry, garbage collection, "
            "statistics), for other programs on its cores, and for interrupts"
        )
    return (
        f"a rule picks these {facts.what}, or one of several queues, cores or links loses all that it gets; look at "
        "the gateway's rules, and at how it spreads frames (`ethtool -x`, bonding)"
    )


def _placed(facts: Facts) -> str | None:
    where = place(facts)
    return f"{facts.what} are lost {where}" if where else None


_CAUSES: Final[tuple[Callable[[Facts], str | None], ...]] = (
    _corrupted,
    _in_softwires,
    _fragmented,
    _chains,
    _table_full,
    _limited,
    ports_used_up,
    few_ports,
    port_search,
    _too_long,
    _limiter,
    _a_host,
    _learning,
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
    _periodic,
    _one_way,
    _placed,
)
_LIMITS: Final = (_chains, _limited, ports_used_up, few_ports, port_search)


def _rules(facts: Facts) -> list[str]:
    """Returns the rules that counted what is missing, and those that drop without counting."""
    counted_by = [rise.counter for rise in facts.explained_by if rise.shown_by == "nft list ruleset"]
    return [*counted_by, *facts.silent_rules]


def _counted_by(facts: Facts, rules: Iterable[str]) -> bool:
    """Returns True if one of the rules counted what is missing."""
    return any(rise.counter in rules for rise in facts.explained_by if rise.shown_by == "nft list ruleset")


def _named(rules: Iterable[str]) -> str:
    named = [f"`{rule}`" for rule in rules][:_MOST_NAMED]
    return f" ({' or '.join(named)})" if named else ""


def _foreign(facts: Facts, kinds: Iterable[str]) -> int:
    return sum(port.foreign.get(kind, 0) for port in facts.typical.result.ports for kind in kinds)
