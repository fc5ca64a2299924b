# SPDX-License-Identifier: Apache-2.0
"""Decides as siitperf's scripts do: which program they call next, what they read of its output, and what they report.

`call(program, arguments)` returns what a program wrote, standard output and standard error together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

Call = Callable[[str, str], str]

FAILED_FILL: Final = "Failed to fill state table"
_MOST_FILLS: Final = 20


class ScriptEnded(Exception):
    """Reports a line with `Error:`, after which a script ends with exit code 255."""


def read(output: str, line: str, column: int) -> str | None:
    """Returns a word of the line that contains `line`; None if there is none."""
    for text in output.splitlines():
        if line in text:
            words = text.split()
            return words[column - 1] if len(words) >= column else None
    return None


@dataclass(frozen=True)
class Phase1:
    frames: int
    rate_fps: int
    timeout_ms: int = 500

    def words(self, rate_fps: int | None = None) -> tuple[int, int, int, int, int]:
        rate = rate_fps or self.rate_fps
        return self.frames, self.frames, rate, self.timeout_ms, 1000 * self.frames // rate + 2 * self.timeout_ms


@dataclass(frozen=True)
class Bed:
    """The variables that all scripts have.

    With `phase1`, a user gave N, M, R, T and D to a script that has none, and has it repeat a trial while its state
    table is not filled, as binary-rate-alg.sh-sf does.
    """

    call: Call
    size: int = 84
    timeout_ms: int = 500
    n: int = 2
    m: int = 2
    directions: Sequence[str] = ("Forward", "Reverse")
    phase1: Phase1 | None = None

    def output(
        self, program: str, rate: int, duration_s: int, *more: int, may_fill: bool = False, reads_errors: bool = True
    ) -> str:
        """Returns what a program printed. Raises ScriptEnded on its errors, which most scripts read."""
        phase1 = self.phase1.words() if self.phase1 else ()
        words = (self.size, rate, duration_s, self.timeout_ms, self.n, self.m, *phase1, *more)
        for _ in range(_MOST_FILLS if self.phase1 else 1):
            output = self.call(program, " ".join(map(str, words)))
            if FAILED_FILL not in output:
                break
        if reads_errors and "Error:" in output and not (may_fill and FAILED_FILL in output):
            raise ScriptEnded(output)
        return output

    def received_all(self, output: str, frames: int) -> bool:
        return all(read(output, f"{each} frames received", 4) == str(frames) for each in self.directions)


@dataclass
class Search:
    """A search by halving: `best` is the highest rate that passed, `tried` has all in order."""

    best: int = 0
    tried: list[tuple[int, bool]] = field(default_factory=list)


def halving(low: int, high: int, error: int, passes: Callable[[int], bool]) -> Search:
    found = Search(low)
    while high - found.best > error:
        rate = (high + found.best) // 2
        passed = passes(rate)
        found.tried.append((rate, passed))
        if passed:
            found.best = rate
        else:
            high = rate
    return found


def binary_rate(bed: Bed, maximum: int, error: int, *, duration_s: int = 1) -> Search:
    def passes(rate: int) -> bool:
        output = bed.output("tp", rate, duration_s)
        return "invalid" not in output and bed.received_all(output, duration_s * rate)

    return halving(0, maximum, error, passes)


def binary_rate_in_time(bed: Bed, maximum: int, error: int, frame_timeout_ms: int, *, duration_s: int = 1) -> Search:
    def passes(rate: int) -> bool:
        return bed.received_all(bed.output("pdv", rate, duration_s, frame_timeout_ms), duration_s * rate)

    return halving(0, maximum, error, passes)


def binary_rate_stateful(bed: Bed, maximum: int, error: int, phase1: Phase1, *, duration_s: int = 1) -> Search:
    """A trial is repeated while its state table is not filled."""

    def passes(rate: int) -> bool:
        for _ in range(_MOST_FILLS):
            output = bed.output("tp", rate, duration_s, *phase1.words(), may_fill=True)
            if FAILED_FILL not in output:
                return "invalid" not in output and bed.received_all(output, duration_s * rate)
        raise AssertionError(f"the state table was not filled {_MOST_FILLS} times: {output}")

    return halving(0, maximum, error, passes)


def binary_connection_rate(bed: Bed, maximum: int, error: int, phase1: Phase1) -> Search:
    """A failed fill is a failed step."""

    def passes(rate: int) -> bool:
        output = bed.output("tp", 1, 1, *phase1.words(rate), may_fill=True)
        filled = FAILED_FILL not in output and "invalid" not in output
        return filled and read(output, "Preliminary frames received", 4) == str(phase1.frames)

    return halving(0, maximum, error, passes)


def frame_loss(bed: Bed, rates: Sequence[int], *, duration_s: int = 1) -> dict[int, int]:
    """Returns the frames that were received at each rate, the sum over the directions.

    The script reads no errors: a trial that failed counts as one that received nothing.
    """
    found = {}
    for rate in rates:
        output = bed.output("tp", rate, duration_s, reads_errors=False)
        found[rate] = sum(int(read(output, f"{each} frames received", 4) or 0) for each in bed.directions)
    return found


def latency(bed: Bed, rate: int, duration_s: int, delay_s: int, tags: int) -> dict[str, float]:
    """Returns TL and WCL of each direction, in milliseconds."""
    output = bed.output("lat", rate, duration_s, delay_s, tags)
    names = [f"{direction} {figure}" for direction in bed.directions for figure in ("TL", "WCL")]
    return {name: float(read(output, f"{name}:", 3) or "nan") for name in names}


def variation(bed: Bed, rate: int, duration_s: int) -> dict[str, float]:
    """Returns the PDV of each direction, in milliseconds."""
    output = bed.output("pdv", rate, duration_s, 0)
    return {each: float(read(output, f"{each} PDV:", 3) or "nan") for each in bed.directions}


@dataclass(frozen=True)
class Capacity:
    """Holds what the script for the capacity of the connection tracking table reports."""

    capacity: int
    initial_rate: int
    safe: int
    failed: int


def table_capacity(
    bed: Bed, *, initial: int, maximum: int, error: int, last: int = 1, most: int = 1_000_000, alpha: float = 0.5,
    clear: Callable[[], None],
) -> Capacity:  # fmt: skip
    """Doubles the connections until the validated rate collapses, then halves the interval down to `last` connections.

    `error` is that of the searches for a rate. `clear` sets the gateway up again.

    Raises AssertionError where the script would go on for ever: no rate passes with `initial` connections, below which
    none could collapse, or the rate has not collapsed at `most`.
    """

    def rate_of(connections: int, highest: int, least: float) -> int:
        def passes(rate: int) -> bool:
            clear()
            validation = max(1, int(rate * alpha))
            duration_s = connections // validation + 1
            phase1 = Phase1(connections, rate)
            output = bed.output("tp", validation, duration_s, *phase1.words(), may_fill=True)
            sent, received = (read(output, f"Reverse frames {what}", 4) for what in ("sent", "received"))
            made = read(output, "Preliminary frames received", 4) == str(connections)
            return FAILED_FILL not in output and made and sent is not None and sent == received

        low, high = 0, highest
        while high - low > error:
            rate = (high + low) // 2
            if passes(rate):
                low = rate
            elif (high := rate) < least:
                break
        return low

    first = safe_rate = rate_of(initial, maximum, 0)
    assert first, f"no rate up to {maximum}/s passes with {initial} connections"
    safe, failed = initial, 2 * initial
    while (rate := rate_of(failed, safe_rate, safe_rate * 0.2)) >= safe_rate * 0.2:
        safe, safe_rate, failed = failed, rate, 2 * failed
        assert failed <= most, f"the rate did not collapse with {safe} connections, and {most} are the most"
    top = failed
    low = safe
    while failed - low > last:
        middle = (low + failed) // 2
        rate = rate_of(middle, safe_rate, safe_rate * 0.4)
        if rate < safe_rate * 0.4:
            failed = middle
        else:
            low, safe_rate = middle, rate
    return Capacity(low, first, safe, top)
