# SPDX-License-Identifier: Apache-2.0
"""The base of settings of the ends of MAP-T: IPv4 packets translated to IPv6 by a mapping rule, and back (RFC 7599)."""

from __future__ import annotations

from ipaddress import IPv6Network
from typing import ClassVar, Final

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.addresses import EmbeddingPrefix
from natxy.plan.model.terms import MapEnd, TranslationKind

# More than any plan has: a rule's subscribers are no list.
_BY_ARITHMETIC: Final = 1 << 32


class MapEndModel(NeighborsModel):
    """One end of MAP-T. In a chain of two, the left one is the edge, which is the translator of one subscriber's CE,
    and the right one is the core, which is the border relay (BR)."""

    translations: ClassVar[frozenset[TranslationKind | None]] = frozenset()
    map_ends: ClassVar = frozenset(MapEnd)
    dmr: EmbeddingPrefix = IPv6Network("2001:2:0:64::/64")
    """Prefix of the default mapping rule (DMR), behind which the far IPv4 hosts are (RFC 6052 §2.2)."""

    @property
    def mapping_prefix(self) -> IPv6Network:
        return self.dmr


class AlgorithmicMapEndModel(MapEndModel):
    """One end of MAP-T by a kernel module that computes a subscriber's address and PSID from the mapping rule."""

    takes_given_psid: ClassVar = False
    most_subscribers: ClassVar = _BY_ARITHMETIC
    most_port_ranges: ClassVar = _BY_ARITHMETIC
