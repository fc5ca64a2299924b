# SPDX-License-Identifier: Apache-2.0
"""Tests the OpenBSD driver over real ssh. Scripts replace OpenBSD's programs and log how they are called."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_interface, ip_network
from pathlib import Path

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.openbsd_pf.gateway import OpenbsdPfGateway
from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError, PlanError
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig
from natxy.plan.model.addresses import AddressMapping, AddressPlan, LinkAddresses, Translation
from natxy.plan.model.terms import TranslationKind
from natxy.plan.yaml.loading import load_plan
from tests.support import needs
from tests.support.sshd import Sshd, running_sshd

pytestmark = needs.SSHD

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

# All programs are this script: it logs its arguments and prints what OpenBSD's program would. Each look at `states`
# after a flush removes 400; routes and sysctls keep their values until a boot. The files `unplugged` and `unchecked`
# affect one look.
STAND_IN = """\
#!/bin/sh
cd {folder}
program=$(basename "$0")
echo "$program $*" >> asked
case "$program $*" in
"uname -sr") echo OpenBSD 7.6;;
"sysctl -n kern.boottime") cat boottime;;
"sysctl -n "*) cat "booted/$2" 2> /dev/null || echo 0;;
"sysctl -qw "*) echo "${{2#*=}}" > "booted/${{2%%=*}}";;
"route -qn add "*) route="booted/$3 $(echo $4 | tr / _)"
  if [ -e "$route" ]; then echo "add net $4: gateway $5: File exists" >&2; exit 1; fi; touch "$route";;
"route -qn delete "*) rm "booted/$3 $(echo $4 | tr / _)" 2> /dev/null || {{ echo "$4: not in table" >&2; exit 1; }};;
"shutdown -r now") touch shutdown;;
"pfctl -f -") cat > rules;;
"pfctl -sr") cat rules;;
"pfctl -F states") touch flushed;;
"pfctl -si") echo "State Table                          Total             Rate"
  echo "  current entries                 $(cat states)"
  if [ -e flushed ]; then n=$(($(cat states) - 400)); [ $n -gt 0 ] || n=0; echo $n > states; fi;;
"pfctl -sm") limit=$(sed -n "s/set limit states //p" rules)
  echo "states        hard limit   ${{limit:-100000}}"; echo "src-nodes     hard limit    10000";;
"pfctl -st") set=$(sed -n "s/set timeout .* udp.multiple \\([0-9]*\\) .*/\\1/p" rules)
  echo "udp.first ${{set:-60}}s"; echo "udp.single ${{set:-30}}s"; echo "udp.multiple ${{set:-60}}s";;
"pfctl -e") echo "pfctl: pf already enabled" >&2; exit 1;;
"ifconfig em"[01]) echo "em0: flags=8843<UP>"; rm unplugged 2> /dev/null || echo "	status: active"
  echo "	inet6 2001:2::1 prefixlen 64$(rm unchecked 2> /dev/null && echo " tentative")";;
