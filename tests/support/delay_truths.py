# SPDX-License-Identifier: Apache-2.0
"""Computes what procedures must find of the delays of a gateway in virtual time."""

from __future__ import annotations

import itertools
import statistics
from typing import Any, Final

from natxy.engine.simulation.delays import PERIOD, SimulatedDelays
from natxy.plan.gateways.simulated import SimulatedConfig

KNOWN_RATE: Final = 20_000
TRIAL_S: Final = 0.5

Figures = dict[str, Any]


def latency(gateway: SimulatedConfig) -> Figures:
    # As many tagged frames as there are different delays, twice.
    delays = [sorted(each[:PERIOD]) for each in every_delay(gateway)]
    typical = [statistics.median(each) for each in delays]
    worst = [smallest_with_share(each * 2, 0.999) for each in delays]
    return (
        {"tl": max(typical), "wcl": max(worst)}
        | both("tl", *typical)
        | both("wcl", *worst)
        | both("lost_tagged", 0, 0)
    )  # fmt: skip


def single_tag_latency(gateway: SimulatedConfig) -> Figures:
    # The first frame after a warm-up as long as a trial.
    delays = [model.of(round(KNOWN_RATE * TRIAL_S)) for model in delay_models(gateway)]
    return {"latency": max(delays)} | both("latency", *delays) | both("lost_tagged", 0, 0)


def pdv(gateway: SimulatedConfig) -> Figures:
    delays = every_delay(gateway)
    variations = [smallest_with_share(each, 0.999) - min(each) for each in delays]
    return (
        {"pdv": max(variations)} | both("pdv", *variations) | both("min_delay", *map(min, delays)) | both("lost", 0, 0)
    )


def ipdv(gateway: SimulatedConfig) -> Figures:
    changes = [[later - earlier for earlier, later in itertools.pairwise(each)] for each in every_delay(gateway)]
    largest = [max(each) for each in changes]
    return (
        {"max": max(largest)}
        | both("min", *map(min, changes))
        | both("median", *(smallest_with_share(each, 0.5) for each in changes))
        | both("max", *largest)
        | both("lost", 0, 0)
    )


def both(name: str, forward: object, reverse: object) -> Figures:
    return {f"{name}_forward": forward, f"{name}_reverse": reverse}


def every_delay(gateway: SimulatedConfig) -> list[list[int]]:
    """Returns the delays of all frames of a trial at the known rate, forward and reverse, in sending order."""
    return [[model.of(frame) for frame in range(round(KNOWN_RATE * TRIAL_S))] for model in delay_models(gateway)]


def delay_models(gateway: SimulatedConfig) -> list[SimulatedDelays]:
    """Returns the models of the forward and the reverse direction."""
    least = (gateway.forward_delay_ns, gateway.reverse_delay_ns)
    return [SimulatedDelays(delay_ns, gateway.delay_spread_ns) for delay_ns in least]


def smallest_with_share(values: list[int], share: float) -> int:
    """Returns a percentile as RFC 2330 §11.3 defines it, by trying all values."""
    ordered = sorted(values)
    return next(x for number, x in enumerate(ordered, 1) if number >= share * len(ordered) - 1e-9)
