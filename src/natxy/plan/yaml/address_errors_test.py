# SPDX-License-Identifier: Apache-2.0
"""Tests the errors of a plan's addresses: texts that are none, families, networks and ranges that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.yaml.loading_test import errors_of, experiment


@pytest.mark.parametrize("prefix", ["2001:2:0:64::/65", "64:ff9b::/47"])
def test_a_prefix_that_embeds_no_addresses_is_named_like_any_field(tmp_path: Path, prefix: str) -> None:
    text = experiment(f'connections: 50k\n    translation: {{kind: nat64, prefix: "{prefix}"}}')
    expected = "expected a /32, /40, /48, /56, /64 or /96 such as 2001:2:0:64::/96"
    message = f"experiments[0].translation.prefix: {expected}, got {prefix}"
    assert message in errors_of(tmp_path, text)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "pool",
            "{first: 198.19.4.4, last: 198.19.4.11}",
            "one prefix with all public addresses, such as 198.19.0.4/30, got a mapping",
        ),
        ("pool", "5", "one prefix with all public addresses, such as 198.19.0.4/30, got 5"),
        ("pool", "true", "one prefix with all public addresses, such as 198.19.0.4/30, got true"),
        (
            "pool",
            "198.19.4.4-198.19.4.11",
            "one prefix with all public addresses, such as 198.19.0.4/30, got '198.19.4.4-",
        ),
        (
            "pool",
            "198.19.4.5/30",
            "one prefix with all public addresses, such as 198.19.0.4/30, got '198.19.4.5/30', which has bits set",
        ),
        (
            "left_hosts",
            "5",
            "an address, a prefix such as 198.18.0.0/24, or {first: 198.18.0.2, last: 198.18.0.9}, got 5",
        ),
        ("left_hosts", "10.0.0.1/24", "an address, a prefix such as 198.18.0.0/24, or {first: 198.18.0.2, last: 198."),
        ("left", "{dut: 5, tester: 10.0.0.2/24}", "an address with the length of its prefix, as 198.18.0.1/24, got 5"),
        (
            "left",
            "{dut: a, tester: 10.0.0.2/24}",
            "an address with the length of its prefix, as 198.18.0.1/24, got 'a'",
        ),
    ],
)
def test_an_address_of_either_family_is_expected_once(tmp_path: Path, field: str, value: str, message: str) -> None:
    at = f"experiments[0].addresses.{field}{'.dut' if field == 'left' else ''}: "
    errors = errors_of(tmp_path, experiment(f"connections: 50k\n    addresses: {{{field}: {value}}}"))
    assert f"{at}expected {message}" in errors
    assert errors.count("expected") == 1
    assert "lax-or-strict" not in errors


BAD_ADDRESSES = [
    (
        "connections: 50k\n    addresses: {left_hosts: 198.18.0.2-198.18.0.9}",
        "9:17",
        "expected an address, a prefix such as 198.18.0.0/24, or {first: 198.18.0.2, last: 198.18.0.9}, got '198.18.",
    ),
    (
        "connections: 50k\n    addresses: {left: {dut: 198.19.0.1/24, tester: 198.19.0.9/24}}",
        "9:5",
        "experiments[0].addresses: the networks of the two links overlap, 198.19.0.0/24 on the left and ",
    ),
    (
        "connections: 50k\n    addresses: {left: {dut: 10.1.0.1/24, tester: 10.1.0.2/24, behind: [10.9.0.0/16]}, "
        "right: {dut: 10.2.0.1/24, tester: 10.2.0.2/24, behind: [10.9.0.0/16]}}",
        "9:5",
        "experiments[0].addresses: 10.9.0.0/16 is behind both links; give each its own",
    ),
    (
        "connections: 50k\n    addresses: {right_hosts: 8.8.8.8}",
        "9:17",
        "experiments[0].addresses.right_hosts: the gateway has no route to all of 8.8.8.8",
    ),
    (
        "connections: 50k\n    addresses: {right: {dut: 8.8.8.1/24, tester: 8.8.8.8/24}}",
        "9:5",
        "experiments[0].addresses.right_hosts: 8.8.8.8 is outside the benchmark and private ranges",
    ),
    (
        "connections: 50k\n    addresses: {left: {dut: 'fd00::1/64', tester: 'fd00::2/64'}}",
        "9:17",
        "experiments[0].addresses.left: this side's family is ipv4",
    ),
    (
        "connections: 50k\n    addresses: {preset: multiple, left: {dut: 10.1.0.1/24, tester: 10.1.0.2/24}}",
        "9:5",
        "experiments[0].addresses.left_hosts: missing; `multiple` on a link of your own needs its range",
    ),
    (
        "connections: 50k\n    addresses: {networks: 256, left: {dut: 10.1.0.1/24, tester: 10.1.0.2/24}}",
        "9:17",
        "experiments[0].addresses.networks: left is a link of your own; give its own `networks` there instead",
    ),
    (
        "connections: 50k\n    addresses: {right_hosts: [198.19.4.0/24, 8.8.8.0/24]}",
        "9:17",
        "experiments[0].addresses.right_hosts: the gateway has no route to all of 8.8.8.1 to 8.8.8.254",
    ),
]


@pytest.mark.parametrize(("lines", "position", "message"), BAD_ADDRESSES)
def test_addresses_that_cannot_work_are_told_before_anything_is_touched(
    tmp_path: Path, lines: str, position: str, message: str
) -> None:
    errors = errors_of(tmp_path, experiment(lines))
    assert f"plan.yaml:{position}: " in errors
    assert message in errors


@pytest.mark.parametrize(("hosts", "item"), [("198.18.0.2, 198.18.0.300", 1), ("198.18.0.300", 0)])
def test_a_list_with_a_wrong_item_is_not_too_short(tmp_path: Path, hosts: str, item: int) -> None:
    errors = errors_of(tmp_path, experiment(f"addresses: {{left_hosts: [{hosts}]}}"))
    assert len(errors.splitlines()) == 3
    assert f"addresses.left_hosts[{item}]: expected an address, a prefix" in errors
    assert "addresses.left_hosts: expected a list of at least 1" in errors_of(
        tmp_path, experiment("addresses: {left_hosts: []}")
    )
