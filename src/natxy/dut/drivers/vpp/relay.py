# SPDX-License-Identifier: Apache-2.0
"""VPP with its plugin `map`, which the user has built: the core of lw4o6 or MAP-E in user space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network
from typing import ClassVar, Final

from natxy.addressing.map_rules import MapRule
from natxy.addressing.subscriber_ranges import SubscriberRange, changed
from natxy.dut.drivers.vpp.commands import Domains, rule_commands
from natxy.dut.drivers.vpp.process import VppProcess
from natxy.dut.linux.softwires import bindings, bindings_of
from natxy.errors import DutError, PlanError
from natxy.plan.gateways.vpp import VppConfig

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
        self._domains = Domains(self.softwire.own)
        rule = self._rule
        if rule and rule.ipv6.prefixlen + rule.ea_length > _LONGEST_PREFIX:
            raise PlanError(
                f"VPP takes a prefix and EA bits of {_LONGEST_PREFIX} bits together, and {rule.ipv6} and "
                f"{rule.ea_length} EA bits are longer; give a shorter `ipv6`"
            )

    def plugin_commands(self) -> Iterable[str]:
        self._domains = Domains(self.softwire.own)
        if rule := self._rule:
            return rule_commands(rule, self.softwire.own)
        return self._domains.added(bindings(self.softwire, self.config.port_set))

    def missing(self) -> str:
        domains = len(self._domains.numbers) or 1
        return "" if "ip4-pfx" in self._shown(domains - 1) else f"{domains:,} domains"

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        if self._rule:
            # VPP computes the subscribers of a rule: none of them has a binding of its own.
            super().set_unbound(without)
            return
        withdrawn, added = changed(self.unbound, without)
        self.change(without, lambda: self._change(withdrawn, added))

    def _change(self, withdrawn: Sequence[SubscriberRange], added: Sequence[SubscriberRange]) -> None:
        """Deletes and adds domains. DutError if VPP refuses a command, or has not the domains that it should have."""
        freed = [self._domains.numbers[IPv4Network(each.addresses[-1])] for each in withdrawn]
        commands = [*self._domains.removed(bindings_of(withdrawn)), *self._domains.added(bindings_of(added))]
        self.carry_out(commands)
        for address in (IPv4Network(each.addresses[-1]) for each in added):
            if f"ip4-pfx {address} " not in (shown := self._shown(self._domains.numbers[address])):
                raise DutError(f"{self.config.program} has another domain than that of {address}: {shown.strip()}")
        for number in {*freed} - {*self._domains.numbers.values()}:
            if "ip4-pfx" in (shown := self._shown(number)) or not shown:
                raise DutError(f"{self.config.program} did not delete domain {number}: {shown.strip() or 'no answer'}")

    def _shown(self, number: int) -> str:
        """Returns what VPP shows of a domain."""
        return self.vppctl("show", "map", "domain", "index", str(number))

    @property
    def _rule(self) -> MapRule | None:
        several = self.softwire.subscribers
        return several if isinstance(several, MapRule) and several.ea_length else None
