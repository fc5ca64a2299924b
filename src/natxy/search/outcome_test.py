# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.search.outcome import Attempt, NeverPrepared, Outcome, TesterLimitReached, try_rate

PASS, FAIL, INVALID, DISTURBED, UNPREPARED, INVALID_PREPARATION = Outcome


def tried(*outcomes: Outcome, attempts: int = 3) -> tuple[Outcome, list[int]]:
    """Returns the outcome and the numbers of the attempts."""
    retries: list[int] = []

    def measure(attempt: Attempt) -> Outcome:
        retries.append(attempt.number)
        return outcomes[attempt.number - 1]

    return try_rate(measure, Attempt(7, 1, 1000), attempts), retries


@pytest.mark.parametrize("decided", [PASS, FAIL])
def test_what_decides_nothing_is_tried_again(decided: Outcome) -> None:
    assert tried(decided) == (decided, [1])
    assert tried(UNPREPARED, decided) == (decided, [1, 2])
    assert tried(DISTURBED, decided) == (decided, [1, 2])
    assert tried(UNPREPARED, INVALID, decided) == (decided, [1, 2, 3])


@pytest.mark.parametrize("last", [DISTURBED, INVALID, UNPREPARED])
def test_a_disturbed_failure_decides_if_nothing_else_does(last: Outcome) -> None:
    assert tried(INVALID, DISTURBED, last) == (FAIL, [1, 2, 3])


@pytest.mark.parametrize(
    ("outcomes", "invalid"),
    [
        ((INVALID,) * 3, 3), ((UNPREPARED, INVALID, INVALID), 2), ((INVALID, UNPREPARED, INVALID), 2),
        ((INVALID, UNPREPARED), 1), ((UNPREPARED, INVALID, INVALID, UNPREPARED), 2),
    ],
)  # fmt: skip
def test_tries_of_which_half_are_invalid_are_the_testers_limit(outcomes: tuple[Outcome, ...], invalid: int) -> None:
    with pytest.raises(TesterLimitReached, match=f"{invalid} of {len(outcomes)} attempts at") as caught:
        tried(*outcomes, PASS, attempts=len(outcomes))
    assert (caught.value.rate, caught.value.invalid) == (1000, invalid)
    assert caught.value.at_rate
    assert TesterLimitReached(1000, 3, 3).at_rate


@pytest.mark.parametrize(
    ("outcomes", "at_rate"),
    [
        ((INVALID_PREPARATION,) * 3, False),
        ((INVALID_PREPARATION, UNPREPARED, INVALID_PREPARATION), False),
        ((INVALID_PREPARATION, INVALID, INVALID_PREPARATION), False),
        ((INVALID, INVALID_PREPARATION, INVALID), True),
        ((INVALID, INVALID_PREPARATION, UNPREPARED), True),
    ],
)
def test_an_invalid_preparation_does_not_depend_on_the_rate(outcomes: tuple[Outcome, ...], at_rate: bool) -> None:
    with pytest.raises(TesterLimitReached) as caught:
        tried(*outcomes, PASS)
    assert caught.value.at_rate == at_rate


@pytest.mark.parametrize(
    ("outcomes", "unprepared"),
    [
        ((UNPREPARED,) * 3, 3),
        ((UNPREPARED, INVALID, UNPREPARED), 2),
        ((INVALID, UNPREPARED, UNPREPARED), 2),
    ],
)
def test_tries_that_could_not_be_prepared_are_not_the_testers_limit(
    outcomes: tuple[Outcome, ...], unprepared: int
) -> None:
    with pytest.raises(NeverPrepared, match=f"{unprepared} of 3 attempts at 1000") as caught:
        tried(*outcomes, PASS)
    assert (caught.value.attempts, caught.value.unprepared) == (3, unprepared)
