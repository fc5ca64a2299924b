# SPDX-License-Identifier: Apache-2.0
"""Settings that the cores of softwires share which know each subscriber's binding."""

from __future__ import annotations

from typing import ClassVar, Final

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.terms import SoftwireEnd, TranslationKind

MOST_RANGES_OF_ONE: Final = 1 << 15
"""The ranges of ports that a subscriber has with the longest offset."""


class CoreModel(NeighborsModel):
    """Settings of a gateway that is the core of softwires alone."""

    translations: ClassVar[frozenset[TranslationKind | None]] = frozenset()
    softwire_ends: ClassVar = frozenset({SoftwireEnd.CORE})


class CheckingCoreModel(CoreModel):
    """Settings of a core of softwires that knows which address and ports each subscriber has, and checks each packet
    (RFC 7596 §6.2, RFC 7597 §8.1)."""

    port_set: PortSetModel | None = None
    """Ports of the one subscriber of a chain whose edge is a gateway; default: all ports of its addresses."""
