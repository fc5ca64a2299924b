# SPDX-License-Identifier: Apache-2.0
"""Settings of an lwAFTR or MAP-E border relay that is composed of a tunnel interface and filters of the kernel."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.terms import SoftwireEnd, TranslationKind

_MOST_SUBSCRIBERS: Final = 16_384
# With the longest offset a subscriber has as many ranges of ports.
_MOST_RANGES_OF_ONE: Final = 1 << 15


class LwaftrConfig(NeighborsModel):
    """The core of softwires that knows which address and ports each subscriber has, and checks each packet (RFC 7596
    §6.2, RFC 7597 §8.1). Linux has no lwAFTR: this one is composed of its parts."""

    # Kernels that have it have the other modules, too.
    module: ClassVar[str | None] = "cls_flower"
    translations: ClassVar[frozenset[TranslationKind | None]] = frozenset()
    softwire_ends: ClassVar = frozenset({SoftwireEnd.CORE})
    changes_bindings: ClassVar = True
    most_subscribers: ClassVar = _MOST_SUBSCRIBERS
    # A subscriber's ports are one filter, however many ranges they are.
    most_port_ranges: ClassVar = _MOST_SUBSCRIBERS * _MOST_RANGES_OF_ONE
    driver: Literal["lwaftr"] = "lwaftr"
    port_set: PortSetModel | None = None
    """Ports of the one subscriber of a chain whose edge is a gateway; default: all ports of its addresses."""
