# SPDX-License-Identifier: Apache-2.0
"""What is measured again, and which of several readings counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from natxy.calibration import measure as module
from natxy.calibration.case import Case, Pauses, Reading, Standing, exactly
from natxy.calibration.plan import SCALES, Wiring
from natxy.calibration.scale import MAX_PAUSE_S
from natxy.plan.model.units import Unit
from natxy.run.events import RunListener

CASE = Case("c", "C", {}, {"procedure": "throughput"})
OTHER = Case("other", "Other", {}, {"procedure": "throughput"})
PAUSE = Pauses(both_s=2 * MAX_PAUSE_S)

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

    def measured(chosen: Sequence[Case], *args: object) -> dict[str, list[Reading]]:
        folders.append(args[2])
        return {case.name: [next(left) if case is CASE else OK] for case in chosen}

    monkeypatch.setattr(module, "_measured", measured)
    found = module.measure([OTHER, CASE], SCALES[Wiring.MEMIF], Wiring.MEMIF, Path("run"), RunListener())
    assert [reading.standing for reading in found] == [Standing.OK, counts]
    assert folders == [Path("run"), *(Path(f"run/again-{number}") for number in range(2, runs + 1))]


def test_what_was_wrong_once_stays_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([[WRONG, DISTURBED], [OK, OK]])
    monkeypatch.setattr(module, "_measured", lambda *_: {"c": next(runs)})
    found = module.measure([CASE], SCALES[Wiring.MEMIF], Wiring.MEMIF, Path("run"), RunListener())
    assert found == [WRONG, OK]
