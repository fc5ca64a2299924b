# SPDX-License-Identifier: Apache-2.0
"""Holds what the trials of a search say about its loss: how much at which rate, of what, where in the trial.

The causes look at the failures at the lowest rate that was tried: at higher ones, a gateway that is too slow loses
frames in addition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from typing import Final

from natxy.causes.counted import explaining
from natxy.engine.messages.common import StreamRole
from natxy.engine.messages.results import Cause, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import PORTS_PER_ADDRESS
from natxy.plan.model.units import Unit, format_quantity
from natxy.results.dut_counts import CONNTRACK, KERNEL, RECEIVED, SENT, Rise
from natxy.results.trials import MAKING, Purpose, TrialRecord

# Connections that end, or frames that are lost by accident, change a count that a limit keeps. Of a small count, a few
# are more than a share of it tells.
_STEADY: Final = 0.02
_FEW: Final = 3
_FEW_OF: Final = 0.05
_SAME: Final = 0.1


@dataclass(frozen=True)
class Point:
    """Holds the medians of the failures at one rate: the frames lost and planned, and those of a stream that arrived
    in a second."""

    rate: float
    lost: int
    planned: int
    arrived_fps: float

    @property
    def share(self) -> float:
        return self.lost / self.planned


def missing(trial: TrialRecord) -> int:
    """Returns the frames that were sent and did not arrive in time."""
    return trial.lost - trial.unsent


def failures(trials: Iterable[TrialRecord], purpose: Purpose) -> list[TrialRecord]:
    """Returns the trials that the gateway failed by losing frames, of the kind that failed last."""
    lossy = [
        trial
        for trial in trials
        if trial.purpose == purpose
        and trial.verdict == Verdict.FAIL
        and trial.cause == Cause.LOSS
        and not trial.disturbance
        and missing(trial) > 0
    ]
    # A step of several kinds fails by its first one or by its last one, and these lose for different reasons.
    return [trial for trial in lossy if trial.kind == lossy[-1].kind]


@dataclass(frozen=True)
class Facts:
    """Holds an experiment and its failures, of which there is at least one."""

    experiment: Experiment
    failures: Sequence[TrialRecord]

    @cached_property
    def by_rate(self) -> dict[float, list[TrialRecord]]:
        """The failures at each rate, those at the lowest first."""
        rates = sorted({trial.rate_fps for trial in self.failures})
        return {rate: [trial for trial in self.failures if trial.rate_fps == rate] for rate in rates}

    @cached_property
    def points(self) -> list[Point]:
        """The rates that failed, the lowest first."""
        return [
            Point(
                rate,
                median_low([missing(trial) for trial in trials]),
                median_low([self._planned(trial) for trial in trials]),
                median_low([_arrived_fps(trial) for trial in trials]),
            )
            for rate, trials in self.by_rate.items()
        ]

    def _planned(self, trial: TrialRecord) -> int:
        """Returns the frames of the direction that lost frames, or of both."""
        if self.only_direction is None:
            return trial.planned
        return sum(each.planned for each in trial.result.streams if each.source.direction == self.only_direction)

    @property
    def lowest(self) -> list[TrialRecord]:
        """The failures at the lowest rate."""
        return next(iter(self.by_rate.values()))

    @property
    def typical(self) -> TrialRecord:
        """The failure at the lowest rate that lost the median."""
        return sorted(self.lowest, key=missing)[(len(self.lowest) - 1) // 2]

    @property
    def lost(self) -> int:
        return missing(self.typical)

    @property
    def of_connections(self) -> bool:
        return self.typical.kind in MAKING

    @property
    def what(self) -> str:
        """The noun for what is missing."""
        return "connections" if self.of_connections else "frames"

    def rate(self, rate_fps: float) -> str:
        return format_quantity(rate_fps, Unit.CPS if self.of_connections else Unit.FPS)

    # --- counters

    @cached_property
    def explained_by(self) -> list[Rise]:
        """The counters that rose by as much as is missing, in the typical failure."""
        return explaining(self.typical.result, self.typical.dut_load, self.typical.dut_counts)

    def counter(self, *counters: str, shown_by: str = CONNTRACK) -> Rise | None:
        """Returns the first of a command's counters that rose by as much as is missing."""
        found = [rise for rise in self.explained_by if rise.shown_by == shown_by and rise.counter in counters]
        return found[0] if found else None

    @property
    def kept_back(self) -> int:
        """The frames that the kernel received and did not send on, as far as it counts both; 0 if unknown."""
        counts = self.typical.dut_counts
        translated = len(set(self.experiment.families_of_links)) > 1
        if counts is None or translated or not (sent := counts.rise(KERNEL, *SENT)):
            return 0
        return max(0, counts.rise(KERNEL, *RECEIVED) - sent)

    @property
    def silent_rules(self) -> tuple[str, ...]:
        return self.typical.dut_counts.silent_rules if self.typical.dut_counts else ()

    # --- connections

    @property
    def hosts(self) -> int:
        return self.experiment.pair_count * self.experiment.addresses.left_hosts.size

    @property
    def destinations(self) -> int:
        """The pairs of address and port that connections lead to."""
        return self.experiment.pair_count * self.experiment.right_endpoints

    @property
    def public_addresses(self) -> int:
        return self.experiment.pool.num_addresses if self.experiment.pool else 1

    @property
    def ports(self) -> int:
        """The number of connections for which the public addresses have ports."""
        return self.public_addresses * PORTS_PER_ADDRESS * self.destinations

    @cached_property
    def kept(self) -> int | None:
        """The number of connections that were kept in every failure, whatever the rate; None if it was not the same.

        Fewer may be kept at higher rates, at which a slow gateway loses frames in addition, but not at each of them.
        """
        if not self.of_connections or len(self.failures) == 1:
            return None
        kept = [trial.received for trial in self.lowest]
        most = max(kept)
        near = max(_STEADY * most, min(_FEW, _FEW_OF * most))
        of_all = [trial.received for trial in self.failures]
        higher = [trial.received for trial in self.failures if trial.rate_fps != self.points[0].rate]
        if not 0 < most <= min(kept) + near or max(of_all) > most + near or (higher and max(higher) < most - near):
            return None
        return max(of_all)

    @property
    def only_the_same_last(self) -> bool:
        """True if every failure lost the last frames of its streams, equally many of each, and no others."""
        streams = [stream for trial in self.failures for stream in trial.result.streams if stream.lost]
        at_the_end = all(each.first_lost and each.first_lost.sequence >= each.planned - each.lost for each in streams)
        return at_the_end and len({each.received for each in streams}) == 1

    # --- where in the trial

    @cached_property
    def lost_within_s(self) -> tuple[float, float] | None:
        """The times at which the first and the last lost frame of all failures were due; None if unknown."""
        streams = [stream for trial in self.failures for stream in trial.result.streams if stream.lost]
        first = [stream.first_lost.due_s for stream in streams if stream.first_lost]
        last = [stream.last_lost.due_s for stream in streams if stream.last_lost]
        return (min(first), max(last)) if len(first) == len(last) == len(streams) else None

    @property
    def only_direction(self) -> str | None:
        """The direction whose foreground alone lost frames in every failure; None if both did, or if there is only one
        direction."""
        streams = [stream for trial in self.failures for stream in trial.result.streams]
        lossy = {each.source for each in streams if each.lost and each.role != StreamRole.BACKGROUND}
        both = {stream.source for stream in streams}
        return next(iter(lossy)).direction if len(lossy) == 1 < len(both) else None

    # --- loss against rate

    @property
    def same_count(self) -> bool:
        """True if the same number was lost at rates that differ at least twice, each way of the same trial."""
        counts = [point.lost for point in self.points]
        planned = [point.planned for point in self.points]
        return self.spans and max(counts) <= min(counts) * (1 + _SAME) and max(planned) >= 2 * min(planned)

    @cached_property
    def steady(self) -> list[Point]:
        """The points from the lowest rate on whose share of loss is that of the lowest."""
        share = self.points[0].share
        unlike = [n for n, point in enumerate(self.points) if abs(point.share - share) > _SAME * share]
        return self.points[: min(unlike, default=len(self.points))]

    @property
    def same_share(self) -> bool:
        return self.steady[-1].rate >= 2 * self.points[0].rate

    @property
    def falls(self) -> bool:
        """True if more is lost the lower the rate is."""
        shares = [point.share for point in self.points]
        return self.spans and shares == sorted(shares, reverse=True) and shares[0] > 1.5 * shares[-1]

    @property
    def capped(self) -> bool:
        """True if equally many frames per second arrive whatever rate is offered."""
        arrived = [point.arrived_fps for point in self.points]
        return self.spans and 0 < max(arrived) <= min(arrived) * (1 + _SAME)

    @property
    def spans(self) -> bool:
        """True if rates failed that differ at least twice."""
        return self.points[-1].rate >= 2 * self.points[0].rate


def _arrived_fps(trial: TrialRecord) -> float:
    streams = trial.result.streams
    traffic_s = max(stream.planned / stream.intended_rate_fps for stream in streams)
    return trial.received / traffic_s / len(streams)
