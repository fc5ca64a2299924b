# SPDX-License-Identifier: Apache-2.0
"""Settings of map646."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.terms import TranslationKind


class Map646Config(NeighborsModel):
    """map646, a stateless translator in user space. No distribution packages it, so the user builds it."""

    untried: ClassVar[str | None] = (
        "has never run map646 itself, only written its configuration; look at that in the first report"
    )
    translations: ClassVar = frozenset({TranslationKind.SIIT, TranslationKind.NAT46})
    embedding_lengths: ClassVar[frozenset[int]] = frozenset({96})
    driver: Literal["map646"] = "map646"
    program: str = "map646"
    """Path on the DUT, or name on its PATH."""
