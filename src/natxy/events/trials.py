# SPDX-License-Identifier: Apache-2.0
"""The events of a repetition: the steps of its search, and its trials while they run."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from natxy.engine.messages.results import Cause, Verdict
from natxy.events.base import Event
from natxy.results.dut_load import DutLoad
from natxy.results.trials import Purpose, TrialKind, trial_title
from natxy.untrusted.values import Real, Whole


class _OfRepetition(Event):
    experiment: str
    repetition: Whole


class AttemptStarted(_OfRepetition):
    """An attempt at a step begins: the search tries `rate`, in the experiment's `step_unit`.

    `lower` and `upper` are the bounds of a search by halving: what passed and what failed, or its limits.
    """

    event: Literal["attempt_started"] = "attempt_started"
    step: Whole
    attempt: Whole
    rate: Real
    lower: Real | None = None
    upper: Real | None = None


class _OfTrial(_OfRepetition):
    step: Whole
    attempt: Whole
    kind: TrialKind
    purpose: Purpose
    rate_fps: Real = Field(description="that of each stream")

    @property
    def title(self) -> str:
        """Names the trial, such as `traffic at 812.5 kfps per direction`."""
        return trial_title(self.kind, self.rate_fps)


class TrialStarted(_OfTrial):
    """The engine is asked for a trial."""

    event: Literal["trial_started"] = "trial_started"


class TrialProgress(Event):
    """A trial is under way. Its counters of frames so far are approximate. A file has this event once a second."""

    event: Literal["trial_progress"] = "trial_progress"
    kind: TrialKind
    elapsed_s: Real
    planned: Whole
    sent: Whole
    received: Whole


class TrialFinished(_OfTrial):
    """A trial has ended and is stored. Counts are sums over its streams."""

    event: Literal["trial_finished"] = "trial_finished"
    verdict: Verdict
    cause: Cause
    reason: str
    duration_s: Real
    planned: Whole
    sent: Whole
    received: Whole
    lost: Whole
    sent_per_second: tuple[Whole, ...]
    received_per_second: tuple[Whole, ...]
    late_ns: Whole = Field(description="how late 99 % of the frames left at most, in the stream where that is longest")
    tester_pause_s: Real = Field(description="how long the tester's core was taken from it")
    gateway_pause_s: Real | None = Field(description="how long the gateway's core was; null if unknown")
    dut_load: DutLoad | None = Field(description="what the DUT spent; null if unknown")


class Transferred(BaseModel):
    """Holds what one direction of a test between hosts carried."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    goodput_bps: Real
    retransmits: Whole


class TransfersFinished(_OfRepetition):
    """Test `number` of a repetition between hosts has ended; `transfers` is keyed by direction."""

    event: Literal["transfers_finished"] = "transfers_finished"
    number: Whole
    transfers: dict[str, Transferred]
