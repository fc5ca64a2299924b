# SPDX-License-Identifier: Apache-2.0
"""Composes an end of MAP-T of Taygas, with a TUN interface each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Final

from natxy.dut.drivers.map_t.translators import Translators
from natxy.dut.linux import tayga, tun
from natxy.dut.linux.own_routes import OWN_PROTOCOL, flush_rules
from natxy.dut.linux.tayga import Tayga
from natxy.plan.gateways.map_t import MOST_PSIDS

TUNS: Final = tuple(f"natxy-map{number}" for number in range(MOST_PSIDS))
"""The names of the interfaces."""
_PRIORITY: Final = "110"
_FAMILIES: Final = ("-4", "-6")


class ByTayga(Translators):
    """Gives each mark a routing table, which leads to the Tayga of the PSID."""

    @cached_property
    def _instances(self) -> dict[int, Tayga]:
        """The Tayga of each PSID."""
        files = tun.run_path(self.transport, "map-t")
        return {
            psid: Tayga(
                self.transport,
                interface,
                f"{files}-{number}.pid",
                tayga.settings(interface, self.domain.prefix, (f"map {each.ipv4} {each.address}" for each in own)),
            )
            for number, (interface, (psid, own)) in enumerate(zip(TUNS, self.subscribers.items(), strict=False))
        }

    def install(self, cores: Sequence[int]) -> None:
        for each in self._instances.values():
            each.make_tun()
            tun.set_up(self.transport, each.tun, self.mtu)
        first = next(iter(self._instances.values())).tun
        for network in self.domain.translated:
            self.transport.run(["ip", "route", "replace", str(network), "dev", first])
        if self.marked:
            text = "".join(f"{command}\n" for command in self._by_mark())
            for family in _FAMILIES:
                self.transport.run(["ip", family, "-batch", "-"], input=text)
        for each in self._instances.values():
            each.start(cores)

    def uninstall(self) -> None:
        with ExitStack() as stack:
            for each in self._instances.values():
                stack.callback(each.stop)
            if self.marked:
                for family in _FAMILIES:
                    flush_rules(self.transport, family)

    def check_alive(self) -> None:
        for each in self._instances.values():
            tun.check_process(self.transport, tayga.NAME, each.pid_file, each.tun)

    def pin(self, cores: Sequence[int]) -> None:
        for each in self._instances.values():
            each.pin(cores)

    def version(self) -> str:
        return tayga.version(self.transport)

    def settings(self) -> list[str]:
        return [each.settings for each in self._instances.values()]

    def _by_mark(self) -> Iterator[str]:
        for psid, each in self._instances.items():
            mark = self.mark(psid)
            yield f"route replace default dev {each.tun} table {mark}"
            yield f"rule add priority {_PRIORITY} fwmark {mark} lookup {mark} protocol {OWN_PROTOCOL}"
