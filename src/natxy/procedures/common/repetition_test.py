# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from natxy.engine.messages.results import Cause, StreamResult, TrialResult, Verdict
from natxy.errors import GatewayDiedError
from natxy.plan.model.timing import LAB_TIMING, RFC_TIMING
from natxy.plan.resolve import resolve
from natxy.procedures.common.repetition import LONGEST_REST_S, Repetition, rest_s
from natxy.procedures.common.traffic_test import plan_of
from natxy.results.dut_counts import DutCounts
from natxy.results.dut_load import DutLoad
from natxy.results.trials import Purpose, TrialKind, TrialRecord, trial_title
from natxy.search.outcome import Attempt
from natxy.system.core_watch import Absence


def test_the_rest_doubles_until_it_is_longest() -> None:
    rests = [rest_s(LAB_TIMING.settle, attempt) for attempt in range(1, 11)]
    assert rests[:4] == pytest.approx([0.02, 0.04, 0.08, 0.16])
    assert rests[-3:] == [LONGEST_REST_S] * 3


def test_the_rest_of_the_rfcs_is_never_shorter() -> None:
    assert {rest_s(RFC_TIMING.settle, attempt) for attempt in range(1, 101)} == {5.0}


class Machine:
    """Stands for the gateway, its watch and the observer of a repetition, and notes what is done in which order."""

    def __init__(self, absence: Absence | None = None, pause_s: float | None = None) -> None:
        self.done: list[str] = []
        self.finished: list[TrialRecord] = []
        self.load = DutLoad(elapsed_s=1.0, cores=())
        self.counts: DutCounts | None = None
        self.counting = SimpleNamespace(begin=lambda: self.done.append("count"), end=self._counted)
        self._absence = absence
        self.gateway = SimpleNamespace(
            pause_s=lambda: pause_s, clear=lambda: self.done.append("clear"), check_alive=self._check_alive
        )
        self.missing = ""
        self.warm_up: Callable[[int], object] | None = None
        self.watch = SimpleNamespace(
            begin=lambda: self.done.append("watch"), end=self._end, load=lambda: self.load, buffer_frames=1000, cores=1
        )
        self.observer = SimpleNamespace(
            attempt_started=lambda _: self.done.append("attempt"),
            trial_started=lambda *_: lambda _: None,
            finished=self.finished.append,
        )

    def _check_alive(self) -> None:
        if self.missing:
            raise GatewayDiedError(self.missing)

    def _end(self) -> Absence | None:
        self.done.append("watched")
        return self._absence

    def _counted(self) -> DutCounts | None:
        self.done.append("counted")
        return self.counts

    def repetition(self, **given: Any) -> Repetition:
        own: dict[str, Any] = {"name": "t", "procedure": "throughput", "search": {"max_rate": "1M"}}
        [experiment] = resolve(plan_of(own | given)).experiments
        return Repetition(
            experiment=experiment,
            tester=cast("Any", None),
            gateway=lambda: nullcontext(cast("Any", self.gateway)),
            observer=cast("Any", self.observer),
            sleep=lambda seconds: self.done.append(f"sleep {seconds:g}"),
            plan_seed=1,
            number=1,
            watch=cast("Any", self.watch),
            counting=cast("Any", self.counting),
            learn=lambda: self.done.append("learn"),
        )

    def run(self, result: TrialResult, number: int = 1, **given: Any) -> TrialResult:
        def run(_: int, __: object) -> TrialResult:
            self.done.append("run")
            return result

        attempt, warm_up = Attempt(1, number, 1e5), self.warm_up
        return self.repetition(**given).trial(attempt, TrialKind.TRAFFIC, Purpose.MEASURE, 1e5, run, warm_up)


def failed(lost: int = 100) -> TrialResult:
    """Returns a failed trial of a second with 100,000 frames."""
    counts = dict.fromkeys(("corrupt", "misrouted", "unsent", "timed_out", "duplicate", "reordered"), 0)
    counts |= {"planned": 100_000, "sent": 100_000, "received": 100_000 - lost, "lost": lost}
    stream: dict[str, Any] = counts | {"name": "forward", "intended_rate_fps": 1e5}
    stream |= {"longest_silence": None, "first_lost": None}
    trial: dict[str, Any] = {"verdict": Verdict.FAIL, "cause": Cause.LOSS, "reason": "lost", "duration_s": 1}
    trial |= {"stale": 0, "ports": []}
    return TrialResult.model_construct(**trial, streams=[StreamResult.model_construct(**stream)])


