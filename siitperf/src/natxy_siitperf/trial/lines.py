# SPDX-License-Identifier: Apache-2.0
"""Prints the lines that siitperf's scripts read on standard output, and what natxy adds on standard error.

Scripts read both together and search for `Error:` and `invalid`: what natxy adds has neither, unless it is asked to
make an invalid trial fail.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, TextIO

from natxy.api.engine import Side, StreamResult, StreamRole, TrialResult, Verdict
from natxy.api.programs import forget, one_line
from natxy_siitperf.sides import FORWARD, REVERSE
from natxy_siitperf.trial.requests import PRELIMINARY, Limits

TESTERS_FAULT: Final = "by the tester's fault this trial proves nothing about the gateway"
"""The first words of the remark on an invalid trial."""

LEFT_LATE: Final = "frames left late"
"""Says in the remark on a direction that its sender was late at some time."""

# From here on the engine counts a sender's pause as one.
_LATE_MS: Final = 1.0
_NS_PER_MS: Final = 1e6
# One frame in so many, as in the rank of siitperf's WCL and PDV, is worth a line.
_FEW: Final = 1000

# What a gateway sends in any case.
_ORDINARY: Final = frozenset({"arp", "neighbor_solicitation", "neighbor_advertisement", "mld"})


def say(text: str) -> None:
    """Prints a line of siitperf's."""
    _print(text, sys.stdout)


def remark(text: str) -> None:
    """Prints a line of natxy's own on standard error."""
    quiet = one_line(text).replace("Error:", "error").replace("invalid", "not valid")
    _print(f"natxy: {quiet}", sys.stderr)


def fail(text: str) -> None:
    """Prints a line that ends the scripts, or fails their step."""
    _print(one_line(text), sys.stderr)


def _print(line: str, output: TextIO) -> None:
    """Prints a line. If the reader has left, as `grep -m1` does, the trial goes on without a word and is recorded."""
    try:
        print(line, file=output, flush=True)
    except BrokenPipeError:
        forget(output)


def now() -> str:
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S")


def direction_of(stream: StreamResult) -> str:
    """Returns siitperf's word for the direction of a stream."""
    if stream.role == StreamRole.PHASE1:
        return PRELIMINARY
    return FORWARD.key if stream.source == Side.LEFT else REVERSE.key


def streams_of(result: TrialResult, direction: str) -> list[StreamResult]:
    return [stream for stream in result.streams if direction_of(stream) == direction]


def say_sending(
    streams: Iterable[StreamResult], direction: str, duration_s: float, limits: Limits, *, pdv: bool
) -> bool:
    """Prints how long a direction's sending took, and what it sent; returns False if it was late."""
    streams = [*streams]
    overrun_s = max((stream.pacing.overrun_ns for stream in streams), default=0) / 1e9
    unsent = sum(stream.unsent for stream in streams)
    who = "Preliminary sender's" if direction == PRELIMINARY else f"{direction} sender's"
    say(f"Info: {who} sending took {duration_s + overrun_s:.10f} seconds.")
    if unsent or overrun_s > limits.overrun_s(duration_s):
        kind = "Error" if pdv else "Warning"
        what = f"{unsent} frames were not sent" if unsent else "the last frame left too late"
        say(f"{kind}: {direction} sending exceeded its time, {what}; the test is invalid.")
        return False
    say(f"{direction} frames sent: {sum(stream.sent for stream in streams)}")
    return True


def say_received(streams: Iterable[StreamResult], direction: str) -> None:
    say(f"{direction} frames received: {sum(stream.received for stream in streams)}")


def remark_on(result: TrialResult, said_invalid: bool, *, strict: bool) -> None:
    """Says on standard error what siitperf does not count; with `strict`, an invalid trial says so aloud."""
    for direction in dict.fromkeys(map(direction_of, result.streams)):
        _remark_on_direction(direction, streams_of(result, direction))
    counts = {
        "duplicate": sum(stream.duplicate for stream in result.streams),
        "corrupt": sum(stream.corrupt for stream in result.streams),
        "misrouted": sum(stream.misrouted for stream in result.streams),
        "too far behind to be told from duplicates": sum(stream.beyond_window for stream in result.streams),
        "of earlier trials": result.stale,
        "dropped by the tester": sum(port.missed + port.no_buffer + port.kernel_drops for port in result.ports),
    }
    for port in result.ports:
        for kind, count in port.foreign.items():
            if kind in _ORDINARY:
                continue
            counts[f"foreign ({kind})"] = counts.get(f"foreign ({kind})", 0) + count
    found = [f"{count} {kind}" for kind, count in counts.items() if count]
    if found:
        remark(f"not counted as received: {', '.join(found)}")
    if result.verdict == Verdict.INVALID and strict:
        # siitperf's own warning of a late sender would only fail the script's step.
        fail(f"Error: the trial is invalid, by the tester's fault: {result.reason}")
    elif result.verdict == Verdict.INVALID and not said_invalid:
        remark(f"{TESTERS_FAULT}: {result.reason}")


def _remark_on_direction(direction: str, streams: Sequence[StreamResult]) -> None:
    """Says what may explain a direction's figures, and nothing of ordinary trials, of which scripts start thousands.

    That is how late frames left, if any were lost or one in a thousand was late, and how many arrived out of order, if
    one in a thousand did.
    """
    pacings = [stream.pacing for stream in streams]
    most_ms = max(each.max_ns for each in pacings) / _NS_PER_MS
    nearly_all_ms = max(each.p999_ns for each in pacings) / _NS_PER_MS
    if most_ms > _LATE_MS and (nearly_all_ms > _LATE_MS or any(stream.lost for stream in streams)):
        last_ms = max(each.overrun_ns for each in pacings) / _NS_PER_MS
        remark(
            f"{direction} {LEFT_LATE}: by up to {most_ms:.3f} ms, 99.9 % by up to {nearly_all_ms:.3f} ms, the "
            f"last one by {last_ms:.3f} ms"
        )
    reordered = sum(stream.reordered or 0 for stream in streams)
    if reordered and reordered * _FEW >= sum(stream.received for stream in streams):
        # Scripts look for `frames received`.
        remark(f"{reordered} frames of {direction} arrived out of order")
