# SPDX-License-Identifier: Apache-2.0
"""Leaves calls out of the results of a run of siitperf's scripts.

Nothing is deleted: a call that is left out becomes part of an experiment of its own, as if it had been made under the
name `left-out`, and stays there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from natxy.api import PlanError, RunReader, RunRecord
from natxy.api.plans import Experiment
from natxy.api.programs import plain
from natxy.api.recording import (
    RESULTS_FILE,
    Curve,
    ExperimentRecord,
    RepetitionRecord,
    RunStore,
    State,
    TrialKind,
    TrialRecord,
    settings_of,
    sole_owner,
)
from natxy_siitperf.recording.experiment import STEPPED
from natxy_siitperf.recording.run import NAME, freely_named, next_number, of_settings
from natxy_siitperf.recording.steps import DECISIVE, found, with_losses
from natxy_siitperf.trial.phases import LEFT_OUT

_TITLE: Final = f"{LEFT_OUT}: "
_NONE_IS_LEFT: Final = "the run has no calls that could be left out"


def leave_out(folder: Path, experiment: str | None, repetition: int | None, step: int | None) -> str:
    """Leaves out a step of a repetition, the whole repetition without `step`, or the last call without `experiment`.

    Returns what was left out, in words. Raises PlanError if there is no such call.
    """
    RunReader(folder, trials=False)
    with sole_owner(folder, wait=lambda: True):
        run = RunReader(folder).run
        if run.name != NAME or not run.is_of_scripts:
            raise PlanError(f"{folder} has a run of natxy's own, {plain(run.name)}; only calls of scripts are left out")
        if experiment is None:
            if repetition is not None or step is not None:
                raise PlanError("--repetition and --step are those of an experiment; name it by --experiment")
            chosen = _last(run)
        else:
            chosen = _named(run, experiment, repetition, step)
        with closing(RunStore(folder / RESULTS_FILE, resume=True)) as store, store.all_or_nothing():
            _move(store, run.experiments, *chosen)
    of, one, number = chosen
    return f"{plain(of.name)}, repetition {one.number}" + (f", step {number}" if number else "")


Chosen = tuple[ExperimentRecord, RepetitionRecord, int | None]


def _last(run: RunRecord) -> Chosen:
    """Returns the call that was recorded last, of those that are not left out."""
    placed = [each for each in run.all_trials if not _is_left_out(each.experiment)]
    if not placed:
        raise PlanError(_NONE_IS_LEFT)
    last = max(placed, key=lambda each: each.trial.id)
    return last.experiment, last.repetition, last.trial.number if last.experiment.procedure in STEPPED else None


def _is_left_out(experiment: ExperimentRecord) -> bool:
    return experiment.title.startswith(_TITLE)


def _named(run: RunRecord, name: str, repetition: int | None, step: int | None) -> Chosen:
    if any(each.name == name and _is_left_out(each) for each in run.experiments):
        raise PlanError(f"--experiment is {plain(name)!r}, whose calls are left out already")
    names = {each.name: each for each in run.experiments if not _is_left_out(each)}
    if not names:
        raise PlanError(_NONE_IS_LEFT)
    if name not in names:
        raise PlanError(f"--experiment is {plain(name)!r}, expected one of {', '.join(map(plain, names))}")
    of = names[name]
    numbers = {each.number: each for each in of.repetitions}
    if repetition not in numbers:
        given = "missing" if repetition is None else str(repetition)
        raise PlanError(f"--repetition is {given}, expected one of {plain(name)}: {', '.join(map(str, numbers))}")
    one = numbers[repetition]
    if step is None:
        return of, one, None
    if of.procedure not in STEPPED:
        raise PlanError(f"--step is {step}, and each call of {plain(name)} is a repetition; give --repetition alone")
    steps = sorted({trial.number for trial in one.trials})
    if step not in steps:
        raise PlanError(f"--step is {step}, expected one of repetition {repetition}: {', '.join(map(str, steps))}")
    return of, one, step


def _move(
    store: RunStore,
    experiments: Iterable[ExperimentRecord],
    of: ExperimentRecord,
    one: RepetitionRecord,
    step: int | None,
) -> None:
    apart = of.planned.model_copy(update={"name": f"{LEFT_OUT}-{of.name}", "title": f"{_TITLE}{of.title}"})
    record = of_settings(settings_of(apart, "name"), experiments)
    target_id = record.id if record else store.add_experiment(freely_named(apart, experiments))
    store.set_experiment_state(target_id, State.DONE)
    number = next_number(record.repetitions if record else ())
    rest = [trial for trial in one.trials if trial.number != step]
    if step is None or not rest:
        store.move_repetition(one.id, target_id, number)
        if len(of.repetitions) == 1:
            store.remove_experiment(of.id)
        return
    alone_id = store.start_repetition(target_id, number)
    store.move_step(one.id, step, alone_id)
    for repetition_id, trials in ((one.id, rest), (alone_id, [trial for trial in one.trials if trial.number == step])):
        _finish(store, of.planned, repetition_id, trials)


def _finish(store: RunStore, planned: Experiment, repetition_id: int, trials: Iterable[TrialRecord]) -> None:
    """Stores the result of the trials that a repetition has now."""
    curves: tuple[Curve, ...] = ()
    for trial in trials:
        if trial.kind is not TrialKind.PHASE1 and trial.verdict in DECISIVE:
            curves = with_losses(curves, trial.step_rate, trial.result.streams)
    store.finish_repetition(repetition_id, **vars(found(planned, store.steps(repetition_id), curves)))
