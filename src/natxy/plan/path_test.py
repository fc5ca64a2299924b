# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import IPv4Address, ip_address, ip_network
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.plan.model.terms import Family, SoftwireEnd, TranslationKind
from natxy.plan.resolve import resolve
from natxy.plan.scale import needs_of_hops, table_need
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from tests.support.plan_problems import problems_of
from tests.support.resolved_chains import CONNECTED, Fields, chain, links


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
            of({"driver": "linux-forward", "kernel": "own"}, {"driver": "linux-forward", "kernel": "user-mode"}),
            {"kind": "lab"},
            "gateway.gateways[1].kernel",
            "the gateways of a chain share a kernel, and linux-forward runs on the machine's own",
        ),
        (
            of({"driver": "linux-forward", "kernel": "user-mode"}, "linux-forward"),
            {"kind": "vm"},
            "gateway.gateways[0].kernel",
            "user-mode Linux runs in a lab, not on the testbed 'vm'; remove it",
        ),
        (
            of("nftables", {"driver": "linux-forward", "kernel": "user-mode"}) | CONNECTED,
            {"kind": "lab"},
            "gateway.gateways[1].kernel",
            "nftables runs on the machine's own",
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
            "gateway.gateways[1].driver: expected 'bind9'",
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
