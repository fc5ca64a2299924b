# SPDX-License-Identifier: Apache-2.0
"""Tests the commands for Jool's MAP-T, which few machines have, and with scripts that stand in for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_interface
from pathlib import Path
from typing import Final

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.jool_mapt import JoolMaptGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, GatewayMissingError, PlanError
from natxy.plan.gateways.jool_mapt import JoolMaptConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, MapDomain
from natxy.plan.model.terms import MapEnd
from natxy.system.machine_sysctls import MachineSysctls

LINK: Final = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
DMR: Final = IPv6Network("64:ff9b::/96")
# As Jool does, it refuses a second instance of a name, and to remove or to change one that is not there.
STAND_IN: Final = """#!/bin/sh
echo "$@" >> {folder}/asked
[ "$1" = -i ] && shift 2 && { [ -e {folder}/instance ]; exit; }
case "$1 $2" in
  "instance add") [ ! -e {folder}/instance ] && touch {folder}/instance;;
  "instance remove") rm {folder}/instance;;
  *) echo 4.2.0.3;;
esac
"""


def rule(ipv6: str, ipv4: str, ea_length: int, offset: int = 6) -> MapRule:
    return MapRule(IPv6Network(ipv6), IPv4Network(ipv4), ea_length, offset)


# Jool's tutorial, and RFC 7597, appendix A, example 4.
TUTORIAL, ALONE = rule("2001:db8:ce::/51", "192.0.2.0/24", 13, 0), rule("2001:db8:12:3400::/56", "192.0.2.18/32", 0)


def driver(end: MapEnd, own: MapRule, only: int | None = None, dut: LocalTransport | None = None) -> JoolMaptGateway:
    domain = MapDomain(end=end, rule=own, only=only, prefix=DMR)
    addresses = AddressPlan(left=LINK, right=LINK, map_domain=domain, mtu=1520)
    transport = dut or LocalTransport(MachineSysctls())
    return JoolMaptGateway(JoolMaptConfig(), transport, DutInterfaces("a", "b"), addresses)


def commands(end: MapEnd, own: MapRule, only: int | None = None) -> list[str]:
    return [" ".join(command) for command in driver(end, own, only).commands()]


def test_a_ce_of_jools_tutorial() -> None:
    only = TUTORIAL.subscriber_of(IPv4Address("192.0.2.8"), 55_296).number
    assert commands(MapEnd.EDGE, TUTORIAL, only) == [
        "jool_mapt instance add natxy --netfilter --dmr 64:ff9b::/96",
        "jool_mapt -i natxy global update lowest-ipv6-mtu 1520",
        "jool_mapt -i natxy global update end-user-ipv6-prefix 2001:db8:ce:11b::/64",
        "jool_mapt -i natxy global update bmr 2001:db8:ce::/51 192.0.2.0/24 13 0",
        "jool_mapt -i natxy global update map-t-type CE",
    ]


def test_the_border_relay_of_jools_tutorial() -> None:
    assert commands(MapEnd.CORE, TUTORIAL) == [
        "jool_mapt instance add natxy --netfilter --dmr 64:ff9b::/96",
        "jool_mapt -i natxy global update lowest-ipv6-mtu 1520",
        "jool_mapt -i natxy fmrt add 2001:db8:ce::/51 192.0.2.0/24 13 0",
        "jool_mapt -i natxy global update map-t-type BR",
    ]


# In order: RFC 7597, appendix A, examples 1 and 4; VPP's test_map_br.py; Jool's test suite ("ht").
@pytest.mark.parametrize(
    ("own", "ipv4", "port", "prefix", "words"),
    [
        (rule("2001:db8::/40", "192.0.2.0/24", 16), "192.0.2.18", 1232, "2001:db8:12:3400::/56",
         "2001:db8::/40 192.0.2.0/24 16 6"),
        (ALONE, "192.0.2.18", 80, "2001:db8:12:3400::/56", "2001:db8:12:3400::/56 192.0.2.18/32 0 6"),
        (rule("2001:db8:f0::/48", "198.18.0.0/24", 12), "198.18.0.12", 16_606, "2001:db8:f0:c30::/60",
         "2001:db8:f0::/48 198.18.0.0/24 12 6"),
        (rule("2001:db8:4464:1::/64", "192.0.2.0/28", 8), "192.0.2.1", 1088, "2001:db8:4464:1:1100::/72",
         "2001:db8:4464:1::/64 192.0.2.0/28 8 6"),
    ],
)  # fmt: skip
def test_published_subscribers(own: MapRule, ipv4: str, port: int, prefix: str, words: str) -> None:
    only = own.subscriber_of(IPv4Address(ipv4), port).number
    *_, end_user, mapping, _ = commands(MapEnd.EDGE, own, only)
    assert end_user == f"jool_mapt -i natxy global update end-user-ipv6-prefix {prefix}"
    assert mapping == f"jool_mapt -i natxy global update bmr {words}"
    assert f"jool_mapt -i natxy fmrt add {words}" in commands(MapEnd.CORE, own)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts programs on the PATH that stand in for Jool and for modprobe, and returns their folder."""
    for name, text in (("jool_mapt", STAND_IN.replace("{folder}", str(tmp_path))), ("modprobe", "#!/bin/sh\n")):
        program = tmp_path / name
        program.write_text(text)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_a_killed_run_leaves_nothing_that_the_next_one_stumbles_over(stand_in: Path) -> None:
    gateway = driver(MapEnd.CORE, TUTORIAL)
    gateway.install()
    again = driver(MapEnd.CORE, TUTORIAL)
    again.install()
    assert (stand_in / "instance").exists()
    assert again.version().startswith("Jool 4.2.0.3 in Linux ")
    shown = again.configuration().splitlines()
    assert shown[:4] == commands(MapEnd.CORE, TUTORIAL)
    assert {"# jool_mapt -i natxy global display", "# jool_mapt -i natxy fmrt display"} < {*shown}
    for _ in range(2):
        again.uninstall()
        assert not (stand_in / "instance").exists()
    done = [line for line in (stand_in / "asked").read_text().splitlines() if not line.endswith("display")]
    made = [command.removeprefix("jool_mapt ") for command in commands(MapEnd.CORE, TUTORIAL)]
    removed = "instance remove natxy"
    assert done == [removed, *made, removed, *made, "--version", removed, removed]


