# SPDX-License-Identifier: Apache-2.0
"""Adds a repetition at a given rate, such as one of delays, by natxy's procedure."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

from natxy.dut.base import Gateway
from natxy.engine.interface import Engine
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.errors import DutError, TesterLimitError
from natxy.events.listener import RunListener
from natxy.procedures.common.repetition import Repetition
from natxy.results.pcap import PcapWriter
from natxy.results.store import RunStore
from natxy.results.trials import TrialRecord
from natxy.run.recorder import TrialRecorder
from natxy.run.repetition import measure_repetition
from natxy.siitperf.recording.experiment import Part
from natxy.siitperf.trial.phases import Phase


def add_measurement(
    store: RunStore,
    foreign: PcapWriter,
    part: Part,
    phases: Sequence[Phase],
    repetition_id: int,
    broken_off: BaseException | None,
) -> None:
    """Adds a repetition at a given rate: its figures are those of natxy's procedure."""
    phase1 = part.arguments.phase1
    recorder = _Recorder(part.experiment.name, 1, repetition_id, store, foreign, RunListener())
    recorder.starts = [phase.began for phase in phases]
    end = broken_off or TesterLimitError("the trial decides nothing, and the script did not repeat it")
    repetition = Repetition(
        experiment=part.experiment,
        tester=cast(Engine, _Measured(part, phases, end)),
        gateway=lambda: nullcontext(cast(Gateway[Any], _NoGateway())),
        # Whether it was there then is no question of now.
        asks_alive=False,
        observer=recorder,
        sleep=lambda _: None,
        plan_seed=0,
        number=1,
        phase1_fps=phase1.rate_fps if phase1 else None,
        rate=part.arguments.rate_fps,
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

    def __init__(self, part: Part, phases: Sequence[Phase], end: BaseException) -> None:
        self._part = part
        self._phases = [*phases]
        self._end = end

    def run_trial(self, request: TrialRequest, _: object = None) -> TrialResult:
        # Traffic may follow a phase 1 that the procedure repeats.
        if not self._phases or self._phases[0].preliminary != request.phase1:
            raise self._end
        return self._part.renamed(self._phases.pop(0).result)


class _NoGateway:
    """Stands for the gateway, which the user's scripts control."""

    def clear(self) -> None:
        pass

    def pause_s(self) -> None:
        pass
