# SPDX-License-Identifier: Apache-2.0
"""Several gateways, one behind the other, as one DUT."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutDescription, DutInterfaces, Gateway
from natxy.errors import DutError, GatewayDiedError
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.chain import ChainConfig
from natxy.plan.model.addresses import AddressPlan


class ChainGateway(Gateway[ChainConfig]):
    """Does with each of its gateways what is asked of the DUT. Errors name the gateway."""

    name = "chain"
    summary = "two to four gateways, one behind the other, such as those of 464XLAT"
    position = 7

    def __init__(self, config: ChainConfig, hops: Sequence[Gateway[Any]], ends: AddressPlan) -> None:
        self._hops = tuple(hops)
        interfaces = DutInterfaces(hops[0].interfaces.left, hops[-1].interfaces.right)
        super().__init__(config, hops[0].transport, interfaces, ends)
        self.capabilities = frozenset.intersection(*(hop.capabilities for hop in hops)) | frozenset(
            capability for hop in hops if hop.config.keeps_connections for capability in hop.capabilities
        )

    @property
    def hops(self) -> tuple[Gateway[Any], ...]:
        return self._hops

    def apply(self) -> None:
        with self.removed_on_error():
            for hop in self._hops:
                hop.apply()

    def remove(self) -> None:
        # Each gateway is removed whatever another one raises.
        with ExitStack() as stack:
            for hop in self._hops:
                stack.callback(hop.remove)

    def set_links(self) -> None:
        for hop in self._hops:
            hop.set_links()

    def unset_links(self) -> None:
        with ExitStack() as stack:
            for hop in self._hops:
                stack.callback(hop.unset_links)

    def describe(self) -> DutDescription:
        found = [hop.describe() for hop in self._hops]
        return DutDescription(
            self.config.title,
            "; ".join(each.version for each in found),
            {
                f"{title}: {name}": value
                for title, each in zip(self.config.hop_titles, found, strict=True)
                for name, value in each.settings.items()
            },
            "\n".join(each.configuration for each in found),
        )

    def restart(self) -> None:
        for hop in self._hops:
            hop.restart()

    def wait_ready(self) -> None:
        for hop in self._hops:
            hop.wait_ready()

    def check_alive(self) -> None:
        for number, hop in enumerate(self._hops, 1):
            try:
                hop.check_alive()
            except GatewayDiedError as died:
                raise GatewayDiedError(f"{hop.name}, gateway {number} of {len(self._hops)}: {died}") from died

    def check(self, need: TableNeed) -> None:
        for hop in self._hops:
            hop.check(need)

    def clear(self) -> None:
        for hop in self._hops:
            hop.clear()

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        cores = [hop for hop in self._hops if hop.addresses.has_subscribers]
        if not cores:
            raise DutError("no gateway of the chain has subscribers whose bindings could change")
        for core in cores:
            core.set_unbound(without)

    def set_cores(self, cores: Sequence[int]) -> None:
        for hop in self._hops:
            hop.set_cores(cores)

    def pause_s(self) -> float | None:
        return max((pause_s for hop in self._hops if (pause_s := hop.pause_s()) is not None), default=None)

    def count(self) -> int | None:
        """Returns the smallest count: a connection passes only while each gateway that keeps any holds it."""
        return min((count for hop in self._hops if (count := hop.count()) is not None), default=None)
