# SPDX-License-Identifier: Apache-2.0
"""Tests that the decisions of cttc.sh end, at gateways made by hand that a script would never leave."""

from __future__ import annotations

import pytest

from tests.support.siitperf_scripts import Bed, table_capacity


class Gateway:
    """Answers as `siitperf-tp` does in front of a gateway that keeps the replies of some connections at most."""

    def __init__(self, connections: int) -> None:
        self._connections = connections

    def __call__(self, program: str, arguments: str) -> str:
        # Size, rate, duration, time-out, n, m; then phase 1.
        words = [int(word) for word in arguments.split()]
        sent, connections = words[1] * words[2], words[6]
        received = sent if connections <= self._connections else 0
        return (
            f"Preliminary frames received: {connections}\n"
            f"Reverse frames sent: {sent}\nReverse frames received: {received}\n"
        )


def capacity(connections: int) -> int:
    found = table_capacity(
        Bed(Gateway(connections)), initial=100, maximum=1000, error=100, most=1000, clear=lambda: None
    )
    return found.capacity


@pytest.mark.parametrize("connections", [100, 173, 799])
def test_a_capacity_is_found(connections: int) -> None:
    assert capacity(connections) == connections


def test_a_gateway_that_passes_no_rate_ends_it() -> None:
    with pytest.raises(AssertionError, match="no rate up to 1000/s passes with 100 connections"):
        capacity(99)


def test_a_gateway_whose_rate_never_collapses_ends_it() -> None:
    with pytest.raises(AssertionError, match="did not collapse with 800 connections, and 1000 are the most"):
        capacity(5000)
