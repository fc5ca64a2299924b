# SPDX-License-Identifier: Apache-2.0
"""Tests which cases are measured again, and which of several readings counts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.calibration.calibration import SCALES, Calibration
from natxy.calibration.case import Case, exactly
from natxy.calibration.listener import CalibrationListener, TimeIsUpError
from natxy.calibration.reading import Pauses, Reading, Standing
from natxy.calibration.scale import MAX_PAUSE_S
from natxy.calibration.wiring import Wiring
from natxy.events.trials import AttemptStarted
from natxy.plan.model.units import Unit

CASE = Case("c", "C", {}, {"procedure": "throughput"})
OTHER = Case("other", "Other", {}, {"procedure": "throughput"})
PAUSE = Pauses(both_s=2 * MAX_PAUSE_S)


def calibration(*cases: Case) -> Calibration:
    return Calibration(Wiring.MEMIF, SCALES[Wiring.MEMIF], cases)


OK, WRONG, DISTURBED = (
    Reading("c", "throughput", "rate", "x", Unit.FPS, exactly(1), measured, pauses)
    for measured, pauses in ((1, PAUSE), (2, Pauses()), (2, PAUSE))
)


class Noting(CalibrationListener):
    """Notes the standings of each case as it has been measured."""

    def __init__(self, cases: Sequence[Case], budget_s: float = 1e9) -> None:
        super().__init__(cases, budget_s)
        self.noted: list[tuple[str, list[Standing]]] = []

    def case_measured(self, case: Case, found: Sequence[Reading]) -> None:
        self.noted.append((case.name, [reading.standing for reading in found]))


@pytest.mark.parametrize(
    ("in_turn", "runs", "counts"),
    [
        ([OK], 1, Standing.OK),
        ([WRONG], 1, Standing.WRONG),
        ([DISTURBED, OK], 2, Standing.OK),
        ([DISTURBED, DISTURBED, WRONG], 3, Standing.WRONG),
        ([DISTURBED] * 4, 4, Standing.DISTURBED),
    ],
)
def test_what_was_disturbed_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, in_turn: list[Reading], runs: int, counts: Standing
) -> None:
    left: Iterator[Reading] = iter(in_turn)
    folders = []

    def measure_once(calibration: Calibration, folder: Path, listener: CalibrationListener) -> None:
        folders.append(folder)
        for case in calibration.cases:
            listener.add(case, [next(left) if case is CASE else OK])

    monkeypatch.setattr(Calibration, "_measure_once", measure_once)
    listener = Noting([OTHER, CASE])
    found = calibration(OTHER, CASE).measure(Path("run"), listener)
    assert [reading.standing for reading in found] == [Standing.OK, counts]
    assert folders == [Path("run"), *(Path(f"run/again-{number}") for number in range(2, runs + 1))]
    assert [name for name, _ in listener.noted] == ["other"] + ["c"] * runs
    assert listener.noted[-1] == ("c", [counts])


def test_what_was_wrong_once_stays_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([[WRONG, DISTURBED], [OK, OK]])
    monkeypatch.setattr(Calibration, "_measure_once", lambda _, __, listener: listener.add(CASE, next(runs)))
    assert calibration(CASE).measure(Path("run"), Noting([CASE])) == [WRONG, OK]


def attempt(step: int) -> AttemptStarted:
    return AttemptStarted(experiment=CASE.name, repetition=1, step=step, attempt=1, rate=1.0)


@pytest.mark.usefixtures("virtual_time")
def test_nothing_is_begun_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine so busy that every case is disturbed each time."""
    attempts = 0

    def measure_once(calibration: Calibration, _: Path, listener: CalibrationListener) -> None:
        nonlocal attempts
        for case in calibration.cases:
            listener.attempt_started(attempt(1))
            attempts += 1
            time.sleep(60)
            listener.add(case, [DISTURBED])

    monkeypatch.setattr(Calibration, "_measure_once", measure_once)
    found = calibration(OTHER, CASE).measure(Path("run"), Noting([OTHER, CASE], budget_s=150))
    assert [reading.standing for reading in found] == [Standing.DISTURBED] * 2
    assert attempts == 3


@pytest.mark.usefixtures("virtual_time")
def test_the_time_ends_a_case_between_two_of_its_attempts() -> None:
    listener = Noting([CASE], budget_s=10)
    listener.attempt_started(attempt(1))
    time.sleep(11)
    with pytest.raises(TimeIsUpError, match="the time was up"):
        listener.attempt_started(attempt(2))


def test_a_figure_that_was_not_measured_is_neither_wrong_nor_disturbed() -> None:
    reading = replace(DISTURBED, measured=None, unmeasured=True, reason="the time was up")
    assert (reading.standing, reading.ok, reading.remark) == (Standing.UNMEASURED, False, "the time was up")
