# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import PortSet
from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Form
from natxy.plan.model.addresses import LinkAddresses, MapDomain
from natxy.plan.model.subscribers import Subscribers
from natxy.plan.model.terms import Family, MapEnd, SoftwireEnd, TranslationKind
from natxy.plan.resolve import resolve
from natxy.plan.scale import needs_of_hops, table_need
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from tests.support.plan_problems import problems_of

Fields = dict[str, Any]


def chain(*gateways: str | Fields, **own: Any) -> Experiment:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    fields |= {"gateway": {"driver": "chain", "gateways": [*gateways]}} | own
    return resolve(Plan.model_validate({"name": "p", "experiments": [fields]})).experiments[0]


CONNECTED: Fields = {"connections": 1000, "phase1_rate": "1k"}


def links(experiment: Experiment) -> list[tuple[str, str, list[str], list[str]]]:
    """Returns each gateway's addresses on its left and right link, and what is behind these."""
    return [
        (
            str(own.left.dut),
            str(own.right.dut),
            [*map(str, own.left.behind)],
            [*map(str, own.right.behind)],
        )
        for own in (hop.addresses for hop in experiment.path.hops)
    ]


def test_one_gateway_is_a_path_of_one_hop() -> None:
    experiment = resolve(
        Plan.model_validate(
            {"name": "p", "experiments": [{"name": "x", "gateway": "linux-forward", "procedure": "throughput",
                                           "search": {"max_rate": "1M"}}]}
        )
    ).experiments[0]  # fmt: skip
    (hop,) = experiment.path.hops
    assert (hop.gateway, hop.addresses) == (experiment.gateway, experiment.address_plan)


def test_routers_know_what_is_behind_each_other() -> None:
    assert links(chain("linux-forward", "linux-forward")) == [
        ("198.18.0.1/24", "100.64.1.1/24", ["198.18.0.0/16"], ["198.19.0.0/24", "198.19.0.0/16"]),
        ("100.64.1.2/24", "198.19.0.1/24", ["198.18.0.0/24", "198.18.0.0/16"], ["198.19.0.0/16"]),
    ]


def test_what_a_nat_hides_is_unknown_further_on() -> None:
    assert links(chain("nftables", "linux-forward", "nftables", **CONNECTED)) == [
        ("10.0.0.1/24", "100.64.1.1/24", ["10.0.0.0/16"], ["198.19.0.0/24", "198.19.0.0/16"]),
        ("100.64.1.2/24", "100.64.2.1/24", [], ["198.19.0.0/24", "198.19.0.0/16"]),
        ("100.64.2.2/24", "198.19.0.1/24", ["100.64.1.0/24"], ["198.19.0.0/16"]),
    ]


def test_a_softwire_carries_the_networks_of_both_sides() -> None:
    experiment = chain("nftables", "softwire", "linux-forward", "softwire", **CONNECTED)
    edge, core = (hop.addresses.softwire for hop in experiment.path.hops if hop.addresses.softwire)
    assert (edge.end, core.end) == (SoftwireEnd.EDGE, SoftwireEnd.CORE)
    assert (edge.own, edge.far) == (core.far, core.own)
    assert [*map(str, edge.carries)] == ["198.19.0.0/24", "198.19.0.0/16"]
    # Behind the NAT, all left hosts have its address on the link to the edge.
    assert [*map(str, core.carries)] == ["100.64.1.0/24"]
    assert links(experiment)[1:] == [
        ("100.64.1.2/24", "2001:2:0:4002::1/64", [], ["2001:2:0:5001::2/128"]),
        ("2001:2:0:4002::2/64", "2001:2:0:4003::1/64", ["2001:2:0:5001::1/128"], ["2001:2:0:5001::2/128"]),
        ("2001:2:0:4003::2/64", "198.19.0.1/24", ["2001:2:0:5001::1/128"], ["198.19.0.0/16"]),
    ]


BY_TUNNEL: Fields = {"driver": "softwire", "by": "ip6_tunnel"}


