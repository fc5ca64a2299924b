# SPDX-License-Identifier: Apache-2.0
"""Settings of VPP as the core of softwires: a border relay, or an AFTR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.checking_core import MOST_RANGES_OF_ONE, CheckingCoreModel
from natxy.plan.gateways.relay import RelayModel
from natxy.plan.model.terms import TranslationKind

# As many as the tester can be.
_MOST_SUBSCRIBERS: Final = 1 << 32
# "TODO configurable quota" (VPP's src/plugins/nat/dslite/dslite_in2out.c).
_SESSIONS_OF_B4: Final = 1000
# From 1025 to 65535: VPP's dslite.c, port_per_thread.
_PORTS_OF_ADDRESS: Final = 64_511
_START_S: Final = 5.0


class VppModel(RelayModel):
    """Settings of a VPP that natxy starts. Debian has no package of it, so the user installs it."""

    untried: ClassVar[str | None] = (
        "has never run VPP itself, only written its commands; look at them in the first report"
    )
    most_subscribers: ClassVar = _MOST_SUBSCRIBERS
    most_port_ranges: ClassVar = _MOST_SUBSCRIBERS * MOST_RANGES_OF_ONE

    program: str = "vpp"
    """Path on the DUT, beside which `vppctl` is, or name on its PATH."""


class VppConfig(VppModel, CheckingCoreModel):
    """VPP with its plugin `map`, the core of lw4o6 or MAP-E."""

    changes_bindings: ClassVar = True
    needs_table_to_change: ClassVar = True
    driver: Literal["vpp"] = "vpp"


class VppDsliteConfig(VppModel):
    """VPP with its plugin `dslite`, the AFTR of DS-Lite (RFC 6333): the core of softwires and its NAT44 in one.

    A session has an address and a port of a B4, whatever the destinations, and a port of a public address. Sessions
    never expire.
    """

    keeps_connections: ClassVar = True
    hides_left: ClassVar = True
    # Sessions are counted, and several connections may share one.
    is_counted: ClassVar = False
    keeps_homes_apart: ClassVar = True
    no_pool: ClassVar[str | None] = None
    needs_pool: ClassVar[bool] = True
    ports_of_address: ClassVar = _PORTS_OF_ADDRESS
    driver: Literal["vpp-dslite"] = "vpp-dslite"

    def clearing_s(self, connections: int) -> float:
        del connections
        # VPP is started anew.
        return _START_S

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        del kind
        return min(need.endpoints, need.connections)

    def refusals(self, need: TableNeed, pool: int) -> Iterator[str]:
        del pool
        sessions = min(need.endpoints, need.connections) / need.softwires
        if sessions > _SESSIONS_OF_B4:
            yield (
                f"each B4 has {sessions:,.0f} sessions, one for each address and port, of which VPP keeps the latest "
                f"{_SESSIONS_OF_B4:,}, whatever the rate; give more `subscribers`, or ask for fewer connections or "
                "source ports"
            )
