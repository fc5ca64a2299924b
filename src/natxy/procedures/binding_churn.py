# SPDX-License-Identifier: Apache-2.0
"""A change of bindings at the core of softwires, or of MAP-T, while traffic flows (RFC 7596 §6.1): what it costs
subscribers whose bindings are withdrawn, added, or left alone.

The subscribers with traffic are three groups of successive addresses, and each group has a stream of its own in each
direction. The trial begins with the bindings of old and unchanged subscribers. During the traffic natxy withdraws the
bindings of the old subscribers and adds the bindings of the new ones, in one go. Frames count by the time at which they
were due. Only lost frames of unchanged subscribers fail the trial.

The change runs on the gateway's core, and cannot be told from a disturbance. So absences of that core are recorded, and
none makes the trial a disturbed one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Gateway
from natxy.engine.clocks import ClockOffset, TimedEngine, measured_offset
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamSpec, TrialRequest
from natxy.engine.messages.results import Progress, StreamResult, TrialResult
from natxy.errors import DutError, TesterLimitError
from natxy.plan.experiment import Experiment
from natxy.plan.model.subscribers import Subscribers
from natxy.plan.model.table_subscribers import TableSubscribers
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.binding_churn import BindingChurnConfig
from natxy.procedures.common.around import (
    first_arrived_s,
    knows_losses,
    last_arrived_s,
    last_lost_s,
    lost_from,
    passed_at,
    passed_from,
)
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.in_traffic import InTraffic
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import ANY_LOSS, by_direction, of_each_direction
from natxy.search.outcome import Attempt

OLD, UNCHANGED, NEW = "old", "unchanged", "new"


class BindingChurn(Procedure[BindingChurnConfig]):
    # The times of the change are not stored as trials.
    replayable: ClassVar[bool] = False

    def measure(self, repetition: Repetition) -> ProcedureResult:
        assert repetition.rate is not None
        watch = repetition.watch.that_only_records() if repetition.watch else None
        recording = replace(repetition, watch=watch)
        changes: list[_Change] = []

        def step(attempt: Attempt) -> TrialResult | None:
            changes.append(_Change(recording, self.config, attempt.rate))
            return changes[-1].step(attempt)

        result = valid_step(recording, 1, repetition.rate, step)
        change = next(each for each in reversed(changes) if each.result is result)
        period = change.period
        if period.end_s > repetition.experiment.traffic_s:
            late_s = period.begin_s - self.config.steady_s(repetition.experiment.timing.trial)
            if late_s > period.took_s:
                raise TesterLimitError(
                    f"the tester came to the change {format_duration(late_s)} late, so that it ended after the "
                    "traffic; raise the procedure's `recovery`"
                )
            took = format_duration(period.took_s)
            return no_result(self.config, f"the change took {took}, longer than its traffic: raise `recovery`")
        return _found(result.streams, period, change.groups.bindings_changed)


def _found(streams: Sequence[StreamResult], period: Period, bindings: int) -> ProcedureResult:
    old, unchanged, new = ([each for each in streams if _group(each) == name] for name in (OLD, UNCHANGED, NEW))
    took_s = period.took_s
    # What the comparison of the clocks leaves open is in the gateway's favour.
    begin_s, certainly_s = period.begin_s + period.error_s, period.end_s + period.error_s

    def figure(
        name: str, of: Sequence[StreamResult], value: Callable[[StreamResult], float | None]
    ) -> dict[str, float | None]:
        return by_direction(name, of_each_direction(of, value))

    figures: dict[str, float | None] = {
        "unchanged_lost": float(sum(each.lost for each in unchanged)),
        "change": took_s,
        "bindings": bindings / took_s if took_s else None,
        **figure("old_passed", old, lambda each: passed_from(each, certainly_s)),
        **figure("old_time", old, lambda each: last_arrived_s(each, begin_s)),
        **figure("new_lost", new, lambda each: lost_from(each, begin_s)),
        **figure("new_time", new, lambda each: first_arrived_s(each, begin_s)),
        **figure("new_whole", new, lambda each: last_lost_s(each, begin_s)),
    }
    early = sum(each.lost - (lost_from(each, begin_s) or 0.0) for each in unchanged)
    remarks = (
        f"{early:,.0f} frames of unchanged subscribers were lost before the change: the rate may be too high"
        if early and all(knows_losses(each, begin_s) for each in unchanged)
        else "",
        _remark(
            [*old, *new],
            lambda each: not knows_losses(each, begin_s),
            "of changed subscribers were too many, or lost too often, to be counted apart",
        ),
        _remark(old, lambda each: last_arrived_s(each, begin_s) is None, "of old subscribers passed to the end"),
        _remark(new, lambda each: passed_at(each, begin_s), "of new subscribers passed before these had bindings"),
        _remark(new, lambda each: last_lost_s(each, begin_s) is None, "of new subscribers were lost to the end"),
    )
    return ProcedureResult(figures, remark="; ".join(filter(None, remarks)))


@dataclass(frozen=True)
class Groups:
    """Holds the subscribers whose bindings are withdrawn, left alone and added, as parts of `addresses` successive
    ones."""

    addresses: int
    old: SubscriberRange
    new: SubscriberRange
    parts: dict[str, range]

    @classmethod
    def of(cls, experiment: Experiment, config: BindingChurnConfig) -> Groups:
        assert isinstance(experiment.subscribers, Subscribers | TableSubscribers), "the plan's checks refuse all others"
        [hosts] = experiment.addresses.left_hosts.ranges
        size, changed = hosts.size, config.changed_of(hosts.size)
        parts = {OLD: range(changed), UNCHANGED: range(changed, size - changed), NEW: range(size - changed, size)}
        several = experiment.subscribers.bindings
        ends: dict[str, Any] = {name: (hosts.first + part[0], hosts.first + part[-1]) for name, part in parts.items()}
        old, new = (SubscriberRange.of(several, *ends[name]) for name in (OLD, NEW))
        return cls(size, old, new, parts)

    @property
    def bindings_changed(self) -> int:
        return len(self.old) + len(self.new)

    def streams(self, whole: StreamSpec) -> list[StreamSpec]:
        """Returns the stream of each group, in which all subscribers have the same share of the rate."""
        return [self._stream(whole, name, part) for name, part in self.parts.items()]

    def _stream(self, whole: StreamSpec, name: str, part: range) -> StreamSpec:
        share = len(part) / self.addresses
        assert whole.flows
        field = "source_address" if whole.source == Side.LEFT else "destination_address"
        own = getattr(whole.flows, field)
        within = own.model_copy(update={"min": own.min + part[0], "max": own.min + part[-1]})
        return whole.model_copy(
            update={
                "name": f"{whole.name} {name}",
                "rate_fps": whole.rate_fps * share,
                "frames": max(1, round(whole.frames * share)),
                "flows": whole.flows.model_copy(update={field: within}),
                "max_loss_ratio": whole.max_loss_ratio if name == UNCHANGED else ANY_LOSS,
            }
        )


@dataclass(frozen=True)
class Period:
    """Holds when a change began and ended, in seconds since the trial's start; the end may be `error_s` later."""

    begin_s: float
    end_s: float
    error_s: float

    @property
    def took_s(self) -> float:
        return self.end_s - self.begin_s