@pytest.mark.parametrize(
    ("gateways", "size", "longest", "mtu"),
    [
        (("softwire", "softwire"), 64, 104, 1524),
        (("softwire", "softwire"), 1518, 1558, 1564),
        # Only routes need room for a header that they do not send.
        (("softwire", "lwaftr"), 1518, 1558, 1564),
        ((BY_TUNNEL, "lwaftr"), 64, 104, 1500),
        ((BY_TUNNEL, BY_TUNNEL), 1518, 1558, 1540),
    ],
)
def test_a_softwire_makes_frames_longer(gateways: tuple[str | Fields, ...], size: int, longest: int, mtu: int) -> None:
    experiment = chain(*gateways, frame_size=size)
    assert (experiment.longest_frame, experiment.address_plan.mtu) == (longest, mtu)


@pytest.mark.parametrize("driver", ["softwire", "lwaftr"])
def test_an_end_of_a_softwire_alone_is_refused(driver: str) -> None:
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}, "gateway": driver}
    found = problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))
    assert found["experiments[0].translation"] == (
        f"{driver} is one end of a softwire; give the other end too: "
        f"`gateway: {{driver: chain, gateways: [softwire, {driver}]}}`"
    )


def test_464xlat_has_ipv6_between_its_two_gateways() -> None:
    experiment = chain("tayga", "tayga-netfilter", **CONNECTED)
    assert experiment.families_of_links == (Family.IPV4, Family.IPV6, Family.IPV4)
    clat, plat = (hop.addresses.translation for hop in experiment.path.hops)
    assert clat is not None
    assert plat is not None
    assert (clat.kind, plat.kind, clat.prefix) == (TranslationKind.CLAT, TranslationKind.NAT64, plat.prefix)
    (mapping,) = clat.mappings
    assert (str(mapping.ipv4), str(mapping.ipv6)) == ("10.0.0.2/32", "2001:2:0:46::a00:2/128")
    assert str(plat.pool) == "198.19.0.1/32"
    assert links(experiment) == [
        (
            "10.0.0.1/24", "2001:2:0:4001::1/64", ["10.0.0.0/16"],
            ["2001:2:0:64::c613:0/120", "2001:2:0:64::c613:0/112"],
        ),
        ("2001:2:0:4001::2/64", "198.19.0.1/24", ["2001:2:0:46::a00:2/128"], ["198.19.0.0/16"]),
    ]  # fmt: skip


def test_a_stateless_translation_there_and_back_keeps_the_hosts_addresses() -> None:
    experiment = chain("tayga", "tayga", addresses={"left_hosts": {"first": "198.18.1.0", "last": "198.18.1.63"}})
    there, back = (hop.addresses.translation for hop in experiment.path.hops)
    assert there is not None
    assert back is not None
    assert (there.kind, back.kind) == (TranslationKind.CLAT, TranslationKind.SIIT)
    assert there.mappings == back.mappings
    host = IPv4Address("198.18.1.7")
    across = there.across(host)
    assert across is not None
    assert back.across(across) == host
    far = ip_address("198.19.0.2")
    seen = back.across(far)
    assert seen is not None
    assert there.across(seen) == far