esac
"""


# Longer than the driver's interval between two attempts, so that one of them fails.
DOWN_S = 1.5


@dataclass
class StandIn:
    gateway: OpenbsdPfGateway
    folder: Path
    sshd: Sshd

    def asked(self) -> list[str]:
        """Returns the calls since the previous call of this method."""
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
    (folder / "asked").write_text("")
    (folder / "rules").write_text("")
    boot(folder, states=1000)
    config = OpenbsdPfConfig.model_validate(settings)
    with (
        running_sshd(folder / "sshd", programs=programs) as sshd,
        reboots(folder, sshd),
        SshTransport(sshd.target) as transport,
    ):
        yield StandIn(OpenbsdPfGateway(config, transport, DutInterfaces("em0", "em1"), addresses), folder, sshd)


def boot(folder: Path, states: int = 0) -> None:
    shutil.rmtree(folder / "booted", ignore_errors=True)
    (folder / "booted").mkdir()
    (folder / "boottime").write_text(f"{time.time_ns()}\n")
    (folder / "states").write_text(f"{states}\n")


@contextmanager
def reboots(folder: Path, sshd: Sshd) -> Iterator[None]:
    """Obeys `shutdown`: ends sshd and its connections; restarts it a while later unless the file `broken` exists."""
    ended = threading.Event()

    def obey() -> None:
        while not ended.wait(0.02):
            if (folder / "shutdown").exists():
                (folder / "shutdown").unlink()
                sshd.stop()
                boot(folder)
                if not ended.wait(DOWN_S) and not (folder / "broken").exists():
                    sshd.start()

    thread = threading.Thread(target=obey)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    ("addresses", "rule"),
    [
        (NAT44, "pass out on em1 inet proto { tcp, udp } from any to any nat-to 198.19.0.1 port 1024:65535"),
        (NAT64, "pass in on em0 inet6 from any to 2001:2:0:64::/96 af-to inet from 198.19.0.1/32 port 1024:65535"),
        (
            NAT46,
            "pass in on em0 inet from any to 198.19.0.2 "
            "af-to inet6 from 2001:2:0:8000::1/128 port 1024:65535 to 2001:2:0:8000::2",
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
            "set timeout { adaptive.start 0, adaptive.end 0 }",
            "pass no state",
            rule,
        ]
        assert dut.asked() == [
            "sysctl -n net.inet.ip.forwarding",
            "sysctl -qw net.inet.ip.forwarding=1",
            "sysctl -n net.inet6.ip6.forwarding",
            "sysctl -qw net.inet6.ip6.forwarding=1",
            "pfctl -f -",
            "pfctl -e",
        ]
        dut.gateway.wait_ready()
        description = dut.gateway.describe()
        assert description.version == "OpenBSD 7.6"
        assert rule in description.configuration
        assert description.settings["states, hard limit"] == "5000000"
        assert description.settings["udp.single"] == "300 s"
        dut.asked()
        dut.gateway.remove()
        rules = ["pfctl -f /etc/pf.conf", "pfctl -e"]
        sysctls = ["sysctl -qw net.inet.ip.forwarding=0", "sysctl -qw net.inet6.ip6.forwarding=0"]
        assert dut.asked() == [*rules, *sysctls]
        dut.gateway.remove()
        assert dut.asked() == rules


def test_plain_forwarding_has_pf_off(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT44, enabled=False) as dut:
        assert not dut.gateway.capabilities
        dut.gateway.apply()
        assert dut.asked()[-1] == "pfctl -d"
        assert dut.rules == ""


def test_links_and_static_neighbors(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT46, neighbors=MACS) as dut:
        dut.gateway.set_links()
        assert dut.asked() == [
            "ifconfig em0 inet 10.0.0.1 netmask 255.255.255.0 up",
            "route -qn delete -inet 10.0.0.0/16",
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


@pytest.mark.parametrize("mark", ["unplugged", "unchecked"])
def test_links_and_addresses_are_waited_for(tmp_path: Path, mark: str) -> None:
    with openbsd(tmp_path, NAT64) as dut:
        (tmp_path / mark).touch()
        dut.gateway.wait_ready()
        assert dut.asked() == ["ifconfig em0", "ifconfig em0", "ifconfig em1"]


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
        first = dut.sshd.process
        getattr(dut.gateway, verb)()
        asked = dut.asked()
        assert first.returncode is not None
        assert dut.sshd.process is not first
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
    with openbsd(tmp_path, NAT44, clear="reboot", reboot_timeout="500ms") as dut:
        (tmp_path / "broken").touch()
        with pytest.raises(DutError, match=r"did not answer within 0\.5 s"):
            dut.gateway.clear()


def test_run_after_a_killed_one(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT44) as killed:
        killed.gateway.set_links()
        killed.gateway.apply()
        with SshTransport(killed.sshd.target) as transport:
            gateway = OpenbsdPfGateway(killed.gateway.config, transport, killed.gateway.interfaces, NAT44)
            gateway.set_links()
            gateway.apply()
            assert gateway.describe().settings["net.inet.ip.forwarding"] == "1"
            gateway.remove()
            gateway.unset_links()
        assert sorted(file.read_text() for file in (tmp_path / "booted").iterdir()) == ["0\n", "0\n"]


@pytest.mark.parametrize(
    ("need", "message"),
    [
        (TableNeed(100_001, 1, 2, 1), "at most 100000 states"),
        (TableNeed(64_512, 64_512, 1, 30), r"expire after 30 s \(udp.single\)"),
    ],
)
def test_table_that_does_not_fit(tmp_path: Path, need: TableNeed, message: str) -> None:
    with openbsd(tmp_path, NAT44) as dut, pytest.raises(PlanError, match=message):
        dut.gateway.check(need)


def test_what_was_published_fits(tmp_path: Path) -> None:
    plan = load_plan(Path(__file__).parents[2] / "plans" / "paper" / "pf-nat64-enumeration.yaml")
    for number, experiment in enumerate(plan.experiments):
        (folder := tmp_path / str(number)).mkdir()
        assert experiment.connections
        endpoints = (experiment.left_endpoints, experiment.right_endpoints)
        with openbsd(folder, experiment.address_plan, **experiment.gateway.model_dump()) as dut:
            dut.gateway.apply()
            dut.gateway.check(TableNeed(experiment.connections, *endpoints, longest_trial_s=500))


def test_output_that_is_not_pfs(tmp_path: Path) -> None:
    with openbsd(tmp_path, NAT44) as dut:
        (tmp_path / "programs" / "pfctl").write_text("#!/bin/sh\necho usage\n")
        with pytest.raises(DutError, match="`pfctl -si` should show"):
            dut.gateway.count()
