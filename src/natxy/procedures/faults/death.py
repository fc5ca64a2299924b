# SPDX-License-Identifier: Apache-2.0
"""Says how far a gateway came in the trial by whose end it had died."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from natxy.engine.messages.results import StreamResult
from natxy.plan.model.units import counted, format_duration

# The last frame of a trial may come this share of the traffic before its end.
_AT_THE_END: Final = 0.99


def came_through(streams: Sequence[StreamResult]) -> str:
    """Returns how many frames the gateway forwarded, and until when, as a part of a sentence."""
    frames = sum(stream.received for stream in streams)
    if not frames:
        return "it forwarded no frame of this trial"
    until_s = max(map(_until_s, streams))
    if until_s >= _AT_THE_END * max(stream.planned / stream.intended_rate_fps for stream in streams):
        return (
            f"{counted(frames, 'frame')} came through until the end of this trial, so that it died last or something "
            "else forwards in its place"
        )
    return f"it forwarded {counted(frames, 'frame')} of this trial, until about {format_duration(until_s)} of it"


def _until_s(stream: StreamResult) -> float:
    """Returns when about the last frame arrived: in which second, and after which part of that second.

    In that second too as many frames arrived, until the last one, as in the second before, or as were sent.
    """
    received = stream.received_per_second
    last = max((second for second, frames in enumerate(received) if frames), default=None)
    if last is None:
        return 0.0
    usual = received[last - 1] if last else stream.intended_rate_fps
    return last + min(1.0, received[last] / max(1.0, usual))
