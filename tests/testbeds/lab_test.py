# SPDX-License-Identifier: Apache-2.0
"""Tests labs and gateways on the real kernel: they start, forward and translate, and leave nothing behind."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.cleanup.leftovers import described, give_back
from natxy.doctor.machine import THIS_MACHINE, probe_machines
from natxy.dut import registry
from natxy.dut.base import Gateway
from natxy.engine.client import EngineClient
from natxy.errors import DutError, PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.gateways.linux import (
    IptablesBackend,
    IptablesConfig,
    IptablesTarget,
    LinuxForwardConfig,
    NftablesConfig,
)
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.testbeds.lab import LabConfig
from natxy.results.analysis.receive_queues import receive_queues
from natxy.results.reader import RunReader
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.namespaces import LabNamespaces, other_labs
from tests.support import needs
from tests.support.command import HANG_S, natxy
from tests.support.lab_frames import INSIDE, IPV4, IPV6, OUTSIDE, namespace_of_tester, send_one, traces
from tests.support.timing import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.machine, needs.NAMESPACES]

# From <linux/socket.h> and <asm/unistd_64.h>; Python has no names for them.
_AF_XDP: Final = 44
_PIDFD_GETFD: Final = 438

QUEUES: Final = """
name: queues
timing: {preset: lab, trial: 100ms, max_pause: 50ms, overrun_floor: 50ms}
repeat: 1
testbed: {kind: lab, io: af_packet, queues: 2}
defaults:
  gateway: linux-forward
  procedure: throughput
  max_invalid: 50
  search: {min_rate: 4000, max_rate: 5000, error: 1000}
experiments:
  - {name: many}
