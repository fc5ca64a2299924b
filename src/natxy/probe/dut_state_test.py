# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_address
from typing import Final

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.engine.messages.common import Side
from natxy.errors import DutError
from natxy.probe.dut_state import parse_state, read_default_routes, read_dut, read_seen_as
from natxy.probe.observed import Interface, Route
from natxy.system.machine_sysctls import MachineSysctls

# As a Debian 12 printed it; shortened.
ANSWERS: Final = """\
== system
Linux
== counters
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo: 1224265   10998    0    0    0     0          0         0  1224265   10998    0    0    0     0       0
d-left: 838474556   17277    0    0    0     0          0         0   817451    9807    0    0    0     0       0
d-right:       0       0    0    0    0     0          0         0        0       1    0    0    0     0       0
== links
d-left 02:fc:00:00:00:01 1
d-right 86:6d:ac:45:67:64 0
lo 00:00:00:00:00:00 1
tun0  1
== defaults
default via 10.0.0.2 dev d-left
default via fd00::1 dev d-right metric 1024 pref medium
== forwards-4
1
== forwards-6
0
== netstat
TcpExt: SyncookiesSent IPReversePathFilter TCPTimeWaitOverflow
TcpExt: 7 23 9
IpExt: InNoRoutes
IpExt: 0
== strict
all 0
d-left 1
d-right 2
== back-left
10.0.0.0/24 dev mgmt scope link
== route-left
default via 198.19.0.2 dev d-left
== route-right
RTNETLINK answers: Invalid cross-device link
RTNETLINK answers: Invalid cross-device link
== nft
table inet filter {
\tchain input {
\t\ttype filter hook input priority filter; policy drop;
\t\tip saddr 192.0.2.1 drop
\t}
\tchain forward {
\t\ttype filter hook forward priority filter; policy drop;
\t\tiifname "d-left" counter packets 16 bytes 1024 drop
\t\tct state established accept
\t\tjump more
\t}
\tchain more {
\t\tudp dport 80 reject with icmpx admin-prohibited
\t}
}
== iptables-save
*filter
:INPUT DROP [1:40]
:FORWARD DROP [12:720]
[3:180] -A FORWARD -i d-left -p udp -j REJECT --reject-with icmp-port-unreachable
[9:540] -A FORWARD -i d-left -j ACCEPT
[5:300] -A INPUT -i d-left -j DROP
COMMIT
== ip6tables-save
== features-d-left
Features for d-left:
generic-receive-offload: on
large-receive-offload: on
rx-gro-list: off
rx-udp-gro-forwarding: on
== features-d-right
generic-receive-offload: on
large-receive-offload: off [fixed]
"""


def test_a_linux_dut() -> None:
    state = parse_state(ANSWERS)
    assert state is not None
    assert state.interfaces == {
        "d-left": Interface("02:fc:00:00:00:01", True, 17277, 9807),
        "d-right": Interface("86:6d:ac:45:67:64", False, 0, 1),
        "lo": Interface("00:00:00:00:00:00", True, 10998, 10998),
    }
    assert state.default_routes == ("d-left", "d-right")
    assert state.forwards == {4: True, 6: False}
    assert state.path_filter_drops == 23
    assert state.strict == ("d-left",)
    assert state.routes_back == {Side.LEFT: Route("mgmt")}
    assert state.routes == {
        Side.LEFT: Route("d-left", by_default=True),
        Side.RIGHT: Route(error="Invalid cross-device link"),
    }
    assert state.drops == {
        "nft inet filter forward: policy drop": None,
        'nft inet filter forward: iifname "d-left" drop': 16,
        "nft inet filter more: udp dport 80 reject with icmpx admin-prohibited": None,
        "iptables -P FORWARD DROP": 12,
        "iptables -A FORWARD -i d-left -p udp -j REJECT --reject-with icmp-port-unreachable": 3,
    }
    assert state.merging == {"d-left": ("rx-udp-gro-forwarding", "lro"), "d-right": ()}


@pytest.mark.parametrize("answers", ["", "== system\nOpenBSD\n== counters\n", "a shell that prints a banner"])
def test_another_system_has_no_state(answers: str) -> None:
    assert parse_state(answers) is None


