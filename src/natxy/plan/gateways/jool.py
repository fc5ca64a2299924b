# SPDX-License-Identifier: Apache-2.0
"""Settings of Jool's two translators."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.linux import KernelModel
from natxy.plan.model.terms import TranslationKind

# Measured of Jool 4.1.9 by tools/table_memory.py: 39 sessions of 104 bytes on a page of memory, and, for each address
# and port on the left, 42 bindings of 96 bytes.
_SESSION_BYTES: Final = 105
_BINDING_BYTES: Final = 98
# The slowest published rate, for 100 million connections (draft-lencse-v6ops-transition-scalability-03, Figure 10).
_DELETED_PER_S: Final = 2.78e6
# From a port that a hash chooses, Jool tries the next 1,024 to 8,192 of the pool, according to its size. Its authors
# found no lost connection "at least until pool4 was about 91% exhausted" (pool4/db.c, compute_max_iterations).
_SHARE_FOUND: Final = 0.91
JOOL_SIIT: Final = "jool_siit"
MODULE_REMEDY: Final = "install it, e.g. `apt install jool-dkms`"


class JoolConfig(KernelModel):
    """Jool's stateful NAT64 (RFC 6146), and NAT46 through static entries of its binding information base."""

    module: ClassVar[str | None] = "jool"
    module_remedy: ClassVar = MODULE_REMEDY
    keeps_connections: ClassVar = True
    translations: ClassVar = frozenset({TranslationKind.NAT64, TranslationKind.NAT46})
    sends_zero_checksums: ClassVar[bool] = True
    driver: Literal["jool"] = "jool"
    udp_timeout_s: Annotated[int, Field(ge=120)] = 300
    """Lifetime of a UDP session (RFC 6146 §4)."""
    bib_port: Annotated[int, Field(ge=1, le=65535)] = 5000
    """Port of the responders in a nat46, UDP and TCP."""

    @property
    def lifetimes_s(self) -> dict[str, int]:
        return {"udp_timeout_s": self.udp_timeout_s}

    def clearing_s(self, connections: int) -> float:
        return connections / _DELETED_PER_S

    def table_bytes(self, need: TableNeed) -> int | None:
        return _SESSION_BYTES * need.connections + _BINDING_BYTES * need.endpoints

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        # RFC 6146 §3.5.1.1: an address and port on the left has the same port for all destinations.
        return need.endpoints if kind == TranslationKind.NAT64 else None

    def addresses_in_use(self, need: TableNeed, pool: int) -> float:
        return _SHARE_FOUND * pool

    def why_not_all(self, need: TableNeed, in_use: float) -> str:
        return f"{_SHARE_FOUND:.0%} of them, because beyond that Jool does not find every port that is free"

    def only_port(self, kind: TranslationKind) -> int | None:
        return self.bib_port if kind == TranslationKind.NAT46 else None


class JoolSiitConfig(KernelModel):
    """Jool's stateless translation (RFC 7915): SIIT, NAT46 without connections, or the CLAT of a 464XLAT."""

    module: ClassVar[str | None] = JOOL_SIIT
    module_remedy: ClassVar = MODULE_REMEDY
    translations: ClassVar = frozenset({TranslationKind.SIIT, TranslationKind.NAT46, TranslationKind.CLAT})
    sends_zero_checksums: ClassVar[bool] = True
    driver: Literal["jool-siit"] = "jool-siit"
