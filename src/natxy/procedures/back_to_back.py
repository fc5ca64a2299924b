# SPDX-License-Identifier: Apache-2.0
"""Back-to-back frames (RFC 2544 §26.4, RFC 9004): the longest burst at the maximum rate that loses nothing.

While a burst arrives, the gateway forwards frames at its throughput and buffers the rest. The implied buffer time
counts the whole burst as buffered; the corrected buffer time excludes the frames forwarded meanwhile (RFC 9004 §6.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from natxy.engine.messages.requests import TrialLimits, TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import Repeat
from natxy.plan.procedures.back_to_back import BackToBackConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.phase1 import phase1_s
from natxy.procedures.common.rates import below_line, off_throughput
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import sample_of, valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import traffic_step
from natxy.search.binary import LongestSearch
from natxy.search.outcome import Attempt, Sample

# The largest difference between two clocks that are both within Ethernet's ±100 ppm.
CLOCK_TOLERANCE: Final = 2e-4

# The tester hands up to 32 frames to the port at once, so the last frame may be late by 32 frame times, or by 1 % of a
# long burst. The timing's `overrun_floor` would allow a burst of a few milliseconds to take twice as long.
FRAMES_AT_ONCE: Final = 32
LATE_SHARE: Final = 0.01

LEAST_REPEAT: Final = 50
"""RFC 2544 §26.4."""


class BackToBack(Procedure[BackToBackConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        config, throughput_fps = self.config, repetition.rate
        assert throughput_fps is not None
        if throughput_fps >= config.maximum_fps * (1 - CLOCK_TOLERANCE):
            return no_result(
                config, "the throughput is the maximum rate, at which a burst may go on forever (RFC 9004 §6.1)"
            )
        bursts = _Bursts(repetition, config)
        search = _search(config, repetition.experiment.turn_frames)
        passed, failed = search.run(bursts.tried)
        implied_s = passed / config.maximum_fps
        corrected_s = implied_s * (1 - throughput_fps / config.maximum_fps)
        figures = {"burst": passed, "implied_buffer": implied_s, "corrected_buffer": corrected_s}
        if passed == 0:
            return ProcedureResult(figures, upper_bound=search.step, remark=bursts.last_reason)
        return ProcedureResult(
            figures,
            lower_bound=passed,
            upper_bound=failed,
            remark="" if failed else "at least this: the longest burst that was to be tried lost nothing",
        )

    def expected_steps(self, experiment: Experiment) -> int:
        """Counts every burst as verified, because most bursts of a search are far too long."""
        return _search(self.config, experiment.turn_frames).expected_steps() * (1 + self.config.loss_verification)

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        """Counts all bursts together as long as the longest one, because each is half of the one before."""
        burst_s = experiment.traffic_s / self.expected_steps(experiment)
        return phase1_s(experiment, phase1_fps) + burst_s + experiment.timing.expected_drain_s

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        maximum_rate = self.config.maximum_rate
        return [
            *off_throughput(experiment, "The buffer time of back-to-back frames is corrected by", "RFC 9004 §6.4"),
            *below_line(experiment, maximum_rate, "Back-to-back frames are sent at", "RFC 2544 §26.4"),
        ]

    def repeat_caveats(self, repeat: Repeat) -> list[Caveat]:
        if repeat.least >= LEAST_REPEAT:
            return []
        asked = f"RFC 2544 §26.4 asks for at least {LEAST_REPEAT} times"
        return [departure(f"Back-to-back frames are measured {repeat.text}; {asked}.")]


@dataclass
class _Bursts:
    """Sends bursts, each one repeatedly until it passes or its loss is verified."""

    repetition: Repetition
    config: BackToBackConfig
    steps: int = 0
    last_reason: str = ""

    def tried(self, frames: int) -> Sample:
        """Sends bursts of `frames`, up to one that passes. Loss is verified, since its cause may be another than a full
        buffer (RFC 9004 §6.2)."""
        for _ in range(1 + self.config.loss_verification):
            self.steps += 1
            result = valid_step(self.repetition, self.steps, frames, self._send)
            self.last_reason = result.reason
            if result.verdict == Verdict.PASS:
                break
        # A direction, or a class of frames, may have a single frame in a short burst: no share of it is lost.
        lost, sent = (
            sum(counts) for counts in zip(*((each.lost, each.planned) for each in result.streams), strict=True)
        )
        return replace(sample_of(result), frames=sent, lost=lost)

    def _send(self, attempt: Attempt) -> TrialResult | None:
        experiment, maximum_fps = self.repetition.experiment, self.config.maximum_fps
        return traffic_step(
            self.repetition,
            attempt,
            lambda seed: _burst(experiment, round(attempt.rate), maximum_fps, seed),
            rate_fps=maximum_fps,
        )


def _burst(experiment: Experiment, frames: int, rate_fps: float, seed: int) -> TrialRequest:
    request = traffic_request(experiment, rate_fps, seed, frames=frames)
    limits = TrialLimits(
        max_overrun_ratio=LATE_SHARE,
        overrun_floor_s=FRAMES_AT_ONCE / rate_fps,
        max_pause_s=experiment.timing.max_pause,
    )
    return request.model_copy(update={"limits": limits})


def _search(config: BackToBackConfig, turn: int) -> LongestSearch:
    """Searches among bursts of whole turns, of `turn` frames each."""
    return LongestSearch(max(1, config.longest_frames // turn) * turn, config.error, turn)
