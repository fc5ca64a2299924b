# SPDX-License-Identifier: Apache-2.0
"""Two gateways made with Tayga: a stateless translator, and stateful NAT64 with netfilter behind Tayga."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from natxy.dut.base import Capability
from natxy.dut.limits import mapped_hosts
from natxy.dut.linux.netfilter import Chain, NftablesTranslator, address_range, source_nat
from natxy.dut.linux.tun import TunGateway
from natxy.dut.transport.base import pinned
from natxy.plan.crossings import Crossing
from natxy.plan.gateways.tayga import TaygaConfig, TaygaNetfilterConfig
from natxy.plan.model.addresses import IPNetwork
from natxy.plan.model.terms import TranslationKind

# The source address of Tayga's own ICMP errors, outside of all translated networks.
_OWN_ADDRESS = "192.168.255.1"

TaygaT = TypeVar("TaygaT", bound=TaygaConfig | TaygaNetfilterConfig)


class TaygaTranslator(TunGateway[TaygaT]):
    """Runs one Tayga, pinned to the plan's `core` if it has one."""

    process = "tayga"
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
        return super().programs(config) | {"tayga": "apt install tayga"}

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.translation
        behind: tuple[IPNetwork, ...] = (own.prefix,)
        if own.kind == TranslationKind.CLAT:
            # Frames that are in IPv6 already go to the prefix by the link.
            behind = Crossing(own).right_networks(self.addresses.right.behind)
        self._routed: tuple[IPNetwork, ...] = (*behind, *self.translated)
        self._settings = "\n".join(
            [f"tun-device {self.tun}", f"ipv4-addr {_OWN_ADDRESS}", f"prefix {own.prefix}", *self.mappings(), ""]
        )
        self._cores: Sequence[int] = () if self.config.core is None else (self.config.core,)

    def install(self) -> None:
        # A killed run may have left a Tayga on a DUT that survives the run.
        self._stop()
        self.transport.run(["tayga", "--config", "/dev/stdin", "--mktun"], input=self._settings)
        self.route_to_tun(self._routed)
        # Tayga starts and ends again where it cannot write this file, and tells only the system's log.
        self.transport.run(["tee", self.pid_file], input="\n")
        argv = [*pinned(self._cores), "tayga", "--config", "/dev/stdin", "--pidfile", self.pid_file]
        self.transport.run(argv, input=self._settings)
        super().install()

    def uninstall(self) -> None:
        super().uninstall()
        self._stop()

    def set_cores(self, cores: Sequence[int]) -> None:
        """Pins Tayga too, now and after later starts, unless the plan gives it a core."""
        super().set_cores(cores)
        if self.config.core is not None:
            return
        self._cores = cores
        if pid := self._pid():
            self.transport.run(["taskset", "--cpu-list", "--pid", ",".join(map(str, cores)), pid])

    def version(self) -> str:
        # Tayga writes its version to the system's log only.
        asked = self.transport.run(["dpkg-query", "-W", "-f", "${Version}", "tayga"], check=False)
        tayga = f"tayga {asked.stdout}" if asked.returncode == 0 else "tayga"
        return f"{tayga}, {super().version()}"

    def configuration(self) -> str:
        return f"{self._settings}\n{super().configuration()}"

    def _stop(self) -> None:
        if pid := self._pid():
            self.transport.run(["kill", pid])
        self.transport.run(["rm", "-f", self.pid_file])
        self.transport.run(["ip", "link", "del", self.tun], check=False)

    def _pid(self) -> str | None:
        pid = self.transport.run(["cat", self.pid_file], check=False).stdout.strip()
        # After Tayga was killed, the number in its file may belong to another process.
        running = pid and self.transport.run(["cat", f"/proc/{pid}/comm"], check=False).stdout.strip() == "tayga"
        return pid if running else None


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
