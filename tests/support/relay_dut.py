# SPDX-License-Identifier: Apache-2.0
"""A made-up DUT for drivers whose gateway is a core of softwires in user space, and the links of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_interface
from typing import Final

from natxy.addressing.map_rules import MapRule
from natxy.addressing.softwire_tables import SoftwireTable
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, Softwire
from natxy.plan.model.terms import SoftwireEnd
from natxy.system.machine_sysctls import MachineSysctls

LEFT: Final = LinkAddresses(
    dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"), behind=(IPv6Network("fd00:2:6::/48"),)
)
RIGHT: Final = LinkAddresses(
    dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"), behind=(IPv4Network("203.0.113.0/24"),)
)
CORE: Final = IPv6Address("2001:2:0:5000::2")
EDGE: Final = IPv6Address("2001:2:0:5000::1")
START: Final = "start-stop-daemon --start --background --make-pidfile"
STOP: Final = "start-stop-daemon --stop --oknodo --retry 2 --remove-pidfile"


class RelayDut(LocalTransport):
    """Records all commands of a DUT that has the program or not, and keeps the files that are written there.

    `outputs` has what commands print, by their beginnings.
    """

    def __init__(self, outputs: Mapping[str, str], *, installed: bool = True) -> None:
        super().__init__(MachineSysctls())
        self.asked: list[str] = []
        self.batches: list[list[str]] = []
        self.files: dict[str, str] = {}
        self.outputs = {
            "readlink": "net:[4026]\n",
            "uname -r": "6.12\n",
            "cat /sys/class/net/a/address": "02:00:00:00:00:11\n",
            "cat /sys/class/net/b/address": "02:00:00:00:01:11\n",
        } | dict(outputs)
        self._installed = installed

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        asked = " ".join(argv)
        self.asked.append(asked)
        output = next((output for begins, output in self.outputs.items() if asked.startswith(begins)), "")
        code = 0
        match list(argv):
            case ["which", program]:
                output, code = f"/opt/{program}\n", 0 if self._installed else 1
            case ["tee", file]:
                self.files[file] = input or ""
            case ["rm", "-f", *files]:
                for file in files:
                    self.files.pop(file, None)
            case ["cat", file] if file in self.files:
                output = self.files[file]
            case ["ip", "-force", "-batch", "-"]:
                self.batches.append((input or "").splitlines())
        return CompletedCommand(tuple(argv), code, output, "")


def addresses_of(several: MapRule | SoftwireTable | None, mtu: int = 1564) -> AddressPlan:
    """Returns the addresses of a core of several subscribers, or of one behind an edge."""
    softwire = Softwire(
        end=SoftwireEnd.CORE,
        own=CORE,
        far=several.subscriber(0).address if several else EDGE,
        carries=(several.ipv4 if several else IPv4Network("100.64.1.0/30"),),
        subscribers=several,
    )
    return AddressPlan(left=LEFT, right=RIGHT, softwire=softwire, mtu=mtu)
