# SPDX-License-Identifier: Apache-2.0
"""Tests the paths on which the tester plays a box, and those of cores with many subscribers."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Literal

import pytest
from pydantic import ValidationError

from natxy.plan.frames.forms import Form
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.model.subscribers import Subscribers
from natxy.plan.written import Plan
from tests.support.plan_problems import problems_of
from tests.support.resolved_chains import CONNECTED, Fields, chain


@pytest.mark.parametrize(
    ("gateways", "port", "peer", "sent"),
    [
        (("tester", "softwire"), "left", "2001:2:0:4001::2", ("softwire-from-edge", "udp")),
        (("tester", "linux-forward", "softwire"), "left", "2001:2:0:4001::2", ("softwire-from-edge", "udp")),
        (("softwire", "linux-forward", "tester"), "right", "2001:2:0:4002::1", ("udp", "softwire-from-core")),
        (("tester", "softwire", "nftables"), "left", "2001:2:0:4001::2", ("softwire-from-edge", "udp")),
        (("softwire", "tester"), "right", "2001:2:0:4001::1", ("udp", "softwire-from-core")),
        (("nftables", "softwire", "tester"), "right", "2001:2:0:4002::1", ("udp", "softwire-from-core")),
    ],
)
def test_the_tester_plays_the_other_end_of_a_softwire(
    gateways: tuple[str, ...], port: Literal["left", "right"], peer: str, sent: tuple[str, str]
) -> None:
    both = tuple("softwire" if each == "tester" else each for each in gateways)
    own: Fields = CONNECTED if "nftables" in gateways else {}
    played, real = chain(*gateways, **own), chain(*both, **own)
    # Nothing changes for the gateways that stay.
    boxes = [number for number, each in enumerate(gateways) if each != "tester"]
    assert [hop.addresses for hop in played.path.hops] == [real.path.hops[number].addresses for number in boxes]
    assert played.kinds == real.kinds
    link: LinkAddresses = getattr(played.address_plan, port)
    assert str(link.dut.ip) == peer
    assert [each.prefixlen for each in link.answered] == [128]
    frames = [played.frames_of_port(side) for side in ("left", "right")]
    assert tuple(each.form.value for each in frames) == sent
    assert [each.sizes for each in frames] == [(104 if form.startswith("softwire") else 64,) for form in sent]
    softwires = [hop.addresses.softwire for hop in played.path.hops]
    assert played.softwire is not None
    assert [each for each in softwires if each] == [played.softwire]


@pytest.mark.parametrize(
    ("gateways", "message"),
    [
        (["softwire", "tester", "softwire"], "the tester plays the first box or the last one"),
        (["tester", "tester"], "the tester plays one box, the first or the last"),
        (["tester", "softwire", "softwire", "tester"], "the tester plays one box, the first or the last"),
    ],
)
def test_the_tester_plays_an_outer_box_beside_a_gateway(gateways: list[str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        chain(*gateways)


DS_LITE: Fields = {"subscribers": {}}
MAP_E: Fields = {
    "subscribers": {"ipv4": "198.18.128.0/24", "ipv6": "fd00:2:6::/48", "ea_length": 10, "offset": 0},
    "ports": {"source": "1024-65535", "destination": "1024-49151"},
}


@pytest.mark.parametrize(
    ("gateways", "own", "ipv4", "count"),
    [
        (("tester", "softwire", "nftables"), DS_LITE | CONNECTED, "10.0.128.0/24", 256),
        (("tester", "softwire"), DS_LITE, "198.18.128.0/24", 256),
        (("tester", "softwire"), MAP_E, "198.18.128.0/24", 1024),
    ],
)
def test_a_core_has_many_subscribers(gateways: tuple[str, ...], own: Fields, ipv4: str, count: int) -> None:
    experiment = chain(*gateways, **own)
    assert isinstance(experiment.subscribers, Subscribers)
    assert (str(experiment.subscribers.ipv4), experiment.subscribers.count) == (ipv4, count)
    hosts = experiment.addresses.left_hosts
    assert (str(hosts.first), hosts.size) == (ipv4.partition("/")[0], 256)
    core = experiment.path.hops[0].addresses
    assert core.softwire is not None
    assert core.softwire.subscribers == experiment.subscribers.rule
    assert [str(each) for each in core.left.behind] == ["fd00:2:6::/48"]
    assert core.softwire.far == experiment.subscribers.subscriber(0).address


@pytest.mark.parametrize(
    ("gateways", "own", "field", "message"),
    [
        (("softwire", "softwire"), DS_LITE, "subscribers", "the edge of the softwire has to be `tester`"),
        (("linux-forward", "linux-forward"), DS_LITE, "subscribers", "only the core of a softwire has subscribers"),
        (
            ("tester", "softwire"),
            {"subscribers": {"ipv4": "172.16.0.0/15", "ipv6": "fd00:2::/32"}},
            "subscribers",
            "takes at most 65,536 subscribers",
        ),
        (("tester", "softwire"), {"subscribers": {"ipv4": "198.18.0.0/20"}}, "subscribers", "the left link itself"),
        (("tester", "softwire"), {"subscribers": {"ipv6": "2600::/32"}}, "subscribers", "outside the benchmark and"),
        (("tester", "softwire"), {"subscribers": {"ipv6": "2001:2:0:5000::/52"}}, "subscribers", "2001:2:0:4000::/51"),
        (
            ("tester", "softwire"),
            {"subscribers": {"ipv4": "198.18.0.0/15"}},
            "subscribers",
            "17 EA bits make prefixes of 65 bits; expected at most 64, so give a shorter `ipv6`",
        ),
        (
            ("tester", "softwire"),
            {"subscribers": {"ea_length": 12}, "ports": {"source": "1024-65535", "destination": "1024-49151"}},
            "subscribers",
            "4,096 subscribers that share addresses have 258,048 ranges of ports, and softwire takes 1,024",
        ),
        (
            ("tester", "lwaftr"),
            {"subscribers": {"ipv4": "172.16.0.0/17", "ipv6": "fd00:2::/32"}},
            "subscribers",
            "lwaftr takes at most 16,384 subscribers, not 32,768",
        ),
        (("lwaftr", "softwire"), DS_LITE, "translation", "do not fit together; choose another order"),
        (
            ("tester", "softwire"),
            {
                "subscribers": {"ipv4": "198.18.128.0/28", "ea_length": 5, "offset": 4},
                "ports": {"source": "4096-65535", "destination": "1-49151"},
            },
            "ports.destination",
            "no subscriber has ports below 4,096; give 4096-49151, or another `offset`",
        ),
        (
            ("tester", "softwire"),
            DS_LITE | {"addresses": {"left_hosts": "198.18.1.0/28"}},
            "addresses.left_hosts",
            "are not all in 198.18.128.0/24",
        ),
    ],
)
def test_subscribers_that_cannot_be(gateways: tuple[str | Fields, ...], own: Fields, field: str, message: str) -> None:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    fields |= {"gateway": {"driver": "chain", "gateways": [*gateways]}} | own
    found = problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))
    assert message in found[f"experiments[0].{field}"]


def test_subscribers_may_have_any_prefix_and_have_ports_of_their_own() -> None:
    rule = {"ipv4": "198.18.128.0/28", "ea_length": 5, "offset": 4}
    experiment = chain("tester", "softwire", subscribers=rule)
    assert (experiment.ports.source.min, experiment.ports.destination.min) == (4096, 4096)
    behind = chain("tester", "softwire", "nftables", subscribers={"ipv4": "198.18.128.0/22"}, **CONNECTED)
    assert IPv4Network("198.18.128.0/22") in behind.addresses.left.behind


def test_subscribers_are_behind_the_softwire_alone_whose_edge_the_tester_plays() -> None:
    path = chain("tester", "softwire", "softwire", "softwire", **DS_LITE).path
    core, edge, second = (hop.addresses.softwire for hop in path.hops)
    assert core
    assert edge
    assert second
    assert core.subscribers is not None
    assert second.subscribers is None
    assert (str(edge.own), str(second.far)) == ("2001:2:0:5002::1",) * 2


@pytest.mark.parametrize(
    ("gateways", "own", "field", "message"),
    [
        (("softwire", "nftables", "softwire"), CONNECTED, "translation", "softwire"),
        (("tester", "softwire"), {"frame_size": 9200}, "frame_size", "9240 bytes in the softwire"),
        (("tester", "softwire"), {"frame_size": 3480}, "frame_size", "give the testbed `io: af_packet`"),
    ],
)
def test_chains_that_cannot_be(gateways: tuple[str, ...], own: Fields, field: str, message: str) -> None:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    fields |= {"gateway": {"driver": "chain", "gateways": [*gateways]}} | own
    found = problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))
    assert message in found[f"experiments[0].{field}"]


@pytest.mark.parametrize(
    ("gateways", "played", "own", "sizes", "families"),
    [
        (("tayga", "tayga-netfilter"), 0, CONNECTED, (84, 64), ("ipv6", "ipv4")),
        (("tayga", "tayga-netfilter"), 1, CONNECTED, (64, 84), ("ipv4", "ipv6")),
        (("tayga", "tayga"), 0, {}, (84, 64), ("ipv6", "ipv4")),
        (("nftables", "tayga", "linux-forward", "tayga-netfilter"), 3, CONNECTED, (64, 84), ("ipv4", "ipv6")),
    ],
)
def test_the_tester_plays_the_other_translator(
    gateways: tuple[str, ...], played: int, own: Fields, sizes: tuple[int, int], families: tuple[str, str]
) -> None:
    both = chain(*gateways, **own)
    boxes = [number for number in range(len(gateways)) if number != played]
    # A translator without a table takes no connections.
    own = own if any(gateways[number] in {"tayga-netfilter", "nftables"} for number in boxes) else {}
    alone = chain(*("tester" if number == played else each for number, each in enumerate(gateways)), **own)
    # Nothing changes for the gateways that stay.
    assert [hop.addresses for hop in alone.path.hops] == [both.path.hops[number].addresses for number in boxes]
    assert (alone.kinds, alone.frame_size, alone.family) == (both.kinds, both.frame_size, both.family)
    frames = [alone.frames_of_port(side) for side in ("left", "right")]
    assert tuple(each.sizes[0] for each in frames) == sizes
    assert {each.form for each in frames} == {Form.UDP}
    assert alone.families_of_ports == families


def test_a_port_has_the_hosts_as_the_translator_that_the_tester_plays_has_them() -> None:
    hosts = {"left_hosts": {"first": "10.0.1.0", "last": "10.0.1.63"}, "right_hosts": "198.19.0.9"}
    experiment = chain("tayga", "tester", addresses=hosts)
    assert [str(each) for each in experiment.hosts_of_ports] == ["10.0.1.0 to 10.0.1.63", "2001:2:0:64::c613:9"]
    ends = (experiment.left_destinations, experiment.right_destinations)
    assert [str(each) for each in ends] == ["198.19.0.9", "2001:2:0:46::a00:100 to 2001:2:0:46::a00:13f"]


def test_the_tester_translates_beside_a_translator_alone() -> None:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    for gateways in (["tester", "linux-forward"], ["nftables", "tester"]):
        fields |= {"gateway": {"driver": "chain", "gateways": gateways}}
        found = problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))
        assert "do not fit together" in found["experiments[0].translation"]
