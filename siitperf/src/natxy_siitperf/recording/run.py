# SPDX-License-Identifier: Apache-2.0
"""Appends the trials of siitperf's scripts to a run of their own, one call of a program after the other.

A script searches by itself, and does not say when it begins anew. The trials of one repetition have different rates;
one at a rate that was decided already begins the next repetition.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from natxy.api import NatxyError, PlanError, RunReader
from natxy.api.plans import Experiment
from natxy.api.programs import plain
from natxy.api.recording import (
    FOREIGN_FILE,
    RESULTS_FILE,
    ExperimentRecord,
    MachineLoad,
    PcapWriter,
    Purpose,
    RepetitionRecord,
    RunState,
    RunStore,
    State,
    TrialKind,
    TrialRecord,
    describe_machine,
    full_version,
    limitation,
    make_folder,
    settings_of,
    sole_owner,
)
from natxy_siitperf.recording.experiment import Part
from natxy_siitperf.recording.steps import DECISIVE, found, with_losses
from natxy_siitperf.trial.phases import RUN, Phase

NAME: Final = "siitperf"
_SCRIPTS: Final = limitation(
    "Programs that stand in for siitperf's measured each trial by itself, as the user's scripts asked: natxy chose no "
    "rate, repeated no trial, and neither set up nor knows the gateway. Nor did it empty the gateway's table."
)


def check_folder(folder: Path) -> None:
    """Makes the folder of the run if there is none. Raises PlanError if it cannot have the trials of scripts."""
    with _mended(folder), suppress(FileExistsError):
        if _has_run(folder):
            if (found := RunReader(folder, trials=False).run.name) != NAME:
                raise PlanError(f"it has a run of natxy's own, {found}; name another folder")
        elif not folder.is_dir():
            make_folder(folder)


def append(
    folder: Path,
    part: Part,
    phases: Sequence[Phase],
    tester: Mapping[str, str],
    broken_off: BaseException | None = None,
    began: MachineLoad | None = None,
) -> None:
    """Appends the phases of one call of a program, all or none. Raises PlanError if they cannot be written.

    `tester` describes the ports and the cores. `broken_off` is what ended the call in the middle of its test. The run
    was under way since `began`, the load before the first phase, or since now. This waits while another program
    appends, which takes a moment. Foreign frames of phases that could not be written may stay in the capture.
    """
    with _mended(folder), sole_owner(folder, wait=lambda: True):
        begun = _has_run(folder)
        experiments = RunReader(folder, trials=False).run.experiments if begun else []
        if not begun:
            _remove_beginnings(folder)
        with (
            closing(RunStore(folder / RESULTS_FILE, resume=begun)) as store,
            closing(PcapWriter(folder / FOREIGN_FILE)) as foreign,
            store.all_or_nothing(),
        ):
            if begun:
                store.resume_run(began)
            else:
                store.start_run(
                    name=NAME,
                    plan_yaml=f"name: {NAME}\n",
                    seed=0,
                    natxy_version=full_version(),
                    machine=describe_machine(),
                    caveats=[_SCRIPTS],
                    began=began,
                )
            store.describe_tester(engine={}, testbed=tester, caveats=())
            _append(store, foreign, part, phases, experiments, broken_off)
            store.finish_run(RunState.DONE)


def _append(
    store: RunStore,
    foreign: PcapWriter,
    part: Part,
    phases: Sequence[Phase],
    experiments: Sequence[ExperimentRecord],
    broken_off: BaseException | None,
) -> None:
    settings = part.settings
    record = of_settings(settings, experiments)
    experiment_id = record.id if record else store.add_experiment(freely_named(part.experiment, experiments))
    repetitions = record.repetitions if record else []
    # A script of connection rates may have one frame of traffic, for which no procedure has a place.
    phases = [each for each in phases if not part.counts_phase1 or each.preliminary]
    if part.tried_fps is None:
        repetition_id = store.start_repetition(experiment_id, next_number(repetitions))
        # It takes half a second to import, and trials of searches do not need it.
        from natxy_siitperf.recording.measurement import add_measurement

        add_measurement(store, foreign, part, phases, repetition_id, broken_off)
    else:
        _add_step(store, foreign, part, phases, experiment_id, repetitions)
    store.set_experiment_state(experiment_id, State.DONE)


def _add_step(
    store: RunStore,
    foreign: PcapWriter,
    part: Part,
    phases: Sequence[Phase],
    experiment_id: int,
    repetitions: Sequence[RepetitionRecord],
) -> None:
    """Adds a step of a search or of a scan, and the result so far of all its steps."""
    rate = float(part.tried_fps or 0)
    steps = store.steps(repetitions[-1].id) if repetitions else []
    if any(each.rate == rate and each.verdict in DECISIVE for each in steps):
        steps = []
    repetition_id = repetitions[-1].id if steps else store.start_repetition(experiment_id, next_number(repetitions))
    curves = store.curves(repetition_id)
    number = max((each.number for each in steps), default=0) + 1
    for phase in phases:
        measures = part.counts_phase1 or not phase.preliminary
        result = part.renamed(phase.result)
        foreign.add(result.samples)
        trial = TrialRecord.of(
            result,
            number=number,
            attempt=1,
            kind=TrialKind.PHASE1 if phase.preliminary else TrialKind.TRAFFIC,
            purpose=Purpose.MEASURE if measures else Purpose.PREPARE,
            step_rate=rate,
            rate_fps=phase.rate_fps,
            started_at=phase.began,
        )
        store.add_trial(repetition_id, trial)
        if not phase.preliminary and result.verdict in DECISIVE:
            curves = with_losses(curves, rate, result.streams)
    store.finish_repetition(repetition_id, **vars(found(part.experiment, store.steps(repetition_id), curves)))


def of_settings(settings: Mapping[str, Any], experiments: Iterable[ExperimentRecord]) -> ExperimentRecord | None:
    """Returns the experiment that has these settings, and any name."""
    return next((each for each in experiments if settings_of(each.planned, "name") == settings), None)


def freely_named(planned: Experiment, experiments: Iterable[ExperimentRecord]) -> Experiment:
    """Returns the experiment, with a number behind its name if that is taken."""
    taken = {each.name for each in experiments}
    numbered = (f"{planned.name}-{number}" for number in count(2))
    return planned.model_copy(update={"name": next(n for n in chain([planned.name], numbered) if n not in taken)})


def next_number(repetitions: Iterable[RepetitionRecord]) -> int:
    # One that was left out may be missing.
    return 1 + max((each.number for each in repetitions), default=0)


def _has_run(folder: Path) -> bool:
    """Returns False for a file that a program made which was killed before it had a run."""
    return os.path.exists(folder / RESULTS_FILE) and RunStore.has_run(folder / RESULTS_FILE)


def _remove_beginnings(folder: Path) -> None:
    """Removes what a program left that was killed before it had a run."""
    for ending in ("", "-wal", "-shm"):
        folder.joinpath(RESULTS_FILE + ending).unlink(missing_ok=True)


@contextmanager
def _mended(folder: Path) -> Iterator[None]:
    """Says which variable named the folder."""
    try:
        yield
    except (NatxyError, OSError, sqlite3.Error) as error:
        raise PlanError(f"{RUN} is {plain(str(folder))!r}: {error}") from error