@pytest.mark.parametrize(
    ("gateways", "own", "kinds"),
    [
        (("linux-forward", "tayga"), {"translation": "siit"}, [None, "siit"]),
        (("tayga", "linux-forward"), {"translation": "nat46"}, ["nat46", None]),
        (("linux-forward", "jool"), {"translation": "nat64"} | CONNECTED, [None, "nat64"]),
        (("jool-siit", "linux-forward", "jool"), CONNECTED, ["clat", None, "nat64"]),
        (("tayga", {"driver": "command"}), {}, ["clat", "siit"]),
        (("tayga", {"driver": "command", "stateful": True, "clear": [["x"]]}), CONNECTED, ["clat", "nat64"]),
        (({"driver": "command"}, {"driver": "command"}), {}, [None, None]),
        (("softwire", "softwire"), {}, ["edge", "core"]),
        (("softwire", "linux-forward", "softwire"), {}, ["edge", None, "core"]),
        (("softwire", "softwire", "softwire", "softwire"), {}, ["edge", "core", "edge", "core"]),
        (("softwire", "softwire", "tayga"), {"translation": "nat46"}, ["edge", "core", "nat46"]),
    ],
)
def test_each_gateway_does_what_it_can(
    gateways: tuple[str | Fields, ...], own: Fields, kinds: list[str | None]
) -> None:
    path = chain(*gateways, **own).path
    translations = [hop.addresses.translation and hop.addresses.translation.kind for hop in path.hops]
    ends = [hop.addresses.softwire and hop.addresses.softwire.end for hop in path.hops]
    assert [kind or end for kind, end in zip(translations, ends, strict=True)] == kinds


def test_frames_are_longest_where_they_are_in_ipv6() -> None:
    for gateways, longest in ((("linux-forward", "nftables"), 1518), (("tayga", "tayga-netfilter"), 1538)):
        experiment = chain(*gateways, **CONNECTED, frame_size=1518, dont_fragment=True)
        assert experiment.longest_frame == longest
        assert {hop.addresses.mtu for hop in experiment.path.hops} == {longest - 18}


def test_hosts_have_the_addresses_of_each_link() -> None:
    experiment = chain("tayga", "tayga-netfilter", **CONNECTED)
    hosts = experiment.path.hosts(ip_address("10.0.0.2"), ip_address("198.19.0.2"))
    assert [tuple(map(str, each)) for each in hosts] == [
        ("10.0.0.2", "2001:2:0:64::c613:2"),
        ("2001:2:0:46::a00:2", "198.19.0.2"),
    ]
    # Behind a NAT, its own address is seen.
    hidden = chain("nftables", "nftables", **CONNECTED).path.hosts(ip_address("10.0.0.2"), ip_address("198.19.0.2"))
    assert [str(left) for left, _ in hidden] == ["10.0.0.2", "100.64.1.1"]


def test_the_second_nat_sees_the_first_ones_address() -> None:
    hosts = {"left_hosts": {"first": "10.0.1.0", "last": "10.0.1.9"}}
    experiment = chain("nftables", "nftables", **CONNECTED, addresses=hosts, ports={"source": "10000-10099"})
    need = table_need(experiment, 1000)
    assert need is not None
    first, second = needs_of_hops(experiment, need)
    assert (first.need.hosts, second.need.hosts) == (10, 1)
    assert second.need.endpoints <= first.need.endpoints


def test_two_gateways_of_one_driver_are_told_apart_by_their_numbers() -> None:
    titles = chain("nftables", "linux-forward", "nftables", **CONNECTED).gateway.hop_titles
    assert titles == ("nftables (gateway 1)", "linux-forward", "nftables (gateway 3)")


def test_a_nat_before_a_clat_hides_the_hosts_from_it() -> None:
    experiment = chain("nftables", "tayga", "tayga-netfilter", **CONNECTED)
    nat, clat, plat = (hop.addresses for hop in experiment.path.hops)
    assert clat.translation is not None
    assert plat.translation is not None
    (mapping,) = clat.translation.mappings
    # The clat has the address of the NAT, which it does not know hosts behind.
    assert str(mapping.ipv4) == f"{nat.right.dut.ip}/32"
    assert clat.left.behind == ()
    assert [str(each) for each in plat.left.behind] == [str(mapping.ipv6)]


def test_a_size_that_exists_once_for_the_machine_holds_for_all_gateways() -> None:
    sized = chain({"driver": "nftables", "conntrack_max": 5000}, "nftables", "linux-forward", **CONNECTED).gateway.hops
    assert [getattr(hop, "conntrack_max", None) for hop in sized] == [5000, 5000, None]


