# SPDX-License-Identifier: Apache-2.0
"""Judges whether a trial failed because the gateway's core was taken away, and not by the gateway itself.

While a core is away, frames wait in a queue of B frames. With R frames per second in all streams, shared by n cores,
the queue of each core is full after B / (R / n) seconds, and what arrives later is lost. A failed trial is *disturbed*
if

- the core was away for longer than that at a stretch, and
- no more frames were lost than its absences can explain.

B is that of the testbed: in a lab `net.core.netdev_max_backlog` (Linux, Documentation/admin-guide/sysctl/net.rst), the
frames that wait for a core that frames are steered to. The counters of Linux give T, the sum of all absences in the
trial. With one core, none of them was longer than the longest time without any frame, which the tester measured in each
direction. With several cores only a part of the frames is missing meanwhile, so that this is not known and T takes its
place. No more than R T - B frames are lost: the queue keeps B of those that arrive, and near its limit the gateway
cannot empty it before the next absence. If frames count as lost after a time-out, B is at most the frames that arrive
on a core within it: those that wait for longer are late.

An absence at the end of a trial does harm although the queue covers it, if it outlasts the drain: the frames that wait
are counted as lost. So a trial is also disturbed if

- the frames lost are the last ones of their streams,
- the core was away for at least the drain, and
- no more frames were lost than came in its absences or waited in the queue before.

An absence that the queue covers delays the frames that wait. So a trial that failed because its last frame was delayed
(`backlog`) is disturbed if the core was away at a stretch for at least that delay, however long the queue is.

Many absences that the queue covers slow a gateway down too. They are not recognized: a slow gateway looks alike.
"""

from __future__ import annotations

import math
from typing import Final

from natxy.engine.messages.results import Cause, Silence, StreamResult, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import format_duration
from natxy.system.core_watch import Absence

# Frames arrive at whole intervals or in bursts, so a few more than the rate says may fall into an absence.
_EDGES: Final = 0.01


def disturbance(
    result: TrialResult,
    absence: Absence | None,
    *,
    cores: int,
    buffer_frames: int,
    drain_s: float,
    tolerated: float = 0.0,
    frame_timeout_s: float | None = None,
) -> str:
    """Returns a text on the absence if it explains why the trial failed, otherwise an empty one.

    `drain_s` is how long the tester waited for the last frames. `tolerated` is the loss ratio with which a stream still
    passes. A frame that comes after `frame_timeout_s` counts as lost.
    """
    if result.verdict != Verdict.FAIL or absence is None:
        return ""
    rate_fps = sum(stream.intended_rate_fps for stream in result.streams)
    if (
        result.cause == Cause.LOSS
        and absence.most_s >= drain_s
        and all(_lost_its_end(stream) for stream in result.streams)
        and sum(stream.lost for stream in result.streams) <= absence.most_s * rate_fps + cores * buffer_frames
    ):
        return f"the gateway's core was taken away for {absence_text(absence)}, and the last frames came too late"
    # Of the frames that wait, only so many come in time.
    in_time = math.inf if frame_timeout_s is None else frame_timeout_s * rate_fps / cores
    held_frames = min(buffer_frames, in_time)
    silence_s = _longest_silence_s(result) if cores == 1 else None
    longest_s = absence.total_s if silence_s is None else min(absence.most_s, silence_s)
    if result.cause == Cause.BACKLOG:
        if max(stream.backlog_ns for stream in result.streams) / 1e9 > longest_s:
            return ""
    else:
        # A single absence may be shorter than what Linux counts time in.
        absence_s = max(absence.total_s, longest_s)
        is_covered = longest_s <= held_frames * cores / rate_fps
        if is_covered or not _explains(absence_s, rate_fps, held_frames, result, tolerated):
            return ""
    away = f"the gateway's core was taken away for {absence_text(absence)}"
    silence = _shared_silence(result)
    if silence is None:
        return away
    since, lasting = format_duration(silence.start_s), format_duration(silence.duration_s)
    return f"{away}; no frame arrived for {lasting} from {since} on"


def absence_text(absence: Absence) -> str:
    """Returns a duration and its parts, such as `12.3 ms (10 ms steal, 2.3 ms behind other tasks)`.

    An absence below the tick that Linux counts in is given by its bound, such as `less than 10 ms`.
    """
    if not absence.total_s and absence.uncertain_s:
        return f"less than {format_duration(absence.uncertain_s)}"
    parts = {"steal": absence.stolen_s, "behind other tasks": absence.delayed_s}
    named = ", ".join(f"{format_duration(part_s)} {name}" for name, part_s in parts.items() if part_s)
    return format_duration(absence.total_s) + (f" ({named})" if named else "")


def tolerated_loss(experiment: Experiment) -> float:
    return experiment.loss_tolerance.most if experiment.loss_tolerance else 0.0


def _explains(absence_s: float, rate_fps: float, held_frames: float, result: TrialResult, tolerated: float) -> bool:
    """Returns true if absences of this length in all explain the loss, or that the tester was held back."""
    if result.cause == Cause.BACK_PRESSURE:
        return max(stream.pacing.overrun_ns for stream in result.streams) / 1e9 <= absence_s
    too_many = {stream.name: _too_many(stream, tolerated) for stream in result.streams}
    # A frame that arrived corrupt, or with another stream's addresses, was not lost in a queue.
    if any(
        too_many[stream.name] > max(0, stream.lost - stream.corrupt - stream.misrouted) for stream in result.streams
    ):
        return False
    return sum(too_many.values()) <= (1 + _EDGES) * (absence_s * rate_fps - held_frames) + len(result.streams)


def _lost_its_end(stream: StreamResult) -> bool:
    """Returns true if no frame was lost but the last ones of the stream, and none failed in another way."""
    if stream.corrupt or stream.misrouted or stream.unsent or stream.timed_out:
        return False
    if not stream.lost:
        return True
    first = stream.first_lost
    return first is not None and stream.planned - first.due_s * stream.intended_rate_fps < stream.lost + 1


def _too_many(stream: StreamResult, tolerated: float) -> int:
    return max(0, stream.lost - math.floor(tolerated * stream.planned))


def _longest_silence_s(result: TrialResult) -> float | None:
    """Returns a bound on the longest time without any frame; None unless the silences of all streams are known."""
    silences = [stream.longest_silence for stream in result.streams]
    return min(silence.duration_s for silence in silences if silence) if all(silences) else None


def _shared_silence(result: TrialResult) -> Silence | None:
    """Returns the time that the longest silences of all streams have in common; None if they have none."""
    silences = [stream.longest_silence for stream in result.streams if stream.longest_silence]
    if len(silences) < len(result.streams):
        return None
    start_s = max(silence.start_s for silence in silences)
    end_s = min(silence.start_s + silence.duration_s for silence in silences)
    return Silence(start_s=start_s, duration_s=end_s - start_s) if end_s > start_s else None