def test_a_command_that_fails_ends_the_installation(stand_in: Path) -> None:
    program = stand_in / "jool_mapt"
    program.write_text("#!/bin/sh\n[ \"$1\" = instance ] || { echo 'Unknown command' >&2; exit 1; }\n")
    with pytest.raises(DutError, match=r"lowest-ipv6-mtu 1520.*Unknown command"):
        driver(MapEnd.CORE, TUTORIAL).install()


class Lacking(LocalTransport):
    """A DUT on which one of the commands that look for Jool fails."""

    def __init__(self, lacking: str) -> None:
        super().__init__(MachineSysctls())
        self.lacking = lacking

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        assert argv[0] != "jool_mapt", "it is not there"
        return CompletedCommand(tuple(argv), 1 if argv[0] == self.lacking else 0, "", "")

    def describe(self) -> str:
        return "made up"


@pytest.mark.parametrize("lacking", ["which", "modprobe"])
def test_without_jool(lacking: str) -> None:
    message = rf"{lacking} jool_mapt fails \(made up\); build Jool 4.2 from the branch mapt of https://github.com/NICMx"
    with pytest.raises(GatewayMissingError, match=message):
        driver(MapEnd.CORE, TUTORIAL, dut=Lacking(lacking)).install()


def test_it_needs_the_other_end() -> None:
    transport, addresses = LocalTransport(MachineSysctls()), AddressPlan(left=LINK, right=LINK)
    with pytest.raises(PlanError, match="jool-mapt is one end of MAP-T"):
        JoolMaptGateway(JoolMaptConfig(), transport, DutInterfaces("a", "b"), addresses)
