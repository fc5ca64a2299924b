# SPDX-License-Identifier: Apache-2.0
"""Tells natxy's own routes, and rules of policy routing, from those of somebody else."""

from __future__ import annotations

from typing import Final

from natxy.dut.transport.base import Transport
from natxy.errors import DutError

OWN_PROTOCOL: Final = "110"
"""The protocol of natxy's routes and rules. iproute2 has no name for this number."""
OWN_ROUTE: Final = ["proto", OWN_PROTOCOL, "metric", "4096"]
"""The words at the end of natxy's routes. With a metric of its own, a route replaces none of somebody else."""


def flush_rules(transport: Transport, family: str) -> None:
    """Removes natxy's rules of a family, `-4` or `-6`.

    `ip rule flush` removes the rules while it reads them, and so misses some of several hundred: it runs until none is
    left. DutError if it removes none.
    """
    left = _count(transport, family)
    while left:
        before = left
        transport.run(["ip", family, "rule", "flush", "protocol", OWN_PROTOCOL])
        left = _count(transport, family)
        if left >= before:
            raise DutError(f"{left:,} rules of natxy's stay ({transport.describe()}): ip {family} rule list")


def _count(transport: Transport, family: str) -> int:
    """Counts natxy's rules. The kernel lists its own three too, whatever it is asked for."""
    shown = transport.run(["ip", family, "rule", "list", "protocol", OWN_PROTOCOL]).stdout
    return sum(line.rstrip().endswith(f"proto {OWN_PROTOCOL}") for line in shown.splitlines())
