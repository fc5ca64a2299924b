# SPDX-License-Identifier: Apache-2.0
"""Settings of OpenBSD's packet filter."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.gateways.base import TableNeed, ports_per_destination
from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.model.terms import TranslationKind
from natxy.plan.model.units import Count, Duration

# A server spends most of this in its firmware.
_REBOOT_S: Final = 120.0
# Summed up from the source of OpenBSD 7.3: pf_state, two pf_state_key and two pf_state_item, in their memory pools.
_STATE_BYTES: Final = 700


class PfClear(StrEnum):
    """`flush` empties the state table by `pfctl -F states`, `reboot` by a reboot, where a flush takes too long."""

    FLUSH = "flush"
    REBOOT = "reboot"


class OpenbsdPfConfig(NeighborsModel):
    """PF on OpenBSD, over ssh: NAT44 by nat-to, NAT64 and NAT46 by af-to, a stateful filter, or plain
    forwarding with PF off."""

    system: ClassVar[str | None] = "OpenBSD"
    untried: ClassVar[str | None] = (
        "has never run on OpenBSD, only against programs that imitate OpenBSD's; look at the rules in the first report"
    )
    on_other_machine: ClassVar[bool] = True
    usual_table_sizes: ClassVar[Mapping[str, int]] = {"states": 100_000}
    usual_lifetimes_s: ClassVar[Mapping[str, int]] = {"udp_timeout_s": 30}
    embedding_lengths: ClassVar[frozenset[int]] = frozenset({96})
    driver: Literal["openbsd-pf"] = "openbsd-pf"
    enabled: bool = True
    """False for plain forwarding, with PF disabled."""
    nat: bool = True
    """False for a filter that keeps states of the left side's connections, translates nothing, and blocks other traffic
    of the right side."""
    states: Count | None = None
    """Limit of the state table, `set limit states`; PF's default when not given."""
    udp_timeout_s: Annotated[int, Field(ge=1)] | None = None
    """Lifetime of a state: udp.first, udp.single and udp.multiple, however full the table is; PF's defaults when not
    given."""
    clear: PfClear = PfClear.FLUSH
    """Way to remove the states: `flush`, or `reboot`, where a flush takes too long."""
    reboot_timeout: Duration = 300.0
    """Longest time until the DUT answers again."""

    @property
    def keeps_connections(self) -> bool | None:
        return self.enabled

    @property
    def hides_left(self) -> bool:
        return self.enabled and self.nat

    @property
    def table_sizes(self) -> dict[str, int]:
        return {} if self.states is None else {"states": self.states}

    @property
    def lifetimes_s(self) -> dict[str, int]:
        return {} if self.udp_timeout_s is None else {"udp_timeout_s": self.udp_timeout_s}

    @property
    def tells_sides_by_interface(self) -> bool:
        return not self.nat

    @property
    def no_pool(self) -> str | None:
        return None if self.hides_left else super().no_pool

    def clearing_s(self, connections: int) -> float:
        return _REBOOT_S if self.clear == PfClear.REBOOT else 0.0

    def table_bytes(self, need: TableNeed) -> int | None:
        return _STATE_BYTES * need.connections

    def ports_needed(self, need: TableNeed, kind: TranslationKind | None) -> int | None:
        return ports_per_destination(need) if self.enabled and self.nat else None

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        translates = self.enabled and self.nat
        return frozenset({None, TranslationKind.NAT64, TranslationKind.NAT46} if translates else {None})
