# SPDX-License-Identifier: Apache-2.0
"""Tests which cases are measured again, and which of several readings counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from natxy.calibration.calibration import SCALES, Calibration, Wiring
from natxy.calibration.case import Case, exactly
from natxy.calibration.reading import Pauses, Reading, Standing
from natxy.calibration.scale import MAX_PAUSE_S
from natxy.plan.model.units import Unit
from natxy.run.events import RunListener

CASE = Case("c", "C", {}, {"procedure": "throughput"})
OTHER = Case("other", "Other", {}, {"procedure": "throughput"})
PAUSE = Pauses(both_s=2 * MAX_PAUSE_S)


def calibration(*cases: Case) -> Calibration:
    return Calibration(Wiring.MEMIF, SCALES[Wiring.MEMIF], cases)


OK, WRONG, DISTURBED = (
    Reading("c", "throughput", "rate", "x", Unit.FPS, exactly(1), measured, pauses)
    for measured, pauses in ((1, PAUSE), (2, Pauses()), (2, PAUSE))
)


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

    def measure_once(calibration: Calibration, folder: Path, _: RunListener) -> dict[str, list[Reading]]:
        folders.append(folder)
        return {case.name: [next(left) if case is CASE else OK] for case in calibration.cases}

    monkeypatch.setattr(Calibration, "_measure_once", measure_once)
    found = calibration(OTHER, CASE).measure(Path("run"), RunListener())
    assert [reading.standing for reading in found] == [Standing.OK, counts]
    assert folders == [Path("run"), *(Path(f"run/again-{number}") for number in range(2, runs + 1))]


def test_what_was_wrong_once_stays_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([[WRONG, DISTURBED], [OK, OK]])
    monkeypatch.setattr(Calibration, "_measure_once", lambda *_: {"c": next(runs)})
    assert calibration(CASE).measure(Path("run"), RunListener()) == [WRONG, OK]
