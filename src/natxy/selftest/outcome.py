# SPDX-License-Identifier: Apache-2.0
"""Computes the result of a self-test from a run over a loop."""

from __future__ import annotations

from natxy.engine.messages.results import Pacing
from natxy.errors import PlanError
from natxy.plan.model.traffic import Directions
from natxy.results.records import ExperimentRecord, RunRecord, State
from natxy.results.selftest import Ceiling, PacingError, SelfTest, TesterIdentity, variant_of, work_of


def self_test_of(run: RunRecord, tester: TesterIdentity) -> SelfTest:
    """Returns the limits of `tester` that the run found. Raises PlanError when it found no highest rate."""
    measured = [each for each in run.experiments if each.procedure != "pdv" and each.values]
    ceilings = _lowest([ceiling for each in measured if (ceiling := _ceiling(each))])
    if not ceilings:
        reasons = "; ".join(dict.fromkeys(each.reason for each in run.experiments if each.reason))
        raise PlanError(f"the self-test found no rate that the tester can do: {reasons or 'nothing was measured'}")
    streams = [
        (stream, trial)
        for each in run.experiments
        for repetition in each.repetitions
        for trial in repetition.trials
        for stream in trial.result.streams
        if trial.duration_s > 0
    ]
    busiest, its_trial = max(streams, key=lambda found: found[0].received / found[1].duration_s)
    return SelfTest(
        tester=tester,
        measured_at=run.started_at,
        natxy_version=run.natxy_version,
        kernel=run.machine["kernel"],
        ceilings=ceilings,
        receive_fps=busiest.received / its_trial.duration_s,
        receive_limited=its_trial.tester_drops > 0,
        least_delay_ns=min((stream.delay.min_ns for stream, _ in streams if stream.delay), default=None),
        pacing=[_pacing(each) for each in run.experiments if each.procedure == "pdv" and each.state is State.DONE],
    )


def _lowest(ceilings: list[Ceiling]) -> list[Ceiling]:
    """Returns one ceiling for each kind of frames and work: over connections, the two directions may differ."""
    lowest: dict[object, Ceiling] = {}
    for each in ceilings:
        kind = (each.family, each.frame_size, each.variant, each.both_ways, each.work)
        if kind not in lowest or each.rate_fps < lowest[kind].rate_fps:
            lowest[kind] = each
    return [*lowest.values()]


def _ceiling(experiment: ExperimentRecord) -> Ceiling | None:
    planned = experiment.planned
    work = work_of(planned)
    if work is None:
        return None
    return Ceiling(
        work=work,
        connections=planned.connections,
        family=planned.family,
        frame_size=planned.frame_size,
        variant=variant_of(planned),
        both_ways=planned.directions == Directions.BIDIRECTIONAL,
        rate_fps=min(experiment.values),
        open=all(repetition.upper_bound is None for repetition in experiment.repetitions),
        repeats=len(experiment.values),
    )


def _pacing(experiment: ExperimentRecord) -> PacingError:
    """Returns the errors of the best repetition: disturbances from outside say little about the tester's pacing."""
    trials = [repetition.trials[-1] for repetition in experiment.repetitions]
    measured: list[Pacing] = [trial.result.streams[0].pacing for trial in trials]
    best = min(measured, key=lambda pacing: pacing.p999_ns)
    return PacingError(
        rate_fps=trials[0].rate_fps,
        median_ns=best.median_ns,
        p99_ns=best.p99_ns,
        p999_ns=best.p999_ns,
        max_ns=best.max_ns,
        histogram=best.histogram or [],
    )
