# SPDX-License-Identifier: Apache-2.0
"""Settings of Jool's two translators."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.gateways.linux import KernelModel
from natxy.plan.model.terms import TranslationKind


class JoolConfig(KernelModel):
    """Jool's stateful NAT64 (RFC 6146), and NAT46 through static entries of its binding information base."""

    module: ClassVar[str | None] = "jool"
    driver: Literal["jool"] = "jool"
    udp_timeout_s: Annotated[int, Field(ge=120, description="lifetime of a UDP session (RFC 6146 §4)")] = 300
    bib_port: Annotated[int, Field(ge=1, le=65535, description="for a nat46: port of the responders, UDP and TCP")] = (
        5000
    )

    @property
    def keeps_connections(self) -> bool | None:
        return True

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset({TranslationKind.NAT64, TranslationKind.NAT46})

    def only_port(self, kind: TranslationKind) -> int | None:
        return self.bib_port if kind == TranslationKind.NAT46 else None


class JoolSiitConfig(KernelModel):
    """Jool's stateless translation (RFC 7915): SIIT, or NAT46 without connections."""

    module: ClassVar[str | None] = "jool_siit"
    driver: Literal["jool-siit"] = "jool-siit"

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        return frozenset({TranslationKind.SIIT, TranslationKind.NAT46})
