# SPDX-License-Identifier: Apache-2.0
"""Checks that trials do not last too long, and that gateways keep the connections for as long as they last.

A rate that another experiment has yet to measure is assumed to be the lowest that this may find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.units import LONGEST_DURATION_S, format_duration
from natxy.plan.scale import shortfalls, slowest_phase1_fps, table_need


def check_connections(experiments: Sequence[tuple[Location, Experiment]]) -> Iterator[Problem]:
    """Yields the problems of all experiments of a plan."""
    others = {experiment.name: experiment for _, experiment in experiments}
    for location, experiment in experiments:
        phase1_fps = slowest_phase1_fps(experiment, others)
        longest_s = experiment.longest_trial_s(phase1_fps)
        if longest_s > LONGEST_DURATION_S:
            yield Problem(location, _too_long(experiment, longest_s))
        if experiment.kinds and (need := table_need(experiment, phase1_fps)):
            for short in shortfalls(experiment, need):
                if short.planned:
                    yield Problem((*location, *short.setting), short.text)


def _too_long(experiment: Experiment, longest_s: float) -> str:
    limit = format_duration(LONGEST_DURATION_S)
    remedy = "raise the lowest rate or ask for fewer connections" if experiment.connections else "ask for a shorter one"
    return f"the longest trial would take {format_duration(longest_s)}, {limit} is the most; {remedy}"
