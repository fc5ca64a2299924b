# SPDX-License-Identifier: Apache-2.0
"""Composes an end of MAP-T of instances of Jool SIIT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from natxy.addressing.map_rules import MapSubscriber
from natxy.addressing.softwire_tables import TableSubscriber
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.drivers.map_t.translators import Translators
from natxy.dut.linux import jool_instance
from natxy.dut.linux.jool_instance import JoolInstance
from natxy.errors import GatewayDiedError, GatewayMissingError
from natxy.plan.gateways.jool import JOOL_SIIT
from natxy.plan.gateways.map_t import MOST_PSIDS, MapTBy, MapTConfig

_NAMES: Final = tuple(f"natxy-map{number}" for number in range(MOST_PSIDS))
"""The names of the instances."""
_TIMEOUT_S: Final = 30.0
# Each command of Jool takes less, in a slow virtual machine on a busy machine, too.
_COMMAND_S: Final = 0.2
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


def _mapping(subscriber: MapSubscriber | TableSubscriber) -> tuple[str, str]:
    """Returns both addresses of a subscriber, as Jool's table of explicit mappings (RFC 7757) has them."""
    return f"{subscriber.address}/128", f"{subscriber.ipv4}/32"


class ByJool(Translators):
    """Gives the packets of a mark to the instance of the PSID, by a rule of iptables."""

    @cached_property
    def _instances(self) -> dict[int, JoolInstance]:
        """The instance of each PSID."""
        # By default Jool cuts IPv4 packets into fragments of 1280 bytes for IPv6 (RFC 7915 §4).
        common = {"pool6": str(self.domain.prefix), "lowest-ipv6-mtu": self.mtu}
        return {
            psid: JoolInstance(
                self.transport,
                JOOL_SIIT,
                name,
                {
                    "global": common,
                    "eamt": [{"ipv6 prefix": ipv6, "ipv4 prefix": ipv4} for ipv6, ipv4 in map(_mapping, own)],
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

    def change(self, withdrawn: Sequence[SubscriberRange], added: Sequence[SubscriberRange]) -> None:
        commands = [
            " ".join([JOOL_SIIT, "-i", self._instances[one.ports.psid].name, "eamt", verb, *_mapping(one)])
            for verb, ranges in (("remove", withdrawn), ("add", added))
            for each in ranges
            for one in each
        ]
        text = "".join(f"{command}\n" for command in commands)
        self.transport.run(["sh", "-e"], input=text, timeout_s=_TIMEOUT_S + _COMMAND_S * len(commands))

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
