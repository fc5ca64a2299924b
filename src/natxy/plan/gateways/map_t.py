# SPDX-License-Identifier: Apache-2.0
"""Settings of the ends of MAP-T: IPv4 packets translated to IPv6 by a mapping rule, and back (RFC 7599)."""

from __future__ import annotations

from ipaddress import IPv6Network
from typing import ClassVar, Final, Literal

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.addresses import EmbeddingPrefix
from natxy.plan.model.terms import MapEnd, TranslationKind

MOST_PSIDS: Final = 16
# Tayga searches its list of mappings one by one.
_MOST_ADDRESSES: Final = 256


class MapTConfig(NeighborsModel):
    """One end of MAP-T by Tayga. In a chain of two, the left one is the edge, which is the translator of one
    subscriber's CE, and the right one is the core, which is the border relay (BR)."""

    translations: ClassVar[frozenset[TranslationKind | None]] = frozenset()
    map_ends: ClassVar = frozenset(MapEnd)
    sends_zero_checksums: ClassVar[bool] = True
    takes_well_known_prefix: ClassVar = False
    most_subscribers: ClassVar = MOST_PSIDS * _MOST_ADDRESSES
    # One lookup finds the port set of a port.
    most_port_ranges: ClassVar = 1 << 16
    most_shared_addresses: ClassVar = _MOST_ADDRESSES
    most_psids: ClassVar = MOST_PSIDS
    driver: Literal["map-t"] = "map-t"
    dmr: EmbeddingPrefix = IPv6Network("2001:2:0:64::/64")
    """Prefix of the default mapping rule (DMR), behind which the far IPv4 hosts are (RFC 6052 §2.2)."""

    @property
    def mapping_prefix(self) -> IPv6Network:
        return self.dmr
