# SPDX-License-Identifier: Apache-2.0
"""Composes an end of MAP-T of instances of Jool SIIT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from typing import Final

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.drivers.map_t.translators import Translators
from natxy.dut.linux import jool_instance
from natxy.dut.linux.jool_instance import JoolInstance
from natxy.errors import GatewayDiedError, GatewayMissingError
from natxy.plan.gateways.jool import JOOL_SIIT
from natxy.plan.gateways.map_t import MOST_PSIDS, MapTBy, MapTConfig

_NAMES: Final = tuple(f"natxy-map{number}" for number in range(MOST_PSIDS))
"""The names of the instances."""
_CHAIN: Final = "natxy-map-t"
_COMMANDS: Final = ("iptables", "ip6tables")
# Prints the instances that this network namespace lacks. A list of Jool's has those of all namespaces.
_MISSING: Final = f"""
for each; do
  {JOOL_SIIT} -i "$each" global display > /dev/null 2>&1 || echo "$each"
done
"""
# iptables by nftables leaves a table without rules behind, whose hooks would cost each packet time. What is not there
# any more is no error, but a chain that stays is one.
_EMPTY: Final = r"^(table .*|\s+chain .*|\s+type .* policy accept;|\s*\}|)$"
_REMOVE: Final = f"""
remove() {{
  "$1" --wait -t mangle -D PREROUTING -j {_CHAIN}
  "$1" --wait -t mangle -F {_CHAIN}
  "$1" --wait -t mangle -X {_CHAIN}
  nft list table "$2" mangle | grep -qvE '{_EMPTY}' || nft delete table "$2" mangle
  ! "$1" --wait -t mangle -S {_CHAIN}
}} > /dev/null 2>&1
failed=0
remove iptables ip || failed=1
remove ip6tables ip6 || failed=1
for each; do
  {JOOL_SIIT} instance remove "$each" > /dev/null 2>&1
done
exit "$failed"
"""


class ByJool(Translators):
    """Gives the packets of a mark to the instance of the PSID, by a rule of iptables."""

    @cached_property
    def _instances(self) -> dict[int, JoolInstance]:
        """The instance of each PSID."""
        return self._instances_without(frozenset())

    def _instances_without(self, unmapped: Set[int]) -> dict[int, JoolInstance]:
        """Returns the instance of each PSID, without the mappings of the subscribers of some numbers."""
        # By default Jool cuts IPv4 packets into fragments of 1280 bytes for IPv6 (RFC 7915 §4).
        common = {"pool6": str(self.domain.prefix), "lowest-ipv6-mtu": self.mtu}
        return {
            psid: JoolInstance(
                self.transport,
                JOOL_SIIT,
                name,
                {
                    "global": common,
                    "eamt": [
                        {"ipv6 prefix": f"{each.address}/128", "ipv4 prefix": f"{each.ipv4}/32"}
                        for each in own
                        if each.number not in unmapped
                    ],
                },
                by_iptables=self.marked,
            )
            for name, (psid, own) in zip(_NAMES, self.subscribers.items(), strict=False)
        }

    def install(self, cores: Sequence[int]) -> None:
        if self.transport.run(["modprobe", JOOL_SIIT], check=False).returncode != 0:
            missing = f"modprobe {JOOL_SIIT} fails ({self.transport.describe()})"
            raise GatewayMissingError(f"{missing}; {MapTConfig(by=MapTBy.JOOL_SIIT).module_remedy}")
        for each in self._instances.values():
            each.add()
        if self.marked:
            text = "".join(f"{line}\n" for line in self._rules())
            for command in _COMMANDS:
                self.transport.run([f"{command}-restore", "--wait", "--noflush"], input=text)

    def uninstall(self) -> None:
        self.transport.run(["sh", "-c", _REMOVE, "sh", *_NAMES])

    def map_without(self, without: Sequence[SubscriberRange]) -> None:
        """Leaves all subscribers but these a mapping, while packets pass: each instance gets a new table at once.

        DutError if one does not; others may have got theirs.
        """
        unmapped = {one.number for each in without for one in each}
        text = "".join(each.shell for each in self._instances_without(unmapped).values())
        self.transport.run(["sh", "-e"], input=text)

    def check_alive(self) -> None:
        own = [each.name for each in self._instances.values()]
        if gone := self.transport.run(["sh", "-c", _MISSING, "sh", *own]).stdout.split():
            raise GatewayDiedError(f"Jool's instance {gone[0]} is gone")

    def pin(self, cores: Sequence[int]) -> None:
        """Does nothing: the kernel translates on the cores that receive."""

    def version(self) -> str:
        return jool_instance.version(self.transport, JOOL_SIIT)

    def settings(self) -> list[str]:
        return [*(each.text for each in self._instances.values()), *([*self._rules()] if self.marked else [])]

    def _rules(self) -> Iterator[str]:
        yield "*mangle"
        yield f":{_CHAIN} - [0:0]"
        for psid, each in self._instances.items():
            yield f"-A {_CHAIN} -m mark --mark {self.mark(psid)} -j JOOL_SIIT --instance {each.name}"
        yield f"-A PREROUTING -j {_CHAIN}"
        yield "COMMIT"