"""
NATS = [
    NftablesConfig(),
    *(IptablesConfig(backend=backend, target=target) for backend in IptablesBackend for target in IptablesTarget),
    CommandConfig(
        stateful=True,
        masquerades=True,
        apply=[
            ["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
            ["nft", "add table inet mine"],
            ["nft", "add chain inet mine out { type nat hook postrouting priority srcnat; }"],
            ["nft", "flush chain inet mine out"],
            ["nft", 'add rule inet mine out oifname "{right}" masquerade'],
        ],
        remove=[["nft", "add table inet mine; delete table inet mine"]],
        clear=[["conntrack", "-F"]],
        count=["cat", "/proc/sys/net/netfilter/nf_conntrack_count"],
        describe=[["nft", "list", "ruleset"]],
    ),
]


def send_buffers(pid: int) -> list[int]:
    """Returns the sizes of the send buffers of a process's AF_XDP sockets."""
    process = os.pidfd_open(pid)
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        if (copy := ctypes.CDLL(None).syscall(_PIDFD_GETFD, process, int(name), 0)) < 0:
            continue
        if os.readlink(f"/proc/self/fd/{copy}").startswith("socket:"):
            with socket.socket(_AF_XDP, socket.SOCK_RAW, 0, copy) as own:
                if own.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == _AF_XDP:
                    found.append(own.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
        else:
            os.close(copy)
    os.close(process)
    return found


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
        with NetnsLab(LabConfig(io="af_packet", queues=2, dut_cores=[0]), IPV4) as lab:
            assert [spec.device for spec in lab.port_specs()] == [
                "net_af_packet0,iface=left,qpairs=2",
                "net_af_packet1,iface=right,qpairs=2",
            ]
            assert any("veth" in caveat.text for caveat in lab.caveats())
            mask = lab.transport.run(["cat", "/sys/class/net/dut-left/queues/rx-1/rps_cpus"]).stdout
            assert int(mask.replace(",", ""), 16) == 1

    @needs.ENGINE
    def test_what_each_queue_received_is_stored(self, tmp_path: Path) -> None:
        (tmp_path / "plan.yaml").write_text(QUEUES)
        done = natxy("run", tmp_path / "plan.yaml", "--output", tmp_path / "out")
        assert done.returncode == 0, done.stdout + done.stderr
        [experiment] = RunReader(tmp_path / "out").run.experiments
        ports = [*receive_queues(experiment)]
        assert len(ports) == 2
        # The kernel's hash, as a card's, has all four parts of the four-tuple.
        assert all(min(port.frames) > 0.3 * port.total for port in ports)

    @needs.ENGINE
    def test_af_xdp_has_a_send_buffer_for_a_full_ring_and_the_machine_keeps_its_own(self, tmp_path: Path) -> None:
        before = Path("/proc/sys/net/core/wmem_default").read_text()
        with NetnsLab(LabConfig(io="af_xdp"), IPV4) as lab, lab.engine(tmp_path / "log") as engine:
            assert isinstance(engine, EngineClient)
            assert {*send_buffers(engine.pid)} == {8 << 20}
            assert Path("/proc/sys/net/core/wmem_default").read_text() == before

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
        with pytest.raises(DutError, match="route replace"):
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
            wait_until(lambda: Path(f"/proc/{inside.pid}/comm").read_text() == "sleep\n")
        assert inside.wait(timeout=HANG_S) == -signal.SIGKILL

    def test_what_a_killed_owner_left_is_removed(self) -> None:
        code = (
            "import sys, time; from natxy.testbeds.lab import NetnsLab; from natxy.plan.written import LabConfig;"
            "from natxy.plan.model.addresses import AddressPlan; from natxy.system.process_owner import Owner;"
            "from natxy.dut.registry import create; from natxy.plan.gateways.linux import NftablesConfig;"
            "plan = AddressPlan.model_validate_json(sys.argv[1]); lab = NetnsLab(LabConfig(), plan); lab.__enter__();"
            "create(NftablesConfig(conntrack_max=777777), lab.transport, lab.interfaces, plan).apply();"
            "print(Owner.current(), flush=True); time.sleep(600)"
        )
        argv = [sys.executable, "-c", code, IPV4.model_dump_json()]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            owner = Owner.parse(process.stdout.readline().strip())
            assert MachineSysctls().read("net.netfilter.nf_conntrack_max") == "777777"
            assert owner in other_labs()
            with NetnsLab(LabConfig(), IPV4) as lab:
                assert any(f"process {owner.pid}," in caveat.text for caveat in lab.caveats())
            process.kill()
        assert owner not in other_labs()
        (left,) = (finding.value for finding in probe_machines()[THIS_MACHINE] if finding.name == "left by killed runs")
        assert LabNamespaces(owner).dut in left
        assert re.search(rf"nf_conntrack_max, which was \d+ \(process {owner.pid}\)", left)
        given_back = [described(returned.entry) for returned in give_back() if returned.problem is None]
        assert any(LabNamespaces(owner).dut in line for line in given_back)
        assert any("nf_conntrack_max" in line for line in given_back)
        assert not any(entry.process() == owner for entry in Ledger().entries())


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

    @pytest.mark.parametrize("config", NATS, ids=lambda config: config.driver)
    def test_nat_translates_counts_and_clears(self, addresses: AddressPlan, config: GatewayConfig) -> None:
        version = addresses.left.dut.version
        with NetnsLab(LabConfig(), addresses) as lab:
            gateway = registry.create(config, lab.transport, lab.interfaces, addresses)
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
            rules = gateway.describe().configuration
            gateway.apply()
            assert gateway.describe().configuration == rules
            gateway.remove()
            assert "dut-right" in rules
            assert "dut-right" not in gateway.describe().configuration

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
            # The kernel refuses this size. A plan with it would be refused earlier.
            config = NftablesConfig().model_copy(update={"conntrack_max": 2**40})
            gateway: Gateway[Any] = registry.create(config, lab.transport, lab.interfaces, IPV4)
            with pytest.raises(DutError, match="nf_conntrack_max cannot be set"):
                gateway.apply()
            assert lab.transport.run(["sysctl", "-n", "net.ipv4.ip_forward"]).stdout.strip() == "0"

    def test_table_too_small_for_the_plan(self) -> None:
        with NetnsLab(LabConfig(), IPV4) as lab:
            gateway = registry.create(NftablesConfig(conntrack_max=1000), lab.transport, lab.interfaces, IPV4)
            with pytest.raises(PlanError, match="at most 1000 entries"):
                gateway.check(TableNeed(connections=1001, endpoints=1001, remote_endpoints=1, longest_trial_s=1))
