# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.hardware import describe_hardware, parse_hardware, rss_fields
from natxy.dut.transport.base import CompletedCommand, HeldSysctls
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.system.machine_sysctls import MachineSysctls

UDP4 = """\
UDP over IPV4 flows use these fields for computing Hash flow key:
IP SA
IP DA
L4 bytes 0 & 1 [TCP/UDP src port]
L4 bytes 2 & 3 [TCP/UDP dst port]

"""
KEY = ":".join(["6d"] * 40)
TOLD = f"""
login banner: hello
=natxy= lscpu
CPU(s):                          4
  Model name:                    Some CPU @ 2.10GHz
    Thread(s) per core:          2
    Core(s) per socket:          2
    Socket(s):                   1
NUMA node(s):                    1
  NUMA node0 CPU(s):             0-3
Vulnerability Meltdown:          Not affected

=natxy= cpuinfo
model name\t: never used

=natxy= meminfo
MemTotal:        1000 kB

=natxy= cmdline
quiet isolcpus=1 \x1b[2J<script>

=natxy= mitigations
/sys/devices/system/cpu/vulnerabilities/l1tf:Not affected
/sys/devices/system/cpu/vulnerabilities/spectre_v2:Mitigation: Retpolines; STIBP: disabled
/sys/devices/system/cpu/vulnerabilities/mds:Not affected

=natxy= card eth1
driver: i40e
version: 6.1.0
firmware-version: 9.20 0x8000d8c5
bus-info: 0000:41:00.0

=natxy= speed eth1
25000

=natxy= numa eth1
0

=natxy= queues eth1
Channel parameters for eth1:
Pre-set maximums:
RX:\t\tn/a
TX:\t\tn/a
Combined:\t64
Current hardware settings:
RX:\t\tn/a
TX:\t\tn/a
Combined:\t2

=natxy= rss eth1
RX flow hash indirection table for eth1 with 2 RX ring(s):
    0:      0     1     0     1     0     1     0     1
RSS hash key:
{KEY}
RSS hash function:
    toeplitz: on
    xor: off

=natxy= udp4 eth1
{UDP4}
=natxy= udp6 eth1
UDP over IPV6 flows use these fields for computing Hash flow key:
IP SA
IP DA

=natxy= offloads eth1
Features for eth1:
rx-checksumming: on
generic-receive-offload: off
highdma: on [fixed]
large-receive-offload: off [fixed]

=natxy= card eth2
driver: veth
version: 1.0
firmware-version:
bus-info:

=natxy= speed eth2
-1

=natxy= files eth2
rx-0
rx-1
tx-0
"""


def test_machine_and_cards_are_described() -> None:
    assert parse_hardware(TOLD, ["eth1", "eth2"]) == {
        "processor": "Some CPU @ 2.10GHz",
        "cores": "4; 1 socket × 2 core a socket × 2 thread a core",
        "NUMA": "1; node0: 0-3",
        "memory": "1000 kB",
        "kernel command line": "quiet isolcpus=1 \\x1b[2J<script>",
        "mitigations": "spectre_v2: Mitigation: Retpolines; STIBP: disabled; 2 others not affected",
        "eth1 driver": "i40e 6.1.0",
        "eth1 firmware": "9.20 0x8000d8c5",
        "eth1 bus": "0000:41:00.0",
        "eth1 speed": "25000 Mbit/s",
        "eth1 NUMA node": "0",
        "eth1 queues": "2 combined",
        "eth1 RSS key": KEY,
        "eth1 RSS hash": "toeplitz",
        "eth1 RSS fields, UDP over IPv4": "sdfn",
        "eth1 RSS fields, UDP over IPv6": "sd",
        "eth1 offloads": "rx-checksumming, highdma",
        "eth2 driver": "veth 1.0",
        "eth2 queues": "2 rx, 1 tx",
    }


@pytest.mark.parametrize("text", ["", "=natxy=", "=natxy= \n", "=natxy= lscpu", "=natxy= lscpu\n::::\n:\n=natxy= x\n"])
def test_a_dut_that_tells_nothing_has_no_facts(text: str) -> None:
    assert parse_hardware(text, ["eth1"]) == {}


def test_long_values_are_cut() -> None:
    (value,) = parse_hardware(f"=natxy= cmdline\n{'x' * 100_000}\n", []).values()
    assert len(value) == 1000


@given(st.text() | st.lists(st.sampled_from(TOLD.splitlines())).map("\n".join))
def test_any_text_is_described_without_an_error(text: str) -> None:
    for value in parse_hardware(text, ["eth1", "eth2"]).values():
        assert 0 < len(value) <= 1000
        assert value.isprintable() or "\x1b" not in value


def test_fields_have_the_letters_of_ethtool() -> None:
    assert rss_fields(UDP4) == "sdfn"
    assert rss_fields(UDP4.replace("IP SA", "IP xx")) == "dfn"
    assert rss_fields("Cannot get RX network flow hashing options: Operation not supported") == ""


def test_this_machine_describes_itself() -> None:
    facts = describe_hardware(LocalTransport(MachineSysctls()), DutInterfaces("lo", "$(touch /nowhere)"))
    assert facts["memory"].endswith(" kB")
    assert facts["kernel"].startswith("Linux ")
    assert not any(name.startswith("$") for name in facts)


class Absent:
    machine: HeldSysctls
    network: HeldSysctls

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        raise DutError("the connection was lost")

    def describe(self) -> str:
        return "nowhere"


def test_a_dut_that_does_not_answer_has_no_facts() -> None:
    assert describe_hardware(Absent(), DutInterfaces("a", "b")) == {}
