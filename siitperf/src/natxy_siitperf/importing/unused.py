# SPDX-License-Identifier: Apache-2.0
"""Finds the keys of siitperf.conf that change nothing: neither the plan, nor what its head says of siitperf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy_siitperf.importing.addresses import keys_of_hosts, mapping_key, played, prefix_key
from natxy_siitperf.importing.background import keys_of_background
from natxy_siitperf.importing.gaps import initiator_draws
from natxy_siitperf.importing.source import Source
from natxy_siitperf.importing.traffic import keys_of_flows
from natxy_siitperf.keys import KEYS

# The others are used where frames need them: ends of ranges, offsets, addresses, networks, the order of replies.
_ALWAYS_USED: Final = frozenset(
    key
    for key in KEYS
    if key in {"Stateful", "Enumerate-ports", "Enumerate-ips", "IP-L-var", "IP-R-var", "Promisc", "MEM-Channels"}
    or key.startswith(("CPU-", "MAC-"))
    or key.endswith("-Vers")
)


def unused(source: Source) -> list[str]:
    """Returns the keys that the file has and that change nothing, in the order of their lines."""
    lines = source.conf.lines
    return sorted({*lines} - _ALWAYS_USED - {*_used(source)}, key=lines.__getitem__)


def _used(source: Source) -> Iterator[str]:
    """Yields keys that the plan's fields are from, whether they are written or natxy's defaults, and keys whose
    difference its head states."""
    if source.phase2:
        yield from ("Forward", "Reverse")
    if source.replies:
        yield "Responder-tuples"
    for side in (source.left, source.right):
        yield from played(source, side).keys
    for virtual in (prefix_key(source), mapping_key(source)):
        if virtual:
            yield from keys_of_hosts(source.conf, *virtual)
    for direction in source.sending:
        yield f"Num-{direction.sender.opposite}-Nets"
        yield from keys_of_flows(source, direction)
    if initiator_draws(source):
        yield from (f"{source.first.ports}-var-{port}" for port in ("sport", "dport"))
    yield from keys_of_background(source)
