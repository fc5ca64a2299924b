# SPDX-License-Identifier: Apache-2.0
"""Adds a repetition at a given rate, such as one of delays, by natxy's procedure."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.api import TesterLimitError
from natxy.api.procedures import MeasuredTrial, add_repetition
from natxy.api.recording import PcapWriter, RunStore
from natxy_siitperf.recording.experiment import Part
from natxy_siitperf.trial.phases import Phase


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
    add_repetition(
        store,
        foreign,
        part.experiment,
        repetition_id,
        [MeasuredTrial(each.preliminary, each.began, part.renamed(each.result)) for each in phases],
        rate=part.arguments.rate_fps,
        phase1_fps=phase1.rate_fps if phase1 else None,
        end=broken_off or TesterLimitError("the trial decides nothing, and the script did not repeat it"),
    )
