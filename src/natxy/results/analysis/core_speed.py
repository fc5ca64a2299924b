# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of the gateway's cores in the trials of a run with the highest speed that they reached in it.

The engine measures it by work that needs all arithmetic units of a core, so it is a bound: packets, which mostly wait
for memory, lose less of their rate when such a core slows down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from natxy.results.trials import TrialRecord

SLOWED: Final = 0.85
"""Below this share of its highest speed, a core is slowed: more than its clock changes by under a steady load."""


@dataclass(frozen=True)
class CoreSpeed:
    """Holds shares of the highest speed: `mean` over the `trials` whose speed is known, `least` in the slowest."""

    trials: int
    slowed_trials: int
    mean: float
    least: float

    @property
    def slowed(self) -> bool:
        return self.mean < SLOWED


def highest_speeds(trials: Iterable[TrialRecord]) -> dict[int, float]:
    """Returns the highest speed of each core that the engine measured, by the core's number."""
    highest_hz: dict[int, float] = {}
    for trial in trials:
        for core in trial.result.dut_cores:
            highest_hz[core.core] = max(core.fastest_hz, highest_hz.get(core.core, 0.0))
    return highest_hz


def core_speed(trials: Iterable[TrialRecord], highest_hz: Mapping[int, float]) -> CoreSpeed | None:
    """Returns the speed of the slowest core of each trial, as a share of its highest in the run; None if unknown.

    `highest_hz` are the run's `highest_speeds`.
    """
    known = [trial.result.dut_cores for trial in trials if trial.result.dut_cores]
    if not known:
        return None
    shares = [min(core.mean_hz / highest_hz[core.core] for core in cores) for cores in known]
    return CoreSpeed(len(shares), sum(share < SLOWED for share in shares), sum(shares) / len(shares), min(shares))
