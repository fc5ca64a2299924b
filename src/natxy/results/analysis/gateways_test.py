# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.results.analysis.gateways import gateway_names, several_kernels, side_by_side, traffic
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import SampleRun, Sought, replanned

OWN = "Linux 6.1.0-18-amd64"
USER_MODE = "user-mode Linux 6.1.119, one virtual CPU"
SIIT = {"kind": "siit", "prefix": "2001:2:0:64::/96", "pool": "198.19.0.1/32"}
RATE: dict[str, Any] = {"title": "Rate", "procedure": "connection-rate", "connections": 50_000}


def measured(folder: Path, *experiments: dict[str, Any]) -> RunRecord:
    run = SampleRun(folder)
    for number, experiment in enumerate(experiments):
        run.experiment(f"e{number}", Sought(100e3), **({"title": "Forwarding"} | experiment))
    return RunReader(run.end()).run


LEGACY: dict[str, Any] = {"gateway": "iptables", "variant": {"backend": "legacy", "kernel": "user-mode"}}
NFT: dict[str, Any] = {"gateway": "iptables", "variant": {"backend": "nft"}}
NFTABLES: dict[str, Any] = {"gateway": "nftables"}


def test_gateways_are_rows_and_procedures_that_each_has_once_are_columns(tmp_path: Path) -> None:
    experiments = (NFT, LEGACY, NFTABLES, NFT | RATE, LEGACY | RATE, {"title": "Alone", "procedure": "frame-loss-rate"})
    found = side_by_side(measured(tmp_path, *experiments))
    assert found is not None
    assert found.procedures == ("throughput", "connection-rate")
    rows = [(row.driver, row.kernel, row.variant, row.traffic, [*row.experiments]) for row in found.rows]
    both = ["throughput", "connection-rate"]
    # The rows of one kernel are adjacent, and a gateway that has none of the columns has no row.
    assert rows == [
        ("iptables", OWN, ("nft",), "NAT44", both),
        ("nftables", OWN, (), "NAT44", ["throughput"]),
        ("iptables", USER_MODE, ("legacy",), "NAT44", both),
    ]
    assert found.rows[0].experiments["connection-rate"].name == "e3"
    assert found.kernels == (OWN, USER_MODE)


def test_a_procedure_measured_twice_on_a_gateway_is_no_column(tmp_path: Path) -> None:
    once = (NFT, NFTABLES, NFT | RATE, NFTABLES | RATE)
    assert side_by_side(measured(tmp_path / "once", *once)) is not None
    assert side_by_side(measured(tmp_path / "twice", *once, NFTABLES | RATE)) is None


def test_only_different_kernels_are_several(tmp_path: Path) -> None:
    one = (NFT, NFTABLES, NFT | RATE, NFTABLES | RATE)
    assert not several_kernels(measured(tmp_path / "one", *one))
    assert several_kernels(measured(tmp_path / "two", *one, LEGACY))
    assert not several_kernels(measured(tmp_path / "alone", NFT))


def test_the_name_of_a_gateway_has_what_distinguishes_it_from_others_of_its_driver(tmp_path: Path) -> None:
    reference = {"gateway": "reference", "variant": {"seed": 7, "mode": "nat44"}}
    other = {"gateway": "reference", "variant": {"seed": 8, "mode": "nat44"}}
    larger = NFTABLES | {"variant": {"conntrack_max": 100_000}}
    names = gateway_names(measured(tmp_path, reference, other, NFTABLES, larger))
    assert [(name.driver, name.variant) for name in names.values()] == [
        ("reference", ("seed=7",)),
        ("reference", ("seed=8",)),
        ("nftables", ()),  # a table of another size makes it no other gateway
    ]


def test_a_gateway_that_was_never_set_up_has_the_planned_kernel(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    run.declare("guest", title="In a guest", **LEGACY)
    run.declare("own", title="On this kernel", **NFTABLES)
    names = gateway_names(RunReader(run.end()).run)
    assert [name.kernel for name in names.values()] == ["user-mode Linux", ""]


@pytest.mark.parametrize(
    ("planned", "words"),
    [
        ({"gateway": {"driver": "linux-forward"}}, "IPv4"),
        ({"gateway": {"driver": "linux-forward"}, "family": "ipv6"}, "IPv6"),
        ({"gateway": {"driver": "nftables"}}, "NAT44"),
        ({"gateway": {"driver": "nftables"}, "family": "ipv6"}, "NAT66"),
        ({"gateway": {"driver": "tayga"}, "family": "ipv6", "translation": SIIT}, "SIIT"),
    ],
)
def test_traffic_is_named_by_what_becomes_of_its_packets(tmp_path: Path, planned: dict[str, Any], words: str) -> None:
    [experiment] = measured(tmp_path, {}).experiments
    assert traffic(replanned(experiment, **planned)) == words
