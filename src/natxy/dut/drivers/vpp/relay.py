# SPDX-License-Identifier: Apache-2.0
"""VPP with its plugin `map`, which the user has built: the core of lw4o6 or MAP-E in user space."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Final

from natxy.addressing.map_rules import MapRule
from natxy.dut.drivers.vpp.commands import rule_commands, table_commands
from natxy.dut.drivers.vpp.process import VppProcess
from natxy.dut.linux.softwires import bindings
from natxy.errors import PlanError
from natxy.plan.gateways.vpp import VppConfig

_DOMAIN: Final = "map add domain "
# "EA bits must be within the first 64 bits" (VPP's src/plugins/map/map.c).
_LONGEST_PREFIX: Final = 64


class VppGateway(VppProcess[VppConfig]):
    """Is a border relay: VPP has a domain for a mapping rule, or for each address of a table."""

    name = "vpp"
    summary = "VPP's plugin map in user space, of your own build: the core of lw4o6 and MAP-E; untried"
    position = 7
    feature: ClassVar[str] = "map interface"

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = self._rule
        if rule and rule.ipv6.prefixlen + rule.ea_length > _LONGEST_PREFIX:
            raise PlanError(
                f"VPP takes a prefix and EA bits of {_LONGEST_PREFIX} bits together, and {rule.ipv6} and "
                f"{rule.ea_length} EA bits are longer; give a shorter `ipv6`"
            )

    def plugin_commands(self) -> Iterable[str]:
        if rule := self._rule:
            return rule_commands(rule, self.softwire.own)
        return table_commands(bindings(self.softwire, self.config.port_set), self.softwire.own)

    def missing(self) -> str:
        shown = self.vppctl("show", "map", "domain", "index", str(self._domains - 1))
        return "" if "ip4-pfx" in shown else f"{self._domains:,} domains"

    @cached_property
    def _domains(self) -> int:
        return sum(line.startswith(_DOMAIN) for line in self.plugin_commands())

    @property
    def _rule(self) -> MapRule | None:
        several = self.softwire.subscribers
        return several if isinstance(several, MapRule) and several.ea_length else None
