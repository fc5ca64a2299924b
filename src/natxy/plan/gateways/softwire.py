# SPDX-License-Identifier: Apache-2.0
"""Settings of the ends of a softwire: IPv4 packets in IPv6 packets, as in DS-Lite, lw4o6 and MAP-E."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.terms import SoftwireEnd, TranslationKind

UNUSED_ROUTING_HEADER_BYTES: Final = 24
"""Linux keeps room in an encapsulating route's MTU for a routing header with one segment, also where it sends none
(seg6_iptunnel.c, seg6_lwt_headroom)."""


class SoftwireBy(StrEnum):
    """The part of the kernel that puts IPv4 packets into IPv6 packets: routes (`seg6`, Linux 6.0 or newer), or a tunnel
    interface (`ip6_tunnel`, a module)."""

    SEG6 = "seg6"
    IP6_TUNNEL = "ip6_tunnel"


class SoftwireConfig(NeighborsModel):
    """One end of a softwire. In a chain of two, the left one is the edge and the right one the core."""

    translations: ClassVar[frozenset[TranslationKind | None]] = frozenset()
    softwire_ends: ClassVar = frozenset(SoftwireEnd)
    changes_bindings: ClassVar = True
    driver: Literal["softwire"] = "softwire"
    by: SoftwireBy = SoftwireBy.SEG6
    """Part of the kernel that makes the packets: `seg6`, or `ip6_tunnel` for kernels that have the module."""

    @property
    def most_subscribers(self) -> int:
        return 65_536

    @property
    def most_port_ranges(self) -> int:
        # The kernel looks at them one after the other.
        return 1024

    @property
    def spare_mtu(self) -> int:
        return UNUSED_ROUTING_HEADER_BYTES if self.by == SoftwireBy.SEG6 else 0
