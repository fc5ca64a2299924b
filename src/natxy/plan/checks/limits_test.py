# SPDX-License-Identifier: Apache-2.0
"""Tests both sides of each limit: the last plan that is accepted, and the first that is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from tests.support.plan_problems import problems_of

Fields = dict[str, Any]

FORWARDING: Fields = {"gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
NAT: Fields = FORWARDING | {"gateway": "nftables", "procedure": "connection-rate", "connections": "50k"}
TABLED: Fields = FORWARDING | {"gateway": "nftables", "connections": "50k", "phase1_rate": "1k"}
VALIDATED: Fields = NAT | {"procedure": "validated-connection-rate"}
SIIT: Fields = FORWARDING | {"gateway": "simulated", "translation": "siit"}
TCP: Fields = {"gateway": "linux-forward", "procedure": "tcp-goodput"}
OVERLOAD: Fields = FORWARDING | {"procedure": "overload", "flows": 2}
OWN_LINK: Fields = {"dut": "10.1.0.1/24", "tester": "10.1.0.2/24"}
CABLE: Fields = {"left": {"interface": "a"}, "right": {"interface": "b"}}
BESIDE: Fields = {"kind": "hardware", "dut": {"left": "em0", "right": "em1"}} | CABLE
ONE_ARMED: Fields = {"kind": "hardware", "dut": {"left": "em0", "right": "em0", "one_armed": True}} | CABLE
BEHIND_SSH: Fields = BESIDE | {"dut": BESIDE["dut"] | {"ssh": "root@dut"}}
LOOP: Fields = {"kind": "loop"}
SIMULATED: Fields = {"kind": "simulated"}


def problems(*experiments: Fields, **top: Any) -> dict[str, str]:
    """Returns the messages about a plan by the fields that have them."""
    named = [{"name": f"e{number}"} | experiment for number, experiment in enumerate(experiments)]
    return problems_of(Plan.model_validate({"name": "p", "experiments": named} | top))


def assert_limit(accepted: Fields, refused: Fields, field: str, message: str, **top: Any) -> None:
    assert problems(accepted, **top) == {}
    found = problems(refused, **top)
    assert list(found) == [f"experiments[0].{field}"]
    assert message in found[f"experiments[0].{field}"]


@pytest.mark.parametrize(
    ("accepted", "refused", "field", "message"),
    [
        (
            NAT | {"connections": 1000, "ports": {"source": "1-100", "destination": "1-10"}},
            NAT | {"connections": 1001, "ports": {"source": "1-100", "destination": "1-10"}},
            "connections",
            "addresses and ports give 1000 four-tuples, fewer than the 1001 connections",
        ),
        (
            TABLED | {"phase1_loss": "0.002%"},
            TABLED | {"phase1_loss": "0.001%"},
            "phase1_loss",
            "0.001% of 50,000 connections is less than one; give 1, or remove it",
        ),
        (
            TABLED | {"phase1_loss": 49_999},
            TABLED | {"phase1_loss": "50k"},
            "phase1_loss",
            "all 50,000 connections could be missing; lower it, or remove it",
        ),
        (
            TABLED | {"phase1_loss": 1},
            FORWARDING | {"phase1_loss": 1},
            "phase1_loss",
            "there is no phase 1 without `connections`; give these or remove it",
        ),
        (
            FORWARDING | {"flows": 2000, "ports": {"source": "1-2001", "destination": 7}},
            FORWARDING | {"flows": 2000, "ports": {"source": "1-2003", "destination": 7}},
            "flows",
            "addresses and ports give 2003 four-tuples, not 2000",
        ),
        (
            FORWARDING | {"flows": 2000, "ports": {"source": "1-2000", "destination": 7}},
            FORWARDING | {"flows": 2000, "ports": {"source": "1-1999", "destination": 7}},
            "flows",
            "addresses and ports give 1999 four-tuples, not 2000",
        ),
        (NAT, NAT | {"flows": 50_000}, "flows", "connections are flows already"),
        (TCP | {"flows": 128}, TCP | {"flows": 129}, "flows", "at most 128 flows, not 129"),
        (OVERLOAD, OVERLOAD | {"flows": 1}, "flows", "overload needs at least 2 flows"),
        (
            FORWARDING | {"family": "ipv6", "frame_size": 84},
            FORWARDING | {"family": "ipv6", "frame_size": 83},
            "frame_size",
            "83 bytes cannot hold an IPv6 test frame",
        ),
        (
            FORWARDING | {"search": {"kind": "binary", "max_rate": "1M", "error": "1M"}},
            FORWARDING | {"search": {"kind": "binary", "max_rate": "1M", "error": 1_000_001}},
            "search.error",
            "wider than the whole search",
        ),
        (
            VALIDATED | {"loss_tolerance": {"reverse": "0.1%"}},
            VALIDATED | {"loss_tolerance": "0.1%"},
            "loss_tolerance",
            "give only the replies a tolerance: {reverse: 0.1%}",
        ),
        (
            FORWARDING | {"procedure": {"name": "throughput", "frame_timeout": "61.9s"}},
            FORWARDING | {"procedure": {"name": "throughput", "frame_timeout": "62s"}},
            "procedure.frame_timeout",
            "a trial's traffic and its drain end after 1 min 02 s, so that no frame can come so late; lower it",
        ),
    ],
)
def test_traffic(accepted: Fields, refused: Fields, field: str, message: str) -> None:
    assert_limit(accepted, refused, field, message)


def background(**changes: Any) -> Fields:
    return SIIT | {"background": {"share": "10%"} | changes}


@pytest.mark.parametrize(
    ("accepted", "refused", "field", "message"),
    [
        ({"share": "0.1%"}, {"share": "0.05%"}, "share", "no share of at most 1000 frames"),
        (
            {"left": {"dut": "fd00::1/64", "tester": "fd00::2/64"}},
            {"left": {"dut": "fd00::1/64", "tester": "fd00:1::2/64"}},
            "left",
            "must be two IPv6 addresses of one link",
        ),
        (
            {"right": {"dut": "fd00::1/64", "tester": "fd00::2/64"}},
            {"right": {"dut": "10.0.0.1/24", "tester": "10.0.0.2/24"}},
            "right",
            "must be two IPv6 addresses of one link",
        ),
        (
            {"left": {"dut": "2001:2:0:5::1/64", "tester": "2001:2:0:5::2/64"}},
            {"left": {"dut": "2001:2::3/64", "tester": "2001:2::4/64"}},
            "left",
            "2001:2::/64 is the experiment's own too",
        ),
        (
            {},
            {"right": {"dut": "2a00::1/64", "tester": "2a00::2/64"}},
            "right",
            "2a00::2 is outside the benchmark and private ranges",
        ),
    ],
)
def test_background(accepted: Fields, refused: Fields, field: str, message: str) -> None:
    assert_limit(background(**accepted), background(**refused), f"background.{field}", message, testbed=SIMULATED)


def test_a_nat_would_translate_native_ipv6_beside_it_too() -> None:
    nat = FORWARDING | {"gateway": "nftables", "connections": "50k", "phase1_rate": "20k", "background": "10%"}
    assert_limit(nat, nat | {"family": "ipv6"}, "background", "would translate the native IPv6 traffic too")


@pytest.mark.parametrize(
    ("accepted", "refused", "field", "message"),
    [
        (
            {"left": OWN_LINK | {"behind": ["10.9.0.0/24"]}, "left_hosts": "10.9.0.5"},
            {"left": OWN_LINK | {"behind": ["10.9.0.0/24"], "tester": "10.1.0.1/24"}, "left_hosts": "10.9.0.5"},
            "left",
            "must be two addresses of one link",
        ),
        (
            {"left": OWN_LINK},
            {"left": OWN_LINK | {"tester": "10.1.1.2/24"}},
            "left",
            "10.1.0.1/24 and 10.1.1.2/24 must be two addresses of one link",
        ),
        (
            {"left": OWN_LINK | {"behind": ["10.9.0.0/24"]}, "left_hosts": "10.9.0.0/24"},
            {"left": OWN_LINK | {"behind": ["10.9.0.0/25"]}, "left_hosts": "10.9.0.0/24"},
            "left_hosts",
            "no route to all of 10.9.0.1 to 10.9.0.254; add one to `left.behind`",
        ),
        (
            {"left": OWN_LINK | {"behind": ["10.1.0.0/24"]}, "left_hosts": {"first": "10.1.0.2", "last": "10.1.0.9"}},
            {"left": OWN_LINK | {"behind": ["10.1.0.0/24"]}, "left_hosts": {"first": "10.1.0.1", "last": "10.1.0.9"}},
            "left_hosts",
            "10.1.0.1 is the gateway's own",
        ),
        (
            {"preset": "multiple", "left": OWN_LINK, "left_hosts": "10.1.0.2"},
            {"preset": "multiple", "left": OWN_LINK},
            "left_hosts",
            "missing; `multiple` on a link of your own needs its range",
        ),
        ({"networks": 256}, {"networks": 256, "left": OWN_LINK}, "networks", "left is a link of your own"),
    ],
)
def test_addresses(accepted: Fields, refused: Fields, field: str, message: str) -> None:
    own, other = (FORWARDING | {"addresses": addresses} for addresses in (accepted, refused))
    assert_limit(own, other, f"addresses.{field}", message)


@pytest.mark.parametrize(
    ("experiment", "field"),
    [
        ({"procedure": {"name": "frame-loss-rate", "maximum_rate": "RATE"}}, "procedure.maximum_rate"),
        ({"procedure": {"name": "back-to-back", "maximum_rate": "RATE"}, "rate": "50k"}, "procedure.maximum_rate"),
        ({"procedure": {"name": "system-recovery", "maximum_rate": "RATE"}, "rate": "50k"}, "procedure.maximum_rate"),
        ({"procedure": "latency", "rate": "RATE"}, "rate"),
        ({"procedure": "reset", "rate": "RATE"}, "rate"),
        (
            NAT | {"procedure": "tear-down-rate", "connections": "20k", "phase1_rate": "RATE", "search": None},
            "phase1_rate",
        ),
    ],
)
def test_no_rate_is_above_that_of_the_line(experiment: Fields, field: str) -> None:
    """At 1 Gbit/s, frames of 1518 bytes and what is between them leave 81,274 times a second."""
    frames = {"frame_size": 1518, "gateway": "linux-forward"} | experiment

    def at(rate: str) -> Fields:
        text = json.dumps(frames).replace('"RATE"', f'"{rate}"')
        return {name: value for name, value in json.loads(text).items() if value is not None}

    assert_limit(at("81k"), at("82k"), field, "is above the 81,274 of the line", line_rate="1Gbps", testbed=BEHIND_SSH)
    assert problems(at("82k"), line_rate="1Gbps") == {}, "a lab's line rate is nominal"


def test_networks_are_for_gateways_that_keep_the_family() -> None:
    networks = {"addresses": {"networks": 256}}
    assert problems(FORWARDING | networks) == {}
    assert "experiments[0].addresses.networks" in problems(SIIT | networks, testbed=SIMULATED)


@pytest.mark.parametrize(
    ("experiment", "accepted", "refused", "message"),
    [
        (FORWARDING, {"kind": "lab"}, SIMULATED, "simulated gateways and the simulated testbed go together"),
        (FORWARDING | {"gateway": "simulated"}, SIMULATED, {"kind": "lab"}, "go together"),
        (FORWARDING | {"gateway": "wire"}, LOOP, {"kind": "lab"}, "a loop has no gateway, which is `gateway: wire`"),
        (FORWARDING, {"kind": "lab"}, LOOP, "a loop has no gateway"),
        (FORWARDING | {"gateway": "reference"}, {"kind": "memif"}, BESIDE, "choose `testbed: {kind: memif}`, or a lab"),
        (FORWARDING, {"kind": "lab"}, {"kind": "memif"}, "only 'reference' does"),
        (NAT | {"gateway": "openbsd-pf"}, BEHIND_SSH, BESIDE, "a machine of its own"),
    ],
)
def test_gateways_and_their_testbeds(experiment: Fields, accepted: Fields, refused: Fields, message: str) -> None:
    assert problems(experiment, testbed=accepted) == {}
    assert message in problems(experiment, testbed=refused)["experiments[0].gateway"]


@pytest.mark.parametrize(
    ("accepted", "refused", "field", "message"),
    [
        (NAT, NAT | {"gateway": "linux-forward"}, "gateway", "keeps no connections, which connection-rate needs"),
        (
            FORWARDING,
            FORWARDING | {"connections": "50k", "phase1_rate": "20k"},
            "connections",
            "linux-forward keeps no connections; remove it, or choose a stateful gateway",
        ),
        (
            FORWARDING | {"gateway": "nftables", "connections": "50k", "phase1_rate": "20k"},
            FORWARDING | {"gateway": "nftables"},
            "connections",
            "only established connections have replies",
        ),
        (
            FORWARDING | {"gateway": "linux-forward"},
            FORWARDING | {"gateway": "linux-forward", "translation": "siit"},
            "translation",
            "linux-forward translates none; remove it",
        ),
        (
            FORWARDING | {"gateway": "tayga", "translation": "siit"},
            FORWARDING | {"gateway": "tayga"},
            "translation",
            "tayga translates only clat, nat46, siit; name one, or choose another gateway",
        ),
        (
            FORWARDING | {"gateway": "tayga", "translation": "siit", "family": "ipv6"},
            FORWARDING | {"gateway": "tayga", "translation": "siit", "family": "ipv4"},
            "family",
            "siit has ipv6 on the left; remove it",
        ),
    ],
)
def test_gateways_and_their_traffic(accepted: Fields, refused: Fields, field: str, message: str) -> None:
    assert_limit(accepted, refused, field, message)


def test_jool_translates_to_one_destination_port_in_a_nat46() -> None:
    nat46 = FORWARDING | {"gateway": "jool", "translation": "nat46"}
    found = problems(nat46 | {"ports": {"destination": 8}})["experiments[0].ports.destination"]
    port = int(found.rsplit(" ", 1)[1])
    assert found == f"in a nat46, jool translates one destination port, {port}; set it to {port}"
    assert "experiments[0].ports.destination" not in problems(nat46 | {"ports": {"destination": port}})
    assert "experiments[0].ports.destination" in problems(nat46 | {"ports": {"destination": f"{port}-{port + 1}"}})


RATE: Fields = NAT | {"name": "rate"}
BASE: Fields = FORWARDING | {"name": "base"}
PHASE2: Fields = BASE | {"name": "phase2", "gateway": "nftables", "connections": "50k"}


def of_rate(name: str, percent: int = 50) -> Fields:
    return {"experiment": name, "percent": percent}


@pytest.mark.parametrize(
    ("experiments", "field", "message"),
    [
        ((BASE, RATE, BASE), "experiments[2].name", "'base' is taken"),
        (
            (BASE, RATE, PHASE2 | {"phase1_rate": of_rate("base")}),
            "experiments[2].phase1_rate.experiment",
            "'base' is no earlier connection-rate or validated-connection-rate or tcp-connection-rate experiment; "
            "there are: rate",
        ),
        (
            (RATE, BASE | {"procedure": "latency", "search": None, "rate": of_rate("rate")}),
            "experiments[1].rate.experiment",
            "'rate' is no earlier throughput",
        ),
        (
            (BASE, BASE | {"name": "x", "procedure": "latency", "rate": of_rate("base"), "frame_size": 512}),
            "experiments[1].rate.experiment",
            "'base' has another `frame_size`, 64 instead of 512, so its rate cannot be used here",
        ),
        (
            (BASE, BASE | {"name": "x", "baseline": "base", "directions": "forward"}),
            "experiments[1].baseline",
            "'base' has another `directions`, bidirectional instead of forward, so a ratio to it would mean nothing",
        ),
        (
            (BASE, BASE | {"name": "x", "baseline": "base", "family": "ipv6", "frame_size": 84}),
            "experiments[1].baseline",
            "'base' has another `family`, ipv4 instead of ipv6, so",
        ),
        (
            (RATE, BASE | {"name": "x", "baseline": "rate"}),
            "experiments[1].baseline",
            "'rate' is no earlier throughput experiment; there are: none",
        ),
    ],
)
def test_references(experiments: tuple[Fields, ...], field: str, message: str) -> None:
    without_nulls = [{name: value for name, value in each.items() if value is not None} for each in experiments]
    assert message in problems(*without_nulls)[field]


def test_references_to_what_fits_are_accepted() -> None:
    latency = {name: value for name, value in BASE.items() if name != "search"}
    latency |= {"name": "latency", "procedure": "latency", "rate": of_rate("base")}
    phase2 = PHASE2 | {"phase1_rate": of_rate("rate"), "baseline": "base", "directions": "bidirectional"}
    assert problems(BASE, RATE, latency, phase2) == {}


def test_a_filter_without_nat_needs_two_interfaces() -> None:
    accepted, refused = NAT, NAT | {"gateway": {"driver": "nftables", "nat": False}}
    assert_limit(accepted, refused, "gateway", "tells the sides apart by their interfaces", testbed=ONE_ARMED)
    assert problems(refused, testbed=BESIDE) == {}


@pytest.mark.parametrize(("connections", "too_many"), [(2**48 - 1, False), (2**48, True)])
def test_the_engine_numbers_connections_with_48_bits(connections: int, *, too_many: bool) -> None:
    with pytest.raises(PlanProblems) as caught:
        resolve(Plan.model_validate({"name": "p", "experiments": [NAT | {"name": "e", "connections": connections}]}))
    said = [problem.message for problem in caught.value.problems]
    assert ("at most 281474976710655 are possible" in said) == too_many


@pytest.mark.parametrize("own", ["linux-forward", "nftables", "map646"])
def test_gateways_of_two_systems_do_not_share_a_dut(own: str) -> None:
    pf = FORWARDING | {"gateway": {"driver": "openbsd-pf", "enabled": False}}
    linux = FORWARDING | {"gateway": own} | ({"translation": "siit"} if own == "map646" else {})
    linux |= {"connections": "10k", "phase1_rate": "50k"} if own == "nftables" else {}
    command = FORWARDING | {"gateway": {"driver": "command", "apply": [["true"]], "remove": [["true"]]}}
    assert problems(command, linux, linux, testbed=BEHIND_SSH) == problems(pf, command, testbed=BEHIND_SSH) == {}
    ((field, said),) = problems(command, linux, pf, pf, testbed=BEHIND_SSH).items()
    assert field == "experiments[2].gateway"
    assert said.startswith(f"openbsd-pf belongs to OpenBSD, but {own} of 'e1' to Linux, and the testbed has one DUT")
