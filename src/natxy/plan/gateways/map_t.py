# SPDX-License-Identifier: Apache-2.0
"""Settings of the ends of MAP-T that are composed of stateless translators."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal

from natxy.plan.gateways.jool import JOOL_SIIT, MODULE_REMEDY
from natxy.plan.gateways.map_ends import MapEndModel

MOST_PSIDS: Final = 16
# Tayga searches its list of mappings one by one.
_MOST_ADDRESSES: Final = 256


class MapTBy(StrEnum):
    """The translator: Tayga, a program, or Jool SIIT, a kernel module."""

    TAYGA = "tayga"
    JOOL_SIIT = "jool-siit"


class MapTConfig(MapEndModel):
    """One end of MAP-T by Tayga or Jool SIIT. In a chain of two, the left one is the edge, which is the translator of
    one subscriber's CE, and the right one is the core, which is the border relay (BR)."""

    sends_zero_checksums: ClassVar[bool] = True
    takes_well_known_prefix: ClassVar = False
    most_subscribers: ClassVar = MOST_PSIDS * _MOST_ADDRESSES
    # One lookup finds the port set of a port.
    most_port_ranges: ClassVar = 1 << 16
    most_shared_addresses: ClassVar = _MOST_ADDRESSES
    most_psids: ClassVar = MOST_PSIDS
    driver: Literal["map-t"] = "map-t"
    by: MapTBy = MapTBy.TAYGA
    """Translator, of which a border relay has one for each PSID: `tayga`, or `jool-siit` for kernels that have the
    module."""

    @property
    def cuts_long_packets(self) -> bool:
        return self.by == MapTBy.TAYGA

    @property
    def changes_bindings(self) -> bool:
        # Tayga reads its mappings when it starts.
        return self.by == MapTBy.JOOL_SIIT

    @property
    def module(self) -> str | None:
        return JOOL_SIIT if self.by == MapTBy.JOOL_SIIT else None

    @property
    def module_remedy(self) -> str:
        return f"{MODULE_REMEDY}, or give the gateway `by: tayga`, or choose a testbed of `kind: vm`"
