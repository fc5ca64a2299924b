# SPDX-License-Identifier: Apache-2.0
"""Latency (RFC 8219 §7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Duration, Unit, format_duration
from natxy.plan.procedures.base import Figure, ProcedureDeclaration
from natxy.plan.procedures.delays import DELAY_DEFINITION
from natxy.plan.procedures.per_direction import per_direction
from natxy.plan.procedures.rates import off_throughput

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment

# RFC 2544 §26.2 and RFC 8219 §7.2.
LEAST_STREAM_S: Final = 120.0
LEAST_WARM_UP_S: Final = 60.0
LEAST_TAGGED: Final = 500


class LatencyStream(ProcedureDeclaration):
    """A stream that runs for a while before the first frame is tagged."""

    warm_up: Duration | None = Field(default=None, description="before the first tagged frame; the timing's `trial`")
    tagging: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="from there to the stream's end; the timing's `trial`"
    )

    source: ClassVar[str]
    """The RFC that asks for 60 s, 120 s and the throughput."""

    step_unit: ClassVar = Unit.FPS
    stateful: ClassVar = False
    takes: ClassVar = frozenset({"rate", "directions", "flows", "connections", "phase1_rate", "background"})

    def warm_up_s(self, trial_s: float) -> float:
        return trial_s if self.warm_up is None else self.warm_up

    def traffic_s(self, trial_s: float) -> float:
        return self.warm_up_s(trial_s) + (trial_s if self.tagging is None else self.tagging)

    def deviations(self, experiment: Experiment) -> list[str]:
        trial_s = experiment.timing.trial
        asked = (
            ("Latency is measured in a stream of", self.traffic_s(trial_s), LEAST_STREAM_S),
            ("The first tagged frame of a latency stream follows after", self.warm_up_s(trial_s), LEAST_WARM_UP_S),
        )
        sentences = [
            f"{words} {format_duration(own_s)}; {self.source} asks for at least {format_duration(least_s)}."
            for words, own_s, least_s in asked
            if own_s < least_s
        ]
        return sentences + off_throughput(experiment, "Latency is measured at", self.source)


class LatencyConfig(LatencyStream):
    name: Literal["latency"] = "latency"
    tagged_frames: Annotated[int, Field(ge=1, le=1_000_000), Unit.FRAMES] = Field(
        default=LEAST_TAGGED, description="frames of a stream whose delays are taken, evenly spread"
    )

    source: ClassVar = "RFC 8219 §7.2"
    summary: ClassVar = "typical and worst case latency of tagged frames at a known rate (RFC 8219 §7.2)"
    figures: ClassVar = (
        Figure("tl", "Typical latency, the slower direction", Unit.NS),
        Figure("wcl", "Worst case latency, the slower direction", Unit.NS),
        *per_direction("tl", "Typical latency", Unit.NS),
        *per_direction("wcl", "Worst case latency", Unit.NS),
        *per_direction("lost_tagged", "Tagged frames lost", Unit.FRAMES),
    )
    stated: ClassVar = DELAY_DEFINITION | {"Lost tagged frames": "counted, and left out of both percentiles"}

    def deviations(self, experiment: Experiment) -> list[str]:
        sentences = super().deviations(experiment)
        if self.tagged_frames < LEAST_TAGGED:
            text = f"Latency is that of {self.tagged_frames} tagged frames a stream; "
            sentences.append(f"{text}{self.source} asks for at least {LEAST_TAGGED}.")
        return sentences
