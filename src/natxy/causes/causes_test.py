# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.causes.causes import explain, explain_capacity
from natxy.engine.messages.results import (
    Cause,
    StreamResult,
    Verdict,
)
from natxy.results.dut_counts import DutCounts
from natxy.results.dut_load import CoreLoad, DutLoad, InterfaceLoad
from natxy.results.trials import Purpose, TrialKind, TrialRecord
from tests.support.failed_trials import FOUR_HOSTS, ONE_HOST, connections, experiment, record, stream

RULE = "nft ip mine f: ct state new add @cnt { ip saddr ct count over 1000 } drop"


def test_hash_chains_that_are_too_long() -> None:
    sizes = {"buckets": 4096, "connections": 147_600, "table_size": 300_000}
    trials = [
        connections(rate, 200_000, lost, {"chaintoolong": lost, "insert_failed": lost, "drop": lost}, **sizes)
        for rate, lost in ((24_990, 52_313), (20_000, 52_385))
    ]
    assert explain(experiment(60_000), trials) == (
        "netfilter refuses connections whose hash chain is too long, from 50 entries on (chaintoolong rose by 52,385 "
        "in `conntrack -S`): 200,000 connections are 97.7 entries a bucket in a table of 4,096 buckets; raise the "
        "gateway's `hash_size` (nf_conntrack_buckets) to 200,000 or more; a larger table alone does not help"
    )


