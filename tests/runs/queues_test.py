# SPDX-License-Identifier: Apache-2.0
"""Compares what several queues of a port tell of a stream, its losses and duplicates, with what a gateway did to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.events import RunListener
from natxy.run.run import run_plan
from tests.support import needs

pytestmark = [*needs.LAB, needs.REFERENCE]

RATE_FPS = 4_000
RECOVERY_S = 0.3
DOUBLED_EVERY = 10
# The core may be away, and the buffer that the overload filled is emptied first.
LATE_S = 0.1


@pytest.mark.parametrize("queues", [1, 2])
def test_a_streams_losses_and_duplicates_are_known_over_any_number_of_queues(tmp_path: Path, queues: int) -> None:
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
                    "max_rate": RATE_FPS,
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
    assert run_plan(resolve(Plan.model_validate(plan)), tmp_path / "run", RunListener()) == 0

    (repetition,) = RunReader(tmp_path / "run").run.experiments[0].repetitions
    assert repetition.value == pytest.approx(RECOVERY_S + LATE_S / 2, abs=LATE_S / 2)
    result = repetition.trials[-1].result
    assert result is not None
    overload, afterwards = result.streams
    assert overload.received + afterwards.received == pytest.approx(
        DOUBLED_EVERY * (overload.duplicate + afterwards.duplicate), abs=DOUBLED_EVERY
    )
    assert afterwards.lost > 0
