# SPDX-License-Identifier: Apache-2.0
"""Jool, NIC México's translators in the Linux kernel: the stateful one for NAT64 and NAT46, and the stateless one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, ClassVar, Final, TypeVar

from natxy.dut.base import Capability
from natxy.dut.limits import check_lifetime, table_timeout_s
from natxy.dut.linux import jool_instance
from natxy.dut.linux.gateway import LinuxGateway
from natxy.dut.linux.jool_instance import MOST_SESSIONS, JoolInstance
from natxy.errors import DutError, PlanError
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways.base import FIRST_PORT, LAST_PORT, TableNeed
from natxy.plan.gateways.jool import JoolConfig, JoolSiitConfig
from natxy.plan.gateways.linux import KernelModel
from natxy.plan.model.addresses import Translation
from natxy.plan.model.terms import TranslationKind

_INSTANCE: Final = "natxy"
_MOST_BINDINGS: Final = 4096
_MOST_REMOVALS: Final = 15
_PROTOCOLS: Final = ("UDP", "TCP", "ICMP")

JoolT = TypeVar("JoolT", bound=KernelModel)


class JoolTranslator(LinuxGateway[JoolT]):
    """Runs one instance of Jool, configured as a whole by one JSON text."""

    capabilities = frozenset({Capability.SET_CORES})
    module: ClassVar[str]
    """The kernel module, and the program of the same name that configures it."""

    @classmethod
    def programs(cls, config: JoolT) -> dict[str, str]:
        return super().programs(config) | {cls.module: "apt install jool-tools"}

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Returns the instance's settings in the format of Jool's `file handle`."""

    def install(self) -> None:
        self.transport.run(["modprobe", self.module])
        # A killed run may have left its instance on a DUT that survives the run.
        self.uninstall()
        self._instance().add()

    def uninstall(self) -> None:
        self._instance({}).remove()

    def version(self) -> str:
        return f"{jool_instance.version(self.transport, self.module)} in {self.kernel()}"

    def configuration(self) -> str:
        return self._instance().text

    def _instance(self, settings: Mapping[str, Any] | None = None) -> JoolInstance:
        return JoolInstance(self.transport, self.module, _INSTANCE, self.settings() if settings is None else settings)

    def common_settings(self) -> dict[str, Any]:
        # By default Jool cuts IPv4 packets into fragments of 1280 bytes for IPv6 (RFC 7915 §4).
        return {"pool6": str(self.translation.prefix), "lowest-ipv6-mtu": self.addresses.mtu}


class JoolGateway(JoolTranslator[JoolConfig]):
    """Translates statefully: NAT64, and NAT46 through static bindings."""

    name = "jool"
    summary = "Jool: stateful NAT64, and NAT46 through static bindings; the kernel module, or in user-mode Linux"
    position = 3
    module = "jool"
    capabilities = JoolTranslator.capabilities | {Capability.CLEAR, Capability.COUNT}

    def settings(self) -> dict[str, Any]:
        translation = self.translation
        hours, seconds = divmod(self.config.udp_timeout_s, 3600)
        timeout = f"{hours}:{seconds // 60:02}:{seconds % 60:02}"
        return {
            "global": {**self.common_settings(), "udp-timeout": timeout},
            "pool4": [
                {"protocol": protocol, "prefix": str(network), "port range": ports}
                for network, ports in self._pool4(translation)
                for protocol in _PROTOCOLS
            ],
            "bib": self._bindings(translation),
        }

    def check(self, need: TableNeed) -> None:
        # Jool keeps established connections of TCP for two hours and opening ones for four minutes (RFC 6146 §4).
        if need.protocol == Protocol.UDP:
            check_lifetime(need, self.config.udp_timeout_s, entries="sessions", setting="udp_timeout_s")

    def clear(self) -> None:
        """Removes the instance with all its sessions and bindings, and creates it again."""
        for _ in range(_MOST_REMOVALS):
            self.install()
            sessions = self.count()
            if sessions == 0:
                return
        raise DutError(
            f"Jool still has {sessions} sessions after its instance was removed {_MOST_REMOVALS} times "
            f"({self.transport.describe()}); check that nothing else sends through the DUT"
        )

    def count(self) -> int:
        """Returns the number of sessions of UDP and TCP, counted on the DUT: a list of a million has 60 MB."""
        shown = f"jool -i {_INSTANCE} session display --numeric --csv --no-headers"
        argv = ["sh", "-c", f"{{ {shown} --udp; {shown} --tcp; }} | wc -l"]
        return self.transport.run(argv, timeout_s=table_timeout_s(MOST_SESSIONS)).number()

    def _pool4(self, translation: Translation) -> list[tuple[IPv4Network, str]]:
        if translation.kind == TranslationKind.NAT64:
            assert isinstance(translation.pool, IPv4Network)
            return [(translation.pool, f"{FIRST_PORT}-{LAST_PORT}")]
        return [(mapping.ipv4, str(self.config.bib_port)) for mapping in translation.mappings]

    def _bindings(self, translation: Translation) -> list[dict[str, str]]:
        """Returns the static bindings through which IPv4 initiators reach IPv6 responders (RFC 6146 §3.2)."""
        if translation.kind != TranslationKind.NAT46:
            return []
        wanted = sum(mapping.ipv4.num_addresses for mapping in translation.mappings)
        if wanted > _MOST_BINDINGS:
            raise PlanError(
                f"a nat46 by {self.name} needs a static binding for each of {wanted} addresses, and natxy sets at most "
                f"{_MOST_BINDINGS}: give the translation smaller `mappings` and the plan fewer `right_hosts`"
            )
        port = self.config.bib_port
        return [
            {"protocol": protocol, "ipv6 address": f"{inside}#{port}", "ipv4 address": f"{outside}#{port}"}
            for mapping in translation.mappings
            for inside, outside in zip(mapping.ipv6, mapping.ipv4, strict=True)
            for protocol in ("UDP", "TCP")
        ]


class JoolSiitGateway(JoolTranslator[JoolSiitConfig]):
    """Translates statelessly by explicit address mappings (RFC 7757), and other hosts by a prefix (RFC 6052)."""

    name = "jool-siit"
    summary = (
        "Jool SIIT: SIIT, NAT46 without connections, and the CLAT of a 464XLAT; as a module, or in user-mode Linux"
    )
    position = 4
    module = "jool_siit"

    def settings(self) -> dict[str, Any]:
        sides = (self.addresses.left, self.addresses.right)
        own_ipv4 = next(link.dut.ip for link in sides if link.dut.version == 4)
        return {
            # The source of ICMP errors from IPv6 routers without a mapping (RFC 6791).
            "global": {**self.common_settings(), "rfc6791v4-prefix": f"{own_ipv4}/32"},
            "eamt": [
                {"ipv6 prefix": str(mapping.ipv6), "ipv4 prefix": str(mapping.ipv4)}
                for mapping in self.translation.mappings
            ],
        }
