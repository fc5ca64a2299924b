# SPDX-License-Identifier: Apache-2.0
"""Labs and gateways on the real kernel: they come up, forward and translate, and leave no trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_interface, ip_network
from typing import Any

import pytest

from natxy.dut import registry
from natxy.dut.base import Gateway, TableNeed
from natxy.dut.machine import MachineSysctls
from natxy.dut.owner import Owner
from natxy.errors import DutError, PlanError
from natxy.lab.base import Testbed
from natxy.lab.namespaces import LabNamespaces, other_labs, remove_stale_labs, stale_labs
from natxy.lab.netns import NetnsLab
from natxy.lab.probe import probe_machine
from natxy.plan.addresses import AddressPlan, LinkAddresses
from natxy.plan.gateways import LinuxForwardConfig, NftablesConfig
from natxy.plan.models import LabConfig

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a lab needs root")

IPV4 = AddressPlan(
    left=LinkAddresses(
        dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"), behind=(ip_network("10.0.0.0/16"),)
    ),
    right=LinkAddresses(
        dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"), behind=(ip_network("198.19.128.0/17"),)
    ),
)
IPV6 = AddressPlan(
    left=LinkAddresses(
        dut=ip_interface("2001:2::1/64"),
        tester=ip_interface("2001:2::2/64"),
        behind=(ip_network("2001:2:0:1000::/52"),),
    ),
    right=LinkAddresses(
        dut=ip_interface("2001:2:0:8000::1/64"),
        tester=ip_interface("2001:2:0:8000::2/64"),
        behind=(ip_network("2001:2:0:9000::/52"),),
    ),
)
INSIDE = {4: "10.0.1.2", 6: "2001:2:0:1000::2"}
OUTSIDE = {4: "198.19.200.9", 6: "2001:2:0:9000::9"}

# Runs in the tester's namespace: sends one UDP frame into `left`, prints as JSON what comes out of `right`.
SEND_ONE = """
import json, sys
from scapy.all import Ether, IP, IPv6, UDP, Raw, sendp, sniff
source, destination = sys.argv[1:3]
layer = IPv6 if ":" in source else IP
def is_ours(frame):
    return UDP in frame and frame[UDP].dport == 4444
frames = sniff(iface="right", lfilter=is_ours, count=1, timeout=5, started_callback=lambda: sendp(
    Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:11") / layer(src=source, dst=destination)
    / UDP(sport=5555, dport=4444) / Raw(b"natxy"), iface="left", verbose=False))
seen = [{"source": f[layer].src, "destination": f[layer].dst, "port": f[UDP].sport,
         "payload": bytes(f[UDP].payload)[:5].decode()} for f in frames]
