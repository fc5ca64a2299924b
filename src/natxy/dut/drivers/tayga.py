# SPDX-License-Identifier: Apache-2.0
"""Two gateways made with Tayga: a stateless translator, and stateful NAT64 with netfilter behind Tayga."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from natxy.dut.base import Capability
from natxy.dut.limits import mapped_hosts
from natxy.dut.linux import tayga
from natxy.dut.linux.netfilter import Chain, NftablesTranslator, address_range, source_nat
from natxy.dut.linux.tayga import Tayga
from natxy.dut.linux.tun import TunGateway
from natxy.plan.crossings import Crossing
from natxy.plan.gateways.tayga import TaygaConfig, TaygaNetfilterConfig
from natxy.plan.model.addresses import IPNetwork
from natxy.plan.model.terms import TranslationKind

TaygaT = TypeVar("TaygaT", bound=TaygaConfig | TaygaNetfilterConfig)


class TaygaTranslator(TunGateway[TaygaT]):
    """Runs one Tayga, pinned to the plan's `core` if it has one."""

    process = tayga.NAME
    tun = "natxy-tayga"

    @abstractmethod
    def mappings(self) -> list[str]:
        """Returns the lines of Tayga's configuration that give IPv6 hosts IPv4 addresses."""

    @property
    @abstractmethod
    def translated(self) -> tuple[IPNetwork, ...]:
        """The networks whose frames Tayga translates, besides those to the prefix or, in a clat, from it."""

    @classmethod
    def programs(cls, config: TaygaT) -> dict[str, str]:
        return super().programs(config) | tayga.PROGRAMS

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.translation
        behind: tuple[IPNetwork, ...] = (own.prefix,)
        if own.kind == TranslationKind.CLAT:
            # Frames that are in IPv6 already go to the prefix by the link.
            behind = Crossing(own).right_networks(self.addresses.right.behind)
        self._routed: tuple[IPNetwork, ...] = (*behind, *self.translated)
        self._settings = tayga.settings(self.tun, own.prefix, self.mappings())
        self._cores: Sequence[int] = () if self.config.core is None else (self.config.core,)

    def install(self) -> None:
        # A killed run may have left a Tayga on a DUT that survives the run.
        self._tayga.stop()
        self._tayga.make_tun()
        self.route_to_tun(self._routed)
        self._tayga.start(self._cores)
        super().install()

    def uninstall(self) -> None:
        super().uninstall()
        self._tayga.stop()

    def set_cores(self, cores: Sequence[int]) -> None:
        """Pins Tayga too, now and after later starts, unless the plan gives it a core."""
        super().set_cores(cores)
        if self.config.core is not None:
            return
        self._cores = cores
        self._tayga.pin(cores)

    def version(self) -> str:
        return f"{tayga.version(self.transport)}, {super().version()}"

    def configuration(self) -> str:
        return f"{self._settings}\n{super().configuration()}"

    @property
    def _tayga(self) -> Tayga:
        return Tayga(self.transport, self.tun, self.pid_file, self._settings)


class TaygaGateway(TaygaTranslator[TaygaConfig]):
    """Translates statelessly: Tayga's configuration maps each IPv6 host to an IPv4 address."""

    name = "tayga"
    summary = "Tayga, stateless in user space: SIIT, NAT46 without connections, and the CLAT of a 464XLAT"
    position = 5
    capabilities = frozenset({Capability.SET_CORES})

    def mappings(self) -> list[str]:
        return [f"map {ipv4} {ipv6}" for ipv4, ipv6 in mapped_hosts(self.name, self.translation)]

    @property
    def translated(self) -> tuple[IPNetwork, ...]:
        from_ipv4 = self.translation.kind == TranslationKind.CLAT
        return tuple(each.ipv6 if from_ipv4 else each.ipv4 for each in self.translation.mappings)


class TaygaNetfilterGateway(TaygaTranslator[TaygaNetfilterConfig], NftablesTranslator[TaygaNetfilterConfig]):
    """Translates statefully: Tayga gives each IPv6 host an IPv4 address, and nftables maps it to the pool."""

    name = "tayga-netfilter"
    summary = "stateful NAT64: Tayga, and nftables with connection tracking behind it"
    position = 6

    @property
    def chain(self) -> Chain:
        pool = address_range(self.translation.pool)
        return source_nat(f'ip saddr {self.config.hosts} oifname "{self.interfaces.right}" snat to {pool}')

    def mappings(self) -> list[str]:
        return [f"dynamic-pool {self.config.hosts}"]

    @property
    def translated(self) -> tuple[IPNetwork, ...]:
        return (self.config.hosts,)

    def configuration(self) -> str:
        return f"{super().configuration()}\n{self.routes()}"
