# SPDX-License-Identifier: Apache-2.0
"""Counts what disturbed the trials of a run: undecided trials, cores that were taken away, and slow ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from natxy.engine.messages.results import Verdict
from natxy.results.analysis.core_speed import CoreSpeed, core_speed, highest_speeds
from natxy.results.records import RunRecord
from natxy.results.trials import TrialRecord

# At 400,000 frames/s the 1000 frames of Linux's backlog arrive in 2.5 ms.
NOTICED_PAUSE_S: Final = 0.002
NOTICED_AWAY: Final = 0.05


@dataclass(frozen=True)
class Absences:
    """Holds for how long a core was taken away in the `trials` that know it, in seconds.

    `most_s` is the time in the trial with the longest. Steal and the time behind other tasks are None where no trial
    tells them apart.
    """

    trials: int
    traffic_s: float
    total_s: float
    most_s: float
    stolen_s: float | None = None
    delayed_s: float | None = None

    @property
    def share(self) -> float:
        return self.total_s / self.traffic_s if self.traffic_s else 0.0

    @classmethod
    def of_tester(cls, trials: Sequence[TrialRecord]) -> Self | None:
        return cls._of(trials, [trial.tester_pause_s for trial in trials])

    @classmethod
    def of_gateway(cls, trials: Sequence[TrialRecord]) -> Self | None:
        known = [trial for trial in trials if trial.gateway_pause_s is not None]
        stolen_s = [trial.gateway_stolen_s for trial in known if trial.gateway_stolen_s is not None]
        delayed_s = [trial.gateway_delayed_s for trial in known if trial.gateway_delayed_s is not None]
        return cls._of(
            known,
            [trial.gateway_pause_s or 0.0 for trial in known],
            sum(stolen_s) if stolen_s else None,
            sum(delayed_s) if delayed_s else None,
        )

    @classmethod
    def _of(
        cls,
        trials: Sequence[TrialRecord],
        pauses_s: Sequence[float],
        stolen_s: float | None = None,
        delayed_s: float | None = None,
    ) -> Self | None:
        if not trials:
            return None
        traffic_s = sum(trial.duration_s for trial in trials)
        return cls(len(trials), traffic_s, sum(pauses_s), max(pauses_s), stolen_s, delayed_s)


@dataclass(frozen=True)
class Counts:
    """Counts trials by what disturbed them; none of them has two of these kinds.

    `invalid` and `disturbed` ones decided nothing. `marked`: failures that counted although a disturbance explains
    them, for want of attempts. `paused`: trials that counted while the tester paused for longer than queues cover, or
    the gateway's core was away for more than a twentieth of the trial.
    """

    trials: int
    invalid: int
    disturbed: int
    marked: int
    paused: int

    @property
    def touched(self) -> int:
        """The number of trials that the machine disturbed in any way."""
        return self.invalid + self.disturbed + self.marked + self.paused

    @property
    def undecided_share(self) -> float:
        """The share of trials that decided nothing because of the machine."""
        return (self.invalid + self.disturbed) / self.trials if self.trials else 0.0


@dataclass(frozen=True)
class Disturbances(Counts):
    """Adds to the counts of a run's trials how long cores were away, and how fast the gateway's were."""

    tester: Absences | None
    gateway: Absences | None
    gateway_speed: CoreSpeed | None


def disturbances(run: RunRecord) -> Disturbances:
    trials = [placed.trial for placed in run.all_trials]
    return Disturbances(
        **vars(counts(trials)),
        tester=Absences.of_tester(trials),
        gateway=Absences.of_gateway(trials),
        gateway_speed=core_speed(trials, highest_speeds(trials)),
    )


def counts(trials: Sequence[TrialRecord]) -> Counts:
    kinds = [_kind(trial) for trial in trials]
    return Counts(len(kinds), *map(kinds.count, ("invalid", "disturbed", "marked", "paused")))


def _kind(trial: TrialRecord) -> str:
    if trial.verdict in (Verdict.INVALID, Verdict.DISTURBED):
        return trial.verdict.value
    if trial.verdict is Verdict.FAIL and trial.disturbance is not None:
        return "marked"
    away_s = trial.gateway_pause_s or 0.0
    return "paused" if trial.tester_pause_s > NOTICED_PAUSE_S or away_s > NOTICED_AWAY * trial.duration_s else ""
