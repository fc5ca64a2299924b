# SPDX-License-Identifier: Apache-2.0
"""The OpenBSD driver over real ssh, to programs that stand in for OpenBSD's and note what they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_interface, ip_network
from pathlib import Path

import pytest

from natxy.dut.base import DutInterfaces, TableNeed
from natxy.dut.openbsd_pf import OpenbsdPfGateway
from natxy.dut.ssh import SshTransport
from natxy.errors import DutError, PlanError
from natxy.plan.addresses import AddressMapping, AddressPlan, LinkAddresses, Translation
from natxy.plan.gateways import OpenbsdPfConfig
from natxy.plan.terms import TranslationKind
from tests.sshd import needs_sshd, running_sshd

pytestmark = needs_sshd

V4_LEFT = LinkAddresses(
    dut=ip_interface("10.0.0.1/24"), tester=ip_interface("10.0.0.2/24"), behind=(ip_network("10.0.0.0/16"),)
)
V4_RIGHT = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
V6_LEFT = LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"))
V6_RIGHT = LinkAddresses(dut=ip_interface("2001:2:0:8000::1/64"), tester=ip_interface("2001:2:0:8000::2/64"))
NAT44 = AddressPlan(left=V4_LEFT, right=V4_RIGHT)
PREFIX = IPv6Network("2001:2:0:64::/96")
NAT64 = AddressPlan(
    left=V6_LEFT,
    right=V4_RIGHT,
    translation=Translation(kind=TranslationKind.NAT64, prefix=PREFIX, pool=IPv4Network("198.19.0.1/32")),
)
NAT46 = AddressPlan(
    left=V4_LEFT,
    right=V6_RIGHT,
    translation=Translation(
        kind=TranslationKind.NAT46,
        prefix=PREFIX,
        pool=IPv6Network("2001:2:0:8000::1/128"),
        mappings=(AddressMapping(ipv4=IPv4Network("198.19.0.2/32"), ipv6=IPv6Network("2001:2:0:8000::2/128")),),
    ),
)
MACS = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:01:01"}

# One script for all programs: it notes how it was called, and shows what OpenBSD would. `states` loses 400 a look.
STAND_IN = """\
#!/bin/sh
cd {folder}
program=$(basename "$0")
echo "$program $*" >> asked
case "$program $*" in
"uname -sr") echo OpenBSD 7.6;;
"sysctl -n kern.boottime") cat boottime;;
"sysctl -n "*) echo 0;;
"shutdown -r now") echo "Sun Nov 22 01:00:00 2026" > boottime; echo 0 > states;;
"pfctl -f -") cat > rules;;
"pfctl -sr") cat rules;;
"pfctl -F states") touch flushed;;
"pfctl -si") echo "State Table                          Total             Rate"
  echo "  current entries                 $(cat states)"
  if [ -e flushed ]; then n=$(($(cat states) - 400)); [ $n -gt 0 ] || n=0; echo $n > states; fi;;
"pfctl -sm") echo "states        hard limit   100000"; echo "src-nodes     hard limit    10000";;
"pfctl -st") echo "udp.first                    60s"; echo "udp.single                   30s"
  echo "udp.multiple                 60s";;