class _Change(InTraffic[BindingChurnConfig]):
    """Changes the bindings once, during the traffic."""

    what: ClassVar[str] = "change"

    def __init__(self, repetition: Repetition, config: BindingChurnConfig, rate_fps: float) -> None:
        super().__init__(repetition, config, rate_fps)
        self.groups = Groups.of(repetition.experiment, config)
        self.result: TrialResult | None = None
        self._offset: ClockOffset | None = None
        self._clock_s: Callable[[], float] = lambda: 0.0
        self._ends_s = (0.0, 0.0)
        self._started_s = math.inf

    @property
    def period(self) -> Period:
        """The time of the change in the trial that has ended."""
        began_ns = self.result.began_ns if self.result else None
        started_s, error_s = self._started_s, 0.0
        if self._offset and began_ns is not None:
            started_s, error_s = (began_ns - self._offset.offset_ns) / 1e9, self._offset.error_ns / 1e9
        begin_s, end_s = (each - started_s for each in self._ends_s)
        return Period(begin_s, end_s, error_s)

    def step(self, attempt: Attempt) -> TrialResult | None:
        with self.repetition.gateway() as gateway:
            self._clock_s = gateway.clock_s
        engine = self.repetition.engine
        self._offset = measured_offset(engine) if isinstance(engine, TimedEngine) else None
        try:
            self._set_unbound(self.groups.new)
            self.result = super().step(attempt)
        except BaseException:
            # Whatever the gateway says to this, the first error says more.
            with suppress(DutError):
                self._set_unbound()
            raise
        self._set_unbound()
        return self.result

    def _set_unbound(self, *without: SubscriberRange) -> None:
        with self.repetition.gateway() as gateway:
            gateway.set_unbound(without)

    def request(self, seed: int) -> TrialRequest:
        self._started_s = math.inf
        whole = traffic_request(self.repetition.experiment, self.rate_fps, seed)
        streams = [part for stream in whole.streams for part in self.groups.streams(stream)]
        # Only a trial whose start is asked for tells when it began.
        return whole.model_copy(update={"streams": streams, "begin_at_ns": 0})

    def when_due(self, progress: Progress) -> None:
        # Where the engine's clock is unknown, the message that was fastest says best when the trial began.
        if self.awaited:
            self._started_s = min(self._started_s, self._clock_s() - progress.elapsed_s)
        super().when_due(progress)

    def act(self, gateway: Gateway[Any], progress: Progress) -> None:
        begin_s = self._clock_s()
        gateway.set_unbound([self.groups.old])
        self._ends_s = (begin_s, self._clock_s())


def _group(stream: StreamResult) -> str:
    return stream.name.split()[-1]


def _remark(streams: Sequence[StreamResult], applies: Callable[[StreamResult], bool], what: str) -> str:
    directions = ", ".join(each.source.direction for each in streams if applies(each))
    return f"frames {what}, {directions}" if directions else ""
