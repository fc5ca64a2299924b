# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.calibration.case import Case, Expected, Span, exactly, within
from natxy.calibration.reading import Pauses, Reading, Standing, readings
from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit
from natxy.results.reader import RunReader
from natxy.results.records import State
from natxy.system.core_watch import Absence
from tests.support.sample_runs import SampleRun, result, trial


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
    reading = Reading("case", "throughput", "rate", "x", Unit.FPS, expected, measured)
    assert reading.ok is ok
    assert reading.error == (error if error is None else pytest.approx(error, abs=1e-12))


def delay(measured_ns: float | None, pause_s: float, tolerated_pause_s: float = 0.0) -> Standing:
    expected = within(1e6, 5e4, "w", tolerated_pause_s)
    pauses = Pauses(both_s=pause_s)
    return Reading("case", "pdv", "pdv", "x", Unit.NS, expected, measured_ns, pauses).standing


def test_a_pause_excuses_no_more_delay_than_it_can_have_added() -> None:
    assert delay(1.05e6, 1e-3) == Standing.OK
    assert delay(2e6, 1e-3) == Standing.DISTURBED
    assert delay(2e6, 0.9e-3) == Standing.WRONG
    assert delay(0.5e6, 1e-3) == Standing.DISTURBED
    assert delay(2e6, 0.0) == Standing.WRONG


def test_a_pause_that_is_borne_excuses_nothing() -> None:
    assert delay(2e6, 1e-3, tolerated_pause_s=1e-3) == Standing.WRONG
    rate = Reading("case", "throughput", "rate", "x", Unit.FPS, exactly(100), 90.0, Pauses(both_s=0.005))
    assert rate.standing == Standing.WRONG
    longer = replace(rate, pauses=Pauses(tester_s=0.004, gateway_s=0.002, both_s=0.006))
    assert longer.standing == Standing.DISTURBED
    assert longer.remark == "in one trial the tester's core paused for up to 4 ms, the gateway's for up to 2 ms"


def test_without_a_result_and_without_a_pause_something_is_wrong() -> None:
    assert delay(None, 0.0) == Standing.WRONG
    assert delay(None, 0.1) == Standing.DISTURBED


@pytest.mark.parametrize(
    ("verdict", "upper", "standing"),
    [
        (Verdict.PASS, 1.1e5, Standing.DISTURBED),
        (Verdict.INVALID, None, Standing.DISTURBED),
        (Verdict.INVALID, 1.1e5, Standing.WRONG),
    ],
)
def test_several_short_pauses_disturb_as_one_long_one_does(
    tmp_path: Path, verdict: Verdict, upper: float | None, standing: Standing
) -> None:
    # An invalid trial decides nothing, unless it made the result a bound.
    sample = SampleRun(tmp_path)
    row = sample.store.start_repetition(sample.declare("x", title="X", repeat=1), 1)
    (stream,) = result(1e5, Verdict.PASS).streams
    paused = stream.pacing.model_copy(update={"max_pause_ns": 3_000_000, "pauses_ns": 8_000_000})
    streams = [stream.model_copy(update={"pacing": paused})]
    told = result(1e5, verdict).model_copy(update={"streams": streams})
    sample.store.add_trial(row, trial(told, absence=Absence(0.002)))
    sample.store.finish_repetition(
        row, State.DONE, value=9e4, figures={"rate": 9e4}, lower_bound=9e4, upper_bound=upper
    )
    case = Case("x", "X", {}, {"procedure": "throughput"}, {"rate": exactly(1e5)})
    (reading,) = readings(case, RunReader(sample.end()).run.experiments[0], tmp_path)
    assert (reading.figure, reading.folder, reading.standing) == ("rate", tmp_path, standing)
    if standing == Standing.DISTURBED:
        assert reading.pauses == Pauses(0.008, 0.002, 0.01)
        assert "paused for up to 8 ms, the gateway's for up to 2 ms" in reading.remark


# The gateway itself needs 20 ms.
@pytest.mark.parametrize(("took_s", "old"), [(0.028, Standing.DISTURBED), (0.024, Standing.WRONG)])
def test_a_long_change_excuses_only_what_is_counted_from_it(tmp_path: Path, took_s: float, old: Standing) -> None:
    sample = SampleRun(tmp_path)
    row = sample.store.start_repetition(sample.declare("x", title="X", repeat=1, procedure="binding-churn"), 1)
    sample.store.add_trial(row, trial(result(1e4, Verdict.PASS)))
    figures = {"unchanged_lost": 40.0, "old_passed_forward": 229.0, "change": took_s}
    sample.store.finish_repetition(row, State.DONE, value=40.0, figures=figures)
    expected = {"unchanged_lost": exactly(0), "old_passed_forward": within(250, 14, "w")}
    case = Case("x", "X", {}, {"procedure": "binding-churn"}, expected, span=Span("change", 0.02, ("old_", "new_")))
    found = {each.figure: each for each in readings(case, RunReader(sample.end()).run.experiments[0], tmp_path)}
    assert found["unchanged_lost"].standing == Standing.WRONG
    assert found["old_passed_forward"].standing == old
    longer = f", and the change took {1000 * (took_s - 0.02):.0f} ms longer"
    assert found["old_passed_forward"].remark.endswith(longer)
