# SPDX-License-Identifier: Apache-2.0
"""Describes how a run, its experiments and their repetitions ended."""

from __future__ import annotations

from typing import Final

from natxy.results.records import ExperimentRecord, RunRecord, RunState, State

STATE_WORDS: Final = {
    State.PENDING: "not started",
    State.RUNNING: "running",
    State.DONE: "done",
    State.NO_RESULT: "no result",
    State.TESTER_LIMIT: "tester limit reached",
    State.HOST_FAILED: "a host failed",
    State.FAILED: "failed",
    State.SKIPPED: "skipped",
    State.INTERRUPTED: "interrupted",
}

RUN_STATE_WORDS: Final = {
    RunState.RUNNING: "running",
    RunState.DONE: "complete",
    RunState.INTERRUPTED: "interrupted",
    RunState.FAILED: "failed",
    RunState.DIED: "died",
}


def run_state(run: RunRecord) -> str:
    """Returns a state such as `complete, 2 without result`."""
    without = sum(experiment.statistics is None for experiment in run.experiments)
    more = f", {without} without result" if run.state is RunState.DONE and without else ""
    return RUN_STATE_WORDS[run.state] + more


def state(experiment: ExperimentRecord) -> str:
    """Returns a state such as `no result`, or `2 of 10 repetitions without result`."""
    if experiment.state is State.TESTER_LIMIT and experiment.statistics:
        limited = sum(repetition.state is State.TESTER_LIMIT for repetition in experiment.repetitions)
        return f"{STATE_WORDS[State.TESTER_LIMIT]} in {limited} of {len(experiment.repetitions)} repetitions"
    if experiment.state is State.NO_RESULT and experiment.statistics:
        without = sum(repetition.state in (State.NO_RESULT, State.SKIPPED) for repetition in experiment.repetitions)
        return f"{without} of {len(experiment.repetitions)} repetitions without result"
    return STATE_WORDS[experiment.state]


def state_and_reason(experiment: ExperimentRecord) -> str:
    return _sentence(state(experiment), experiment.reason)


def repetitions(experiment: ExperimentRecord) -> str:
    """Returns the number of repetitions with a result, such as `3`, or `2/3` if there are fewer than planned.

    Repetitions that go on until the result is precise enough are as planned when the experiment has ended.
    """
    repeat, done, begun = experiment.planned.repeat, len(experiment.values), len(experiment.repetitions)
    ended = repeat.until is not None and experiment.state in (State.DONE, State.NO_RESULT)
    asked = begun if ended else max(begun, repeat.at_most)
    return str(done) if done == asked else f"{done}/{asked}"


def precision(experiment: ExperimentRecord) -> str:
    """States why the repetitions ended, such as `±2.1 %, ±3 % reached`; empty if their number was planned."""
    until, found = experiment.planned.repeat.until, experiment.precision
    if until is None or found is None or experiment.state not in (State.DONE, State.NO_RESULT):
        return ""
    if found <= until:
        return f"±{100 * found:.1f} %, ±{100 * until:g} % reached"
    return f"±{100 * found:.1f} % after {len(experiment.repetitions)}, the most allowed; ±{100 * until:g} % not reached"


def incomplete(run: RunRecord) -> list[tuple[ExperimentRecord, str]]:
    """Returns every experiment and repetition that did not end as planned, with the reason."""
    found = []
    for experiment in run.experiments:
        if experiment.state != State.DONE:
            found.append((experiment, state_and_reason(experiment)))
        found.extend(
            (
                experiment,
                f"repetition {repetition.number}: {_sentence(STATE_WORDS[repetition.state], repetition.reason)}",
            )
            for repetition in experiment.repetitions
            if experiment.state not in (State.DONE, State.NO_RESULT)
            and (repetition.state != State.DONE or repetition.reason)
            and repetition.reason != experiment.reason
        )
    return found


def _sentence(state: str, reason: str) -> str:
    if not reason:
        return f"{state}."
    return reason if reason.startswith(state) else f"{state}: {reason}"