def test_a_pool_is_the_last_gateways() -> None:
    experiment = chain("nftables", "nftables", **CONNECTED, addresses={"pool": "198.19.0.4/30"})
    assert [hop.addresses.pool for hop in experiment.path.hops] == [None, ip_network("198.19.0.4/30")]
    plat = chain("tayga", "tayga-netfilter", **CONNECTED, addresses={"pool": "198.19.0.4/30"}).path.hops[-1]
    assert plat.addresses.translation is not None
    assert str(plat.addresses.translation.pool) == "198.19.0.4/30"


FORWARDING: Fields = {"procedure": "throughput", "search": {"max_rate": "1M"}}


def of(*gateways: str | Fields) -> Fields:
    return {"gateway": {"driver": "chain", "gateways": [*gateways]}}


@pytest.mark.parametrize(
    ("experiment", "testbed", "field", "message"),
    [
        (
            of("tayga", "linux-forward"),
            {"kind": "lab"},
            "translation",
            "tayga → linux-forward translates only clat, nat46, siit; name one, or choose another gateway",
        ),
        (
            of("linux-forward", "linux-forward"),
            {"kind": "hardware", "left": {"interface": "a"}, "right": {"interface": "b"},
             "dut": {"left": "c", "right": "d", "ssh": "root@dut"}},
            "gateway",
            "which has room for one gateway; choose a lab, a virtual machine",
        ),
        (
            of(*({"driver": "nftables", "conntrack_max": size} for size in (1000, 2000))) | CONNECTED,
            {"kind": "lab"},
            "gateway",
            "conntrack_max exists once for the whole machine; give it to one of the gateways alone",
        ),
        (
            of("linux-forward", {"driver": "linux-forward", "kernel": "user-mode"}),
            {"kind": "lab"},
            "gateway.gateways[1].kernel",
            "several gateways run on the machine's own kernel",
        ),
        (
            of("linux-forward", "linux-forward") | {"addresses": {"left": {"dut": "100.64.1.9/24",
                "tester": "100.64.1.8/24"}}},
            {"kind": "lab"},
            "addresses",
            "100.64.1.0/24 overlaps 100.64.1.0/24, which the link between two gateways has",
        ),
        (
            of("linux-forward", "linux-forward") | {"background": "10%"},
            {"kind": "lab"},
            "background",
            "native traffic crosses a single gateway",
        ),
        (
            of("linux-forward", "nftables") | CONNECTED | {"pairs": 2},
            {"kind": "lab"},
            "pairs",
            "linux-forward → nftables is set up between two interfaces only",
        ),
        (
            of("linux-forward", "linux-forward") | {"procedure": {"name": "reset", "gateway_number": 3}, "rate": "1k",
                "search": {}},
            {"kind": "lab"},
            "procedure.gateway_number",
            "there is no gateway 3 in linux-forward → linux-forward; give a number up to 2",
        ),
        (
            of("linux-forward", "linux-forward") | {"procedure": {"name": "reset", "command": ["true"],
                "kind": "hardware", "gateway_number": 1}, "rate": "1k", "search": {}},
            {"kind": "lab"},
            "procedure.kind",
            "would end all of them; choose `process`",
        ),
        (
            of("linux-forward", "linux-forward") | {"procedure": {"name": "reset", "command": ["true"]}, "rate": "1k",
                "search": {}},
            {"kind": "lab"},
            "procedure.gateway_number",
            "missing; give the number of the gateway that the `command` resets",
        ),
        (
            of("tayga", "tayga-netfilter") | CONNECTED | {"family": "ipv6"},
            {"kind": "lab"},
            "gateway",
            "does not lead from ipv6 to ipv6",
        ),
        (
            of("tayga", "tayga") | {"addresses": {
                "left_hosts": {"first": "198.18.1.0", "last": "198.18.1.9"}, "right_hosts": "198.18.1.12",
                "right": {"dut": "198.19.0.1/24", "tester": "198.19.0.2/24", "behind": ["198.18.1.12/30"]}}},
            {"kind": "lab"},
            "addresses.left_hosts",
            "198.18.1.0/28 has the left hosts, and 198.18.1.12 on the right is in it, too; give hosts that are closer",
        ),
        (
            of("tayga-netfilter", "tayga") | CONNECTED,
            {"kind": "lab"},
            "translation",
            "the translations of tayga-netfilter → tayga do not fit together; choose another order, or other gateways",
        ),
        (
            of("tayga", "tayga-netfilter") | CONNECTED | {"translation": "nat64"},
            {"kind": "lab"},
            "translation",
            "tayga → tayga-netfilter translates none from end to end; remove it",
        ),
        # Connections need a path to be counted on.
        (
            of("tayga", "linux-forward") | CONNECTED,
            {"kind": "lab"},
            "translation",
            "tayga → linux-forward translates only clat, nat46, siit; name one, or choose another gateway",
        ),
    ],
)  # fmt: skip
def test_what_a_chain_cannot_have(experiment: Fields, testbed: Fields, field: str, message: str) -> None:
    fields = {"name": "x"} | FORWARDING | experiment
    found = problems_of(Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [fields]}))
    assert message in found[f"experiments[0].{field}"], found


