# SPDX-License-Identifier: Apache-2.0
"""The base of the translators that an end of MAP-T is composed of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from natxy.addressing.map_rules import MapSubscriber
from natxy.dut.transport.base import Transport
from natxy.plan.model.addresses import MapDomain
from natxy.plan.model.terms import MapEnd

# The mark of the first PSID's packets.
_FIRST_MARK: Final = 120_000


@dataclass
class Translators(ABC):
    """One stateless translator for each PSID, since a translator has one IPv6 address for each IPv4 address.

    Where subscribers share addresses, the driver marks packets by their PSID.
    """

    transport: Transport
    domain: MapDomain
    mtu: int

    @property
    def marked(self) -> bool:
        return self.domain.end == MapEnd.CORE and self.domain.rule.psid_length > 0

    @cached_property
    def subscribers(self) -> dict[int, list[MapSubscriber]]:
        """The subscribers of each PSID."""
        by_psid: dict[int, list[MapSubscriber]] = defaultdict(list)
        for each in self.domain.subscribers:
            by_psid[each.ports.psid].append(each)
        return by_psid

    def mark(self, psid: int) -> str:
        return str(_FIRST_MARK + psid)

    @abstractmethod
    def install(self, cores: Sequence[int]) -> None:
        """Starts the translators, which are not there, on `cores`; without cores, on any."""

    @abstractmethod
    def uninstall(self) -> None:
        """Ends the translators, and what gives them packets. No error if there are none."""

    @abstractmethod
    def version(self) -> str:
        """Returns the name and version of the translators."""

    @abstractmethod
    def settings(self) -> list[str]:
        """Returns the configuration of each translator."""

    @abstractmethod
    def check_alive(self) -> None:
        """Looks for the translators. GatewayDiedError if one is gone."""

    @abstractmethod
    def pin(self, cores: Sequence[int]) -> None:
        """Pins the translators that run, if they are processes."""
