# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.counting import CountWatch, CountWatches, parse_reading, rose
from natxy.dut.transport.base import CompletedCommand, HeldSysctls
from natxy.errors import DutError
from natxy.results.dut_counts import DutCounts

TABLE = """\
/proc/net/stat/nf_conntrack:entries  clashres found new invalid ignore delete chainlength insert insert_failed drop \
early_drop icmp_error  expect_new expect_create expect_delete search_restart
/proc/net/stat/nf_conntrack:0000f346  00000001 00000000 00000000 00000000 00000000 00000000 {0:08x} 00000000 {1:08x} \
{1:08x} 00000000 00000000  00000000 00000000 00000000 00000002
/proc/net/stat/nf_conntrack:0000f346  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 {1:08x} \
{1:08x} 00000000 00000000  00000000 00000000 00000000 00000000
"""


def reading(
    chains: int = 0, failed: int = 0, received: int = 0, discarded: int = 0, dropped: int = 0, missed: int = 0
) -> str:
    return f"""\
== proc
{TABLE.format(chains, failed)}\
/proc/net/stat/arp_cache:entries  allocs   destroys hash_grows lookups  hits     res_failed unresolved_discards \
table_fulls
/proc/net/stat/arp_cache:00000000  00000000 00000000 00000000 00000000 00000000 00000000 {discarded:08x} 00000000
/proc/net/snmp:Ip: Forwarding DefaultTTL InReceives InDiscards OutTransmits
/proc/net/snmp:Ip: 1 64 {received} {discarded} {received - dropped}
/proc/net/snmp:Udp: InDatagrams RcvbufErrors
/proc/net/snmp:Udp: 5 {discarded}
/proc/net/netstat:TcpExt: SyncookiesSent IPReversePathFilter
/proc/net/netstat:TcpExt: 0 {dropped}
/proc/net/snmp6:Ip6InReceives                   \t0
/proc/net/snmp6:Ip6InNoRoutes                   \t{discarded}
/proc/sys/net/netfilter/nf_conntrack_count:62270
/proc/sys/net/netfilter/nf_conntrack_max:200000
/proc/sys/net/netfilter/nf_conntrack_buckets:4096
== nft
table ip mine {{
	chain f {{
		type filter hook forward priority filter; policy accept;
		iifname "eth1" counter packets {dropped} bytes {60 * dropped} drop
		ct state new add @cnt {{ ip saddr ct count over 1000 }} drop
	}}
}}
== iptables-legacy-save
:FORWARD DROP [{dropped}:0]
== tc
qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
qdisc tbf 8001: dev eth2 root refcnt 2 rate 10Mbit burst 10Kb lat 50ms
 Sent 4510 bytes 3 pkt (dropped {dropped}, overlimits 12 requeues 0)
 backlog 0b 0p requeues 0
== ethtool-eth1
NIC statistics:
     rx_packets: 17
     rx_missed_errors: {missed}
     rx_no_buffer_count: 0
== jool
JSTAT_RECEIVED6,{received}
JSTAT_POOL4_MISMATCH,{dropped - dropped // 2}
JSTAT64_TTL,0
JSTAT_POOL4_MISMATCH,{dropped // 2}
"""


def between(before: str, after: str) -> DutCounts:
    first, second = parse_reading(before), parse_reading(after)
    assert first
    assert second
    return rose(first, second)


def test_the_table_of_connections_says_what_it_refused() -> None:
    counts = between(reading(chains=5, failed=10), reading(chains=8, failed=759))
    assert counts.rose == {"conntrack -S": {"chaintoolong": 3, "insert_failed": 1498, "drop": 1498}}
    assert (counts.connections, counts.table_size, counts.buckets) == (62270, 200_000, 4096)
    assert counts.silent_rules == ("nft ip mine f: ct state new add @cnt { ip saddr ct count over 1000 } drop",)


def test_each_part_has_its_counters_by_the_names_of_its_program() -> None:
    counts = between(reading(received=1), reading(received=501, discarded=7, dropped=11, missed=13))
    assert counts.rose == {
        "nstat": {
            "IpInReceives": 500,
            "IpInDiscards": 7,
            "IpOutTransmits": 489,
            "UdpRcvbufErrors": 7,
            "TcpExtIPReversePathFilter": 11,
            "Ip6InNoRoutes": 7,
        },
        "lnstat -f arp_cache": {"unresolved_discards": 7},
        "nft list ruleset": {'nft ip mine f: iifname "eth1" drop': 11, "iptables-legacy -P FORWARD DROP": 11},
        "tc -s qdisc": {"dropped of tbf on eth2": 11},
        "ethtool -S eth1": {"rx_missed_errors": 13},
        "jool stats display": {"POOL4_MISMATCH": 11},
    }
    lost = {rise.counter for rise in counts.losses()}
    assert {"IpInDiscards", "rx_missed_errors", "POOL4_MISMATCH"} < lost
    assert not lost & {"IpInReceives", "IpOutTransmits"}


