# SPDX-License-Identifier: Apache-2.0
"""Compares what several queues of a port tell of a stream, its losses and duplicates, with what a gateway did to it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from natxy.errors import TesterLimitError
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.run.run import run_plan
from tests.support import needs
from tests.support.undisturbed import undisturbed

pytestmark = [*needs.LAB, needs.REFERENCE]

# The overload of 5,500 frames/s empties the bucket of 256 frames in 0.2 s, and half of it lets the bucket fill in 0.2 s
# more. The gateway has recovered the recovery time after that.
LIMIT_FPS = 4_000
RATE_FPS = 5_000
BUCKET_FRAMES = 256
RECOVERY_S = 0.1
RECOVERED_S = BUCKET_FRAMES / (LIMIT_FPS - 1.1 * RATE_FPS / 2) + RECOVERY_S
DOUBLED_EVERY = 10
LATE_S = 0.05
# The bucket fills in 64 ms in which the gateway's core is away: it recovers in the midst of the overload, or is
# overloaded anew by what has waited. Linux's queue covers that, so that natxy blames the gateway.
AWAY_S = 0.05


def measured(folder: Path, queues: int) -> tuple[int, RepetitionRecord]:
    """Returns the exit code of a run, and its repetition."""
    plan = {
        "name": "p",
        "repeat": 1,
        "timing": {"preset": "lab", "trial": "500ms", "max_pause": "20ms", "overrun_floor": "20ms"},
        "testbed": {"kind": "lab", "io": "af_packet", "queues": queues},
        "experiments": [
            {
                "name": "recovery",
                "gateway": {
                    "driver": "reference",
                    "max_rate": LIMIT_FPS,
                    "buffer_frames": BUCKET_FRAMES,
                    "recovery_time": RECOVERY_S,
                    "forward": {"duplicate_every": DOUBLED_EVERY},
                },
                "procedure": "system-recovery",
                "rate": RATE_FPS,
                "directions": "forward",
                "max_invalid": 20,
            }
        ],
    }
    code = run_plan(resolve(Plan.model_validate(plan)), folder, RunListener())
    (repetition,) = RunReader(folder).run.experiments[0].repetitions
    return code, repetition


def away(found: tuple[int, RepetitionRecord]) -> str:
    """Returns that the tester was disturbed in every attempt, or that the gateway's core was away, if it recovered at
    another time and that may be why."""
    code, repetition = found
    if code == TesterLimitError.exit_code:
        return repetition.reason or "tester limit"
    away_s = repetition.trials[-1].gateway_pause_s or 0.0
    if repetition.value == pytest.approx(RECOVERED_S, abs=LATE_S) or away_s < AWAY_S:
        return ""
    return f"the gateway recovered after {repetition.value} s, and its core was away for {away_s} s"


@pytest.mark.parametrize("queues", [1, 2])
def test_a_streams_losses_and_duplicates_are_known_over_any_number_of_queues(tmp_path: Path, queues: int) -> None:
    runs = count()
    code, repetition = undisturbed(lambda: measured(tmp_path / str(next(runs)), queues), away)
    assert (code, repetition.reason) == (0, "")
    assert repetition.value == pytest.approx(RECOVERED_S, abs=LATE_S)
    result = repetition.trials[-1].result
    assert result is not None
    overload, afterwards = result.streams
    assert overload.received + afterwards.received == pytest.approx(
        DOUBLED_EVERY * (overload.duplicate + afterwards.duplicate), abs=DOUBLED_EVERY
    )
    assert afterwards.lost > 0
