# SPDX-License-Identifier: Apache-2.0
"""Shows the figures of `natxy calibrate` beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from natxy.calibration.case import Case
from natxy.calibration.listener import CalibrationListener
from natxy.calibration.reading import Reading, Standing
from natxy.events.run import PlannedExperiment, RepetitionStarted, RunStarted
from natxy.plan.model.units import Unit, format_quantity
from natxy.report.tables.table import Column, Table, to_rich
from natxy.terminal.console import LastingConsole

_NOT_OK: Final = {
    Standing.UNMEASURED: "Not measured",
    Standing.DISTURBED: "Disturbed each time",
    Standing.WRONG: "Wrong",
}


class Watch(CalibrationListener):
    """Prints a line for each experiment, and its figures when it has ended."""

    def __init__(self, cases: Sequence[Case], budget_s: float, console: LastingConsole, folder: Path) -> None:
        super().__init__(cases, budget_s)
        self._console = console
        self._count = len(cases)
        self._number = 0
        self._again = False
        self._planned: dict[str, PlannedExperiment] = {}
        self.folder = folder

    def run_started(self, event: RunStarted) -> None:
        self._again = Path(event.folder) != self.folder
        self._planned = {experiment.name: experiment for experiment in event.experiments}
        super().run_started(event)
        self._console.print(f"results: {event.folder}")

    def repetition_started(self, event: RepetitionStarted) -> None:
        super().repetition_started(event)
        experiment = self._planned[event.experiment]
        self._number += 1
        which = "again, because a core paused:" if self._again else f"{self._number}/{self._count}"
        self._console.print(f"{which} {experiment.title}, {experiment.procedure}")

    def case_measured(self, case: Case, found: Sequence[Reading]) -> None:
        for reading in found:
            _, what, truth, measured, error, standing, _ = _row(reading)
            what = what.removeprefix(f"{case.title}: ")
            self._console.print(f"    {standing}: {what} {measured}, true {truth} ({error})")


def show(found: Sequence[Reading], folder: Path, console: LastingConsole) -> None:
    columns = (
        Column("Procedure"), Column("Figure"), Column("Truth", numeric=True), Column("Measured", numeric=True),
        Column("Error", numeric=True), Column(""), Column("Allowed", numeric=True),
    )  # fmt: skip
    console.print(to_rich(Table("Calibration", columns, tuple(_row(reading) for reading in found))))
    for why in dict.fromkeys(reading.expected.why for reading in found):
        console.print(f"• {why}")
    for standing, word in _NOT_OK.items():
        for reading in found:
            if reading.standing == standing:
                console.print(f"{word}: {reading.procedure}, {reading.what} ({reading.remark}; in {reading.folder})")
    ok = sum(reading.ok for reading in found)
    console.print(f"{ok} of {len(found)} within tolerance. `natxy report {folder}` shows the trials.")


def _row(reading: Reading) -> tuple[str, ...]:
    expected, error = reading.expected, reading.error
    return (
        reading.procedure,
        reading.what,
        _shown(expected.truth, reading.unit),
        "–" if reading.measured is None else _shown(reading.measured, reading.unit),
        "–" if error is None else _difference(error, reading),
        "WRONG" if reading.standing == Standing.WRONG else reading.standing,
        _allowed(reading),
    )


def _shown(value: float, unit: Unit) -> str:
    return f"{value:,.0f}" if unit in {Unit.FRAMES, Unit.CONNECTIONS} else format_quantity(value, unit)


def _difference(value: float, reading: Reading) -> str:
    """Formats a signed difference, as a share of the truth unless that is 0."""
    truth = reading.expected.truth
    sign = "−" if value < 0 else "+"
    if value == 0:
        return "0"
    return sign + (f"{abs(100 * value / truth):.2g} %" if truth else _shown(abs(value), reading.unit))


def _allowed(reading: Reading) -> str:
    below, above = reading.expected.below, reading.expected.above
    if below == above:
        return _difference(above, reading).replace("+", "±")
    return f"{_difference(-below, reading)} to {_difference(above, reading)}"


def as_object(reading: Reading) -> dict[str, Any]:
    expected = reading.expected
    return {
        "procedure": reading.procedure,
        "case": reading.case,
        "figure": reading.figure,
        "what": reading.what,
        "unit": reading.unit,
        "truth": expected.truth,
        "measured": reading.measured,
        "error": reading.error,
        "allowed": [-expected.below, expected.above],
        "why": expected.why,
        "ok": reading.ok,
        "standing": reading.standing,
        "tester_pause_s": reading.pauses.tester_s,
        "gateway_pause_s": reading.pauses.gateway_s,
        "remark": reading.remark,
        "run": str(reading.folder),
    }
