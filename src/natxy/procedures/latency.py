# SPDX-License-Identifier: Apache-2.0
"""Latency by many tagged frames (RFC 8219 §7.2), or by one (RFC 2544 §26.2), for each direction.

Delays are those of RFC 1242 §3.8 for store-and-forward devices. Tagging starts after a warm-up. Tagged frames that are
lost have no delay and are counted. Of several pairs of interfaces, a direction has the tagged frames of all of them;
with one tagged frame a pair, it has the latency of the slowest pair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Final, TypeVar

from natxy.engine.messages.requests import StreamSpec, TaggedFrames
from natxy.engine.messages.results import TrialResult
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import Repeat
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.latency import LEAST_TAGGED, LatencyConfig, LatencyStream, SingleTagLatencyConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.rates import known_rate_step, off_throughput
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import with_foreground
from natxy.procedures.common.traffic import (
    DRAWN_PERCENTILES,
    by_direction,
    delay_curve,
    foreground,
    highest,
    of_directions,
    of_each_direction,
    silent,
)
from natxy.results.statistics import percentile, summarize

# RFC 2544 §26.2.
LEAST_REPEAT: Final = 20
# RFC 2544 §26.2 and RFC 8219 §7.2.
LEAST_STREAM_S: Final = 120.0
LEAST_WARM_UP_S: Final = 60.0

Stream = TypeVar("Stream", bound=LatencyStream)


class _TaggedStream(Procedure[Stream]):
    """Offers a stream at the known rate and tags frames after the warm-up."""

    source: ClassVar[str]
    """The section that asks for a stream of 120 s, a warm-up of 60 s and the measured throughput."""

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        off_rate = off_throughput(experiment, "Latency is measured at", self.source)
        return [*self._short_times(experiment.timing.trial), *off_rate]

    def _short_times(self, trial_s: float) -> Iterator[Caveat]:
        stream_s, warm_up_s = self.config.traffic_s(trial_s), self.config.warm_up_s(trial_s)
        parts = (
            ("Latency is measured in a stream of", stream_s, LEAST_STREAM_S),
            ("The first tagged frame of a latency stream follows after", warm_up_s, LEAST_WARM_UP_S),
        )
        for words, own_s, least_s in parts:
            if own_s < least_s:
                asked = f"{self.source} asks for at least {format_duration(least_s)}"
                yield departure(f"{words} {format_duration(own_s)}; {asked}.")

    def _trial(self, repetition: Repetition, most: int) -> TrialResult:
        """Runs the trial with up to `most` tagged frames a stream, or with all frames after the warm-up if fewer."""
        trial_s = repetition.experiment.timing.trial

        def tagged(stream: StreamSpec) -> dict[str, TaggedFrames]:
            warm_up = math.ceil(stream.rate_fps * self.config.warm_up_s(trial_s))
            first = min(warm_up, stream.frames - 1)
            stride = max(1, (stream.frames - first) // most)
            # In a mix, a stride of a whole number of its turns would tag frames of a few sizes alone.
            stride = next(each for each in range(stride, 0, -1) if math.gcd(each, len(stream.frame.sizes)) == 1)
            return {"tagged": TaggedFrames(first=first, stride=stride, count=min(most, stream.frames - first))}

        return known_rate_step(repetition, lambda request: with_foreground(request, tagged))


class Latency(_TaggedStream[LatencyConfig]):
    """Reports the typical latency (TL), the median, and the worst case latency (WCL), the 99.9th percentile."""

    source = "RFC 8219 §7.2"

    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = self._trial(repetition, self.config.tagged_frames)
        tagged = {stream.name: stream.tagged_delays_ns or [] for stream in foreground(result.streams)}
        delays = {stream: [ns for ns in given if ns is not None] for stream, given in tagged.items()}
        joined = {
            direction: [ns for stream in streams for ns in delays[stream.name]]
            for direction, streams in of_directions(result.streams).items()
        }
        summaries = {direction: summarize(values) for direction, values in joined.items()}
        typical = {direction: summary.median if summary else None for direction, summary in summaries.items()}
        worst = {direction: percentile(values, 99.9) if values else None for direction, values in joined.items()}
        lost = of_each_direction(result.streams, lambda stream: tagged[stream.name].count(None), sum)
        unknown = silent(result.streams, lambda stream: delays[stream.name])
        remarks = (unknown, self._remark({stream: len(given) for stream, given in tagged.items()}))
        return ProcedureResult(
            figures={"tl": None if unknown else highest(typical), "wcl": None if unknown else highest(worst)}
            | by_direction("tl", typical)
            | by_direction("wcl", worst)
            | by_direction("lost_tagged", lost),
            remark="; ".join(filter(None, remarks)),
            curves=tuple(
                delay_curve(stream, [(0, min(values)), *((p, percentile(values, p)) for p in DRAWN_PERCENTILES)])
                for stream, values in delays.items()
                if values
            ),
        )

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        found = super().caveats(experiment)
        if self.config.tagged_frames < LEAST_TAGGED:
            text = f"Latency is measured with {self.config.tagged_frames} tagged frames a stream"
            found.append(departure(f"{text}; {self.source} asks for at least {LEAST_TAGGED}."))
        return found

    def _remark(self, tagged: dict[str, int]) -> str:
        asked = self.config.tagged_frames
        fewer = [f"{stream} {count}" for stream, count in tagged.items() if count < asked]
        return f"fewer frames than the {asked} asked follow the warm-up: {', '.join(fewer)}" if fewer else ""


class SingleTagLatency(_TaggedStream[SingleTagLatencyConfig]):
    """Reports the delay of the first frame after the warm-up."""

    source = "RFC 2544 §26.2"

    def repeat_caveats(self, repeat: Repeat) -> list[Caveat]:
        if repeat.least >= LEAST_REPEAT:
            return []
        asked = f"{self.source} asks for at least {LEAST_REPEAT} times"
        return [departure(f"Latency is measured {repeat.text}; {asked}.")]

    def measure(self, repetition: Repetition) -> ProcedureResult:
        result = self._trial(repetition, 1)
        delays = {stream.name: stream.tagged_delays_ns[0] for stream in result.streams if stream.tagged_delays_ns}
        lost = [stream for stream, ns in delays.items() if ns is None]
        tagged = [stream for stream in result.streams if stream.name in delays]
        latencies = of_each_direction(tagged, lambda stream: delays[stream.name])
        lost_tagged = of_each_direction(tagged, lambda stream: delays[stream.name] is None, sum)
        return ProcedureResult(
            figures={"latency": None if lost else highest(latencies)}
            | by_direction("latency", latencies)
            | by_direction("lost_tagged", lost_tagged),
            remark=f"the tagged frame was lost: {', '.join(lost)}" if lost else "",
        )
