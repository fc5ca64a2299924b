# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path

import pytest

from natxy.dut.linux.conntrack import ConntrackTable
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError, PlanError
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways.base import TableNeed
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls

pytestmark = pytest.mark.usefixtures("virtual_time")

NETWORKS = (ip_network("198.18.0.0/15"),)
OF_TEST = "udp      17 29 src=198.18.0.2 dst=198.19.0.2 sport=1 dport=2 src=198.19.0.2 dst=198.19.0.1 sport=2 dport=1\n"
OF_ITS_OWN = "tcp      6 300 ESTABLISHED src=192.0.2.2 dst=192.0.2.1 sport=3 dport=22 src=192.0.2.1 dst=192.0.2.2\n"


class MadeUpDut:
    """A transport to a DUT on which each flush leaves the next of `counts` entries, `own` of them the DUT's own."""

    def __init__(self, folder: Path, counts: Sequence[int] = (0,), own: int = 0) -> None:
        self.machine = MachineSysctls(Ledger(folder), root=folder)
        self.network = OwnSysctls(self)
        self.sysctls = {
            "net.netfilter.nf_conntrack_max": 1000,
            "net.netfilter.nf_conntrack_buckets": 1024,
            "net.netfilter.nf_conntrack_udp_timeout": 30,
            "net.netfilter.nf_conntrack_udp_timeout_stream": 120,
            "net.netfilter.nf_conntrack_tcp_timeout_syn_sent": 120,
            "net.netfilter.nf_conntrack_tcp_timeout_syn_recv": 60,
            "net.netfilter.nf_conntrack_tcp_timeout_established": 432_000,
            "net.netfilter.nf_conntrack_tcp_timeout_unacknowledged": 300,
            "net.netfilter.nf_conntrack_count": 0,
        }
        self.flushes = 0
        self.commands: list[str] = []
        self._counts = counts
        self._own = own

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        output = ""
        self.commands.append(argv[0])
        match list(argv):
            case ["sysctl", "-n", name]:
                output = f"{self.sysctls[name]}\n"
            case ["sysctl", "-qw", assignment]:
                name, _, value = assignment.partition("=")
                self.sysctls[name] = int(value)
            case ["conntrack", "-F"]:
                self.flushes += 1
            case ["cat", "/proc/sys/net/netfilter/nf_conntrack_count"]:
                output = f"{self._entries}\n"
            case ["conntrack", "-L", "-f", "ipv4"]:
                output = OF_ITS_OWN * self._own + OF_TEST * (self._entries - self._own)
            case ["conntrack", "-L", "-f", "ipv6"]:
                output = ""
            case _:
                raise AssertionError(argv)
        return CompletedCommand(tuple(argv), 0, output, "")

    @property
    def _entries(self) -> int:
        return self._counts[min(self.flushes, len(self._counts)) - 1]

    def describe(self) -> str:
        return "made up"


def test_a_description_holds_nothing_that_changes_by_itself(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path)
    before = ConntrackTable(dut, NETWORKS).describe()
    dut.sysctls["net.netfilter.nf_conntrack_count"] = 17
    assert ConntrackTable(dut, NETWORKS).describe() == before


def test_timeouts_are_set_and_given_back(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path)
    before = dict(dut.sysctls)
    table = ConntrackTable(
        dut, NETWORKS, udp_timeout_s=300, udp_stream_timeout_s=600, tcp_timeouts_s=[("established", 900)]
    )
    table.apply()
    assert table.describe()["net.netfilter.nf_conntrack_udp_timeout"] == "300"
    assert table.describe()["net.netfilter.nf_conntrack_udp_timeout_stream"] == "600"
    assert table.describe()["net.netfilter.nf_conntrack_tcp_timeout_established"] == "900"
    table.remove()
    assert dut.sysctls == before


def test_removing_takes_no_time_for_entries_that_go_with_the_dut(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path)
    ConntrackTable(dut, NETWORKS).remove()
    assert dut.flushes == 0


def test_clear_flushes_again_when_an_entry_came_after_the_flush(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path, counts=[3, 0])
    ConntrackTable(dut, NETWORKS).clear()
    assert dut.flushes == 2


def test_every_clear_but_the_first_is_a_flush_and_its_verification(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path)
    table = ConntrackTable(dut, NETWORKS)
    table.clear()
    dut.commands.clear()
    table.clear()
    assert dut.commands == ["conntrack", "cat"]


def test_table_that_does_not_become_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConntrackTable, "most_flushes", 2)
    with pytest.raises(DutError, match="still holds 7 entries after 2 times"):
        ConntrackTable(MadeUpDut(tmp_path, counts=[7]), NETWORKS).clear()


def test_check_takes_what_the_plan_sets_before_what_the_dut_has(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path)
    need = TableNeed(connections=5000, endpoints=5000, remote_endpoints=1, longest_trial_s=200)
    with pytest.raises(PlanError, match=r"at most 1000 entries .* conntrack_max to at least 5000"):
        ConntrackTable(dut, NETWORKS).check(need)
    with pytest.raises(PlanError, match="udp_timeout_s to at least 201"):
        ConntrackTable(dut, NETWORKS, maximum=5000).check(need)
    with pytest.raises(PlanError, match="udp_stream_timeout_s to at least 201"):
        ConntrackTable(dut, NETWORKS, maximum=5000, udp_timeout_s=201).check(need)
    ConntrackTable(dut, NETWORKS, maximum=5000, udp_timeout_s=201, udp_stream_timeout_s=201).check(need)


def test_connections_of_tcp_need_timeouts_of_tcp(tmp_path: Path) -> None:
    need = TableNeed(connections=5, endpoints=5, remote_endpoints=1, longest_trial_s=90, protocol=Protocol.TCP)
    dut = MadeUpDut(tmp_path)
    with pytest.raises(PlanError, match=r"tcp_timeouts_s.syn_recv to at least 91"):
        ConntrackTable(dut, NETWORKS).check(need)
    ConntrackTable(dut, NETWORKS, tcp_timeouts_s=[("syn_recv", 91)]).check(need)


def test_a_table_is_empty_that_holds_only_connections_of_the_duts_own(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path, counts=[3, 2], own=2)
    ConntrackTable(dut, NETWORKS).clear()
    assert dut.flushes == 2
