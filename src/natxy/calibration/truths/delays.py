# SPDX-License-Identifier: Apache-2.0
"""Truths about delays: latency, single-tag latency, PDV, IPDV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from natxy.calibration.case import Case, Expected, both_directions, exactly, within
from natxy.calibration.scale import Scale

# A frame waits twice until its receiver polls, and its time stamp is that of its creation.
DELAY_NS: Final = 50_000
_WHY_DELAY: Final = "two polls of a ring, each within 25 µs on a shared machine"


def latency(scale: Scale) -> Iterator[Case]:
    yield Case(
        "latency", "Latency",
        _delaying(_delays((0.98, 1e-3), (0.02, 3e-3)), _delays((0.98, 2e-3), (0.02, 4e-3))),
        {"procedure": {"name": "latency", "tagged_frames": round(scale.delays_fps * scale.moment_s / 2)}}
        | _for_a_moment(scale),
        {"tl": _steady_delay(2e6), "wcl": _delay(4e6)}
        | both_directions("tl", _steady_delay(1e6), _steady_delay(2e6))
        | both_directions("wcl", _delay(3e6), _delay(4e6))
        | both_directions("lost_tagged", exactly(0), exactly(0)),
    )  # fmt: skip


def single_tag_latency(scale: Scale) -> Iterator[Case]:
    yield Case(
        "single-tag-latency", "Single-tag latency",
        _delaying(_delays((1, 1e-3)), _delays((1, 2e-3))),
        {"procedure": "single-tag-latency"} | _for_a_moment(scale),
        {"latency": _delay(2e6)} | both_directions("latency", _delay(1e6), _delay(2e6)),
    )  # fmt: skip


def pdv(scale: Scale) -> Iterator[Case]:
    """Delays are uniform between two values, so D99.9 is 99.9 % of the way from the first to the second."""
    yield Case(
        "pdv", "PDV",
        _delaying([{"min": 1e-3, "max": 2e-3}], [{"min": 1e-3, "max": 3e-3}]),
        {"procedure": "pdv"} | _for_a_moment(scale),
        {"pdv": _delay(0.999 * 2e6)}
        | both_directions("pdv", _delay(0.999 * 1e6), _delay(0.999 * 2e6))
        | both_directions("min_delay", _steady_delay(1e6), _steady_delay(1e6))
        | both_directions("lost", exactly(0), exactly(0)),
    )  # fmt: skip


def ipdv(scale: Scale) -> Iterator[Case]:
    yield Case(
        "ipdv", "IPDV",
        _delaying(_delays((0.9, 1e-3), (0.1, 2e-3)), _delays((0.9, 1e-3), (0.1, 3e-3))),
        {"procedure": "ipdv"} | _for_a_moment(scale),
        {"max": _delay(2e6)}
        | both_directions("min", _delay(-1e6), _delay(-2e6))
        | both_directions("median", _steady_delay(0), _steady_delay(0))
        | both_directions("max", _delay(1e6), _delay(2e6)),
    )  # fmt: skip


def _for_a_moment(scale: Scale) -> dict[str, Any]:
    return {"rate": scale.delays_fps, "timing": {"trial": scale.moment_s}}


def _delaying(forward: list[dict[str, float]], reverse: list[dict[str, float]]) -> dict[str, Any]:
    return {"forward": {"delay": forward}, "reverse": {"delay": reverse}}


def _delays(*shares: tuple[float, float]) -> list[dict[str, float]]:
    return [{"share": share, "min": delay_s} for share, delay_s in shares]


def _delay(truth_ns: float) -> Expected:
    return within(truth_ns, DELAY_NS, _WHY_DELAY, tolerated_pause_s=0)


def _steady_delay(truth_ns: float) -> Expected:
    """Expects a median or a minimum, which a single pause does not change."""
    return within(truth_ns, DELAY_NS, _WHY_DELAY)
