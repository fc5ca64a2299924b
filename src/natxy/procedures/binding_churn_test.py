# SPDX-License-Identifier: Apache-2.0
"""Tests what a change of bindings asks of the engine and the gateway; `truth_test.py` measures changes in virtual
time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.engine.clocks import now_ns
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import EngineClock
from natxy.engine.messages.results import Progress, TrialResult
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError, EngineDiedError
from natxy.plan.procedures.binding_churn import BindingChurnConfig
from natxy.plan.resolve import resolve
from natxy.procedures.binding_churn import Groups, _Change
from natxy.procedures.common import in_traffic
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import ANY_LOSS
from natxy.procedures.common.traffic_test import plan_of
from natxy.search.outcome import Attempt
from tests.support.command import HANG_S

CORE = {"driver": "chain", "gateways": ["tester", {"driver": "simulated"}]}
SHARED = {"ipv4": "198.18.128.0/29", "ea_length": 5, "offset": 0}


def experiment_of(subscribers: dict[str, Any], **own: Any) -> Any:
    procedure = {"name": "binding-churn", "steady": "1s", "recovery": f"{HANG_S}s"} | own
    fields = {"name": "churn", "procedure": procedure, "rate": 1000, "gateway": CORE, "subscribers": subscribers}
    [experiment] = resolve(plan_of(fields)).experiments
    return experiment


def groups_of(experiment: Any) -> Groups:
    return Groups.of(experiment, experiment.procedure)


@pytest.mark.parametrize(
    ("subscribers", "changed", "sizes", "bindings"),
    [({}, "25%", (64, 128, 64), 128), ({}, "0.1%", (1, 254, 1), 2), (SHARED, "30%", (2, 4, 2), 16)],
)
def test_the_groups_are_parts_of_all_subscribers(
    subscribers: dict[str, Any], changed: str, sizes: tuple[int, ...], bindings: int
) -> None:
    groups = groups_of(experiment_of(subscribers, changed=changed))
    assert tuple(map(len, groups.parts.values())) == sizes
    assert groups.bindings_changed == bindings
    network = groups.new.several.ipv4
    assert groups.old.addresses[0] == network.network_address
    assert groups.new.addresses[1] == network.broadcast_address


def test_each_group_has_its_share_of_each_direction() -> None:
    experiment = experiment_of({})
    groups = groups_of(experiment)
    for whole in traffic_request(experiment, 1000.0, 1).streams:
        old, unchanged, new = streams = groups.streams(whole)
        direction = whole.source.direction
        assert [each.name for each in streams] == [f"{direction} {group}" for group in ("old", "unchanged", "new")]
        assert [each.rate_fps for each in streams] == [250, 500, 250]
        assert sum(each.frames for each in streams) == pytest.approx(whole.frames, abs=2)
        assert [each.max_loss_ratio for each in streams] == [ANY_LOSS, 0, ANY_LOSS]
        own = [
            each.flows.source_address if whole.source == Side.LEFT else each.flows.destination_address
            for each in (old, unchanged, new)
            if each.flows
        ]
        assert [(each.min, each.max) for each in own] == [(0, 63), (64, 191), (192, 255)]


class Core:
    """Notes the ranges that get no binding; `refuses` is the number of the call that it does not carry out."""

    def __init__(self, refuses: int | None = None) -> None:
        self.asked: list[list[str]] = []
        self.refuses = refuses
        self.clock_s = time.monotonic

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        self.asked.append(["-".join(map(str, each.addresses)) for each in without])
        if len(self.asked) == self.refuses:
            raise DutError("refused")


OLD, NEW = "198.18.128.0-198.18.128.63", "198.18.128.192-198.18.128.255"


def change_of(core: Core, engine: Any = None) -> _Change:
    experiment = experiment_of({})
    repetition = SimpleNamespace(experiment=experiment, gateway=lambda: nullcontext(core), engine=engine)
    config = experiment.procedure
    assert isinstance(config, BindingChurnConfig)
    return _Change(cast("Repetition", repetition), config, 1000.0)


def progress(elapsed_s: float) -> Progress:
    return Progress(elapsed_s=elapsed_s, planned=5000, sent=1, received=1)


def during(
    monkeypatch: pytest.MonkeyPatch,
    change: _Change,
    *elapsed_s: float,
    began_ns: int | None = None,
    error: Exception | None = None,
) -> None:
    """Runs a trial whose engine tells its progress at these times."""

    def step(*_: Any, **__: Any) -> TrialResult:
        assert change.traffic(seed=1).begin_at_ns == 0
        for each in elapsed_s:
            change.when_due(progress(each))
        if error:
            raise error
        values: dict[str, Any] = {"began_ns": began_ns}
        return TrialResult.model_construct(**values)

    monkeypatch.setattr(in_traffic, "traffic_step", step)
    change.step(Attempt(1, 1, 1000.0))


def test_bindings_are_changed_once_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core()
    change = change_of(core)
    during(monkeypatch, change, 0.5, 1.0, 1.2)
    assert core.asked == [[NEW], [OLD], []]
    # The trial began when the fastest message says; they were told at once here.
    period = change.period
    assert 1.0 <= period.begin_s <= period.end_s < 1.0 + HANG_S
    assert period.error_s == 0


class Timed(SimulatedEngine):
    """Has a clock that is a second ahead of this process's."""

    def __init__(self) -> None:
        """Needs no gateway."""

    def read_clock(self) -> EngineClock:
        return EngineClock(clock_ns=now_ns() + 10**9, raw_ns=now_ns(), uncertainty_ns=0)


def test_the_engines_clock_tells_when_the_trial_began_however_late_its_messages_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = Core()
    core.clock_s = lambda: now_ns() / 1e9
    change = change_of(core, Timed())
    before_s = now_ns() / 1e9
    during(monkeypatch, change, 1.0, began_ns=round(1e9 * (before_s + 1.0 - 7.0)))
    period = change.period
    spent_s = now_ns() / 1e9 - before_s
    assert 7.0 - period.error_s <= period.begin_s <= period.end_s <= 7.0 + spent_s + period.error_s
    assert 0 < period.error_s <= spent_s


@pytest.mark.parametrize("refuses", [None, 3])
def test_bindings_are_given_back_after_an_error_which_stays_the_first(
    monkeypatch: pytest.MonkeyPatch, refuses: int | None
) -> None:
    core = Core(refuses)
    with pytest.raises(EngineDiedError, match="gone"):
        during(monkeypatch, change_of(core), 1.0, error=EngineDiedError("gone"))
    assert core.asked == [[NEW], [OLD], []]


def test_a_core_that_does_not_give_bindings_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DutError, match="refused"):
        during(monkeypatch, change_of(Core(refuses=3)), 1.0)