def _interfaces(came: int, left: int, lost: dict[str, int] | None = None) -> DutLoad:
    return DutLoad(
        elapsed_s=1, cores=(),
        interfaces=(
            InterfaceLoad(name="eth1", received=came, sent=0, lost=lost or {}),
            InterfaceLoad(name="eth2", received=0, sent=left),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("came", "left", "words"),
    [
        (9_000, 9_000, "1,000 frames do not come to the DUT's interfaces"),
        (10_000, 10_000, "1,000 frames leave the DUT's interfaces and do not come to the tester"),
    ],
)
def test_what_is_lost_between_tester_and_dut(came: int, left: int, words: str) -> None:
    trials = [record(rate, stream("forward", 10_000, 1000, rate), load=_interfaces(came, left)) for rate in (500, 2000)]
    found = explain(experiment(), trials)
    assert f": {words}, and no card counts them: a card, the switch or a cable between" in found


def test_frames_that_came_too_late_are_not_between() -> None:
    late = stream("forward", 10_000, 1000, 1000).model_copy(update={"timed_out": 990})
    assert "no card counts them" not in explain(experiment(), [record(1000, late, load=_interfaces(10_000, 10_000))])


def test_a_gateway_that_bypasses_the_kernel_has_no_interfaces_that_count() -> None:
    trials = [record(rate, stream("forward", 10_000, 9_990, rate), load=_interfaces(0, 0)) for rate in (500, 2000)]
    assert "no card counts them" not in explain(experiment(), trials)


def test_frames_whose_length_a_card_refuses() -> None:
    counts = DutCounts(rose={"ethtool -S eth1": {"rx_length_errors": 1000}})
    load = _interfaces(9_000, 9_000, {"rx_errors": 1000})
    trials = [record(rate, stream("forward", 10_000, 1000, rate), load=load, counts=counts) for rate in (500, 2000)]
    assert "the frames are too long for a link of the DUT (rx_length_errors rose by 1,000" in explain(
        experiment(), trials
    )


def test_what_the_dut_itself_loses_is_not_between() -> None:
    trials = [record(rate, stream("forward", 10_000, 1000, rate), load=_interfaces(10_000, 9_000)) for rate in (5, 20)]
    assert "no card counts them" not in explain(experiment(), trials)


def test_frames_that_come_damaged() -> None:
    counts = DutCounts(rose={"ethtool -S eth1": {"rx_crc_errors": 1000}})
    load = _interfaces(9_000, 9_000, {"rx_errors": 1000})
    trials = [record(rate, stream("forward", 10_000, 1000, rate), load=load, counts=counts) for rate in (500, 2000)]
    assert explain(experiment(), trials).endswith(
        ": frames come to the DUT's card damaged (rx_crc_errors rose by 1,000 in `ethtool -S eth1`); replace the cable "
        "or its transceivers, and compare the speed and duplex of both ends (`ethtool`)"
    )


def test_the_first_frames_of_what_a_gateway_has_to_learn() -> None:
    rule = "nft ip learn f: add @seen { ip saddr } drop"
    trials = [
        record(
            rate, *(stream(name, rate // 10, 4, rate, (0.0, 16 / rate)) for name in ("forward", "reverse")),
            counts=DutCounts(silent_rules=(rule,)),
        )
        for rate in (60_000, 25_903, 5000)
    ]  # fmt: skip
    assert explain(experiment(), trials) == (
        "as many frames are lost at every rate from 5 kfps to 60 kfps, so the loss does not depend on the rate: 4 "
        "frames each way are lost in the first 3.2 ms of a trial and none later: the gateway loses the first frames of "
        f"flows, hosts or neighbours that it has yet to learn, or a rule of its filter drops them (`{rule}`); let it "
        "keep what it has learnt for longer than the pause between trials, send traffic that is not counted before "
        "each trial (`timing: {warm_up: 100ms}`), use fewer hosts or flows, or allow this loss with `loss_tolerance`"
    )


def test_what_is_kept_at_some_rates_alone_is_no_limit() -> None:
    trials = [connections(rate, 20_000, lost) for rate, lost in ((40_000, 12_000), (10_000, 3000), (1000, 5000))]
    assert "and no more" not in explain(experiment(20_000), trials)
    assert "and no more" not in explain(experiment(20_000), [connections(1000, 20_000, 12_000)])


@pytest.mark.parametrize(
    ("kept", "is_limit"), [((100, 98), True), ((98, 100), True), ((100, 90), False), ((16, 15), False)]
)
def test_a_small_limit_is_told_although_a_frame_or_two_are_lost_by_accident(
    kept: tuple[int, int], *, is_limit: bool
) -> None:
    trials = [connections(rate, 2000, 2000 - each) for rate, each in zip((8000, 2000), kept, strict=True)]
    assert (f"keeps {max(kept)} connections and no more" in explain(experiment(2000), trials)) == is_limit


def test_what_is_kept_at_one_rate_may_be_the_rates() -> None:
    found = explain(experiment(20_000), [connections(9000, 20_000, 12_000)] * 3)
    assert "or it limits the connections of a host, or the rate is too high for it; enlarge" in found
    assert "lower the rate of phase 1" in found


@pytest.mark.parametrize("rose", [{"drop": 12_000}, {"early_drop": 12_000}])
def test_a_full_table(rose: dict[str, int]) -> None:
    sizes = {"connections": 8000, "table_size": 8000, "buckets": 8192}
    trials = [connections(rate, 20_000, 12_000, rose, **sizes) for rate in (1000, 4000)]
    assert "the connection tracking table is full: 8,000 of 8,000 entries" in explain(experiment(20_000), trials)
    # A table with room is not full, whatever else it dropped.
    room = [connections(rate, 20_000, 12_000, rose, **(sizes | {"connections": 100})) for rate in (1000, 4000)]
    assert "table is full:" not in explain(experiment(20_000), room)


def traffic(rate: float, lost: int, **over: Any) -> TrialRecord:
    return record(rate, *(stream(name, int(rate), lost, rate) for name in ("forward", "reverse")), **over)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (
            {"foreign": {"icmp_fragmentation_needed": 40}},
            "the frames are too long for a link of the DUT (40 ICMP errors",
        ),
        ({"foreign": {"icmpv6_unreachable": 40}}, "the gateway answers with 40 ICMP errors, unreachable; look at its"),
        (
            {"counts": DutCounts(rose={"nstat": {"IpFragFails": 200}})},
            "too long for a link of the DUT (IpFragFails rose by 200 in `nstat`); raise the MTU",
        ),
        (
            {"counts": DutCounts(rose={"nstat": {"Ip6InNoRoutes": 200}})},
            "the DUT has no route for the frames, or refuses their addresses (Ip6InNoRoutes rose by 200 in `nstat`)",
        ),
        (
            {"counts": DutCounts(rose={"tc -s qdisc": {"dropped of tbf on eth2": 200}})},
            "a rate limiter lets about 900 fps pass (dropped of tbf on eth2 rose by 200 in `tc -s qdisc`)",
        ),
        (
            {"counts": DutCounts(rose={"nft list ruleset": {"nft ip a f: udp drop": 200}})},
            "a filter of the gateway drops the frames: the rule `nft ip a f: udp drop` counted 200; let the frames",
        ),
        (
            {
                "counts": DutCounts(
                    rose={"nstat": {"IpInReceives": 2000, "IpOutTransmits": 1800}}, silent_rules=("nft ip a f: drop",)
                )
            },
            "did not send 200 of them on, and it has a rule that drops without counting (`nft ip a f: drop`)",
        ),
        (
            {"counts": DutCounts(rose={"lnstat -f arp_cache": {"unresolved_discards": 200}})},
            "did not know the MAC addresses of neighbours (unresolved_discards rose by 200 in `lnstat -f arp_cache`)",
        ),
        (
            {"counts": DutCounts(rose={"ethtool -S eth1": {"rx_missed_errors": 200}})},
            "before its gateway has seen them (rx_missed_errors rose by 200 in `ethtool -S eth1`): it is too slow",
        ),
        (
            {"counts": DutCounts(rose={"jool stats display": {"POOL4_MISMATCH": 200}})},
            "the DUT counted them: POOL4_MISMATCH rose by 200 in `jool stats display`; look up",
        ),
        (
            {"foreign": {"wrong_softwire": 190, "headers_in_softwire": 10}},
            "190 of the missing frames came through in a softwire whose ends are not those of their inner addresses "
            "and ports and 10 with a header between their two IP headers; compare the gateway's mapping rule",
        ),
        (
            {"foreign": {"headers_in_softwire": 200}},
            "with a header between their two IP headers; switch the tunnel's encapsulation limit off (`encaplimit",
        ),
        (
            {"foreign": {"spent_hop_limit": 200}},
            "with an outer hop limit of 1 or 0, with which no router forwards them; let the gateway set the hop limit",
        ),
        (
            {"foreign": {"outside_port_set": 190, "wrong_mapping": 10}},
            "190 of the missing frames came through with a port that their subscriber does not have and 10 with IPv6 "
            "addresses that are not those of their subscriber's address and port and of a host behind the prefix; "
            "compare the ports of the gateway's NAT",
        ),
        ({"foreign": {"not_mapped": 200}}, "came through as plain IPv4; look at the gateway's rules and routes to its"),
        ({"foreign": {"not_in_softwire": 200}}, "200 of the missing frames came through as plain IPv4; look at the"),
    ],
)
def test_what_the_dut_and_its_answers_tell(over: dict[str, Any], words: str) -> None:
    found = explain(experiment(), [traffic(1000, 100, **over)])
    assert words in found


def test_an_icmp_error_or_two_may_be_of_something_else() -> None:
    assert explain(experiment(), [traffic(1000, 100, foreign={"icmp_unreachable": 2, "icmpv6_other": 90})]) == ""


def test_the_queue_of_a_core_that_is_full_at_the_lowest_rate() -> None:
    core = CoreLoad(
        core=1, busy_s=1, user_s=0, system_s=0, softirq_s=0, irq_s=0, steal_s=0, idle_s=0, dropped=200
    )  # fmt: skip
    found = explain(experiment(), [traffic(1000, 100, load=DutLoad(elapsed_s=1, cores=(core,)))])
    assert "before its gateway has seen them (`dropped` of the cores' queues rose by 200" in found


def test_frames_that_come_through_wrong() -> None:
    wrong = [stream(name, 1000, 100, 1000, corrupt=100) for name in ("forward", "reverse")]
    assert "200 of the missing frames came through with a wrong checksum or length; switch" in explain(
        experiment(), [record(1000, *wrong)]
    )
    elsewhere = [stream(name, 1000, 100, 1000, misrouted=100) for name in ("forward", "reverse")]
    assert "200 of the missing frames came through with other addresses or ports" in explain(
        experiment(), [record(1000, *elsewhere)]
    )


@pytest.mark.parametrize(("kind", "which"), [("ipv4_fragment", "inner"), ("ipv6_fragment", "outer")])
def test_fragments_from_an_end_of_a_softwire(kind: str, which: str) -> None:
    core = experiment(gateway={"driver": "chain", "gateways": ["tester", "softwire"]}, testbed={"kind": "lab"})
    trial = record(1000, stream("reverse", 1000, 100, 1000), foreign={kind: 200})
    assert f"200 fragments of the {which} packets come through in their place; raise the MTU" in explain(core, [trial])


def test_a_gateway_with_a_rate_of_its_own() -> None:
    trials = [traffic(rate, rate - 800) for rate in (16_000, 4000, 1000)]
    found = explain(experiment(), trials)
    assert found.startswith("the loss grows with the rate: 20 % at 1 kfps, 95 % at 16 kfps: about 800 fps come through")
    limit = DutCounts(silent_rules=("nft ip a f: limit rate over 800/second drop",))
    limited = explain(experiment(), [traffic(rate, rate - 800, counts=limit) for rate in (16_000, 4000, 1000)])
    assert "a rate limiter lets about 800 fps pass (`nft ip a f: limit rate over 800/second drop`)" in limited


def test_more_is_lost_the_lower_the_rate_is() -> None:
    trials = [record(rate, stream("forward", 50_000, lost, rate)) for rate, lost in ((5000, 2500), (500, 40_000))]
    assert explain(experiment(), trials).startswith(
        "more frames are lost the lower the rate is: 80 % at 500 fps, 5 % at 5 kfps"
    )


def test_one_direction_alone() -> None:
    def trial(rate: int, arrived: int) -> TrialRecord:
        return record(rate, stream("forward", 1000, 0, rate), stream("reverse", 1000, 1000 - arrived, rate))

    found = explain(experiment(), [trial(1000, 0), trial(4000, 0)])
    assert "nothing arrives in the direction reverse alone; look at the gateway's routes" in found
    assert "frames are lost in the direction reverse alone" in explain(experiment(), [trial(1000, 500)])


def test_frames_that_are_lost_at_the_end() -> None:
    trials = [record(rate, stream("forward", rate, 30, rate, (0.97, 0.999))) for rate in (1000, 4000)]
    assert explain(experiment(), trials).endswith("frames are lost only after the first 970 ms of a trial")


def test_what_is_no_failure_of_the_gateway_is_not_explained() -> None:
    lost = stream("forward", 1000, 100, 1000)
    assert explain(experiment(), []) == ""
    assert explain(experiment(), [record(1000, lost, verdict=Verdict.INVALID, cause=Cause.PAUSED)]) == ""
    assert explain(experiment(), [record(1000, lost, cause=Cause.BACK_PRESSURE)]) == ""
    assert explain(experiment(), [record(1000, stream("forward", 1000, 100, 1000, unsent=100))]) == ""


def test_a_phase_1_that_prepares_is_explained_for_itself() -> None:
    prepared = record(
        1000, stream("phase 1", 1000, 500, 1000), kind=TrialKind.PHASE1, purpose=Purpose.PREPARE,
        counts=DutCounts(rose={"conntrack -S": {"chaintoolong": 500}}, buckets=64),
    )  # fmt: skip
    assert "31.2 entries a bucket" in explain(experiment(1000), [prepared], Purpose.PREPARE)
    assert explain(experiment(1000), [prepared]) == ""


STATELESS = experiment()
STATEFUL = experiment(10_000)
names = st.sampled_from(["insert_failed", "drop", "chaintoolong", "early_drop", "IpInNoRoutes", "dropped"])
places = st.sampled_from(["conntrack -S", "nstat", "tc -s qdisc", "nft list ruleset", "ethtool -S a", "lnstat -f a"])
counts = st.builds(
    DutCounts,
    rose=st.dictionaries(places, st.dictionaries(names, st.integers(1, 10_000))),
    connections=st.none() | st.integers(0, 10_000),
    table_size=st.none() | st.integers(0, 10_000),
    buckets=st.none() | st.integers(0, 10_000),
    silent_rules=st.lists(st.text(max_size=30), max_size=3).map(tuple),
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([TrialKind.PHASE1, TrialKind.TRAFFIC]), st.floats(1, 1e6), st.integers(1, 9999), counts
        )
    )
)
def test_whatever_failed_is_explained_without_an_error(drawn: list[tuple[TrialKind, float, int, DutCounts]]) -> None:
    trials = [
        record(rate, stream("forward", 10_000, lost, rate, (0, 0.5)), kind=kind, counts=counted)
        for kind, rate, lost, counted in drawn
    ]
    for each in (STATELESS, STATEFUL):
        found = explain(each, trials)
        assert found == found.strip()
        assert not found.endswith((":", ";"))


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"silent_rules": (RULE,)}, "the gateway keeps 1,000 connections and no more, 1,000 each of 1 host: a rule of"),
        ({"rose": {"chaintoolong": 1003}, "buckets": 64}, "netfilter refuses connections whose hash chain is too long"),
        # This is what such a search looks for.
        ({"rose": {"drop": 1003}, "connections": 1000, "table_size": 1000}, ""),
        ({}, ""),
    ],
)
def test_a_capacity_that_is_not_the_tables(over: dict[str, Any], words: str) -> None:
    # Each number that failed was tried several times; the last ones lost few.
    tried = [(2000, 1003, over), (2000, 1003, over), (1250, 250, over | {"rose": {}})]
    trials = [connections(400, planned, lost, **given) for planned, lost, given in tried]
    procedure = {"name": "table-capacity", "initial_connections": 500, "max_connections": 20_000}
    found = explain_capacity(experiment(procedure=procedure, addresses=ONE_HOST), trials)
    assert found.startswith(words)
    assert bool(found) == bool(words)


