# SPDX-License-Identifier: Apache-2.0
"""The standards' lists of frame sizes, which a plan may name as its `frame_size`: a sweep of these sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from natxy.plan.frames.forms import ExtensionHeaders, Protocol, smallest_frame
from natxy.plan.model.terms import Family

FRAME_SIZE_LISTS: Final = {
    "rfc2544": (64, 128, 256, 512, 1024, 1280, 1518),
    "rfc8219": (64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216),
}
"""RFC 2544 §9.1 and RFC 8219 §5.1.1. Where one side is IPv6, 84 replaces 64."""


def with_listed_sizes(experiment: object, merged: object, plan_family: object) -> object:
    """Replaces the name of a list in the experiment as written by the list's sizes.

    `merged` is the experiment with the plan's defaults; its family decides on the smallest size.
    """
    if not isinstance(experiment, Mapping) or not isinstance(merged, Mapping):
        return experiment
    sizes = FRAME_SIZE_LISTS.get(str(experiment.get("frame_size")))
    if sizes is None:
        return experiment
    family = Family.IPV6 if _has_ipv6(merged, plan_family) else Family.IPV4
    smallest = smallest_frame(_protocol(merged), _headers(merged), (family,))
    return {**experiment, "frame_size": [max(size, smallest) for size in sizes]}


def _protocol(merged: Mapping[str, Any]) -> Protocol:
    return Protocol.TCP if merged.get("protocol") == Protocol.TCP else Protocol.UDP


def _headers(merged: Mapping[str, Any]) -> ExtensionHeaders:
    given = merged.get("extension_headers")
    # Each other value is an error of its own.
    return next((each for each in ExtensionHeaders if each == given), ExtensionHeaders.NONE)


def _has_ipv6(merged: Mapping[str, Any], plan_family: object) -> bool:
    family = merged.get("family") or plan_family
    families = family if isinstance(family, list) else [family]
    return Family.IPV6 in families or merged.get("translation") is not None