"pfctl -e") echo "pfctl: pf already enabled" >&2; exit 1;;
"ifconfig em"[01]) echo "em0: flags=8843<UP>"; echo "	status: active";;
esac
"""


@dataclass
class StandIn:
    gateway: OpenbsdPfGateway
    folder: Path

    def asked(self) -> list[str]:
        """Since the last time."""
        file = self.folder / "asked"
        lines = file.read_text().splitlines()
        file.write_text("")
        return lines

    @property
    def rules(self) -> str:
        return (self.folder / "rules").read_text()


@contextmanager
def openbsd(folder: Path, addresses: AddressPlan, **settings: object) -> Iterator[StandIn]:
    programs = folder / "programs"
    programs.mkdir()
    for name in ("uname", "sysctl", "shutdown", "pfctl", "ifconfig", "route", "arp", "ndp"):
        (programs / name).write_text(STAND_IN.format(folder=folder))
        (programs / name).chmod(0o755)
    (folder / "boottime").write_text("Sat Nov 21 12:00:00 2026\n")
    (folder / "states").write_text("1000\n")
    (folder / "asked").write_text("")
    config = OpenbsdPfConfig.model_validate(settings)
    with running_sshd(folder / "sshd", programs=programs) as sshd, SshTransport(sshd.target) as transport:
        yield StandIn(OpenbsdPfGateway(config, transport, DutInterfaces("em0", "em1"), addresses), folder)


@pytest.mark.parametrize(
    ("addresses", "rule"),
    [
        (NAT44, "pass out on em1 inet from any to any nat-to 198.19.0.1"),
        (NAT64, "pass in on em0 inet6 from any to 2001:2:0:64::/96 af-to inet from 198.19.0.1/32"),
        (
            NAT46,
            "pass in on em0 inet from any to 198.19.0.2 af-to inet6 from 2001:2:0:8000::1/128 to 2001:2:0:8000::2",
        ),
    ],
    ids=["nat44", "nat64", "nat46"],
)
def test_rules(tmp_path: Path, addresses: AddressPlan, rule: str) -> None:
    with openbsd(tmp_path, addresses, states=5_000_000, udp_timeout_s=300) as dut:
        dut.gateway.apply()
        assert dut.rules.splitlines() == [
            "set limit states 5000000",
            "set timeout { udp.first 300, udp.single 300, udp.multiple 300 }",
            "pass no state",
            rule,
        ]
        assert dut.asked() == [
            "sysctl -n net.inet.ip.forwarding",
            "sysctl -n net.inet6.ip6.forwarding",
            "sysctl net.inet.ip.forwarding=1",
            "sysctl net.inet6.ip6.forwarding=1",
            "pfctl -f -",
            "pfctl -e",
        ]
        dut.gateway.wait_ready()
        description = dut.gateway.describe()
        assert description.version == "OpenBSD 7.6"
        assert rule in description.configuration
        assert description.settings["states, hard limit"] == "100000"
        dut.asked()
        dut.gateway.remove()
        dut.gateway.remove()
        assert dut.asked() == [
            "pfctl -f /etc/pf.conf",
            "pfctl -e",
            "sysctl net.inet6.ip6.forwarding=0",
            "sysctl net.inet.ip.forwarding=0",
        ]


def test_plain_forwarding_has_pf_off(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT44, enabled=False) as dut:
        assert not dut.gateway.capabilities
        dut.gateway.apply()
        assert dut.asked()[-1] == "pfctl -d"
        assert not (tmp_path / "rules").exists()


def test_links_and_static_neighbors(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT46, neighbors=MACS) as dut:
        dut.gateway.set_links()
        assert dut.asked() == [
            "ifconfig em0 inet 10.0.0.1 netmask 255.255.255.0 up",
            "route -qn add -inet 10.0.0.0/16 10.0.0.2",
            "ifconfig em1 inet6 2001:2:0:8000::1 prefixlen 64 up",
        ]
        dut.gateway.apply()
        asked = dut.asked()
        assert "arp -s 10.0.0.2 02:00:00:00:00:01" in asked
        assert "ndp -s 2001:2:0:8000::2 02:00:00:00:01:01" in asked
        dut.gateway.remove()
        dut.gateway.unset_links()
        asked = dut.asked()
        assert "arp -d 10.0.0.2" in asked
        assert asked[-1] == "ifconfig em1 inet6 2001:2:0:8000::1 delete"


def test_flush_is_waited_for(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT64) as dut:
        assert dut.gateway.count() == 1000
        dut.gateway.clear()
        assert dut.gateway.count() == 0
        assert dut.asked().count("pfctl -F states") == 1


@pytest.mark.parametrize(("clear", "verb"), [("reboot", "clear"), ("flush", "restart")])
def test_reboot_empties_the_table_and_everything_is_set_again(tmp_path: Path, clear: str, verb: str) -> None:
    with openbsd(tmp_path, NAT44, clear=clear, neighbors=MACS) as dut:
        dut.gateway.set_links()
        dut.gateway.apply()
        dut.asked()
        getattr(dut.gateway, verb)()
        asked = dut.asked()
        again = [
            "shutdown -r now",
            "ifconfig em0 inet 10.0.0.1 netmask 255.255.255.0 up",
            "arp -s 10.0.0.2 02:00:00:00:00:01",
            "pfctl -f -",
            "ifconfig em1",
        ]
        assert [asked.index(line) for line in again] == sorted(asked.index(line) for line in again)
        assert dut.gateway.count() == 0


def test_dut_that_does_not_come_back(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT44, clear="reboot", reboot_timeout="10ms") as dut:
        (tmp_path / "programs" / "shutdown").write_text("#!/bin/sh\n")
        with pytest.raises(DutError, match=r"did not answer within 0\.01 s"):
            dut.gateway.clear()


@pytest.mark.parametrize(
    ("need", "message"),
    [
        (TableNeed(connections=100_001, endpoints=1, longest_trial_s=1), "at most 100000 states"),
        (TableNeed(connections=10, endpoints=1, longest_trial_s=30), r"expire after 30 s \(udp.single\)"),
    ],
)
def test_table_that_does_not_fit(tmp_path: Path, need: TableNeed, message: str) -> None:
    with openbsd(tmp_path, NAT44) as dut, pytest.raises(PlanError, match=message):
        dut.gateway.check(need)


def test_output_that_is_not_pfs(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT44) as dut:
        (tmp_path / "programs" / "pfctl").write_text("#!/bin/sh\necho usage\n")
        with pytest.raises(DutError, match="`pfctl -si` should show"):
            dut.gateway.count()
