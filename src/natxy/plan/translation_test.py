# SPDX-License-Identifier: Apache-2.0
"""Plans whose gateway translates between families: addresses, frame sizes, and what is refused."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from natxy.plan.experiment import Experiment
from natxy.plan.model.addresses import AddressMapping, Translation
from natxy.plan.model.problems import PlanProblems
from natxy.plan.model.terms import Family
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

SIIT = {"translation": "siit"}
NAT64 = {"translation": "nat64", "connections": "50k", "phase1_rate": "10k"}
NAT46 = {"translation": "nat46"}
CLAT = {"translation": "clat"}


def plan_of(**fields: Any) -> Plan:
    base = {"name": "e", "gateway": "simulated", "procedure": "throughput", "search": {"max_rate": "1M"}}
    top = {"testbed": {"kind": "simulated"}, "line_rate": "1Gbps"} | fields.pop("top", {})
    return Plan.model_validate({"name": "p", "experiments": [base | fields]} | top)


def experiment(**fields: Any) -> Experiment:
    return resolve(plan_of(**fields)).experiments[0]


def problems_of(**fields: Any) -> list[tuple[str | int, ...]]:
    with pytest.raises(PlanProblems) as caught:
        resolve(plan_of(**fields))
    return [problem.location[2:] for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("fields", "left", "right", "families"),
    [
        (NAT64, "2001:2::1/64", "198.19.0.1/24", (Family.IPV6, Family.IPV4)),
        (SIIT, "2001:2::1/64", "198.19.0.1/24", (Family.IPV6, Family.IPV4)),
        (NAT46, "198.18.0.1/24", "2001:2:0:8000::1/64", (Family.IPV4, Family.IPV6)),
        (CLAT, "198.18.0.1/24", "2001:2:0:8000::1/64", (Family.IPV4, Family.IPV6)),
    ],
)
def test_each_side_has_its_own_family(
    fields: dict[str, Any], left: str, right: str, families: tuple[Family, Family]
) -> None:
    own = experiment(**fields)
    assert own.families == families
    assert own.family == families[0]
    assert (str(own.addresses.left.dut), str(own.addresses.right.dut)) == (left, right)
    assert own.address_plan.translation == own.translation


def test_nat64_sends_to_the_prefix_and_is_answered_through_the_pool() -> None:
    own = experiment(**NAT64)
    assert own.left_destinations is not None
    assert own.left_destinations.first == IPv6Address("2001:2:0:64::c613:2")
    assert own.right_destinations is None
    assert own.translation is not None
    assert str(own.translation.pool) == "198.19.0.1/32"


@pytest.mark.parametrize(
    ("fields", "to_right", "to_left"),
    [
        (SIIT, "2001:2:0:64::c613:2", "198.18.0.2"),
        (NAT46, "198.19.0.2", "2001:2:0:64::c612:2"),
        # RFC 6877 §6.3: the left hosts are behind a prefix of the CLAT's own, the right ones behind the PLAT's.
        (CLAT, "198.19.0.2", "2001:2:0:46::c612:2"),
    ],
)
def test_stateless_translation_addresses_both_sides(fields: dict[str, Any], to_right: str, to_left: str) -> None:
    own = experiment(**fields)
    assert own.left_destinations is not None
    assert own.right_destinations is not None
    assert (own.left_destinations.first, own.right_destinations.first) == (ip_address(to_right), ip_address(to_left))


@pytest.mark.parametrize("fields", [SIIT, NAT46, CLAT])
def test_many_addresses_are_as_many_in_the_other_family(fields: dict[str, Any]) -> None:
    own = experiment(**fields, addresses="multiple")
    for hosts, seen in (
        (own.addresses.right_hosts, own.left_destinations),
        (own.addresses.left_hosts, own.right_destinations),
    ):
        assert seen is not None
        assert hosts.size == seen.size > 65_000
        assert own.translation is not None
        assert own.translation.across(hosts.last) == seen.last


def test_many_initiators_of_a_nat64_differ_in_bits_96_to_111() -> None:
    own = experiment(**NAT64, addresses="multiple")
    assert (own.addresses.left_hosts.ranges[0].low_bit, own.addresses.left_hosts.size) == (16, 65536)
    assert own.translation is not None
    assert own.translation.pool.num_addresses == 256


@given(st.integers(min_value=0, max_value=2**32 - 1), st.integers(min_value=0, max_value=2**8 - 1))
def test_across_and_back(ipv4: int, host: int) -> None:
    mapping = AddressMapping.model_validate({"ipv4": "198.18.7.0/24", "ipv6": "2001:2:0:1::700/120"})
    translation = Translation.model_validate(
        {"kind": "siit", "prefix": "64:ff9b::/96", "pool": "198.19.0.1", "mappings": [mapping]}
    )
    embedded = translation.across(IPv4Address(ipv4))
    assert embedded is not None
    assert embedded in translation.prefix
    assert int(embedded) & 0xFFFFFFFF == ipv4
    assert translation.across(mapping.ipv6[host]) == mapping.ipv4[host]
    assert translation.across(IPv6Address("2001:2:0:1::800")) is None


def test_paired_frames_are_one_size_in_ipv6_and_another_in_ipv4() -> None:
    own = experiment(**SIIT, frame_size=512)
    assert [own.sent_frames(family).sizes for family in (Family.IPV6, Family.IPV4)] == [(512,), (492,)]
    assert own.longest_frame == 512
    assert experiment(**SIIT).frame_size == 84


@pytest.mark.parametrize(("directions", "longest"), [("bidirectional", 532), ("forward", 512), ("reverse", 532)])
def test_nominal_frames_from_the_ipv4_side_grow(directions: str, longest: int) -> None:
    own = experiment(**SIIT, frame_size=512, size_convention="nominal", directions=directions)
    assert own.sent_frames(Family.IPV6).sizes == own.sent_frames(Family.IPV4).sizes == (512,)
    assert own.longest_frame == longest


def test_a_plain_connection_rate_has_frames_of_the_left_alone() -> None:
    own = {"procedure": "connection-rate", "connections": "50k", "frame_size": 512, "size_convention": "nominal"}
    assert experiment(translation="nat64", **own).longest_frame == 512
    assert experiment(translation="nat46", **own).longest_frame == 532


def test_the_line_rate_is_that_of_the_longer_frame() -> None:
    search = {"max_rate": "100%"}
    paired = experiment(**SIIT, frame_size=512, search=search).search
    nominal = experiment(**SIIT, frame_size=512, size_convention="nominal", search=search).search
    assert paired is not None
    assert nominal is not None
    assert paired.max_rate == pytest.approx(1e9 / 8 / 532)
    assert nominal.max_rate == pytest.approx(1e9 / 8 / 552)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (NAT64 | {"connections": None, "phase1_rate": None}, ("connections",)),
        (SIIT | {"connections": "50k", "phase1_rate": "10k"}, ("translation",)),
        (SIIT | {"gateway": "linux-forward", "top": {"testbed": {"kind": "lab"}}}, ("translation",)),
        (SIIT | {"family": "ipv4"}, ("family",)),
        (SIIT | {"frame_size": 83}, ("frame_size",)),
        (SIIT | {"translation": {"kind": "siit", "mappings": []}}, ("translation", "mappings")),
        (SIIT | {"translation": {"kind": "siit", "pool": "2001:2::/64"}}, ("translation", "pool")),
        (
            SIIT | {"translation": {"kind": "siit", "mappings": [{"ipv4": "8.8.8.8", "ipv6": "2001:2::2"}]}},
            ("translation", "mappings"),
        ),
        (SIIT | {"addresses": {"left": {"dut": "198.18.0.1/24", "tester": "198.18.0.2/24"}}}, ("addresses", "left")),
        (CLAT | {"connections": "50k", "phase1_rate": "10k"}, ("translation",)),
        (CLAT | {"addresses": {"right_hosts": "2001:2:0:8000::2"}}, ("translation", "prefix")),
        (
            CLAT
            | {
                "addresses": {"left_hosts": "198.18.0.9"},
                "translation": {"kind": "clat", "mappings": [{"ipv4": "198.18.0.2", "ipv6": "2001:2:0:46::2"}]},
            },
            ("translation", "mappings"),
        ),
    ],
)
def test_what_cannot_be_translated_is_refused(fields: dict[str, Any], field: tuple[str, ...]) -> None:
    given_fields = {name: value for name, value in fields.items() if value is not None}
    assert field in problems_of(**given_fields)


def test_af_xdp_has_a_longest_frame_in_a_lab() -> None:
    lab = {"top": {"testbed": {"kind": "lab"}}, "gateway": "linux-forward", "frame_size": 3525}
    assert problems_of(**lab) == [("frame_size",)]
    packet = {"top": {"testbed": {"kind": "lab", "io": "af_packet"}}, "gateway": "linux-forward", "frame_size": 9216}
    assert experiment(**packet).longest_frame == 9216


@pytest.mark.parametrize(("driver", "refused"), [("tayga-netfilter", True), ("jool", False)])
def test_tayga_refuses_the_well_known_prefix(driver: str, refused: bool) -> None:
    for prefix in ("64:ff9b::/96", "64:ff9b:1::/48"):
        fields = NAT64 | {"gateway": driver, "translation": {"kind": "nat64", "prefix": prefix}}
        assert (("translation", "prefix") in problems_of(**fields)) is refused


@pytest.mark.parametrize("prefix", ["2001:2:0:64::/72", "2001:2::/49"])
def test_other_lengths_of_a_prefix_embed_nothing(prefix: str) -> None:
    with pytest.raises((ValidationError, PlanProblems)):
        experiment(translation={"kind": "siit", "prefix": prefix})


@pytest.mark.parametrize(
    ("prefix", "first", "low_bit"),
    [
        ("2001:db8::/32", "2001:db8:c613:100::", 64),
        ("2001:2:64::/48", "2001:2:64:c613:1::", 40),
        ("2001:2:0:6400::/56", "2001:2:0:64c6:13:100::", 32),
        ("2001:2:0:64::/64", "2001:2:0:64:c6:1301::", 24),
    ],
)
def test_many_hosts_behind_a_short_prefix(prefix: str, first: str, low_bit: int) -> None:
    own = experiment(**SIIT | {"translation": {"kind": "siit", "prefix": prefix}}, addresses="multiple")
    assert own.left_destinations is not None
    [seen] = own.left_destinations.ranges
    assert (seen.first, seen.low_bit, seen.size) == (ip_address(first), low_bit, 65_279)


def test_a_prefix_that_has_the_plans_ipv6_hosts_is_refused() -> None:
    fields = {"translation": {"kind": "siit", "prefix": "2001:2::/32"}}
    assert ("translation", "prefix") in problems_of(**SIIT | fields)


def test_a_prefix_that_divides_the_bits_that_vary_is_refused() -> None:
    fields = {"translation": {"kind": "siit", "prefix": "2001:2:6400::/40"}, "addresses": "multiple"}
    assert problems_of(**SIIT | fields) == [("translation", "prefix")]
    assert experiment(**SIIT | fields | {"addresses": "single"}).left_destinations


@pytest.mark.parametrize("driver", ["openbsd-pf", "map646"])
def test_some_gateways_take_a_96_bit_prefix_alone(driver: str) -> None:
    kind = "siit" if driver == "map646" else "nat64"
    fields = (SIIT if driver == "map646" else NAT64) | {"translation": {"kind": kind, "prefix": "2001:2:0:64::/64"}}
    assert ("translation", "prefix") in problems_of(**fields | {"gateway": driver})


CHAIN = {"gateway": {"driver": "chain", "gateways": ["tayga", "tayga-netfilter"]}, "top": {"testbed": {"kind": "lab"}}}


@pytest.mark.parametrize("fields", [NAT64, SIIT, NAT46, CLAT, CHAIN | {"connections": "50k", "phase1_rate": "10k"}])
def test_resolved_means_the_same(fields: dict[str, Any]) -> None:
    resolved = resolve(plan_of(**fields))
    given_again = resolved.model_dump(mode="json", exclude_none=True)
    assert resolve(Plan.model_validate(given_again)) == resolved


def test_a_mapping_has_as_many_addresses_in_each_family() -> None:
    AddressMapping.model_validate({"ipv4": "198.18.7.0/24", "ipv6": "2001:2:0:1::700/120"})
    with pytest.raises(ValidationError, match="must have the same number of addresses, as a /24 and a /120 do"):
        AddressMapping.model_validate({"ipv4": "198.18.7.0/24", "ipv6": "2001:2:0:1::700/121"})
