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
    keeps_connections: ClassVar = True
    translations: ClassVar = frozenset({TranslationKind.NAT64, TranslationKind.NAT46})
    driver: Literal["jool"] = "jool"
    udp_timeout_s: Annotated[int, Field(ge=120)] = 300
    """Lifetime of a UDP session (RFC 6146 §4)."""
    bib_port: Annotated[int, Field(ge=1, le=65535)] = 5000
    """Port of the responders in a nat46, UDP and TCP."""

    def only_port(self, kind: TranslationKind) -> int | None:
        return self.bib_port if kind == TranslationKind.NAT46 else None


class JoolSiitConfig(KernelModel):
    """Jool's stateless translation (RFC 7915): SIIT, or NAT46 without connections."""

    module: ClassVar[str | None] = "jool_siit"
    translations: ClassVar = frozenset({TranslationKind.SIIT, TranslationKind.NAT46})
    driver: Literal["jool-siit"] = "jool-siit"
