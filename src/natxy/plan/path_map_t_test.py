# SPDX-License-Identifier: Apache-2.0
"""Tests the paths with an end of MAP-T, or both."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import PortSet
from natxy.plan.model.addresses import MapDomain
from natxy.plan.model.terms import Family, MapEnd
from natxy.plan.written import Plan
from tests.support.plan_problems import problems_of
from tests.support.resolved_chains import CONNECTED, Fields, chain, links

PORT_SET: Fields = {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}}


def test_map_t_has_the_addresses_of_the_rule_between_its_ends() -> None:
    experiment = chain(PORT_SET, "map-t", "map-t", **CONNECTED)
    edge, core = (hop.addresses.map_domain for hop in experiment.path.hops[1:])
    assert edge
    assert core
    assert (edge.end, core.end) == (MapEnd.EDGE, MapEnd.CORE)
    # Behind the NAT, the subscriber has its address and its ports (RFC 7597, appendix A, example 5).
    assert [(str(each.ipv4), str(each.address), each.ports.psid) for each in core.subscribers] == [
        ("100.64.1.1", "2001:2:0:5001:0:6440:101:3", 3)
    ]
    assert (core.rule, core.prefix) == (edge.rule, edge.prefix)
    assert [*map(str, edge.carries)] == ["198.19.0.0/24", "198.19.0.0/16"]
    assert links(experiment)[1:] == [
        ("100.64.1.2/24", "2001:2:0:4002::1/64", [], ["2001:2:0:64:c6:1300::/96", "2001:2:0:64:c6:1300::/88"]),
        ("2001:2:0:4002::2/64", "198.19.0.1/24", ["2001:2:0:5001::/64"], ["198.19.0.0/16"]),
    ]
    assert experiment.longest_frame == 84


@pytest.mark.parametrize(
    ("gateways", "own", "sent"),
    [
        (("tester", "map-t"), {}, ("map-from-edge", "udp")),
        (("tester", "linux-forward", "map-t"), {}, ("map-from-edge", "udp")),
        (("map-t", "tester"), {}, ("udp", "map-from-core")),
        ((PORT_SET, "map-t", "tester"), CONNECTED, ("udp", "map-from-core")),
    ],
)
def test_the_tester_plays_the_other_end_of_map_t(
    gateways: tuple[str | Fields, ...], own: Fields, sent: tuple[str, str]
) -> None:
    played, real = chain(*gateways, **own), chain(*("map-t" if e == "tester" else e for e in gateways), **own)
    boxes = [number for number, each in enumerate(gateways) if each != "tester"]
    assert [hop.addresses for hop in played.path.hops] == [real.path.hops[number].addresses for number in boxes]
    frames = [played.frames_of_port(side) for side in ("left", "right")]
    assert tuple(each.form.value for each in frames) == sent
    assert [each.sizes for each in frames] == [(84,) if form.startswith("map") else (64,) for form in sent]
    assert played.families_of_ports == (Family.IPV4, Family.IPV4)


# RFC 7597, appendix A, example 1, and RFC 7599, appendix A.
def test_a_domain_has_the_addresses_of_the_rfcs_examples() -> None:
    rule = MapRule(IPv6Network("2001:db8::/40"), IPv4Network("192.0.2.0/24"), 16)
    core = MapDomain(end=MapEnd.CORE, rule=rule, only=0x1234, prefix=IPv6Network("2001:db8:ffff::/64"))
    [subscriber] = core.subscribers
    assert str(core.subscriber_network) == "2001:db8:12:3400::/56"
    assert (str(subscriber.ipv4), str(subscriber.address)) == ("192.0.2.18", "2001:db8:12:3400:0:c000:212:34")
    assert str(core.across(ip_address("192.0.2.18"))) == "2001:db8:12:3400:0:c000:212:34"
    assert str(core.across(ip_address("10.2.3.4"))) == "2001:db8:ffff:0:a:203:400:0"
    assert str(core.across(ip_address("2001:db8:12:3400:0:c000:212:34"))) == "192.0.2.18"
    assert str(core.across(ip_address("2001:db8:ffff:0:a:203:400:0"))) == "10.2.3.4"
    assert core.across(ip_address("2001:db8:1::1")) is None


@pytest.mark.parametrize("ends", [("jool-mapt", "tester"), ("map-t", "nat46"), ("nat46", "map-t")])
def test_gateways_that_are_not_told_a_psid_read_it_in_the_prefix(ends: tuple[str, str]) -> None:
    experiment = chain(PORT_SET, *ends, **CONNECTED)
    domains = [box.addresses.map_domain for box in experiment.path.boxes[1:]]
    for domain in domains:
        assert domain
        # Behind a prefix of 64 bits: a longer one takes the place of the first bits of the identifier (RFC 7597 §6).
        assert domain.rule == MapRule(IPv6Network("2001:2:0:5001::/64"), IPv4Network("100.64.1.1/32"), 4, 0)
        assert [(each.ports.psid, str(each.prefix), str(each.address)) for each in domain.subscribers] == [
            (3, "2001:2:0:5001:3000::/68", "2001:2:0:5001:3000:6440:101:3")
        ]
        assert str(domain.across(ip_address("2001:2:0:5001:3000:6440:101:3"))) == "100.64.1.1"
    between = experiment.path.boxes[1].addresses.right, experiment.path.boxes[2].addresses.left
    assert [[str(each) for each in link.behind] for link in between] == [
        ["2001:2:0:64:c6:1300::/96", "2001:2:0:64:c6:1300::/88"], ["2001:2:0:5001:3000::/68"],
    ]  # fmt: skip


@pytest.mark.parametrize("driver", ["nat46", "jool-mapt"])
def test_a_core_that_computes_has_any_number_of_subscribers(driver: str) -> None:
    own = {"ipv4": "198.18.128.0/17", "ipv6": "fd00:2::/40", "ea_length": 24}
    domain = chain("tester", driver, subscribers=own).path.hops[0].addresses.map_domain
    assert domain
    assert domain.rule.subscriber_count == 1 << 24


def test_a_ce_of_map_t_is_a_nat_and_an_edge_in_one_box() -> None:
    ports = {"psid": 3, "psid_length": 4, "offset": 4}
    ce = {"driver": "reference", "mode": "nat", "map_t": {}, "port_set": ports}
    experiment = chain(ce, "tester", **CONNECTED)
    own = experiment.path.hops[0].addresses
    assert own.map_domain
    assert own.map_domain.end == MapEnd.EDGE
    (subscriber,) = own.map_domain.subscribers
    # Its address in the domain is that of its NAT, and its ports are those that the NAT gives.
    assert str(own.pool) == f"{subscriber.ipv4}/32" == "100.64.1.1/32"
    assert subscriber.ports == PortSet(**ports)
    assert experiment.map_domain == own.map_domain
    assert tuple(experiment.frames_of_port(side).form.value for side in ("left", "right")) == ("udp", "map-from-core")


def test_a_core_of_map_t_has_many_subscribers() -> None:
    experiment = chain("tester", "map-t", subscribers={"ipv4": "198.18.128.0/28", "ea_length": 8})
    core = experiment.path.hops[0].addresses
    assert core.map_domain
    assert len(core.map_domain.subscribers) == 256
    assert [str(each) for each in core.left.behind] == ["fd00:2:6::/48"]
    # Of 198.18.128.1 with PSID 0: 28 + 8 bits, of which 4 are the PSID's (RFC 7597 §5.2).
    assert str(core.map_domain.across(ip_address("198.18.128.1"))) == "fd00:2:6:1000:0:c612:8001:0"


@pytest.mark.parametrize(
    ("gateways", "own", "field", "message"),
    [
        (("tester", "map-t"), {"subscribers": {"ipv4": "198.18.128.0/28", "ea_length": 9}}, "subscribers",
         "32 subscribers share each address, a PSID of 5 bits, and map-t takes at most 16; give a smaller `ea_length`"),
        (("tester", "map-t"), {"subscribers": {"ipv4": "198.18.128.0/23"}}, "subscribers",
         "`ipv4` is 198.18.128.0/23 with 512 addresses, and map-t takes at most 256; give an `ipv4` with a "
         "longer prefix"),
        (("tester", "map-t"), {"subscribers": {"ipv4": "198.18.128.0/30", "ea_length": 6, "offset": 13}}, "subscribers",
         "expected an offset and a PSID of at most 16 bits together, got 13 and 4"),
        (("tester", "map-t"), {"subscribers": {"ipv6": "2001:2:0:40::/58", "ipv4": "198.18.128.0/28", "ea_length": 6}},
         "subscribers", "overlaps 2001:2:0:64::/64, which the default mapping rule has; give another"),
        (("map-t", "map-t"), {"subscribers": {}}, "subscribers", "so the edge of MAP-T has to be `tester`"),
        (("map-t", {"driver": "map-t", "dmr": "2001:2:0:65::/64"}), {}, "gateway.gateways[1].dmr",
         "both ends of MAP-T have one default mapping rule, and the other's is 2001:2:0:64::/64"),
        (("tester", {"driver": "map-t", "dmr": "64:ff9b::/96"}), {}, "gateway.gateways[1].dmr", "not global"),
        (("tester", {"driver": "map-t", "dmr": "2001:2:0:4001::/64"}), {}, "gateway.gateways[1].dmr", "overlaps"),
        (("map-t", "tester"), {"addresses": "multiple"}, "addresses.left_hosts",
         "an edge of MAP-T is that of one subscriber with one address, and these are 65,279; give one, or a NAT"),
        (("tester", "map-t"), {"subscribers": {"ipv4": "198.18.128.0/30", "ea_length": 6},
                               "ports": {"source": "1-65535"}}, "ports.source", "no subscriber has ports below 1,024"),
        (("map-t", "nftables", "map-t"), CONNECTED, "translation", "do not fit together"),
    ],
)  # fmt: skip
def test_map_t_that_cannot_be(gateways: tuple[str | Fields, ...], own: Fields, field: str, message: str) -> None:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    fields |= {"gateway": {"driver": "chain", "gateways": [*gateways]}} | own
    found = problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))
    assert message in found[f"experiments[0].{field}"], found


def test_an_end_of_map_t_alone_is_refused() -> None:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}, "gateway": "map-t"}
    found = problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))
    assert found["experiments[0].translation"].startswith("map-t is one end of MAP-T; give the other end too")
