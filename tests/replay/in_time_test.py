# SPDX-License-Identifier: Apache-2.0
"""Compares siitperf-pdv's time-out for each frame with the plan that is imported of it, where only that decides.

A shaper delays each frame more than the one before, and loses none. The highest rate at which the last one is in time
follows from the shaper's rate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from natxy.results.records import RepetitionRecord
from tests.replay.lab import PATIENCE_MS, Import
from tests.replay.limits import INTERFACES, shaped_delay_s, shaper
from tests.replay.replays import ROUNDS, ROUTER, Figures, Replay
from tests.support import needs
from tests.support.siitperf_scripts import Bed, binary_rate_in_time

pytestmark = [*needs.LAB, pytest.mark.long, needs.programs("tc")]

# Three steps, none near the rate that is known.
SHAPED, MAXIMUM, ERROR, TIMEOUT_MS = 400, 600, 80, 250
# After a trial of a second, this is longer than the shaper holds the last frame of the fastest one back.
DRAIN_MS: Final = 2000
# A sender that is late shifts the delays that follow, by twice as much at most.
SLACK: Final = SHAPED * 2 * PATIENCE_MS / 1000


def test_the_rate_at_which_the_last_frame_is_in_time(tmp_path: Path) -> None:
    rate_fps = max(rate for rate in range(MAXIMUM) if shaped_delay_s(SHAPED, rate, 1) <= TIMEOUT_MS / 1000)
    replay = Replay(
        "binary-rate-alg.sh-pdv", "linux-forward",
        # The requests by which a router finds each of many hosts would be held back too.
        asked=Import(
            ROUTER(IP_L_var="0", IP_R_var="0"), "pdv", f"84 {MAXIMUM} 1 {DRAIN_MS} 2 2 {TIMEOUT_MS}",
            {"search": {"kind": "binary", "error": ERROR}},
        ),
        limit=shaper(SHAPED, dict.fromkeys(INTERFACES, 64)),
        by_script=by_script, by_plan=by_plan,
        known={"frames/s": (rate_fps - ERROR - SLACK, rate_fps + SLACK)}, tolerance=ERROR + SLACK,
        bed={"timeout_ms": DRAIN_MS},
    )  # fmt: skip
    with replay.standing(tmp_path, tmp_path / "ledger") as ways:
        once = replay.alternating(ways, 1)
        # A busy machine may spoil one round, and a fault spoils all.
        found = once.with_rounds(replay.alternating(ways, ROUNDS - 1)) if once.differences() else once
    assert not found.differences()


def by_script(bed: Bed) -> Figures:
    return {"frames/s": binary_rate_in_time(bed, MAXIMUM, ERROR, TIMEOUT_MS).best}


def by_plan(repetition: RepetitionRecord) -> Figures:
    """Returns the rate; every frame of the trials that count arrived, so that only the time-out can have decided."""
    streams = [stream for trial in repetition.trials if not trial.undecided for stream in trial.result.streams]
    assert sum(stream.timed_out for stream in streams) > 0
    assert [stream.lost - stream.timed_out for stream in streams] == [0] * len(streams)
    assert repetition.value is not None
    return {"frames/s": repetition.value}