@pytest.mark.parametrize(
    ("gateways", "message"),
    [
        (
            "[linux-forward, wire]",
            "gateway.gateways[1]: wire cannot be one of several gateways; choose gateways that Linux runs",
        ),
        ("[linux-forward]", "gateway.gateways: expected a list of at least 2, got 1"),
        ("[reference, nftables]", "reference can only stand beside `tester`; choose other gateways"),
        ("[linux-forward, nftable]", "got 'nftable'; did you mean 'nftables'?"),
        ("[nftables, {driver: nftables, nats: false}]", "gateway.gateways[1].nats: unknown field; did you mean 'nat'?"),
        (
            "[nftables, {driver: chain, gateways: [nftables, nftables]}]",
            "gateway.gateways[1].driver: expected 'command'",
        ),
    ],
)
def test_what_a_chain_is_not_made_of(tmp_path: Path, gateways: str, message: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        f"name: p\nexperiments:\n  - {{name: x, procedure: throughput, search: {{max_rate: 1k}}, "
        f"gateway: {{driver: chain, gateways: {gateways}}}}}\n"
    )
    with pytest.raises(PlanError) as caught:
        load_plan(file)
    assert message in str(caught.value)


def test_chains_are_swept_and_named_by_their_gateways(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        "name: p\nexperiments:\n  - name: x\n    procedure: throughput\n    search: {max_rate: 1k}\n    gateway:\n"
        "    - linux-forward\n    - {driver: chain, gateways: [linux-forward, linux-forward]}\n"
        "    - {driver: chain, gateways: [linux-forward, linux-forward, linux-forward]}\n"
    )
    assert [(experiment.name, experiment.title) for experiment in load_plan(file).experiments] == [
        ("x/gateway=linux-forward", "x, linux-forward"),
        ("x/gateway=linux-forward-linux-forward", "x, linux-forward → linux-forward"),
        ("x/gateway=linux-forward-linux-forward-linux-forward", "x, linux-forward → linux-forward → linux-forward"),
    ]


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
         "`ipv4` is 198.18.128.0/23 with 512 addresses, and map-t takes at most 256; give a longer `ipv4`"),
        (("tester", "map-t"), {"subscribers": {"ipv4": "198.18.128.0/30", "ea_length": 6, "offset": 13}}, "subscribers",
         "expected an offset and a PSID of at most 16 bits together, got 13 and 4"),
        (("tester", "map-t"), {"subscribers": {"ipv6": "2001:2:0:40::/58", "ipv4": "198.18.128.0/28", "ea_length": 6}},
         "subscribers", "overlaps 2001:2:0:64::/64, which the default mapping rule has; give another"),
        (("map-t", "map-t"), DS_LITE, "subscribers", "so the edge of MAP-T has to be `tester`"),
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