def test_parts_that_are_missing_are_facts_that_are_missing() -> None:
    state = parse_state("== system\nLinux\n== counters\n== netstat\nTcpExt: A B\nTcpExt: 1\n")
    assert state is not None
    assert (state.interfaces, state.forwards, state.path_filter_drops, state.routes) == ({}, {}, 0, {})


@pytest.mark.parametrize(
    "answer",
    [
        "== counters\na: 0 MANY 0 0 0 0 0 0 0 MANY\n== links\na 02:00:00:00:00:01 1\n",
        "== netstat\nTcpExt: IPReversePathFilter\nTcpExt: MANY\n",
        "== netstat\nTcpExt: IPReversePathFilter\nTcpExt: some\n",
        "== nft\ntable ip a {\nchain b {\ncounter packets MANY bytes 0 drop\n",
        "== iptables-save\n:FORWARD DROP [MANY:0]\n[MANY:0] -A FORWARD -j DROP\n",
    ],
)
def test_numbers_that_no_kernel_counts_to_are_no_error(answer: str) -> None:
    state = parse_state(f"== system\nLinux\n{answer.replace('MANY', '9' * 5000)}")
    assert state is not None
    assert state.path_filter_drops == 0
    assert not any(state.drops.values())
    assert not any(each.received or each.sent for each in state.interfaces.values())


def test_texts_of_the_dut_are_short_and_plain() -> None:
    long = "x" * 9000
    state = parse_state(
        f"== system\nLinux\n== nft\ntable ip {long} {{\nchain b {{\nip saddr \x1b[31m drop\n"
        f"== iptables-save\n[1:0] -A FORWARD --comment {long} -j DROP\n"
        f"== route-left\nRTNETLINK answers: {long}\n== route-right\nunicast 10.0.0.0/8 dev {long}\n"
    )
    assert state is not None
    assert len(state.drops) == 2
    for text in (*state.drops, state.routes[Side.LEFT].error):
        assert len(text) <= 201
        assert text.isprintable()
    assert Side.RIGHT not in state.routes


def test_this_machine_answers_every_question() -> None:
    here = LocalTransport(MachineSysctls())
    state = read_dut(here, DutInterfaces("lo", "lo"), ip_address("127.0.0.1"), ip_address("127.0.0.2"))
    assert state is not None
    assert state.interfaces["lo"].up
    assert set(state.forwards) <= {4, 6}
    assert 4 in state.forwards


CONNTRACK: Final = """\
udp      17 29 src=10.0.0.2 dst=198.19.0.2 sport=1024 dport=1 [UNREPLIED] src=198.19.0.2 dst=198.19.0.1 sport=1 \
dport=1024 mark=0 use=1
"""


class Printing(LocalTransport):
    def __init__(self, text: str) -> None:
        super().__init__(MachineSysctls())
        self._text = text

    def run(self, *_: object, **__: object) -> CompletedCommand:
        return CompletedCommand((), 0, self._text, "")


@pytest.mark.parametrize(
    ("printed", "source"),
    [
        (CONNTRACK, "198.19.0.1"),
        (CONNTRACK.replace("198.19.0.1", "10.0.0.2"), "10.0.0.2"),
        (CONNTRACK.replace("198.19.0.1", "::::"), None),
        ("", None),
    ],
)
def test_the_source_of_a_connection_behind_the_gateway(printed: str, source: str | None) -> None:
    found = read_seen_as(Printing(printed), ip_address("10.0.0.2"), ip_address("198.19.0.2"))
    assert found == (source and ip_address(source))


class Silent(LocalTransport):
    def run(self, *_: object, **__: object) -> CompletedCommand:
        raise DutError("the connection was lost")


def test_a_dut_that_does_not_answer_has_no_state() -> None:
    silent = Silent(MachineSysctls())
    assert read_dut(silent, DutInterfaces("a", "b"), ip_address("::1"), ip_address("::2")) is None
    assert read_default_routes(silent).default_routes == ()
    assert read_seen_as(silent, ip_address("::1"), ip_address("::2")) is None
