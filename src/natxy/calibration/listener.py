# SPDX-License-Identifier: Apache-2.0
"""Reads the figures of a calibration's cases as soon as each has been measured, and ends it when its time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from natxy.calibration.case import Case
from natxy.calibration.reading import Reading, Standing, readings
from natxy.calibration.stall import StallingListener
from natxy.events.run import ExperimentFinished, RunStarted
from natxy.events.trials import AttemptStarted
from natxy.results.reader import RunReader

NOT_MEASURED: Final = "the time was up; `--budget` gives more"
# A case that was wrong once stays wrong, whatever other runs measure.
_RANK: Final = {Standing.WRONG: 2, Standing.OK: 1, Standing.DISTURBED: 0}


class TimeIsUpError(Exception):
    """Ends the run that measures cases."""


class CalibrationListener(StallingListener):
    """Stalls the tester where a case asks for it, and reads each case when its experiment has ended.

    `folder` is that of the run in progress. TimeIsUpError ends it before the first attempt at a step after `budget_s`.
    """

    def __init__(self, cases: Sequence[Case], budget_s: float = math.inf) -> None:
        super().__init__(cases)
        self._cases = {case.name: case for case in cases}
        self._end_s = time.monotonic() + budget_s
        self._found: dict[str, list[Reading]] = {}
        self.folder = Path()

    def case_measured(self, case: Case, found: Sequence[Reading]) -> None:
        """Receives the readings that count when a case has been measured, once more or for the first time."""

    def run_started(self, event: RunStarted) -> None:
        self.folder = Path(event.folder)

    def attempt_started(self, event: AttemptStarted) -> None:
        if time.monotonic() > self._end_s:
            raise TimeIsUpError(NOT_MEASURED)

    def experiment_finished(self, event: ExperimentFinished) -> None:
        case = self._cases[event.experiment]
        self.add(case, [*readings(case, RunReader(self.folder).experiment(case.name), self.folder)])

    def add(self, case: Case, new: list[Reading]) -> None:
        """Adds readings. The later of two with the same standing counts."""
        pairs = zip(new, self._found.get(case.name, new), strict=True)
        self._found[case.name] = [max(pair, key=lambda reading: _RANK[reading.standing]) for pair in pairs]
        self.case_measured(case, self._found[case.name])

    def is_disturbed(self, case: Case) -> bool:
        return any(reading.standing == Standing.DISTURBED for reading in self._found[case.name])

    def readings_of(self, case: Case) -> list[Reading]:
        """Returns the readings that count; those of a case that was not measured have no value."""
        if case.name in self._found:
            return self._found[case.name]
        record = RunReader(self.folder).experiment(case.name)
        return [replace(each, unmeasured=True, reason=NOT_MEASURED) for each in readings(case, record, self.folder)]
