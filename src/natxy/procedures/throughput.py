# SPDX-License-Identifier: Apache-2.0
"""Throughput (RFC 2544 §26.1): the highest rate at which every frame arrives, in each direction.

Where the experiment has connections it is the phase 2 of RFC 9693 §4.1: before every trial the DUT's table is emptied
and all connections are established anew.
"""

from __future__ import annotations

from natxy.procedures.bench import Bench
from natxy.procedures.streams import establish_request, traffic_request
from natxy.results.records import Purpose, TrialKind
from natxy.search.outcome import Attempt, Outcome


def measure_throughput(bench: Bench, attempt: Attempt) -> Outcome:
    """`attempt.rate` is per direction."""
    bench.begin(attempt)
    if bench.experiment.connections is not None:
        prepared = _establish(bench, attempt)
        if prepared != Outcome.PASS:
            return prepared
        bench.sleep(bench.experiment.timing.learning_pause)
    return bench.trial(
        attempt,
        TrialKind.TRAFFIC,
        Purpose.MEASURE,
        attempt.rate,
        lambda seed, on_progress: bench.engine.run_trial(
            traffic_request(bench.experiment, attempt.rate, seed), on_progress
        ),
    )


def _establish(bench: Bench, attempt: Attempt) -> Outcome:
    """Connections that are missing after phase 1 fail the step: its rate was chosen to be safe."""
    rate_fps = bench.phase1_fps
    assert rate_fps is not None
    return bench.trial(
        attempt,
        TrialKind.PHASE1,
        Purpose.PREPARE,
        rate_fps,
        lambda seed, on_progress: bench.engine.establish(
            establish_request(bench.experiment, rate_fps, seed), on_progress
        ),
    )
