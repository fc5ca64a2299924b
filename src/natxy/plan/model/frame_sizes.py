# SPDX-License-Identifier: Apache-2.0
"""Ethernet frame sizes, FCS counted, and the standards' lists of them by the names that a plan may give instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from natxy.plan.model.terms import Family

LONGEST_FRAME: Final = 9216

# The 18 bytes of payload that a frame proves itself with leave 64 bytes for IPv4, and 14 + 40 + 8 + 18 + 4 for IPv6.
SMALLEST_FRAME: Final = {Family.IPV4: 64, Family.IPV6: 84}

FRAME_SIZE_LISTS: Final = {
    "rfc2544": (64, 128, 256, 512, 1024, 1280, 1518),
    "rfc8219": (64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
}
"""RFC 2544 §9.1 and RFC 8219 §5.1.1: the latter asks for 84 instead of 64 where frames are IPv6 on one side."""


def with_listed_sizes(experiment: object, merged: object, plan_family: object) -> object:
    """The experiment as written, with the sizes that the name of a list stands for; `merged` is the same with the
    plan's defaults, whose family decides on the smallest size."""
    if not isinstance(experiment, Mapping) or not isinstance(merged, Mapping):
        return experiment
    sizes = FRAME_SIZE_LISTS.get(str(experiment.get("frame_size")))
    if sizes is None:
        return experiment
    smallest = SMALLEST_FRAME[Family.IPV6 if _has_ipv6(merged, plan_family) else Family.IPV4]
    return {**experiment, "frame_size": [max(size, smallest) for size in sizes]}


def _has_ipv6(merged: Mapping[str, Any], plan_family: object) -> bool:
    family = merged.get("family") or plan_family
    families = family if isinstance(family, list) else [family]
    return Family.IPV6 in families or merged.get("translation") is not None
