# SPDX-License-Identifier: Apache-2.0
"""Disturbs the tester before gateways that lose frames of their own, and before others that lose those of bursts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from natxy.search.outcome import Outcome
from tests.support import needs
from tests.support.undisturbed import undisturbed
from tools.told_apart import LOSING, OVERFLOWING, Bed, Case, Disturbance, Told, bed, cases, counted, table, told

EVERY_PAIR = 24
"""The first cases that have each gateway with each disturbance."""
LEAST_OF_LOSING = EVERY_PAIR // 4
"""The least number of losing gateways to tell apart where others take the cores: half.

`tools.told_apart` asks for 99 of 100 on a quiet machine. An overflowing gateway is never undecided.
"""


def test_every_gateway_meets_every_disturbance() -> None:
    chosen = cases(2 * 3 * 4 * 3, seed=1)
    pairs = Counter((case.gateway, case.disturbance) for case in chosen)
    assert len(pairs) == (len(LOSING) + len(OVERFLOWING)) * len(Disturbance)
    assert {(case.gateway, case.disturbance) for case in chosen[:EVERY_PAIR]} == set(pairs)
    assert {case.loses for case in chosen} == {True, False}
    assert sum(case.loses for case in chosen) == len(chosen) / 2
    assert cases(10, seed=1) == chosen[:10] != cases(10, seed=2)


@pytest.mark.parametrize(
    ("outcome", "losing", "overflowing"),
    [
        (Outcome.FAIL, Told.APART, Told.WRONG),
        (Outcome.PASS, Told.WRONG, Told.APART),
        (None, Told.UNDECIDED, Told.APART),
    ],
)
def test_only_a_gateway_that_loses_frames_of_its_own_may_fail(
    outcome: Outcome | None, losing: Told, overflowing: Told
) -> None:
    own, bursts = (Case(next(iter(gateways)), Disturbance.STOPPED, 1) for gateways in (LOSING, OVERFLOWING))
    assert (told(own, outcome), told(bursts, outcome)) == (losing, overflowing)


def test_the_table_counts_each_kind() -> None:
    gateway = next(iter(LOSING))
    found = Counter({(gateway, Disturbance.STOPPED, Told.APART): 3, (gateway, Disturbance.STOPPED, Told.UNDECIDED): 1})
    *_, row, total = table(found)
    assert row.endswith("| 3 | 1 | 0 |")
    assert total == "| **all** | | 3 | 1 | 0 |"
    assert counted(found, Told.APART) == 3


@pytest.fixture(scope="module")
def joined() -> Iterator[Bed]:
    with bed() as measured:
        yield measured


def decided(bed: Bed, case: Case) -> Told:
    """Measures a case up to three times, because a machine with pauses of its own leaves natxy nothing to tell."""
    measured = (told(case, bed.outcome(case)) for _ in range(3))
    return next((each for each in measured if each != Told.UNDECIDED), Told.UNDECIDED)


@needs.REFERENCE
@needs.cores(2)
def test_a_loss_of_the_gateways_own_is_told_from_one_of_pauses(joined: Bed) -> None:
    case = Case("1 of 1,000 lost", Disturbance.STOPPED, 7)
    found = undisturbed(lambda: told(case, joined.outcome(case)), lambda found: found * (found == Told.UNDECIDED))
    assert found == Told.APART, joined.results[-1].reason


@needs.REFERENCE
@needs.cores(2)
@needs.programs("taskset")
@pytest.mark.parametrize("disturbance", [Disturbance.STOPPED, Disturbance.ONE_HOG])
def test_a_loss_of_pauses_is_never_the_gateways(joined: Bed, disturbance: Disturbance) -> None:
    case = Case("10 % faster, buffer of 64", disturbance, 7)
    assert told(case, joined.outcome(case)) == Told.APART, joined.results[-1].reason


@pytest.mark.long
@pytest.mark.alone
@needs.REFERENCE
@needs.cores(2)
@needs.programs("taskset")
def test_every_gateway_is_told_apart_from_every_disturbance(
    joined: Bed, record_property: Callable[[str, object], None]
) -> None:
    found = Counter((case.gateway, case.disturbance, decided(joined, case)) for case in cases(EVERY_PAIR, seed=1))
    rows = "\n".join(table(found))
    record_property("told apart", rows)
    assert counted(found, Told.WRONG) == 0, rows
    losing = Counter({key: count for key, count in found.items() if key[0] in LOSING})
    assert counted(losing, Told.APART) >= LEAST_OF_LOSING, rows
