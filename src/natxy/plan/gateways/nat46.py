# SPDX-License-Identifier: Apache-2.0
"""Settings of the ends of MAP-T by nat46, a kernel module."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.gateways.map_ends import AlgorithmicMapEndModel


class Nat46Config(AlgorithmicMapEndModel):
    """One end of MAP-T by the kernel module nat46, which OpenWrt's MAP-T uses. Debian doesn't package it, so the user
    builds it."""

    module: ClassVar[str | None] = "nat46"
    module_remedy: ClassVar = (
        "build it from https://github.com/ayourtch/nat46 (`make` in nat46/modules, with the kernel's headers), then "
        "`modprobe nf_defrag_ipv6` and `insmod nat46.ko`"
    )
    untried: ClassVar[str | None] = (
        "has never run nat46 itself, only written its settings; look at these in the first report"
    )
    # nat46-core.c, ip6_update_csum: a sum of 0 stays 0.
    sends_zero_checksums: ClassVar[bool] = True
    driver: Literal["nat46"] = "nat46"
