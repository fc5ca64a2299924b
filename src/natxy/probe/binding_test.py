# SPDX-License-Identifier: Apache-2.0
"""Tests what a report says about an end that takes packets with the address of another."""

from __future__ import annotations

import pytest

from natxy.probe.binding import Binding


@pytest.mark.parametrize(
    ("at_core", "mapped", "who", "rule"),
    [
        (True, False, "another subscriber's", "with another subscriber's address out of their softwire"),
        (False, False, "another core's", "of another end than its core out of their softwire"),
        (
            True,
            True,
            "another subscriber's",
            "whose port does not belong to their address (3 of 16 probe packets); RFC 7599",
        ),
    ],
    ids=["core", "edge", "border relay"],
)
def test_packets_of_others_that_pass_are_a_limitation(at_core: bool, mapped: bool, who: str, rule: str) -> None:
    found = Binding("isp", at_core, mapped, 16, 3)
    assert found.facts == {"binding": f"13 of 16 probe packets with {who} address were dropped"}
    [caveat] = found.caveats
    assert caveat.text.startswith("isp: The ")
    assert rule in caveat.text
    assert Binding("isp", at_core, mapped, 16, 0).caveats == []
