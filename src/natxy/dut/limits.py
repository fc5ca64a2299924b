# SPDX-License-Identifier: Apache-2.0
"""Limits that several drivers share: the lifetime of connections, the time to walk a table, and lists of hosts."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Final

from natxy.errors import PlanError
from natxy.plan.gateways.base import TableNeed
from natxy.plan.model.addresses import Translation

_LEAST_S: Final = 30.0
# A seventh of the rate of the slowest published gateway (draft-lencse-v6ops-transition-scalability-03). A limit that is
# far too long does no harm: a command is waited for only as long as it runs.
_ENTRIES_PER_S: Final = 50_000

# Gateways that have a list of hosts search it one by one.
MOST_MAPPED_HOSTS: Final = 256


def table_timeout_s(entries: int) -> float:
    """Returns the time limit in seconds for a command that visits so many table entries or buckets."""
    return _LEAST_S + entries / _ENTRIES_PER_S


def check_lifetime(need: TableNeed, lifetime_s: int, *, entries: str, timeout: str = "", setting: str) -> None:
    """PlanError when a connection without traffic expires before the longest trial ends.

    `entries` is the gateway's word for connections, `timeout` its own name of the lifetime, `setting` the plan's.
    """
    if lifetime_s <= need.longest_trial_s:
        name = f" ({timeout})" if timeout else ""
        raise PlanError(
            f"{entries} expire after {lifetime_s} s{name}, but the longest trial takes {need.longest_trial_s:.0f} s "
            f"from the first connection to the last frame: set the gateway's {setting} to at least "
            f"{int(need.longest_trial_s) + 1}, or shorten the trials"
        )


def mapped_hosts(gateway: str, translation: Translation) -> list[tuple[IPv4Address, IPv6Address]]:
    """Returns the pairs of addresses in the translation's mappings, for a gateway that is configured host by host.

    PlanError when there are more than `MOST_MAPPED_HOSTS`.
    """
    hosts = sum(mapping.ipv4.num_addresses for mapping in translation.mappings)
    if hosts > MOST_MAPPED_HOSTS:
        raise PlanError(
            f"{gateway} is configured host by host, and the translation's mappings have {hosts}: give mappings of at "
            f"most {MOST_MAPPED_HOSTS} addresses together, or use `addresses: single`"
        )
    return [pair for mapping in translation.mappings for pair in zip(mapping.ipv4, mapping.ipv6, strict=True)]