def test_the_gateway_is_watched_while_the_trial_runs() -> None:
    machine = Machine(Absence(0.05))
    machine.run(failed())
    assert machine.done == ["count", "watch", "run", "watched", "counted"]
    [finished] = machine.finished
    assert (finished.gateway_pause_s, finished.dut_load) == (0.05, machine.load)


def test_a_warm_up_is_neither_watched_nor_counted() -> None:
    machine = Machine()
    machine.warm_up = lambda _: machine.done.append("warm-up")
    machine.run(failed())
    assert machine.done == ["warm-up", "count", "watch", "run", "watched", "counted"]


@pytest.mark.parametrize(
    ("number", "verdict", "ending"),
    [
        (1, Verdict.DISTURBED, ""),
        (2, Verdict.DISTURBED, ""),
        (3, Verdict.FAIL, "; the failure of a last attempt stands"),
    ],
)
def test_a_disturbed_failure_decides_nothing_until_the_last_attempt(number: int, verdict: Verdict, ending: str) -> None:
    machine = Machine(Absence(0.05))
    result = machine.run(failed(), number)
    assert result.verdict == verdict
    assert result.reason == f"lost; the gateway's core was taken away for 50 ms{ending}"
    [finished] = machine.finished
    assert finished.result == result
    assert finished.disturbance == "the gateway's core was taken away for 50 ms"


def test_a_failure_without_an_absence_is_the_gateways() -> None:
    for machine in (Machine(), Machine(Absence(0.0))):
        assert machine.run(failed()) == failed()
        assert machine.finished[0].disturbance is None
    unknown_queue = Machine(Absence(0.05))
    unknown_queue.watch.buffer_frames = None
    assert unknown_queue.run(failed()) == failed()


@pytest.mark.parametrize(("cores", "verdict"), [(None, Verdict.DISTURBED), (6, Verdict.FAIL)])
def test_the_plans_cores_share_the_frames(cores: int | None, verdict: Verdict) -> None:
    # The queues of six cores cover 60 ms.
    assert Machine(Absence(0.05)).run(failed(), cores=cores).verdict == verdict


def test_a_tolerated_loss_is_the_experiments() -> None:
    # 50 ms explain 4000 frames; 2 % of the frames may be lost without an explanation.
    assert Machine(Absence(0.05)).run(failed(5000)).verdict == Verdict.FAIL
    assert Machine(Absence(0.05)).run(failed(5000), loss_tolerance="2%").verdict == Verdict.DISTURBED


def test_a_gateway_that_polls_knows_its_absence_better_than_linux() -> None:
    machine = Machine(Absence(0.05, stolen_s=0.01), pause_s=0.002)
    machine.run(failed())
    [finished] = machine.finished
    assert (finished.gateway_pause_s, finished.gateway_stolen_s) == (0.002, 0.01)


def test_a_gateway_that_is_gone_ends_the_repetition_and_its_trial_does_not_count() -> None:
    machine = Machine()
    machine.missing = "its process gw (pid 7) ended"
    half = failed(50_000)
    counts = {"received": 50_000, "received_per_second": [50_000]}
    half = half.model_copy(update={"streams": [half.streams[0].model_copy(update=counts)]})
    with pytest.raises(GatewayDiedError) as died:
        machine.run(half)
    assert str(died.value) == (
        "the gateway died by the end of traffic at 100 kfps per direction: its process gw (pid 7) ended; it forwarded "
        "50,000 frames of this trial, until about 500 ms of it"
    )
    assert machine.finished == []
    assert machine.done == ["count", "watch", "run", "watched", "counted"]


def test_where_a_trial_takes_the_gateway_away_it_is_not_asked() -> None:
    machine = Machine()
    machine.missing = "its process gw (pid 7) ended"
    reset = replace(machine.repetition(), asks_alive=False)
    reset.trial(Attempt(1, 1, 1e5), TrialKind.TRAFFIC, Purpose.MEASURE, 1e5, lambda *_: failed())
    assert len(machine.finished) == 1


