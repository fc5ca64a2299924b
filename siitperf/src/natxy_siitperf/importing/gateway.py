# SPDX-License-Identifier: Apache-2.0
"""Chooses the gateway of a plan and its public addresses, which siitperf.conf does not name.

A guess suits whatever siitperf can ask of a gateway: it refuses no connection and no host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Final

from natxy.api.plans import MOST_MAPPED_HOSTS, TableNeed, enough_addresses, gateway_of
from natxy.api.terms import WELL_KNOWN_PREFIX, TranslationKind
from natxy_siitperf.importing.addresses import link_of, mapped_hosts, played, prefix_key
from natxy_siitperf.importing.source import Source
from natxy_siitperf.importing.testbed import FILL_IN
from natxy_siitperf.importing.text import Field, mapping
from natxy_siitperf.importing.traffic import ports_of

LIFETIME_S: Final = 604_800
"""Longer than the longest trial of a search from the lowest rate, with natxy's largest table: a week."""

_ROOM: Final = 1.25
_GATEWAYS: Final[Mapping[tuple[TranslationKind | None, bool], Sequence[Mapping[str, object]]]] = {
    (None, False): [{"driver": "linux-forward"}],
    # Without translation nothing runs out of ports.
    (None, True): [{"driver": "nftables"}, {"driver": "nftables", "nat": False}],
    (TranslationKind.SIIT, False): [{"driver": "tayga"}, {"driver": "jool-siit"}],
    (TranslationKind.NAT46, False): [{"driver": "tayga"}, {"driver": "jool-siit"}],
    (TranslationKind.NAT64, True): [{"driver": "tayga-netfilter"}, {"driver": "jool"}],
}
"""The guesses by translation and state, the first that suits."""

_CONNTRACK: Final = frozenset({"nftables", "iptables", "tayga-netfilter"})
# The networks for tests, then private ones (RFC 2544, RFC 1918).
_PUBLIC: Final = tuple(map(IPv4Network, ("198.18.0.0/15", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


@dataclass(frozen=True)
class Chosen:
    """Holds the settings of a gateway, and its pool; None where one public address is enough, or more do not help."""

    settings: Mapping[str, object]
    pool: IPv4Network | None = None


def choose(source: Source) -> Chosen:
    """Returns the gateway that was asked for, or else the first guess that suits, with a pool if it needs one."""
    need = _need(source)
    if source.gateway:
        return _with_pool(source, {"driver": source.gateway}, need) or Chosen({"driver": source.gateway})
    *first, last = _GATEWAYS[source.translation, source.stateful]
    chosen = next((found for each in first if (found := _suiting(source, each, need))), None)
    if chosen is None and source.translation is None and first:
        source.differences.append(
            "A NAT may run out of ports with these connections, however many public addresses it has: the guessed "
            "gateway keeps connections, and does not translate."
        )
    return chosen or _with_pool(source, last, need) or Chosen(last)


def gateway_field(source: Source, chosen: Chosen) -> Field:
    """Returns the gateway with its settings, or its name if it has none."""
    settings: dict[str, object] = {**chosen.settings}
    driver = settings["driver"]
    if driver in _CONNTRACK:
        if source.stateful and source.procedure != "table-capacity":
            settings["conntrack_max"] = {"per_connection": _ROOM}
        settings |= {"udp_timeout_s": LIFETIME_S, "udp_stream_timeout_s": LIFETIME_S}
    elif driver == "jool":
        settings["udp_timeout_s"] = LIFETIME_S
    elif driver == "command" and source.stateful:
        settings |= {"stateful": True, "masquerades": source.translation is None, "clear": [[FILL_IN]]}
    why = "" if source.gateway else "a guess: siitperf.conf does not name the gateway"
    return Field("gateway", str(driver) if len(settings) == 1 else mapping(settings), why)


def _suiting(source: Source, settings: Mapping[str, object], need: TableNeed | None) -> Chosen | None:
    """Returns a guess, or None if it does not suit."""
    virtual = prefix_key(source)
    well_known = virtual is not None and source.conf.address(virtual[1]) in WELL_KNOWN_PREFIX
    if well_known and not gateway_of(settings).takes_well_known_prefix:
        return None
    if settings["driver"] == "tayga" and mapped_hosts(source) > MOST_MAPPED_HOSTS:
        return None
    return _with_pool(source, settings, need)


def _with_pool(source: Source, settings: Mapping[str, object], need: TableNeed | None) -> Chosen | None:
    """Returns a gateway with the public addresses that the connections need; None if no pool is enough."""
    model = gateway_of(settings)
    needed = model.ports_needed(need, source.translation) if need else None
    if need is None or needed is None:
        return Chosen(settings)
    addresses = enough_addresses(model, need, needed)
    if addresses == 1:
        return Chosen(settings)
    if addresses is None or (source.translation is None and model.no_pool):
        return None
    source.differences.append(
        f"The connections need {needed} ports of public addresses at once: `pool` is a guess of addresses that have "
        "them."
    )
    return Chosen(settings, _free(source, addresses))


def _need(source: Source) -> TableNeed | None:
    """Returns what the connections need of a gateway, but for the time; None without connections."""
    if not source.stateful:
        return None
    left, right = (played(source, side).hosts for side in (source.left, source.right))
    ports = ports_of(source, source.first)
    return TableNeed(
        source.most_connections,
        min(left.size * ports["source"].size, source.most_connections),
        right.size * ports["destination"].size,
        longest_trial_s=0,
        hosts=left.size,
        remote_hosts=right.size,
    )


def _free(source: Source, addresses: int) -> IPv4Network:
    """Returns the first prefix with so many addresses that is on no link and behind none; ConfError if none is."""
    length = 32 - (addresses - 1).bit_length()
    links = [link_of(source, side) for side in (source.left, source.right)]
    taken = [each for link in links for each in (link.dut.network, *link.behind) if isinstance(each, IPv4Network)]
    for network in _PUBLIC:
        free = [network]
        for each in taken:
            free = [part for whole in free for part in _without(whole, each)]
        for part in sorted(free):
            if part.prefixlen <= length:
                return next(part.subnets(new_prefix=length))
    text = f"the guessed gateway needs {addresses} public addresses, and the hosts of both sides leave none of"
    ranges = ", ".join(map(str, _PUBLIC))
    raise source.conf.wrong("IP-L-max", f"a plan cannot express it: {text} {ranges}; let fewer addresses vary")


def _without(whole: IPv4Network, taken: IPv4Network) -> Sequence[IPv4Network]:
    if not whole.overlaps(taken):
        return [whole]
    return [*whole.address_exclude(taken)] if taken.subnet_of(whole) else []
