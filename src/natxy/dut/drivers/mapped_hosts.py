# SPDX-License-Identifier: Apache-2.0
"""The hosts of a translation's mappings, one by one, for gateways that are told each."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Final

from natxy.errors import PlanError
from natxy.plan.model.addresses import Translation

# They look hosts up in lists.
MOST: Final = 256


def mapped_hosts(gateway: str, translation: Translation) -> list[tuple[IPv4Address, IPv6Address]]:
    """PlanError when they are more than `MOST`."""
    hosts = sum(mapping.ipv4.num_addresses for mapping in translation.mappings)
    if hosts > MOST:
        raise PlanError(
            f"{gateway} is told each mapped host, and the translation's mappings have {hosts}: give mappings of at "
            f"most {MOST} addresses together, or use `addresses: single`"
        )
    return [pair for mapping in translation.mappings for pair in zip(mapping.ipv4, mapping.ipv6, strict=True)]
