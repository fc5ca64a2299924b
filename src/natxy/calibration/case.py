# SPDX-License-Identifier: Apache-2.0
"""Defines the cases of a calibration: experiments on the reference gateway, with their true results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from natxy.calibration.scale import MAX_PAUSE_S
from natxy.plan.model.terms import EDGES, MapEnd, SoftwireEnd
from natxy.results.trials import TrialKind


@dataclass(frozen=True)
class Expected:
    """Holds a true value, and how far `below` and `above` it a correct measurement may be, for the reason `why`.

    Pauses of a core excuse an error only if they add up to more than `tolerated_pause_s`.
    """

    truth: float
    why: str
    below: float = 0.0
    above: float = 0.0
    tolerated_pause_s: float = MAX_PAUSE_S

    def excess(self, measured: float) -> float:
        """Returns by how much the error exceeds the tolerance."""
        error = measured - self.truth
        return max(0.0, error - self.above, -error - self.below)


def within(truth: float, tolerance: float, why: str, tolerated_pause_s: float = MAX_PAUSE_S) -> Expected:
    return Expected(truth, why, tolerance, tolerance, tolerated_pause_s)


def exactly(truth: float, why: str = "counted") -> Expected:
    return Expected(truth, why)


def both_directions(name: str, forward: Expected, reverse: Expected) -> dict[str, Expected]:
    return {f"{name}_forward": forward, f"{name}_reverse": reverse}


@dataclass(frozen=True)
class Span:
    """Names the figure that says how long a change took, of which the gateway is known to take `known_s`. Figures whose
    names begin with one of `counted` count from a moment within it."""

    figure: str
    known_s: float
    counted: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Holds an experiment and its true results.

    `gateway` has the settings of the reference gateway, and `experiment` the other fields of the experiment in a plan.
    `end`: that of a softwire or of MAP-T, if the gateway is one; the tester plays the other. `figures` are the
    procedure's, by name; some of them count from a moment within the `span`. `counts` are fields of the last valid
    trial of a kind, or kinds of frames that are not the trial's. If `stalled`, the engine is stopped for a moment in
    every trial.
    """

    name: str
    title: str
    gateway: Mapping[str, Any]
    experiment: Mapping[str, Any]
    figures: Mapping[str, Expected] = field(default_factory=dict)
    counts: Mapping[tuple[TrialKind, str], Expected] = field(default_factory=dict)
    span: Span | None = None
    stalled: bool = False
    end: SoftwireEnd | MapEnd | None = None

    @property
    def procedure(self) -> str:
        given = self.experiment["procedure"]
        return str(given["name"] if isinstance(given, Mapping) else given)

    def planned(self) -> dict[str, Any]:
        """Returns the experiment as a plan has it."""
        gateway = {"driver": "reference", **({"map_t": {}} if isinstance(self.end, MapEnd) else {}), **self.gateway}
        if self.end:
            boxes = [gateway, "tester"] if self.end in EDGES else ["tester", gateway]
            gateway = {"driver": "chain", "gateways": boxes}
        planned = {"name": self.name, "title": self.title, "gateway": gateway, **self.experiment}
        if self.counts:
            # They are those of whole trials, whatever is lost.
            planned["timing"] = {"ends_early": "never", **self.experiment.get("timing", {})}
        return planned
