# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.yaml.loading_test import errors_of, load

PLAN = """\
name: sized
experiments:
  - name: rate
    gateway: {driver: nftables, conntrack_max: %s}
    procedure: %s
    search: {min_rate: 100k, max_rate: 1M}
"""
RATE = "connection-rate\n    connections: [100k, 101, 3]"


@pytest.mark.parametrize(
    ("written", "sizes"),
    [("{per_connection: 1.1}", [110_000, 112, 4]), ("{per_connection: 1}", [100_000, 101, 3]), ("1M", 3 * [1_000_000])],
)
def test_a_table_follows_the_connections(tmp_path: Path, written: str, sizes: list[int]) -> None:
    plan = load(tmp_path, PLAN % (written, RATE))
    gateways = [experiment.gateway for experiment in plan.experiments]
    assert [gateway.conntrack_max for gateway in gateways if isinstance(gateway, NftablesConfig)] == sizes
    assert [experiment.cell["connections"] for experiment in plan.experiments] == [100_000, 101, 3]
    assert load(tmp_path, plan.to_yaml()) == plan


PAIRS = "throughput\n    connections: 100\n    phase1_rate: 1k\n    pairs: "


@pytest.mark.parametrize("three", ["3", "'3'", "3.0"])
def test_a_table_has_the_connections_of_all_pairs(tmp_path: Path, three: str) -> None:
    one, all_three = load(tmp_path, PLAN % ("{per_connection: 2}", f"{PAIRS}[1, {three}]")).experiments
    assert (one.pairs, one.gateway.table_sizes) == (1, {"conntrack_max": 200})
    assert (all_three.pairs, all_three.gateway.table_sizes) == (3, {"conntrack_max": 600})


def test_pairs_that_are_no_number_are_the_only_error(tmp_path: Path) -> None:
    found = errors_of(tmp_path, PLAN % ("{per_connection: 2}", f"{PAIRS}many"))
    assert "experiments[0].pairs: expected a whole number, got 'many'" in found
    assert "conntrack_max" not in found


def test_no_table_is_larger_than_the_kernels(tmp_path: Path) -> None:
    assert "conntrack_max: expected at most 2147483647" in errors_of(tmp_path, PLAN % (2**31, RATE))


def test_a_count_has_31_bits(tmp_path: Path) -> None:
    [first, *_] = load(tmp_path, PLAN % (2**31 - 1, RATE)).experiments
    assert first.gateway.table_sizes == {"conntrack_max": 2**31 - 1}
    assert "expected at most 2147483647, got 2147483648" in errors_of(tmp_path, PLAN % (2**31, RATE))


def test_the_share_is_swept_like_anything(tmp_path: Path) -> None:
    plan = load(tmp_path, PLAN % ("{per_connection: [1, 2]}", RATE))
    assert [[*experiment.cell.values()] for experiment in plan.experiments][:4] == [
        ["1", 100_000],
        ["1", 101],
        ["1", 3],
        ["2", 100_000],
    ]


@pytest.mark.parametrize(
    ("written", "procedure", "message"),
    [
        ("{per_connection: 1.1}", "table-capacity", "per_connection needs the experiment's `connections`; give"),
        ("{per_connection: .inf}", RATE, "expected a count, or {per_connection: 1.1} with a number above 0 and"),
        ("{per_connection: 1e308}", RATE, "expected a count, or {per_connection: 1.1} with a number above 0 and"),
        ("{per_connection: 0}", RATE, "expected a count, or {per_connection: 1.1} with a number above 0"),
        ("{per_conection: 1}", RATE, "expected a count, or {per_connection: 1.1} with a number above 0"),
        ("{per_connection: 0.9}", RATE, "the table of 90000 entries is smaller than the 100000 connections"),
    ],
)
def test_a_table_that_can_follow_nothing_is_refused(tmp_path: Path, written: str, procedure: str, message: str) -> None:
    assert f"plan.yaml:4:33: experiments[0].gateway.conntrack_max: {message}" in errors_of(
        tmp_path, PLAN % (written, procedure)
    )
