# SPDX-License-Identifier: Apache-2.0
"""Tests that a disturbed measurement is repeated, noted, and not repeated for ever."""

from __future__ import annotations

from itertools import count

import pytest

from tests.support.undisturbed import ATTEMPTS, DisturbedError, repeated, taken_notes, undisturbed

pytestmark = pytest.mark.usefixtures("virtual_time")


def test_the_first_undisturbed_measurement_counts_and_the_others_are_noted() -> None:
    numbers = count()
    assert undisturbed(lambda: next(numbers), lambda number: f"lost {number}" if number < 2 else "") == 2
    notes = taken_notes()
    assert [note.partition(" (")[0] for note in notes] == ["lost 0", "lost 1"]
    assert taken_notes() == []


def test_a_measurement_that_is_always_disturbed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.undisturbed.PATIENCE_S", -1)
    with pytest.raises(AssertionError, match=rf"^all {ATTEMPTS} attempts were disturbed.*'lost \("):
        undisturbed(lambda: None, lambda _: "lost")
    assert len(taken_notes()) == ATTEMPTS


def test_a_disturbed_test_runs_again_also_without_a_reason() -> None:
    calls: list[int] = []

    @repeated
    def test(given: int) -> None:
        calls.append(given)
        if len(calls) < 3:
            raise DisturbedError
        assert given == 7

    test(7)
    assert calls == [7, 7, 7]
    assert len(taken_notes()) == 2


def test_a_failure_of_another_kind_is_not_repeated() -> None:
    calls: list[int] = []

    @repeated
    def test() -> None:
        calls.append(1)
        raise AssertionError("wrong")

    with pytest.raises(AssertionError, match="wrong"):
        test()
    assert calls == [1]
