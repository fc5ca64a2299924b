# SPDX-License-Identifier: Apache-2.0
"""Tests what the scripts decide from lines made by hand, and that cttc.sh ends at gateways it would never leave."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.support.siitperf_scripts import (
    FAILED_FILL,
    Bed,
    Phase1,
    ScriptEnded,
    Search,
    binary_connection_rate,
    binary_rate,
    binary_rate_in_time,
    binary_rate_stateful,
    frame_loss,
    halving,
    table_capacity,
)

PHASE1 = Phase1(400, 2000)
WARNING = "Warning: Forward sending exceeded its time, the last frame left too late; the test is invalid.\n"


class Programs:
    """Answers calls by `answer(rate, made at)`, with the rate of phase 1, and keeps them."""

    def __init__(self, answer: Callable[[int, int], str]) -> None:
        self.calls: list[str] = []
        self._answer = answer

    def __call__(self, program: str, arguments: str) -> str:
        self.calls.append(f"{program} {arguments}")
        # Size, rate, duration, time-out, n, m; then phase 1: N, M and R.
        words = [int(word) for word in arguments.split()]
        return self._answer(words[1], words[8] if len(words) > 8 else 0)


def counted(most: int, rate: int, _made_fps: int = 0) -> str:
    """Returns the lines of a trial behind a gateway that passes `most` frames a second."""
    return "".join(
        f"{each} frames sent: {rate}\n{each} frames received: {min(rate, most)}\n" for each in ("Forward", "Reverse")
    )


def made(most: int, _rate: int, made_fps: int) -> str:
    """Returns the lines of a trial behind a gateway that makes `most` connections a second."""
    missing = 0 if made_fps <= most else 1
    failed = f"Error: {FAILED_FILL}, valid entries: 399, table size: 400\n" if missing else ""
    return f"Preliminary frames received: {400 - missing}\n{failed}"


@pytest.mark.parametrize(
    ("low", "high", "error", "limit", "tried"),
    [
        (0, 1000, 100, 700, [500, 750, 625, 687]),
        (0, 1000, 100, 5000, [500, 750, 875, 937]),
        (0, 1000, 300, 0, [500, 250]),
        (600, 1000, 99, 700, [800, 700, 750]),
        (0, 100, 100, 50, []),
    ],
)
def test_an_interval_is_halved_until_it_is_no_longer_than_the_error(
    low: int, high: int, error: int, limit: int, tried: list[int]
) -> None:
    found = halving(low, high, error, lambda rate: rate <= limit)
    assert found == Search(
        max([low, *(rate for rate in tried if rate <= limit)]), [(each, each <= limit) for each in tried]
    )


@pytest.mark.parametrize(
    ("search", "program", "last"),
    [(binary_rate, "tp", ""), (partial(binary_rate_in_time, frame_timeout_ms=250), "pdv", " 250")],
)
@pytest.mark.parametrize("direction", ["Forward", "Reverse"])
def test_a_rate_passes_if_each_direction_received_all(
    search: Callable[..., Search], program: str, last: str, direction: str
) -> None:
    def answer(rate: int, _: int) -> str:
        # Of the other direction nothing is lost.
        line = f"{direction} frames received: "
        return counted(rate, rate).replace(f"{line}{rate}", f"{line}{min(rate, 700)}")

    programs = Programs(answer)
    assert search(Bed(programs), 1000, 100).best == 687
    assert programs.calls[0] == f"{program} 84 500 1 500 2 2{last}"


@pytest.mark.parametrize(
    ("search", "best"), [(binary_rate, 0), (partial(binary_rate_in_time, frame_timeout_ms=250), 937)]
)
def test_an_invalid_trial_fails_a_step_except_in_that_of_pdv(search: Callable[..., Search], best: int) -> None:
    """binary-rate-alg.sh-pdv looks for `Error:` alone."""
    assert search(Bed(lambda _, words: WARNING + counted(9999, int(words.split()[1]))), 1000, 100).best == best


def test_a_state_table_that_was_not_filled_is_filled_again() -> None:
    rates: list[int] = []

    def answer(rate: int, made_fps: int) -> str:
        rates.append(rate)
        return made(0, rate, made_fps) if len(rates) % 2 else counted(700, rate)

    assert binary_rate_stateful(Bed(Programs(answer)), 1000, 100, PHASE1).best == 687
    assert rates == [500, 500, 750, 750, 625, 625, 687, 687]
    with pytest.raises(AssertionError, match="was not filled 20 times: Preliminary frames received: 399"):
        binary_rate_stateful(Bed(Programs(partial(made, 0))), 1000, 100, PHASE1)


@pytest.mark.parametrize("spoiled", ["", WARNING])
def test_a_connection_rate_is_that_of_phase_1_and_passes_if_all_were_made(spoiled: str) -> None:
    programs = Programs(lambda rate, made_fps: spoiled + made(1300, rate, made_fps))
    found = binary_connection_rate(Bed(programs), 4000, 500, PHASE1)
    assert found.best == (0 if spoiled else 1000)
    # D is the time of phase 1 and twice T.
    assert programs.calls[0] == "tp 84 1 1 500 2 2 400 400 2000 500 1200"


@pytest.mark.parametrize("error", ["Error: the engine died", "Input Error: rate is '0'"])
@pytest.mark.parametrize(
    "search",
    [
        partial(binary_rate, maximum=1000, error=100),
        partial(binary_rate_in_time, maximum=1000, error=100, frame_timeout_ms=250),
        partial(binary_rate_stateful, maximum=1000, error=100, phase1=PHASE1),
        partial(binary_connection_rate, maximum=1000, error=100, phase1=PHASE1),
    ],
)
def test_an_error_ends_a_search(search: Callable[[Bed], Search], error: str) -> None:
    with pytest.raises(ScriptEnded, match=error):
        search(Bed(lambda *_: error))


def test_an_error_is_a_scans_loss_of_all_frames() -> None:
    programs = Programs(lambda rate, _: "Error: the engine died" if rate == 900 else counted(700, rate))
    assert frame_loss(Bed(programs), [1000, 900, 800, 600]) == {1000: 1400, 900: 0, 800: 1400, 600: 1200}
    assert frame_loss(Bed(programs, directions=("Reverse",)), [1000]) == {1000: 700}


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
