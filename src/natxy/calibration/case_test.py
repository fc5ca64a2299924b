# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from natxy.calibration.case import Expected, Pauses, Reading, Standing, exactly, within
from natxy.plan.units import Unit


@pytest.mark.parametrize(
    ("expected", "measured", "error", "ok"),
    [
        (exactly(100), 100.0, 0.0, True),
        (exactly(100), 101.0, 1.0, False),
        (within(100, 2, "w"), 98.0, -2.0, True),
        (within(100, 2, "w"), 102.1, 2.1, False),
        (Expected(100, "w", below=5), 95.0, -5.0, True),
        (Expected(100, "w", below=5), 100.5, 0.5, False),
        (within(0.3, 0, "w"), 0.1 + 0.2, 0.0, True),
        (exactly(0), None, None, False),
    ],
)
def test_what_counts_as_true(expected: Expected, measured: float | None, error: float | None, ok: bool) -> None:
    reading = Reading("case", "throughput", "x", Unit.FPS, expected, measured)
    assert reading.ok is ok
    assert reading.error == (error if error is None else pytest.approx(error, abs=1e-12))


def delay(measured_ns: float | None, pause_s: float, bears_pause_s: float = 0.0) -> Standing:
    expected = within(1e6, 5e4, "w", bears_pause_s)
    pauses = Pauses(both_s=pause_s)
    return Reading("case", "pdv", "x", Unit.NS, expected, measured_ns, pauses).standing


def test_a_pause_excuses_no_more_delay_than_it_can_have_added() -> None:
    assert delay(1.05e6, 1e-3) == Standing.OK
    assert delay(2e6, 1e-3) == Standing.DISTURBED
    assert delay(2e6, 0.9e-3) == Standing.WRONG
    assert delay(0.5e6, 1e-3) == Standing.DISTURBED
    assert delay(2e6, 0.0) == Standing.WRONG


def test_a_pause_that_is_borne_excuses_nothing() -> None:
    assert delay(2e6, 1e-3, bears_pause_s=1e-3) == Standing.WRONG
    rate = Reading("case", "throughput", "x", Unit.FPS, exactly(100), 90.0, Pauses(both_s=0.005))
    assert rate.standing == Standing.WRONG
    longer = replace(rate, pauses=Pauses(tester_s=0.004, gateway_s=0.002, both_s=0.006))
    assert longer.standing == Standing.DISTURBED
    assert longer.remark == "the tester's core paused for up to 4 ms, the gateway's for up to 2 ms"


def test_without_a_result_and_without_a_pause_something_is_wrong() -> None:
    assert delay(None, 0.0) == Standing.WRONG
    assert delay(None, 0.1) == Standing.DISTURBED
