# SPDX-License-Identifier: Apache-2.0
"""Latency by hundreds of tagged frames (RFC 8219 §7.2), and by one tagged frame (RFC 2544 §26.2)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, ProcedureDeclaration
from natxy.plan.procedures.figures import DELAY_DEFINITION, Figure, frames_left_out, per_direction

# RFC 8219 §7.2.
LEAST_TAGGED: Final = 500


class LatencyStream(ProcedureDeclaration):
    """Declares a procedure whose stream runs for a while before the first frame is tagged."""

    warm_up: Duration | None = None
    """Time before the first tagged frame; default: the timing's `trial`."""
    tagging: Annotated[Duration, Field(gt=0)] | None = None
    """Time from the first tagged frame to the end; default: the timing's `trial`."""

    takes: ClassVar = OF_NETWORK_FLOWS | {"rate"}

    def warm_up_s(self, trial_s: float) -> float:
        return trial_s if self.warm_up is None else self.warm_up

    def traffic_s(self, trial_s: float) -> float:
        return self.warm_up_s(trial_s) + (trial_s if self.tagging is None else self.tagging)


class LatencyConfig(LatencyStream):
    name: Literal["latency"] = "latency"
    tagged_frames: Annotated[int, Field(ge=1, le=1_000_000), Unit.FRAMES] = LEAST_TAGGED
    """Frames that are tagged, evenly spread over `tagging`."""

    list_position: ClassVar = 200
    summary: ClassVar = "typical and worst case latency of tagged frames at a known rate (RFC 8219 §7.2)"
    figures: ClassVar = (
        Figure("tl", "Typical latency, the slower direction", Unit.NS),
        Figure("wcl", "Worst case latency, the slower direction", Unit.NS),
        *per_direction("tl", "Typical latency", Unit.NS),
        *per_direction("wcl", "Worst case latency", Unit.NS),
        *frames_left_out("lost_tagged", "Tagged frames lost"),
    )
    stated: ClassVar = DELAY_DEFINITION | {"Lost tagged frames": "counted, and left out of both percentiles"}


class SingleTagLatencyConfig(LatencyStream):
    name: Literal["single-tag-latency"] = "single-tag-latency"

    list_position: ClassVar = 210
    summary: ClassVar = "the delay of one tagged frame a stream, averaged over the repetitions (RFC 2544 §26.2)"
    figures: ClassVar = (
        Figure("latency", "Latency of one tagged frame, the slower direction", Unit.NS),
        *per_direction("latency", "Latency of one tagged frame", Unit.NS),
        *frames_left_out("lost_tagged", "Tagged frames lost"),
    )
    reports_mean: ClassVar = True
    stated: ClassVar = DELAY_DEFINITION | {
        "Lost tagged frames": "counted; a repetition without its frame has no latency"
    }
