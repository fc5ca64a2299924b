# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.zero_checksums import without_tolerance

Fields = dict[str, Any]

NAT64: Fields = {
    "name": "nat64", "gateway": "jool", "translation": "nat64", "procedure": "throughput", "connections": "20k",
    "phase1_rate": "50k", "search": {"min_rate": "10k", "max_rate": "100k"},
}  # fmt: skip
SIIT: Fields = {key: NAT64[key] for key in ("name", "procedure", "search")} | {
    "gateway": "tayga",
    "translation": "siit",
}
NAT46: Fields = SIIT | {"gateway": "jool-siit", "translation": "nat46"}
RATE: Fields = {key: NAT64[key] for key in NAT64 if key != "phase1_rate"} | {"procedure": "connection-rate"}


def warnings(own: Fields) -> dict[str, list[str]]:
    return without_tolerance(
        resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "lab"}, "experiments": [own]}))
    )


@pytest.mark.parametrize(
    ("own", "direction"),
    [
        (NAT64, "reverse"),
        (NAT64 | {"loss_tolerance": "0.001%"}, "reverse"),
        (
            NAT64 | {"gateway": "tayga-netfilter", "translation": {"kind": "nat64", "prefix": "2001:2:0:64::/96"}},
            "reverse",
        ),
        (SIIT, "reverse"),
        (NAT46, "forward"),
        (NAT46 | {"directions": "forward"}, "forward"),
        (RATE | {"procedure": "validated-connection-rate"}, "reverse"),
        (RATE | {"procedure": {"name": "churn", "lifetime": 300}, "connections": 2**31}, "reverse"),
    ],
)
def test_a_search_without_loss_needs_a_tolerance(own: Fields, direction: str) -> None:
    ((text, names),) = warnings(own).items()
    assert names == [own["name"]]
    assert text.startswith(f"{own['gateway']} sends one frame in 65,536")
    assert f"`loss_tolerance: {{{direction}: 0.01%}}`" in text


@pytest.mark.parametrize(
    "own",
    [
        NAT64 | {"loss_tolerance": {"reverse": "0.01%"}},
        # No frame of a connection rate that is not validated goes to IPv6.
        RATE,
        SIIT | {"directions": "forward"},
        NAT46 | {"directions": "reverse"},
        NAT64 | {"gateway": "openbsd-pf", "procedure": "latency", "rate": "20k", "search": None},
        SIIT | {"gateway": "map646"},
    ],
)
def test_other_experiments_need_none(own: Fields) -> None:
    testbed: Fields = {"kind": "lab"}
    if own["gateway"] == "openbsd-pf":
        testbed = {
            "kind": "hardware", "left": {"interface": "a"}, "right": {"interface": "b"},
            "dut": {"ssh": "root@dut", "left": "em0", "right": "em1"},
        }  # fmt: skip
    given = {key: value for key, value in own.items() if value is not None}
    assert not without_tolerance(
        resolve(Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [given]}))
    )


@pytest.mark.parametrize(
    ("gateways", "tolerance", "directions"),
    [
        (["tayga", "tayga-netfilter"], "0%", ["forward", "reverse"]),
        (["tayga", "tayga-netfilter"], "0.01%", []),
        (["linux-forward", "linux-forward"], "0%", []),
    ],
)
def test_frames_are_lost_wherever_a_chain_translates_to_ipv6(
    gateways: list[str], tolerance: str, directions: list[str]
) -> None:
    fields: dict[str, Any] = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    fields |= {"gateway": {"driver": "chain", "gateways": gateways}, "loss_tolerance": tolerance}
    fields |= {"connections": 1000, "phase1_rate": "1k"} if "tayga-netfilter" in gateways else {}
    found = without_tolerance(resolve(Plan.model_validate({"name": "p", "experiments": [fields]})))
    assert [text.rpartition("{")[2].partition(":")[0] for text in found] == directions


def test_a_box_that_the_tester_plays_stands_before_the_gateway() -> None:
    played = {"driver": "chain", "gateways": ["tester", "softwire", "tayga"]}
    ((text, _),) = warnings(NAT46 | {"gateway": played}).items()
    assert "`loss_tolerance: {forward: 0.01%}`" in text
