# SPDX-License-Identifier: Apache-2.0
"""Tests what is written to nat46, which few machines have, with a stand-in for the module that keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_interface, ip_network
from typing import Final

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.nat46 import Nat46Gateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, GatewayMissingError, PlanError
from natxy.plan.gateways.nat46 import Nat46Config
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, MapDomain
from natxy.plan.model.terms import MapEnd
from natxy.system.machine_sysctls import MachineSysctls

LINK: Final = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
CONTROL: Final = "/proc/net/nat46/control"
DMR: Final = IPv6Network("2001:db8:ffff::/64")
UNSET: Final = {
    f"{side}.{name}": value
    for side in ("local", "remote")
    for name, value in {"v4": "0.0.0.0/0", "v6": "::/0", "style": "NONE", "ea-len": "0", "psid-offset": "0"}.items()
} | {"debug": "0"}


class Module(LocalTransport):
    """A DUT with nat46, which fails no write; `width`: how much of a line older versions show; `refuses`: a name that
    a version does not take."""

    def __init__(self, *, loaded: bool = True, width: int | None = None, refuses: str = "") -> None:
        super().__init__(MachineSysctls())
        self.loaded, self.width, self.refuses = loaded, width, refuses
        self.interfaces: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        output, code = "", 0
        match list(argv):
            case ["test", "-e", path]:
                assert path == CONTROL
                code = 0 if self.loaded else 1
            case ["tee", path]:
                assert path == CONTROL
                self._take(input or "")
                output = input or ""
            case ["cat", path] if path == CONTROL:
                output = self._show()
            case ["cat", "/sys/module/nat46/srcversion"]:
                output = "0123456789ABCDEF\n"
            case ["uname", "-r"]:
                output = "6.1.0\n"
            case ["ip", *words] if "dev" in words:
                assert words[-1] in self.interfaces, "a route to an interface that is not there"
        self.asked.append(" ".join([*argv, *(["<", input.rstrip()] if input else [])]))
        return CompletedCommand(tuple(argv), code, output, "")

    def describe(self) -> str:
        return "made up"

    def _take(self, text: str) -> None:
        verb, interface, *words = text.split()
        match verb:
            case "add":
                assert interface not in self.interfaces
                self.interfaces[interface] = dict(UNSET)
            case "del":
                self.interfaces.pop(interface, None)
            case "config" if self.refuses not in words:
                self.interfaces[interface] |= dict(zip(words[::2], words[1::2], strict=True))

    def _show(self) -> str:
        lines = []
        for interface, settings in self.interfaces.items():
            shown = " ".join(f"{name} {value}" for name, value in settings.items())
            lines += [f"add {interface}", f"config {interface} {shown[: self.width]}", ""]
        return "\n".join(lines)


def rule(ipv6: str, ipv4: str, ea_length: int, offset: int = 6) -> MapRule:
    return MapRule(IPv6Network(ipv6), IPv4Network(ipv4), ea_length, offset)


# RFC 7597, appendix A, examples 1 and 4.
SHARED, ALONE = rule("2001:db8::/40", "192.0.2.0/24", 16), rule("2001:db8:12:3400::/56", "192.0.2.18/32", 0)


def driver(dut: Module, end: MapEnd, own: MapRule, only: int | None = None) -> Nat46Gateway:
    carries = (IPv4Network("198.19.0.0/24"), IPv4Network("198.19.0.0/16")) if end == MapEnd.EDGE else ()
    domain = MapDomain(end=end, rule=own, only=only, prefix=DMR, carries=carries)
    addresses = AddressPlan(left=LINK, right=LINK, map_domain=domain, mtu=1520)
    return Nat46Gateway(Nat46Config(), dut, DutInterfaces("a", "b"), addresses)


def test_what_a_ces_translator_is_told() -> None:
    dut = Module()
    driver(dut, MapEnd.EDGE, ALONE, 0).install()
    assert dut.asked == [
        "modprobe nat46",
        f"test -e {CONTROL}",
        f"tee {CONTROL} < del natxy-nat46",
        f"tee {CONTROL} < add natxy-nat46",
        f"tee {CONTROL} < config natxy-nat46 "
        "local.v4 192.0.2.18/32 local.v6 2001:db8:12:3400::/56 local.style MAP local.ea-len 0 local.psid-offset 0 "
        "remote.v4 0.0.0.0/0 remote.v6 2001:db8:ffff::/64 remote.style RFC6052 remote.ea-len 0 remote.psid-offset 0",
        f"cat {CONTROL}",
        "ip link set natxy-nat46 up mtu 1520",
        "ip route replace 198.19.0.0/24 dev natxy-nat46",
        "ip route replace 198.19.0.0/16 dev natxy-nat46",
        "ip route replace 2001:db8:12:3400::/56 dev natxy-nat46",
    ]


def test_a_border_relay_has_the_rule_on_its_remote_side() -> None:
    dut = Module()
    driver(dut, MapEnd.CORE, SHARED).install()
    assert (
        f"tee {CONTROL} < config natxy-nat46 "
        "local.v4 0.0.0.0/0 local.v6 2001:db8:ffff::/64 local.style RFC6052 local.ea-len 0 local.psid-offset 0 "
        "remote.v4 192.0.2.0/24 remote.v6 2001:db8::/40 remote.style MAP remote.ea-len 16 remote.psid-offset 6"
    ) in dut.asked
    assert dut.asked[-2:] == [
        "ip route replace 192.0.2.0/24 dev natxy-nat46",
        "ip route replace 2001:db8:ffff::/64 dev natxy-nat46",
    ]


def by_its_readme(settings: dict[str, str], side: str, ipv4: str, port: int) -> IPv6Address:
    """Returns the address that the style MAP gives a host: behind the IPv6 prefix the end of its IPv4 address and the
    bits of the port that follow the first `psid-offset` ones, then an interface identifier with both."""
    network4, network6 = ip_network(settings[f"{side}.v4"]), ip_network(settings[f"{side}.v6"])
    suffix_bits = 32 - network4.prefixlen
    psid_bits = int(settings[f"{side}.ea-len"]) - suffix_bits
    bits = f"{port:016b}"[int(settings[f"{side}.psid-offset"]) :][:psid_bits]
    suffix = f"{int(IPv4Address(ipv4)):032b}"[32 - suffix_bits :]
    prefix = f"{int(network6.network_address):0128b}"[: network6.prefixlen] + suffix + bits
    identifier = f"{int(IPv4Address(ipv4)) << 16 | int(bits or '0', 2):064b}"
    return IPv6Address(int(prefix + (prefix.ljust(64, "0")[len(prefix) :] + identifier)[len(prefix) - 128 :], 2))


# In order: RFC 7597, appendix A, examples 1 and 4; VPP's test_map_br.py; Jool's test suite ("ht") and its tutorial.
@pytest.mark.parametrize(
    ("own", "ipv4", "port", "address"),
    [
        (SHARED, "192.0.2.18", 1232, "2001:db8:12:3400:0:c000:212:34"),
        (ALONE, "192.0.2.18", 80, "2001:db8:12:3400:0:c000:212:0"),
        (rule("2001:db8:f0::/48", "198.18.0.0/24", 12), "198.18.0.12", 16_606, "2001:db8:f0:c30:0:c612:c:3"),
        (rule("2001:db8:4464:1::/64", "192.0.2.0/28", 8), "192.0.2.1", 1088, "2001:db8:4464:1:1100:c000:201:1"),
        (rule("2001:db8:ce::/51", "192.0.2.0/24", 13, 0), "192.0.2.8", 55_296, "2001:db8:ce:11b:0:c000:208:1b"),
    ],
)
def test_published_subscribers_have_their_addresses(own: MapRule, ipv4: str, port: int, address: str) -> None:
    for end, side in ((MapEnd.CORE, "remote"), (MapEnd.EDGE, "local")):
        only = own.subscriber_of(IPv4Address(ipv4), port).number
        settings = driver(Module(), end, own, only).settings()
        assert by_its_readme(settings, side, ipv4, port) == IPv6Address(address)


def test_a_killed_run_leaves_nothing_that_the_next_one_stumbles_over() -> None:
    dut = Module()
    driver(dut, MapEnd.EDGE, ALONE, 0).install()
    core = driver(dut, MapEnd.CORE, SHARED)
    core.install()
    assert [settings["remote.style"] for settings in dut.interfaces.values()] == ["MAP"]
    for _ in range(2):
        core.uninstall()
        assert not dut.interfaces


@pytest.mark.parametrize("width", [None, 200, 199, 150])
def test_settings_of_which_a_version_shows_a_part_are_taken(width: int | None) -> None:
    driver(Module(width=width), MapEnd.CORE, SHARED).install()


@pytest.mark.parametrize("refuses", ["local.psid-offset", "MAP"])
def test_settings_that_are_not_taken_are_an_error(refuses: str) -> None:
    dut = Module(refuses=refuses)
    with pytest.raises(DutError, match=r"nat46 has not taken its settings \(made up\); .*It shows: .*local.style NONE"):
        driver(dut, MapEnd.CORE, SHARED).install()


def test_an_interface_that_was_not_made_is_an_error() -> None:
    with pytest.raises(DutError, match=r"It shows: config natxy-nat46$"):
        driver(Module(width=0), MapEnd.CORE, SHARED).install()


def test_without_the_module() -> None:
    dut = Module(loaded=False)
    message = r"the kernel module nat46 is not loaded \(made up\); build it from https://github.com/ayourtch/nat46"
    with pytest.raises(GatewayMissingError, match=message):
        driver(dut, MapEnd.EDGE, ALONE, 0).install()
    assert not any(asked.startswith("tee") for asked in dut.asked)


def test_it_needs_the_other_end() -> None:
    with pytest.raises(PlanError, match="nat46 is one end of MAP-T"):
        Nat46Gateway(Nat46Config(), Module(), DutInterfaces("a", "b"), AddressPlan(left=LINK, right=LINK))


def test_what_the_report_says() -> None:
    core = driver(Module(), MapEnd.CORE, SHARED)
    core.install()
    assert core.version() == "nat46 (srcversion 0123456789ABCDEF), Linux 6.1.0"
    assert core.configuration().startswith(f"# {CONTROL}\nadd natxy-nat46\nconfig natxy-nat46 local.v4 0.0.0.0/0 ")
