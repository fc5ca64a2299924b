# SPDX-License-Identifier: Apache-2.0
"""Settings of a box that the tester plays: the other end of a softwire, or the other translator, where one gateway is
measured alone."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import MapEnd, SoftwireEnd, TranslationKind


class TesterConfig(GatewayModel):
    """The other end of a softwire or the other translator, played by the tester (RFC 8219 §4.2): the first or the last
    box of a chain. As a translator, it is the CLAT or the PLAT of 464XLAT (RFC 6877), or an end of MAP-T (RFC 7599)."""

    is_played: ClassVar[bool] = True
    translations: ClassVar[frozenset[TranslationKind | None]] = frozenset({TranslationKind.CLAT, TranslationKind.NAT64})
    keeps_connections: ClassVar[bool | None] = None
    softwire_ends: ClassVar = frozenset(SoftwireEnd)
    map_ends: ClassVar = frozenset(MapEnd)
    driver: Literal["tester"] = "tester"
