# SPDX-License-Identifier: Apache-2.0
"""Frame loss rate (RFC 2544 §26.3): from 100 % of the maximum rate down, until two steps in a row lose nothing.

A step that lost more than one at a higher rate did is carried out once more, and the second result counts.
"""

from __future__ import annotations

from itertools import count

from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import STREAMS
from natxy.plan.procedures.frame_loss_rate import FrameLossRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.rates import below_line
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import sample_of, valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import by_direction, of_directions, traffic_step
from natxy.results.curves import Axis, Curve
from natxy.search.contradictions import Contradicted, Trials
from natxy.search.outcome import Attempt


class FrameLossRate(Procedure[FrameLossRateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        def step(attempt: Attempt) -> TrialResult | None:
            return traffic_step(
                repetition, attempt, lambda seed: traffic_request(repetition.experiment, attempt.rate, seed)
            )

        losses: dict[str, list[tuple[float, float]]] = {}
        lossless: list[float] = []  # the latest rates in a row that lost nothing
        lowest_lossy: float | None = None
        at_maximum: dict[str, float | None] = {}
        trials, numbers = Trials(), count(1)
        for percent in self.config.offered_percents():
            rate_fps = self.config.maximum_fps * percent / 100
            result = valid_step(repetition, next(numbers), rate_fps, step)
            if trials.contradiction(trials.add(rate_fps, sample_of(result))):
                result = valid_step(repetition, next(numbers), rate_fps, step)
                if still := trials.contradiction(trials.add(rate_fps, sample_of(result))):
                    raise Contradicted(still)
            at_maximum = at_maximum or {direction: _lost_percent(result, direction) for direction in STREAMS}
            for stream in result.streams:
                losses.setdefault(stream.name, []).append((percent, 100 * stream.lost / stream.planned))
            if result.verdict == Verdict.PASS:
                lossless.append(rate_fps)
            else:
                lossless, lowest_lossy = [], rate_fps
            if len(lossless) == 2:
                break
        return ProcedureResult(
            figures={"lossless_rate": lossless[0] if lossless else 0.0} | by_direction("loss_at_maximum", at_maximum),
            lower_bound=lossless[0] if lossless else None,
            upper_bound=lowest_lossy,
            remark=""
            if len(lossless) == 2
            else f"no two steps in a row lost nothing, down to the lowest: {result.reason}",
            curves=tuple(_curve(stream, points) for stream, points in losses.items()),
        )

    def expected_steps(self, experiment: Experiment) -> int:
        return len(self.config.offered_percents())

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return below_line(experiment, self.config.maximum_rate, "Frame loss is measured up to", "RFC 2544 §26.3")


def _lost_percent(result: TrialResult, direction: str) -> float | None:
    """Returns the loss of a direction's foreground, of all pairs of interfaces together; None if it has none."""
    own = of_directions(result.streams)[direction]
    return 100 * sum(stream.lost for stream in own) / sum(stream.planned for stream in own) if own else None


def _curve(stream: str, points: list[tuple[float, float]]) -> Curve:
    offered = Axis("offered, of the maximum rate", Unit.PERCENT)
    return Curve(
        f"loss_{stream.replace(' ', '_')}", f"Frame loss, {stream}", offered, Axis("lost", Unit.PERCENT), tuple(points)
    )