@pytest.mark.parametrize(
    ("hosts", "held", "rules", "words"),
    [
        (
            ONE_HOST,
            (1000, 1000, 997, 992),
            (RULE,),
            f"the gateway keeps 1,000 connections and no more, 1,000 each of 1 host: a rule of its filter limits them "
            f"(`{RULE}`); use more hosts (`left_hosts`), ask for fewer `connections`, or raise the limit",
        ),
        (
            FOUR_HOSTS,
            (4000, 4000, 3990, 4000),
            (),
            "the gateway keeps 4,000 connections and no more, 1,000 each of 4 hosts: its table is full, or it limits "
            "the connections of a host; enlarge the gateway's table, use more hosts (`left_hosts`), or ask for fewer "
            "`connections`",
        ),
    ],
)
def test_a_limit_of_connections(
    hosts: dict[str, Any], held: tuple[int, ...], rules: tuple[str, ...], words: str
) -> None:
    rates = (40_000, 5000, 5000, 5000)
    trials = [
        connections(rate, 20_000, 20_000 - kept, silent_rules=rules) for rate, kept in zip(rates, held, strict=True)
    ]
    found = explain(experiment(20_000, addresses=hosts), trials)
    assert found.endswith(f"so the loss does not depend on the rate: {words}")


@pytest.mark.parametrize(
    ("lost", "begin_s", "words"),
    [
        (
            (1, 1, 1),
            0.9999,
            "the gateway keeps 9,999 connections and no more, 9,999 each of 1 host: its table is full, or it",
        ),
        ((1, 1, 1), 0.9, "connections are lost only after the first 900 ms of a trial"),
        ((1, 40, 90), None, "connections are lost only after the first 991 ms of a trial"),
    ],
)
def test_a_limit_just_below_what_is_asked_for(lost: tuple[int, ...], begin_s: float | None, words: str) -> None:
    ends = [(1 - each / 10_000 if begin_s is None else begin_s, 0.9999) for each in lost]
    streams = [stream("phase 1", 10_000, each, 10_000, end) for each, end in zip(lost, ends, strict=True)]
    trials = [record(10_000, each, kind=TrialKind.PHASE1) for each in streams]
    assert explain(experiment(10_000, addresses=ONE_HOST), trials).startswith(words)


