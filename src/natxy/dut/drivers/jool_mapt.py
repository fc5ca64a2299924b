# SPDX-License-Identifier: Apache-2.0
"""One end of MAP-T by Jool 4.2, which the user has built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.dut.base import Capability
from natxy.dut.linux.map_ends import MapEndGateway
from natxy.errors import GatewayMissingError
from natxy.plan.gateways.jool_mapt import JoolMaptConfig
from natxy.plan.model.terms import MapEnd

# The module, and the program that configures it.
_NAME: Final = "jool_mapt"
_INSTANCE: Final = "natxy"
_OF_INSTANCE: Final = (_NAME, "-i", _INSTANCE)


class JoolMaptGateway(MapEndGateway[JoolMaptConfig]):
    """Runs one instance of Jool, which translates what arrives on any interface and has addresses of the domain."""

    name = "jool-mapt"
    summary = "an end of MAP-T by Jool 4.2, of your own build: a CE's translator, or a BR; untried"
    position = 10
    capabilities = frozenset({Capability.SET_CORES})

    @classmethod
    def programs(cls, config: JoolMaptConfig) -> dict[str, str]:
        return super().programs(config) | {_NAME: config.module_remedy}

    def install(self) -> None:
        """Adds the instance. GatewayMissingError when the DUT does not have the program or the module."""
        for argv in (["which", _NAME], ["modprobe", _NAME]):
            if self.transport.run(argv, check=False).returncode != 0:
                missing = f"{' '.join(argv)} fails ({self.transport.describe()})"
                raise GatewayMissingError(f"{missing}; {self.config.module_remedy}")
        # A killed run may have left its instance on a DUT that survives the run.
        self.uninstall()
        for command in self.commands():
            self.transport.run(command)

    def uninstall(self) -> None:
        # It fails when there is no instance.
        self.transport.run([_NAME, "instance", "remove", _INSTANCE], check=False)

    def version(self) -> str:
        return f"Jool {self.transport.run([_NAME, '--version']).stdout.strip()} in {self.kernel()}"

    def configuration(self) -> str:
        shown = ([*_OF_INSTANCE, "global", "display"], [*_OF_INSTANCE, "fmrt", "display"])
        found = (f"# {' '.join(argv)}\n{self.transport.run(argv, check=False).stdout.rstrip()}" for argv in shown)
        return "\n".join([*map(" ".join, self.commands()), *found, super().configuration()])

    def commands(self) -> Iterator[list[str]]:
        """Yields the commands that make the instance."""
        domain = self.domain
        rule = [str(domain.rule.ipv6), str(domain.rule.ipv4), str(domain.rule.ea_length), str(domain.rule.offset)]
        change = [*_OF_INSTANCE, "global", "update"]
        yield [_NAME, "instance", "add", _INSTANCE, "--netfilter", "--dmr", str(domain.prefix)]
        # By default Jool cuts IPv4 packets into fragments of 1280 bytes for IPv6 (RFC 7915 §4).
        yield [*change, "lowest-ipv6-mtu", str(self.addresses.mtu)]
        if domain.end == MapEnd.EDGE:
            yield [*change, "end-user-ipv6-prefix", str(domain.subscriber_network)]
            yield [*change, "bmr", *rule]
            yield [*change, "map-t-type", "CE"]
        else:
            yield [*_OF_INSTANCE, "fmrt", "add", *rule]
            yield [*change, "map-t-type", "BR"]
