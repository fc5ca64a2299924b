# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface, ip_network

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.linux import LinuxForwardGateway, NftablesGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.hotplug import HotPlug
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError
from natxy.plan.gateways.linux import LinuxForwardConfig, NftablesConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.system.ledger import Ledger

ADDRESSES = AddressPlan(
    left=LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24")),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)


class MadeUpDut:
    """A transport to a DUT that has sysctls, all 0 at first, and refuses the commands and sysctls in `refused`."""

    def __init__(self) -> None:
        self.machine = self.network = OwnSysctls(self)
        self.sysctls: dict[str, str] = {}
        self.refused: set[str] = set()
        self.routes: list[str] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        output = ""
        match list(argv):
            case ["ip", "route", *words]:
                self.routes.append(" ".join(words))
            case ["sysctl", "-n", name]:
                output = self.sysctls.setdefault(name, "0")
            case ["sysctl", "-qw", assignment]:
                name, _, value = assignment.partition("=")
                if name in self.refused:
                    raise DutError(f"{name} is refused")
                self.sysctls[name] = value
        if argv[0] in self.refused:
            raise DutError(f"{argv[0]} is refused")
        return CompletedCommand(tuple(argv), 0, output, "")

    def describe(self) -> str:
        return "made up"


def applied(dut: MadeUpDut) -> NftablesGateway:
    config = NftablesConfig(
        conntrack_max=5, hash_size=6, udp_timeout_s=7, udp_stream_timeout_s=8, tcp_timeouts_s={"close": 9}
    )
    gateway = NftablesGateway(config, dut, DutInterfaces("a", "b"), ADDRESSES)
    gateway.apply()
    assert [*dut.sysctls.values()] == ["6", "5", "7", "8", "9", "1", "1"]
    return gateway


def test_nothing_is_forwarded_before_the_rules_are_there() -> None:
    dut = MadeUpDut()
    dut.refused = {"nft"}
    with pytest.raises(DutError, match="nft is refused"):
        NftablesGateway(NftablesConfig(), dut, DutInterfaces("a", "b"), ADDRESSES).apply()
    assert "net.ipv4.ip_forward" not in dut.sysctls


def test_sysctls_are_restored_although_the_rules_cannot_be_removed() -> None:
    dut = MadeUpDut()
    gateway = applied(dut)
    dut.refused = {"nft"}
    with pytest.raises(DutError, match="nft is refused"):
        gateway.remove()
    assert set(dut.sysctls.values()) == {"0"}


def test_a_gateway_with_one_interface_sends_no_redirects() -> None:
    dut = MadeUpDut()
    names = [f"net.ipv4.conf.{name}.send_redirects" for name in ("all", "a")]
    dut.sysctls = dict.fromkeys(names, "1")
    gateway = NftablesGateway(NftablesConfig(), dut, DutInterfaces("a", "a"), ADDRESSES)
    gateway.apply()
    assert [dut.sysctls[name] for name in names] == ["0", "0"]
    gateway.remove()
    assert [dut.sysctls[name] for name in names] == ["1", "1"]


class SwitchedDut(MadeUpDut):
    """Has a power switch and, after each boot, four cores in service and no settings."""

    def __init__(self, sets_own_links: bool) -> None:
        super().__init__()
        self.sets_own_links = sets_own_links
        self.hot_plug = HotPlug(self, ledger=Ledger())
        self.online = {0, 1, 2, 3}
        self.addresses: list[str] = []

    def restart(self) -> None:
        self.sysctls.clear()
        self.addresses.clear()
        self.online = {0, 1, 2, 3}

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        match list(argv):
            case ["cat", file] if file.endswith("/online"):
                return CompletedCommand(tuple(argv), 0, ",".join(map(str, sorted(self.online))), "")
            case ["cat", file] if file.endswith("/operstate"):
                return CompletedCommand(tuple(argv), 0, "up", "")
            case ["tee", file]:
                core = int(file.split("/")[-2].removeprefix("cpu"))
                self.online = self.online | {core} if input == "1" else self.online - {core}
            case ["ip", "address", "replace", address, *_]:
                self.addresses.append(address)
        return super().run(argv, input=input, timeout_s=timeout_s, check=check)


@pytest.mark.parametrize(("sets_own_links", "set_by_natxy"), [(False, ["198.18.0.1/24", "198.19.0.1/24"]), (True, [])])
def test_a_gateway_that_was_switched_off_and_on_is_as_before(sets_own_links: bool, set_by_natxy: list[str]) -> None:
    dut = SwitchedDut(sets_own_links)
    gateway = LinuxForwardGateway(LinuxForwardConfig(), dut, DutInterfaces("a", "b"), ADDRESSES)
    gateway.apply()
    gateway.set_cores([0, 1])
    before = dict(dut.sysctls)
    gateway.restart()
    assert dut.addresses == set_by_natxy
    assert dut.online == {0, 1}
    assert dut.sysctls == before
    dut.hot_plug.give_back()
    assert dut.online == {0, 1, 2, 3}


def of_pool(dut: MadeUpDut, pool: str) -> NftablesGateway:
    addresses = ADDRESSES.model_copy(update={"pool": ip_network(pool)})
    return NftablesGateway(NftablesConfig(), dut, DutInterfaces("a", "b"), addresses)


def test_the_route_of_public_addresses_is_told_from_those_of_others() -> None:
    dut = MadeUpDut()
    gateway = of_pool(dut, "198.19.0.8/30")
    gateway.apply()
    gateway.remove()
    route = "local 198.19.0.8/30 dev b proto 110 metric 4096"
    assert dut.routes == [f"replace {route}", f"del {route}"]


def test_the_duts_own_address_as_the_public_one_needs_no_route() -> None:
    dut = MadeUpDut()
    gateway = of_pool(dut, "198.19.0.1/32")
    gateway.apply()
    gateway.remove()
    assert dut.routes == []


@pytest.mark.parametrize(
    "stubborn",
    ["net.ipv4.ip_forward", "net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_udp_timeout"],
)
def test_one_sysctl_that_cannot_be_restored_does_not_keep_the_others(stubborn: str) -> None:
    dut = MadeUpDut()
    gateway = applied(dut)
    dut.refused = {stubborn}
    with pytest.raises(DutError, match=f"{stubborn} is refused"):
        gateway.remove()
    assert [name for name, value in dut.sysctls.items() if value != "0"] == [stubborn]
    dut.refused = set()
    gateway.remove()
    assert set(dut.sysctls.values()) == {"0"}
