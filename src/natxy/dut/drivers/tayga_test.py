# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_interface

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.tayga import TaygaNetfilterGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.plan.gateways.tayga import TaygaNetfilterConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, Translation
from natxy.plan.model.terms import TranslationKind
from natxy.system.machine_sysctls import MachineSysctls

TRANSLATION = Translation(
    kind=TranslationKind.NAT64, prefix=IPv6Network("2001:2:0:64::/96"), pool=IPv4Network("198.19.0.1/32")
)
LINK = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
ADDRESSES = AddressPlan(left=LINK, right=LINK, translation=TRANSLATION)


class Running(LocalTransport):
    """A machine on which Tayga runs as process 77. It records all commands."""

    def __init__(self) -> None:
        super().__init__(MachineSysctls())
        self.asked: list[str] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.asked.append(" ".join(argv))
        shown = {"readlink": "net:[5]", "cat": "tayga" if argv[-1].endswith("comm") else "77"}
        return CompletedCommand(tuple(argv), 0, shown.get(argv[0], "") + "\n", "")

    def pinnings(self) -> list[str]:
        return [line for line in self.asked if line.startswith("taskset")]


@pytest.mark.parametrize(("own", "now", "later"), [(None, "1,3", "1,3"), (2, None, "2")])
def test_it_runs_on_the_cores_that_it_is_given_unless_it_has_its_own(
    own: int | None, now: str | None, later: str
) -> None:
    transport = Running()
    tayga = TaygaNetfilterGateway(TaygaNetfilterConfig(core=own), transport, DutInterfaces("a", "b"), ADDRESSES)
    tayga.set_cores([1, 3])
    assert transport.pinnings() == ([f"taskset --cpu-list --pid {now} 77"] if now else [])
    transport.asked.clear()
    tayga.install()
    assert transport.pinnings() == [
        f"taskset --cpu-list {later} tayga --config /dev/stdin --pidfile /run/natxy-tayga-5.pid"
    ]