def test_without_the_kernels_file_the_program_tells() -> None:
    line = "cpu={}   \tfound=0 invalid=0 insert=0 insert_failed={} drop=0 early_drop=0 error=0 search_restart=4 \n"
    text = "== proc\n/proc/net/snmp:Ip: InReceives\n/proc/net/snmp:Ip: 1\n== conntrack\n"
    counts = between(text + line.format(0, 1) + line.format(1, 2), text + line.format(0, 8) + line.format(1, 4))
    assert counts.rose == {"conntrack -S": {"insert_failed": 9}}
    assert counts.table_size is None


PF = """== proc
== conntrack
== pfctl
Status: Enabled for 0 days 00:12:19              Debug: err

State Table                          Total             Rate
  current entries                    {states}
  searches                          281774          381.3/s
Counters
  match                              {states}           27.1/s
  memory                                 0            0.0/s
  state-insert                           0            0.0/s
  state-limit                        {refused}           12.5/s
  translate                              0            0.0/s
"""


def test_pf_tells_why_it_dropped_frames() -> None:
    counts = between(PF.format(states=10, refused=7), PF.format(states=4000, refused=107))
    assert counts.rose == {"pfctl -si": {"state-limit": 100}}
    assert [rise.text() for rise in counts.losses()] == ["state-limit rose by 100 in `pfctl -si`"]


def test_what_was_reset_or_is_new_did_not_rise() -> None:
    assert between(reading(failed=9, missed=3), reading(failed=1)).rose == {}
    without = "\n".join(line for line in reading(missed=9).splitlines() if "eth" not in line and "rx_" not in line)
    assert between(without, reading(missed=9)).rise("ethtool -S eth1", "rx_missed_errors") == 0


@pytest.mark.parametrize("text", ["", "sh: not found", "== proc\n", "== nft\ntable ip a {\n"])
def test_a_dut_that_is_not_linux_has_no_reading(text: str) -> None:
    assert parse_reading(text) is None


@given(st.text(alphabet="=proc /netsamp:Ip0123456789abcdefx\n\t(),{}dropped", max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_reading(f"== proc\n{text}\n== nft\n{text}\n== tc\n{text}\n== ethtool-a\n{text}\n== jool\n{text}")


def test_numbers_without_end_are_no_numbers() -> None:
    longest = "9" * 5000
    text = reading().replace("InReceives InDiscards", "InReceives InDiscards").replace("1 64 0 0", f"1 64 {longest} 0")
    found = parse_reading(text.replace("count:62270", f"count:{longest}"))
    assert found is not None
    assert "IpInReceives" not in found.counters["nstat"]
    assert "connections" not in found.sizes


class Dut:
    """A DUT whose command prints the texts, one after the other; an empty one is a lost connection."""

    machine: HeldSysctls
    network: HeldSysctls

    def __init__(self, *texts: str) -> None:
        self.texts = [*texts]
        self.asked: list[Sequence[str]] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.asked.append(argv)
        text = self.texts.pop(0)
        if not text:
            raise DutError("the connection was lost")
        return CompletedCommand(tuple(argv), 0, text, "")

    def describe(self) -> str:
        return "a test"


def test_one_command_before_and_one_after_a_trial() -> None:
    dut = Dut(reading(), reading(failed=2))
    watch = CountWatch(dut, DutInterfaces("eth1", "eth2"))
    watch.begin()
    counts = watch.end()
    assert counts is not None
    assert counts.rise("conntrack -S", "insert_failed") == 4
    assert [argv[-2:] for argv in dut.asked] == [["eth1", "eth2"]] * 2


def test_a_dut_that_did_not_answer_has_no_counts() -> None:
    for texts in (("", reading()), (reading(), "")):
        watch = CountWatch(Dut(*texts), DutInterfaces("eth1", "eth2"))
        watch.begin()
        assert watch.end() is None


def test_devices_of_dpdk_are_no_interfaces_of_the_kernel() -> None:
    dut = Dut(reading())
    CountWatch(dut, DutInterfaces("net_a", "net_b", dpdk=True)).begin()
    assert dut.asked[0][-1] == "sh"


def test_counters_of_several_gateways_are_added_up() -> None:
    duts = [Dut(reading(), reading(failed=2, discarded=3)), Dut(reading(), reading(failed=5, discarded=3))]
    watches = CountWatches([CountWatch(dut, DutInterfaces("eth1", "eth2")) for dut in duts])
    watches.begin()
    counts = watches.end()
    assert counts is not None
    assert counts.rise("conntrack -S", "insert_failed") == 2 * (2 + 5)
    # The neighbours' table is the whole machine's.
    assert counts.rise("lnstat -f arp_cache", "unresolved_discards") == 3
    assert (counts.connections, counts.table_size) == (62270, 200_000)


def test_nothing_is_counted_where_one_of_several_does_not_answer() -> None:
    duts = [Dut(reading(), reading()), Dut(reading(), "")]
    watches = CountWatches([CountWatch(dut, DutInterfaces("eth1", "eth2")) for dut in duts])
    watches.begin()
    assert watches.end() is None