def test_a_queue_that_counted_them_is_no_full_table() -> None:
    # Fewer connections were kept the higher the rate was.
    trials = [
        record(
            rate, stream("phase 1", 10_000, lost, rate), kind=TrialKind.PHASE1,
            counts=DutCounts(rose={"tc -s qdisc": {"dropped of tbf on eth2": lost}}),
        )
        for rate, lost in ((5000, 1283), (6388, 3088), (60_000, 8905))
    ]  # fmt: skip
    assert "(dropped of tbf on eth2 rose by 1,283 in `tc -s qdisc`)" in explain(experiment(10_000), trials)
    uncounted = [connections(rate, 10_000, lost) for rate, lost in ((5000, 1283), (6388, 3088), (60_000, 8905))]
    assert "and no more" not in explain(experiment(10_000), uncounted)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("nft ip a f: limit rate over 3000/second drop", "a rate limiter lets some of the connections pass"),
        (RULE, "a rule of the gateway's filter limits the connections of a host"),
        ("nft ip a f: udp sport 7 drop", "it has a rule that drops without counting"),
    ],
)
def test_a_rule_is_called_what_it_says(rule: str, words: str) -> None:
    passed = {"nstat": {"IpInReceives": 10_000, "IpOutTransmits": 9000}}
    counts = DutCounts(rose=passed, silent_rules=(rule,))
    trial = record(5000, stream("phase 1", 10_000, 1000, 5000), kind=TrialKind.PHASE1, counts=counts)
    assert words in explain(experiment(10_000), [trial])


def test_one_direction_may_have_several_pairs_of_interfaces() -> None:
    def pairs(lost: int) -> list[StreamResult]:
        names = ("forward", "reverse", "forward 2", "reverse 2")
        return [stream(name, 1000, lost if name.startswith("forward") else 0, 1000) for name in names]

    text = explain(experiment(), [record(1000, *pairs(lost)) for lost in (37, 370)])
    assert "frames are lost in the direction forward alone; look at the gateway's routes" in text
    assert "nothing arrives in the direction forward alone" in explain(experiment(), [record(1000, *pairs(1000))])
