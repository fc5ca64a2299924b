# SPDX-License-Identifier: Apache-2.0
"""Throughput (RFC 2544 §26.1): the highest rate at which every frame arrives, in each direction.

Where the experiment has connections it is the phase 2 of RFC 9693 §4.1: before every trial the DUT's table is emptied
and all connections are established anew.
"""

from __future__ import annotations

from natxy.engine.messages import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.throughput import ThroughputConfig
from natxy.procedures.base import Procedure, ProcedureResult
from natxy.procedures.bench import Bench
from natxy.procedures.phase1 import phase1_s, prepare_connections
from natxy.procedures.steps import search_of, search_rate
from natxy.procedures.streams import traffic_request
from natxy.results.records import Purpose, TrialKind
from natxy.search.outcome import Attempt


class Throughput(Procedure):
    declaration = ThroughputConfig

    def measure(self, bench: Bench) -> ProcedureResult:
        return search_rate(bench, lambda attempt: _step(bench, attempt))

    def expected_steps(self, experiment: Experiment) -> int:
        return search_of(experiment).expected_steps()

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        timing = experiment.timing
        return phase1_s(experiment, phase1_fps) + experiment.traffic_s + timing.drain


def _step(bench: Bench, attempt: Attempt) -> TrialResult:
    """`attempt.rate` is per direction."""
    bench.begin(attempt)
    prepared = prepare_connections(bench, attempt)
    if prepared and prepared.verdict != Verdict.PASS:
        return prepared
    return bench.trial(
        attempt,
        TrialKind.TRAFFIC,
        Purpose.MEASURE,
        attempt.rate,
        lambda seed, on_progress: bench.engine.run_trial(
            traffic_request(bench.experiment, attempt.rate, seed), on_progress
        ),
    )
