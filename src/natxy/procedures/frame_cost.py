# SPDX-License-Identifier: Apache-2.0
"""Frame cost: how many instructions the gateway executes for a frame, which a busy machine changes little.

The DUT counts its instructions in each trial. A frame adds the same number each time only if the gateway processes
equally many frames together, because taking up work costs instructions too. Each round has three trials: single frames,
very few single frames, and bursts. The first two give the cost of a single frame and the DUT's instructions without
frames, which are taken off the third.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamSpec
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.installation import by_make
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.frame_cost import FrameCostConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request, with_foreground
from natxy.procedures.common.traffic import traffic_step
from natxy.results.analysis.instructions import TRIALS, Round, burst_cost, cycles, instructions, rounds_of
from natxy.search.outcome import Attempt

_FEW: Final = 100
"""The frames of a round's first trial are so many times those of its second."""
# A frame that is lost costs less than one that is forwarded.
_MOST_LOST: Final = 0.001
_LOST: Final = "frames were lost, which cost less than others; lower `single_rate` or `burst`"
_UNCOUNTED: Final = (
    f"nothing counts the gateway's instructions here: in `kind: vm`, set `accelerator: tcg` and `cpus: 1`, and "
    f"{by_make('vm')}, which builds the counter that the Debian package has; a `kind: lab` needs cores of its own for "
    "the gateway, with counters that natxy may read (kernel.perf_event_paranoid)"
)


class FrameCost(Procedure[FrameCostConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        for number in range(TRIALS * self.config.rounds):
            rate_fps, burst = self._kinds()[number % TRIALS]
            result = self._trial(repetition, 1 + number, rate_fps, burst)
            if result.verdict != Verdict.PASS:
                return no_result(self.config, f"{_LOST}: {result.reason}")
            load = repetition.trials[-1].dut_load
            if load is None or load.instructions is None:
                return no_result(self.config, _UNCOUNTED, explained=True)
        return ProcedureResult(_figures(rounds_of(repetition.trials)))

    def expected_steps(self, experiment: Experiment) -> int:
        return TRIALS * self.config.rounds

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return [
            limitation(
                "An instruction takes more or less time, depending on what it does and on the caches: a gateway with "
                "fewer instructions per frame need not be faster."
            )
        ]

    def _kinds(self) -> list[tuple[float, int]]:
        rate_fps = self.config.single_rate
        return [(rate_fps, 1), (rate_fps / _FEW, 1), (rate_fps, self.config.burst)]

    def _trial(self, repetition: Repetition, number: int, rate_fps: float, burst: int) -> TrialResult:
        def changes(stream: StreamSpec) -> dict[str, object]:
            # Frames of both directions at the same moment would be processed together.
            start_s = burst / rate_fps / 2 if stream.source == Side.RIGHT else 0.0
            return {
                "burst": burst,
                "start_s": start_s,
                "frames": max(1, round(stream.frames / burst)) * burst,
                "max_loss_ratio": _MOST_LOST,
            }

        def step(attempt: Attempt) -> TrialResult | None:
            return traffic_step(
                repetition,
                attempt,
                lambda seed: with_foreground(traffic_request(repetition.experiment, rate_fps, seed), changes),
            )

        return valid_step(repetition, number, rate_fps, step)


def _figures(rounds: Sequence[Round]) -> dict[str, float | None]:
    """Returns the median of the rounds for each figure."""
    connections = [cost for each in rounds if (cost := each.connection(instructions)) is not None]
    clocked = all(spent.executed.cycles is not None for each in rounds for spent in (each.many, each.few, each.bursts))
    return {
        "instructions": burst_cost(rounds),
        "single": median(each.single(instructions) for each in rounds),
        "connection": median(connections) if connections else None,
        "cycles": median(each.in_bursts(cycles) for each in rounds) if clocked else None,
        "background": round(median(each.background(instructions) for each in rounds)),
    }