print(json.dumps(seen))
"""


def traces() -> dict[str, object]:
    """All that a lab could leave behind on this machine."""
    machine = MachineSysctls()
    mine = str(Owner.current())
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {
        "namespaces": [line for line in names.splitlines() if mine in line],
        "conntrack_max": machine.read("net.netfilter.nf_conntrack_max"),
        "conntrack_buckets": machine.read("net.netfilter.nf_conntrack_buckets"),
    }


def namespace_of_tester() -> str:
    return LabNamespaces(Owner.current()).tester


def send_one(lab: NetnsLab, addresses: AddressPlan) -> list[dict[str, Any]]:
    """Sends one UDP frame from inside to outside. Stands in for the engine, which would answer ARP and ND."""
    neighbor = [str(addresses.right.tester.ip), "lladdr", "02:00:00:00:01:01", "dev", lab.interfaces.right]
    lab.transport.run(["ip", "neigh", "replace", *neighbor])
    version = addresses.left.dut.version
    program = [sys.executable, "-c", SEND_ONE, INSIDE[version], OUTSIDE[version]]
    argv = ["ip", "netns", "exec", namespace_of_tester(), *program]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen: list[dict[str, Any]] = json.loads(done.stdout)
    return seen


@pytest.fixture
def clean_machine() -> Iterator[None]:
    before = traces()
    yield
    assert traces() == before


@pytest.fixture(params=[IPV4, IPV6], ids=["ipv4", "ipv6"])
def addresses(request: pytest.FixtureRequest) -> AddressPlan:
    plan: AddressPlan = request.param
    return plan


@pytest.mark.usefixtures("clean_machine")
class TestLab:
    def test_description_of_what_is_there(self) -> None:
        testbed: Testbed = NetnsLab(LabConfig(io="af_packet", queues=2, dut_cores=[0]), IPV4)
        with testbed as lab:
            assert [spec.device for spec in lab.port_specs()] == [
                "net_af_packet0,iface=left,qpairs=2",
                "net_af_packet1,iface=right,qpairs=2",
            ]
            assert any("veth" in sentence for sentence in lab.deviations())
            mask = lab.transport.run(["cat", "/sys/class/net/dut-left/queues/rx-1/rps_cpus"]).stdout
            assert int(mask.replace(",", ""), 16) == 1

    def test_af_xdp_has_a_send_buffer_for_a_full_ring(self) -> None:
        with NetnsLab(LabConfig(io="af_xdp"), IPV4) as lab:
            assert lab.description()["net.core.wmem_default"] == "8388608"

    def test_testers_kernel_keeps_silent(self) -> None:
        with NetnsLab(LabConfig(), IPV6):
            shown = subprocess.run(
                ["ip", "-n", namespace_of_tester(), "-brief", "address", "show", "dev", "left"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            assert shown.split()[1:] == ["UP"]

    def test_failure_half_way_leaves_nothing(self) -> None:
        unreachable = LinkAddresses(
            dut=IPV4.right.dut, tester=ip_interface("203.0.113.1/24"), behind=(ip_network("198.19.128.0/17"),)
        )
        lab = NetnsLab(LabConfig(), AddressPlan(left=IPV4.left, right=unreachable))
        with pytest.raises(DutError, match="route add"):
            lab.__enter__()

    def test_interrupt_leaves_nothing(self) -> None:
        with pytest.raises(KeyboardInterrupt), NetnsLab(LabConfig(), IPV4):
            raise KeyboardInterrupt

    def test_interrupt_while_it_goes_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        remove = LabNamespaces.remove

        def remove_interrupted(self: LabNamespaces) -> None:
            ident = threading.main_thread().ident
            assert ident is not None
            signal.pthread_kill(ident, signal.SIGINT)
            remove(self)

        monkeypatch.setattr(LabNamespaces, "remove", remove_interrupted)
        with pytest.raises(KeyboardInterrupt), NetnsLab(LabConfig(), IPV4):
            pass

    def test_processes_inside_end_with_the_lab(self) -> None:
        with NetnsLab(LabConfig(), IPV4):
            inside = subprocess.Popen(["ip", "netns", "exec", namespace_of_tester(), "sleep", "600"])
            time.sleep(0.2)
        assert inside.wait(timeout=5) == -signal.SIGKILL

    def test_what_a_killed_owner_left_is_removed(self) -> None:
        code = (
            "import sys, time; from natxy.lab.netns import NetnsLab; from natxy.plan.models import LabConfig;"
            "from natxy.plan.addresses import AddressPlan; from natxy.dut.owner import Owner;"
            "from natxy.dut.registry import create; from natxy.plan.gateways import NftablesConfig;"
            "plan = AddressPlan.model_validate_json(sys.argv[1]); lab = NetnsLab(LabConfig(), plan); lab.__enter__();"
            "create(NftablesConfig(conntrack_max=777777), lab.transport, lab.interfaces, plan).apply();"
            "print(Owner.current(), flush=True); time.sleep(600)"
        )
        argv = [sys.executable, "-c", code, IPV4.model_dump_json()]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            owner = Owner.parse(process.stdout.readline().strip())
            assert MachineSysctls().read("net.netfilter.nf_conntrack_max") == "777777"
            assert LabNamespaces(owner) not in stale_labs()
            assert owner in other_labs()
            with NetnsLab(LabConfig(), IPV4) as lab:
                assert any(f"process {owner.pid}," in sentence for sentence in lab.deviations())
            process.kill()
        assert LabNamespaces(owner) in stale_labs()
        assert owner not in other_labs()
        (left,) = (finding.value for finding in probe_machine() if finding.name == "left by killed runs")
        assert LabNamespaces(owner).dut in left
        assert f"nf_conntrack_max as changed by process {owner.pid}" in left
        removed = remove_stale_labs()
        assert any(str(owner.pid) in line for line in removed)
        assert any("nf_conntrack_max" in line for line in removed)
        assert LabNamespaces(owner) not in stale_labs()


@pytest.mark.usefixtures("clean_machine")
class TestGateways:
    def test_forwarding_changes_no_address_and_tracks_nothing(self, addresses: AddressPlan) -> None:
        version = addresses.left.dut.version
        with NetnsLab(LabConfig(), addresses) as lab:
            gateway = registry.create(LinuxForwardConfig(), lab.transport, lab.interfaces, addresses)
            gateway.apply()
            gateway.wait_ready()
            assert send_one(lab, addresses) == [
                {"source": INSIDE[version], "destination": OUTSIDE[version], "port": 5555, "payload": "natxy"}
            ]
            assert lab.transport.run(["cat", "/proc/sys/net/netfilter/nf_conntrack_count"]).stdout.strip() == "0"
            assert lab.interfaces.left in gateway.describe().configuration
            gateway.remove()
            assert lab.transport.run(["sysctl", "-n", "net.ipv4.ip_forward"]).stdout.strip() == "0"

    def test_masquerade_translates_counts_and_clears(self, addresses: AddressPlan) -> None:
        version = addresses.left.dut.version
        with NetnsLab(LabConfig(), addresses) as lab:
            gateway = registry.create(NftablesConfig(), lab.transport, lab.interfaces, addresses)
            gateway.apply()
            gateway.wait_ready()
            assert gateway.count() == 0
            assert send_one(lab, addresses) == [
                {
                    "source": str(addresses.right.dut.ip),
                    "destination": OUTSIDE[version],
                    "port": 5555,
                    "payload": "natxy",
                }
            ]
            assert gateway.count() == 1
            gateway.clear()
            assert gateway.count() == 0
            gateway.remove()
            assert lab.transport.run(["nft", "list", "ruleset"]).stdout == ""

    def test_settings_are_described_as_in_force_and_given_back(self) -> None:
        before = traces()
        config = NftablesConfig(conntrack_max=543210, hash_size=131072, udp_timeout_s=301, udp_stream_timeout_s=302)
        with NetnsLab(LabConfig(), IPV4) as lab:
            gateway = registry.create(config, lab.transport, lab.interfaces, IPV4)
            gateway.apply()
            described = gateway.describe()
            assert described.settings["net.netfilter.nf_conntrack_max"] == "543210"
            assert described.settings["net.netfilter.nf_conntrack_buckets"] == "131072"
            assert described.settings["net.netfilter.nf_conntrack_udp_timeout"] == "301"
            assert described.settings["net.netfilter.nf_conntrack_udp_timeout_stream"] == "302"
            assert 'oifname "dut-right" masquerade' in described.configuration
            assert described.version.startswith("nftables v")
            gateway.remove()
            gateway.remove()
            assert traces()["conntrack_max"] == before["conntrack_max"]
            assert traces()["conntrack_buckets"] == before["conntrack_buckets"]

    def test_failed_set_up_leaves_nothing(self) -> None:
        with NetnsLab(LabConfig(), IPV4) as lab:
            gateway: Gateway[Any] = registry.create(
                NftablesConfig(conntrack_max=2**40), lab.transport, lab.interfaces, IPV4
            )
            with pytest.raises(DutError, match="nf_conntrack_max cannot be set"):
                gateway.apply()
            assert lab.transport.run(["sysctl", "-n", "net.ipv4.ip_forward"]).stdout.strip() == "0"

    def test_table_too_small_for_the_plan(self) -> None:
        with NetnsLab(LabConfig(), IPV4) as lab:
            gateway = registry.create(NftablesConfig(conntrack_max=1000), lab.transport, lab.interfaces, IPV4)
            with pytest.raises(PlanError, match="at most 1000 entries"):
                gateway.check(TableNeed(connections=1001, longest_trial_s=1))
