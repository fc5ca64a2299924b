# SPDX-License-Identifier: Apache-2.0
"""Composes an end of MAP-T of instances of Jool SIIT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from natxy.dut.drivers.map_t.translators import Translators
from natxy.dut.linux import jool_instance
from natxy.dut.linux.jool_instance import JoolInstance
from natxy.errors import GatewayDiedError, GatewayMissingError
from natxy.plan.gateways.jool import MODULE_REMEDY

_MODULE: Final = "jool_siit"
_CHAIN: Final = "natxy-map-t"
_COMMANDS: Final = ("iptables", "ip6tables")


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
                _MODULE,
                f"natxy-{psid}",
                {
                    "global": common,
                    "eamt": [{"ipv6 prefix": f"{each.address}/128", "ipv4 prefix": f"{each.ipv4}/32"} for each in own],
                },
                by_iptables=self.marked,
            )
            for psid, own in self.subscribers.items()
        }

    def install(self, cores: Sequence[int]) -> None:
        if self.transport.run(["modprobe", _MODULE], check=False).returncode != 0:
            missing = f"modprobe {_MODULE} fails ({self.transport.describe()})"
            raise GatewayMissingError(f"{missing}; {MODULE_REMEDY}, or give the gateway `by: tayga`")
        for each in self._instances.values():
            each.add()
        if self.marked:
            text = "".join(f"{line}\n" for line in self._rules())
            for command in _COMMANDS:
                self.transport.run([f"{command}-restore", "--noflush"], input=text)

    def uninstall(self) -> None:
        if self.marked:
            for command in _COMMANDS:
                for words in (["-D", "PREROUTING", "-j", _CHAIN], ["-F", _CHAIN], ["-X", _CHAIN]):
                    # It fails when there is no chain.
                    self.transport.run([command, "-t", "mangle", *words], check=False)
        for each in self._instances.values():
            each.remove()

    def check_alive(self) -> None:
        shown = self.transport.run([_MODULE, "instance", "display", "--csv", "--no-headers"]).stdout
        there = {field.strip() for line in shown.splitlines() for field in line.split(",")}
        if gone := [each.name for each in self._instances.values() if each.name not in there]:
            raise GatewayDiedError(f"Jool's instance {gone[0]} is gone")

    def pin(self, cores: Sequence[int]) -> None:
        """Does nothing: the kernel translates on the cores that receive."""

    def version(self) -> str:
        return jool_instance.version(self.transport, _MODULE)

    def settings(self) -> list[str]:
        return [*(each.text for each in self._instances.values()), *([*self._rules()] if self.marked else [])]

    def _rules(self) -> Iterator[str]:
        yield "*mangle"
        yield f":{_CHAIN} - [0:0]"
        for psid, each in self._instances.items():
            yield f"-A {_CHAIN} -m mark --mark {self.mark(psid)} -j JOOL_SIIT --instance {each.name}"
        yield f"-A PREROUTING -j {_CHAIN}"
        yield "COMMIT"
