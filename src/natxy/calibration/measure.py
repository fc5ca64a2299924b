# SPDX-License-Identifier: Apache-2.0
"""Measures the cases of a calibration, and again those that a machine with something else to do has disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from natxy.calibration.case import Case, Reading, Standing, readings
from natxy.calibration.plan import Wiring, calibration_plan
from natxy.calibration.scale import Scale
from natxy.results.reader import RunReader
from natxy.run.events import RunListener
from natxy.run.run import run_plan

TRIES: Final = 4
# What is wrong once is wrong, whatever else was measured.
_RANK: Final = {Standing.WRONG: 2, Standing.OK: 1, Standing.DISTURBED: 0}


def measure(chosen: Sequence[Case], scale: Scale, wiring: Wiring, folder: Path, listener: RunListener) -> list[Reading]:
    """Leaves a run in `folder`, and runs of what was disturbed in folders within it."""
    found = _measured(chosen, scale, wiring, folder, listener)
    for number in range(2, TRIES + 1):
        disturbed = [case for case in chosen if any(each.standing == Standing.DISTURBED for each in found[case.name])]
        if not disturbed:
            break
        again = _measured(disturbed, scale, wiring, folder / f"again-{number}", listener)
        for name, new in again.items():
            found[name] = [_telling(*both) for both in zip(found[name], new, strict=True)]
    return [reading for case in chosen for reading in found[case.name]]


def _measured(
    chosen: Sequence[Case], scale: Scale, wiring: Wiring, folder: Path, listener: RunListener
) -> dict[str, list[Reading]]:
    """What ended without a result has readings without one."""
    run_plan(calibration_plan(chosen, scale, wiring), folder, listener)
    reader = RunReader(folder)
    return {case.name: [*readings(case, reader.experiment(case.name), folder)] for case in chosen}


def _telling(before: Reading, after: Reading) -> Reading:
    return max(after, before, key=lambda reading: _RANK[reading.standing])
