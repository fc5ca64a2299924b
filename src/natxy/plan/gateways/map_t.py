# SPDX-License-Identifier: Apache-2.0
"""Settings of the ends of MAP-T by Tayga."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from natxy.plan.gateways.map_ends import MapEndModel

MOST_PSIDS: Final = 16
# Tayga searches its list of mappings one by one.
_MOST_ADDRESSES: Final = 256


class MapTConfig(MapEndModel):
    """One end of MAP-T by Tayga. In a chain of two, the left one is the edge, which is the translator of one
    subscriber's CE, and the right one is the core, which is the border relay (BR)."""

    sends_zero_checksums: ClassVar[bool] = True
    takes_well_known_prefix: ClassVar = False
    most_subscribers: ClassVar = MOST_PSIDS * _MOST_ADDRESSES
    # One lookup finds the port set of a port.
    most_port_ranges: ClassVar = 1 << 16
    most_shared_addresses: ClassVar = _MOST_ADDRESSES
    most_psids: ClassVar = MOST_PSIDS
    driver: Literal["map-t"] = "map-t"
