# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from natxy.search.kept import FAILURES, Keeper, Kept


def keeper(*kept: int, failures: int = FAILURES) -> tuple[Keeper, Iterator[int]]:
    """Returns a keeper whose attempts keep these numbers, and the numbers that it has not asked for yet."""
    left = iter(kept)

    def establish(connections: int, rate: float) -> Kept:
        assert rate == 1000
        found = next(left)
        return Kept(found == connections, found)

    return Keeper(establish, failures), left


def test_the_first_attempt_that_passes_decides() -> None:
    for kept in ((100,), (90, 100), (90, 80, 100)):
        asked, left = keeper(*kept)
        assert asked.keeps(100, 1000)
        assert [*left] == []


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_so_many_failures_with_different_numbers_decide_too(failures: int) -> None:
    numbers = [90, 80, 70, 60, 50, 40]
    asked, left = keeper(*numbers)
    assert not asked.keeps(100, 1000, failures)
    assert [*left] == numbers[failures:]
    assert (asked.last_kept, asked.last_full) == (numbers[failures - 1], False)


def test_a_single_attempt_decides_and_shows_no_full_table() -> None:
    asked, left = keeper(90, 90, 90, 90, failures=1)
    for _ in range(4):
        assert not asked.keeps(100, 1000)
        assert (asked.last_kept, asked.last_full) == (90, False)
    assert [*left] == []


def test_three_times_the_same_number_is_a_full_table_which_is_known_from_then_on() -> None:
    asked, left = keeper(90, 90, 90, 90, 80, 90, 80, 70, 60)
    assert not asked.keeps(100, 1000)
    assert (asked.last_kept, asked.last_full) == (90, True)
    assert not asked.keeps(95, 1000), "a single attempt"
    assert not asked.keeps(98, 1000), "the second attempt ends with the known number"
    assert (asked.last_kept, asked.last_full) == (90, True)
    assert not asked.keeps(200, 1000)
    assert (asked.last_kept, asked.last_full) == (60, False)
    assert [*left] == []


def test_two_of_three_equal_numbers_are_no_full_table() -> None:
    for numbers in ((90, 90, 80), (80, 90, 90)):
        asked, _ = keeper(*numbers, 90, 80, 70)
        assert not asked.keeps(100, 1000)
        assert not asked.last_full
        assert not asked.keeps(100, 1000)
        assert asked.last_kept == 70, "the number was not taken for that of a full table"


def test_the_same_number_in_fewer_attempts_than_three_is_no_full_table() -> None:
    asked, left = keeper(90, 90, 90, 70)
    assert not asked.keeps(100, 1000, 2)
    assert not asked.keeps(100, 1000, 2)
    assert not asked.last_full
    assert [*left] == []


@pytest.mark.parametrize(("kept", "full"), [(0, False), (1, True)])
def test_a_table_is_full_of_one_connection_but_not_of_none(kept: int, full: bool) -> None:
    asked, _ = keeper(kept, kept, kept)
    assert not asked.keeps(100, 1000)
    assert asked.last_full == full


def test_a_keeper_that_was_not_asked_knows_no_full_table() -> None:
    assert not keeper()[0].last_full
