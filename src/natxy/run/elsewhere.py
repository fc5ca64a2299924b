# SPDX-License-Identifier: Apache-2.0
"""Adds repetitions whose trials another program has measured: their figures are those of natxy's procedures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

from natxy.dut.base import Gateway
from natxy.engine.interface import Engine
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.errors import DutError, TesterLimitError
from natxy.events.listener import RunListener
from natxy.plan.experiment import Experiment
from natxy.procedures.common.repetition import Repetition
from natxy.results.pcap import PcapWriter
from natxy.results.store import RunStore
from natxy.results.trials import TrialRecord
from natxy.run.recorder import TrialRecorder
from natxy.run.repetition import measure_repetition


@dataclass(frozen=True)
class MeasuredTrial:
    """A trial of the engine that has ended; `began` is the time in ISO 8601."""

    phase1: bool
    began: str
    result: TrialResult


def add_repetition(
    store: RunStore,
    foreign: PcapWriter,
    experiment: Experiment,
    repetition_id: int,
    trials: Sequence[MeasuredTrial],
    *,
    rate: float,
    phase1_fps: float | None = None,
    end: BaseException | None = None,
) -> None:
    """Finishes the repetition of an experiment at a given `rate`, with the figures that its procedure has of `trials`.

    `end` is raised within the procedure when it asks for a further trial: the repetition has it as the reason why there
    is no result. It is a TesterLimitError by default. Nothing is raised for a repetition that ends in this way, or
    because the gateway forwarded nothing.
    """
    recorder = _Recorder(experiment.name, 1, repetition_id, store, foreign, RunListener())
    recorder.starts = [trial.began for trial in trials]
    end = end or TesterLimitError("the trials decide nothing, and no further one was measured")
    repetition = Repetition(
        experiment=experiment,
        tester=cast(Engine, _Measured(trials, end)),
        gateway=lambda: nullcontext(cast(Gateway[Any], _NoGateway())),
        # Whether it was there then is no question of now.
        asks_alive=False,
        observer=recorder,
        sleep=lambda _: None,
        plan_seed=0,
        number=1,
        phase1_fps=phase1_fps,
        rate=rate,
    )
    try:
        measure_repetition(repetition, recorder, None)
    except BaseException as error:
        # The repetition has the reason then.
        if error is not end and not isinstance(error, TesterLimitError | DutError):
            raise


class _Recorder(TrialRecorder):
    """Stores when the trials began: the procedure receives their results later."""

    starts: Sequence[str] = ()

    def finished(self, trial: TrialRecord) -> None:
        began, *self.starts = self.starts
        super().finished(replace(trial, started_at=began))


class _Measured:
    """Answers a procedure's requests with what was measured already, once, and raises `end` for any other request."""

    def __init__(self, trials: Sequence[MeasuredTrial], end: BaseException) -> None:
        self._trials = [*trials]
        self._end = end

    def run_trial(self, request: TrialRequest, _: object = None) -> TrialResult:
        # Traffic may follow a phase 1 that the procedure repeats.
        if not self._trials or self._trials[0].phase1 != request.phase1:
            raise self._end
        return self._trials.pop(0).result


class _NoGateway:
    """Stands for the gateway, which another program controls."""

    def clear(self) -> None:
        pass

    def pause_s(self) -> None:
        pass