def test_a_table_is_emptied_before_every_attempt_after_the_rest() -> None:
    stateless, stateful = Machine(), Machine()
    stateless.repetition().begin(Attempt(1, 2, 1e5))
    assert stateless.done == ["attempt", "sleep 0.04"]
    stateful.repetition(connections=1000, phase1_rate="1k").begin(Attempt(1, 1, 1e5))
    assert stateful.done == ["attempt", "sleep 0.02", "clear"]


@pytest.mark.parametrize(
    ("timing", "learned"),
    [
        ("rfc", ["learn", "sleep 2"]),
        ({"preset": "rfc", "learning_frames": False}, []),
        ({"learning_frames": True}, ["learn", "sleep 0.01"]),
    ],
)
def test_the_dut_learns_last_before_every_attempt(timing: Any, learned: list[str]) -> None:
    for number in (1, 2):
        machine = Machine()
        repetition = machine.repetition(timing=timing, connections=1000, phase1_rate="1k")
        repetition.begin(Attempt(1, number, 1e5))
        assert machine.done[machine.done.index("clear") + 1 :] == learned


def test_a_trial_is_named_by_what_it_sends() -> None:
    def title(kind: TrialKind) -> str:
        return trial_title(kind, 812_500)

    assert title(TrialKind.TRAFFIC) == "traffic at 812.5 kfps per direction"
    assert title(TrialKind.VALIDATE) == "validation at 812.5 kfps"
    assert title(TrialKind.PHASE1) == "phase 1 at 812.5 kcps"


def test_each_trial_has_a_seed_of_its_own_which_is_the_same_again() -> None:
    def seeds(step: int) -> list[int]:
        found: list[int] = []

        def run(seed: int, _: object) -> TrialResult:
            found.append(seed)
            return failed()

        repetition = Machine().repetition()
        for attempt, kind in ((1, TrialKind.PHASE1), (1, TrialKind.TRAFFIC), (2, TrialKind.TRAFFIC)):
            repetition.trial(Attempt(step, attempt, 1e5), kind, Purpose.MEASURE, 1e5, run)
        return found

    assert seeds(1) == seeds(1)
    assert len({*seeds(1), *seeds(2)}) == 6
    assert all(0 <= seed < 2**64 for seed in seeds(1))


def test_the_reason_names_the_counter_of_the_dut_that_moved_as_much() -> None:
    machine = Machine()
    machine.counts = DutCounts(rose={"conntrack -S": {"insert_failed": 100, "drop": 100}})
    result = machine.run(failed())
    assert result.reason == "lost; insert_failed rose by 100 in `conntrack -S`"
    [finished] = machine.finished
    assert (finished.result.reason, finished.dut_counts) == (result.reason, machine.counts)


def test_what_the_table_refused_is_the_gateways_whoever_was_disturbed() -> None:
    refused = DutCounts(rose={"conntrack -S": {"chaintoolong": 100, "insert_failed": 100, "drop": 100}})
    paused = failed().model_copy(update={"verdict": Verdict.INVALID, "cause": Cause.PAUSED})
    for result in (failed(), paused):
        machine = Machine(Absence(0.05))
        machine.counts = refused
        told = machine.run(result)
        assert (told.verdict, told.cause) == (Verdict.FAIL, Cause.LOSS)
        assert "chaintoolong rose by 100 in `conntrack -S`" in told.reason
        assert machine.finished[0].disturbance is None


def test_what_the_table_did_not_refuse_is_not_the_gateways() -> None:
    paused = failed().model_copy(update={"verdict": Verdict.INVALID, "cause": Cause.PAUSED})
    late = failed().model_copy(update={"verdict": Verdict.INVALID, "cause": Cause.LATE})
    for result, rose in ((paused, {"insert_failed": 99}), (paused, {"drop": 100}), (late, {"insert_failed": 100})):
        machine = Machine()
        machine.counts = DutCounts(rose={"conntrack -S": rose})
        assert machine.run(result).verdict == Verdict.INVALID
