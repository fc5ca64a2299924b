# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.neighbors import NeighborTable
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, LinkMacs, LinkPair

MACS = LinkMacs(left="02:00:00:00:00:01", right="02:00:00:00:01:01")


class MadeUpDut:
    """A transport to a DUT whose sysctls are all 7 at first. It records batches of iproute2."""

    def __init__(self) -> None:
        self.machine = self.network = OwnSysctls(self)
        self.sysctls: dict[str, str] = {}
        self.batches: list[str] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        output = ""
        match list(argv):
            case ["sysctl", "-n", name]:
                output = self.sysctls.setdefault(name, "7")
            case ["sysctl", "-qw", assignment]:
                name, _, value = assignment.partition("=")
                self.sysctls[name] = value
            case ["ip", *_]:
                self.batches.append(input or "")
        return CompletedCommand(tuple(argv), 0, output, "")

    def describe(self) -> str:
        return "made up"


def link(dut: str, tester: str, on_link: int) -> LinkAddresses:
    return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), on_link=on_link)


def addresses(on_link: int) -> AddressPlan:
    return AddressPlan(
        left=link("198.18.0.1/16", "198.18.0.2/16", on_link),
        right=link("198.19.0.1/16", "198.19.0.2/16", on_link),
        background=LinkPair(
            left=link("2001:2::1/64", "2001:2::2/64", 0), right=link("2001:2:8::1/64", "2001:2:8::2/64", 0)
        ),
    )


def table(dut: MadeUpDut, on_link: int, macs: LinkMacs | None) -> NeighborTable:
    return NeighborTable(dut, DutInterfaces("a", "b"), addresses(on_link), macs)


def test_every_address_of_the_tester_on_a_link_has_a_static_entry() -> None:
    dut = MadeUpDut()
    static = table(dut, 2, MACS)
    static.apply()
    entries = [
        "198.18.0.2 lladdr 02:00:00:00:00:01 dev a",
        "198.18.1.0 lladdr 02:00:00:00:00:01 dev a",
        "198.18.1.1 lladdr 02:00:00:00:00:01 dev a",
        "198.19.0.2 lladdr 02:00:00:00:01:01 dev b",
        "198.19.1.0 lladdr 02:00:00:00:01:01 dev b",
        "198.19.1.1 lladdr 02:00:00:00:01:01 dev b",
        "2001:2::2 lladdr 02:00:00:00:00:01 dev a",
        "2001:2:8::2 lladdr 02:00:00:00:01:01 dev b",
    ]
    assert dut.batches.pop().splitlines() == [f"neigh replace {entry} nud permanent" for entry in entries]
    static.remove()
    assert dut.batches.pop().splitlines() == [f"neigh del {entry}" for entry in entries]
    assert static.describe() == {"static neighbours": "02:00:00:00:00:01 and 02:00:00:00:01:01"}


def test_without_mac_addresses_the_dut_asks() -> None:
    dut = MadeUpDut()
    asked = table(dut, 2, None)
    asked.apply()
    asked.remove()
    assert dut.batches == []
    assert dut.sysctls == {}


def test_the_table_has_room_for_many_hosts_and_its_size_is_restored() -> None:
    dut = MadeUpDut()
    many = table(dut, 1000, None)
    many.apply()
    assert dut.sysctls == {f"net.ipv4.neigh.default.gc_thresh{number}": "5024" for number in (1, 2, 3)}
    assert many.describe() == dut.sysctls
    many.remove()
    assert set(dut.sysctls.values()) == {"7"}


def test_a_table_that_is_larger_is_not_made_smaller() -> None:
    dut = MadeUpDut()
    names = [f"net.ipv4.neigh.default.gc_thresh{number}" for number in (1, 2, 3)]
    before = dict(zip(names, ("4096", "8192", "16384"), strict=True))
    dut.sysctls = dict(before)
    many = table(dut, 1000, None)
    many.apply()
    assert dut.sysctls == many.describe() == before | {names[0]: "5024"}
    many.remove()
    assert dut.sysctls == before
