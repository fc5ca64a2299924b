# SPDX-License-Identifier: Apache-2.0
"""One repetition of an experiment: its engine or hosts, its gateway, and the trials that it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, Protocol

from natxy.causes.counted import counted, refused
from natxy.causes.damage import damage
from natxy.causes.places import place_of_loss
from natxy.dut.base import Gateway
from natxy.dut.linux.counting import CountWatches
from natxy.engine.interface import Engine, OnProgress
from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.errors import GatewayDiedError
from natxy.plan.experiment import Experiment
from natxy.procedures.common.replay import Replay
from natxy.procedures.common.table_check import TableCheck
from natxy.procedures.faults.astray import astray, check_translated
from natxy.procedures.faults.crowding import crowding
from natxy.procedures.faults.death import came_through
from natxy.procedures.faults.disturbance import disturbance, tolerated_loss
from natxy.procedures.faults.pauses import PausedAttempts
from natxy.results.dut_load import DutLoad
from natxy.results.store import timestamp
from natxy.results.trials import Purpose, TrialKind, TrialRecord, trial_title
from natxy.search.outcome import Attempt
from natxy.system.core_watch import Absence
from natxy.tcp.hosts import TcpHosts, TcpTest, Transfer
from natxy.testbeds.gateway_watch import GatewayWatch

Tester = Engine | TcpHosts
"""The engine with the tester's ports, or the hosts that replace them."""

GatewayContext = Callable[[], AbstractContextManager[Gateway[Any]]]
"""Returns a context that gives access to the gateway. Programs started within it have the priority of the gateway, and
times taken within it count as the gateway's own."""

# Other virtual machines take a core for seconds or a minute, and attempts without a rest would all fall into that time.
LONGEST_REST_S: Final = 2.0


def rest_s(settle_s: float, attempt: int) -> float:
    """Returns the rest before an attempt at a step: `settle_s` before the first, and each time twice as long, up to
    LONGEST_REST_S, before further ones, which a disturbance has made necessary."""
    return max(settle_s, min(settle_s * 2.0 ** (attempt - 1), LONGEST_REST_S))


class TrialObserver(Protocol):
    """Receives the events of a repetition."""

    def attempt_started(self, attempt: Attempt) -> None: ...

    def trial_started(self, attempt: Attempt, kind: TrialKind, purpose: Purpose, rate_fps: float) -> OnProgress:
        """Returns what receives the trial's progress."""
        ...

    def finished(self, trial: TrialRecord) -> None:
        """Stores the trial before it returns."""
        ...

    def transferred(self, number: int, started_at: str, test: TcpTest, found: Mapping[str, Transfer]) -> None:
        """Receives the transfers of test `number` between hosts, by direction."""
        ...

    def replayed(self, trial: TrialRecord) -> None:
        """Receives a trial that was stored before the run was resumed."""
        ...


@dataclass(frozen=True)
class Repetition:
    """Gives a procedure what it needs to measure one repetition, and runs its trials.

    `phase1_fps` and `rate` are the values of the experiment's `phase1_rate` and `rate`; None if it has no such
    field. `rate` is in the procedure's unit. `ceiling_fps` is the rate per direction that the tester passes without a
    gateway, None if unknown. `sleep` takes seconds. Without a `watch` that knows the queue of the gateway, no trial is
    disturbed; `counting` reads the DUT's counters around each. `learn` sends learning frames; None if nothing learns
    from them. `asks_alive` is false where trials take the gateway away themselves. `set_up_again` sets the gateway up
    on a DUT that has booted; None if the DUT is no machine of its own. `table_check` is the experiment's; None leaves
    the gateway's table unchecked. `trials` gets each trial of the engine, and those run before the run was resumed.
    """

    experiment: Experiment
    tester: Tester
    gateway: GatewayContext
    observer: TrialObserver
    sleep: Callable[[float], None]
    plan_seed: int
    number: int
    phase1_fps: float | None = None
    rate: float | None = None
    ceiling_fps: float | None = None
    watch: GatewayWatch | None = None
    counting: CountWatches | None = None
    learn: Callable[[], None] | None = None
    asks_alive: bool = True
    set_up_again: Callable[[], None] | None = None
    table_check: TableCheck | None = None
    replay: Replay = field(default_factory=Replay)
    paused: PausedAttempts = field(default_factory=PausedAttempts)
    trials: list[TrialRecord] = field(default_factory=list)

    @property
    def engine(self) -> Engine:
        assert not isinstance(self.tester, TcpHosts)
        return self.tester

    @property
    def hosts(self) -> TcpHosts:
        """The hosts, for a procedure between hosts."""
        assert isinstance(self.tester, TcpHosts)
        return self.tester

    def begin(self, attempt: Attempt) -> None:
        """Starts an attempt: lets the DUT rest, empties its connection tracking table (RFC 9693) and sends learning
        frames (RFC 2544 §23). Raises DutError if the DUT does not answer these, or if its table is not emptied."""
        self.observer.attempt_started(attempt)
        if self.replay.begin(attempt):
            return
        if self.experiment.uses_connections and self.table_check:
            self.table_check.try_clear(self)
        self.sleep(rest_s(self.experiment.timing.settle, attempt.number))
        if self.experiment.uses_connections:
            if self.table_check:
                self.table_check.try_again(self)
            with self.gateway() as gateway:
                gateway.clear()
        if self.learn and self.experiment.timing.learning_frames:
            self.learn()
            self.sleep(self.experiment.timing.learning_pause)

    def trial(
        self,
        attempt: Attempt,
        kind: TrialKind,
        purpose: Purpose,
        rate_fps: float,
        run: Callable[[int, OnProgress], TrialResult],
        warm_up: Callable[[int], object] | None = None,
    ) -> TrialResult:
        """Runs one trial of the engine with `run(seed, on_progress)` and stores it.

        `warm_up(seed)` comes before the gateway is watched, so that nothing of its traffic counts.

        A loss that the tester's pauses may explain is the gateway's if earlier attempts at the step contradict that. A
        failure that a disturbance of the gateway's core explains decides nothing, so its verdict is `disturbed`. But
        in the last attempt that a step may take the failure stands, because otherwise nothing would decide. A loss that
        the gateway's connection table has counted as refused is the gateway's, whoever was disturbed. Returns the
        stored result instead if the trial was run before the run was resumed. Raises GatewayDiedError, and stores
        nothing, if the gateway is gone after the trial.
        """
        stored = self.replay.trial(attempt, kind, purpose, rate_fps)
        if stored:
            recorded = stored.result
            self.paused.weigh(attempt, kind, recorded)
            self.trials.append(stored)
            self.observer.replayed(_record(recorded, attempt, kind, purpose, rate_fps))
            check_translated(self.experiment, recorded)
            return recorded
        seed = self._seed(attempt, kind)
        if warm_up:
            warm_up(seed)
        started_at = timestamp()
        if self.counting:
            self.counting.begin()
        if self.watch:
            self.watch.begin()
        on_progress = self.observer.trial_started(attempt, kind, purpose, rate_fps)
        result = self.paused.weigh(attempt, kind, run(seed, on_progress))
        absence = self._absence()
        load = self.watch.load() if self.watch else None
        if load and load.instructions and not self.experiment.procedure.counts_instructions:
            load = load.model_copy(update={"instructions": load.instructions.without_functions()})
        counts = self.counting.end() if self.counting else None
        self._check_alive(trial_title(kind, rate_fps), result)
        lacking = self.experiment.may_lack_checksum
        damaged = damage(result.samples, may_lack_checksum=lacking) if result.verdict == Verdict.FAIL else ""
        gateways = self.experiment.gateway.hop_titles
        place = place_of_loss(result, load, gateways) if result.verdict == Verdict.FAIL else ""
        told = (damaged, astray(self.experiment, result), counted(result, load, counts), place)
        result = result.model_copy(update={"reason": "; ".join(filter(None, (result.reason, *told)))})
        own = refused(result, counts)
        if own and result.cause == Cause.PAUSED:
            reason = f"{result.reason}, whatever the tester's pauses"
            result = result.model_copy(update={"verdict": Verdict.FAIL, "cause": Cause.LOSS, "reason": reason})
        why = "" if own else self._disturbance(result, absence, load)
        if why and attempt.number < self.experiment.max_invalid:
            result = result.model_copy(update={"verdict": Verdict.DISTURBED, "reason": f"{result.reason}; {why}"})
        elif why:
            reason = f"{result.reason}; {why}; the failure of a last attempt stands"
            result = result.model_copy(update={"reason": reason})
        record = _record(result, attempt, kind, purpose, rate_fps, started_at=started_at, absence=absence)
        record = replace(record, disturbance=why or None, dut_load=load, dut_counts=counts)
        self.trials.append(record)
        self.observer.finished(record)
        check_translated(self.experiment, result)
        if kind == TrialKind.PHASE1 and self.table_check:
            self.table_check.compare(self, result)
        return result

    def _check_alive(self, trial: str, result: TrialResult | None = None) -> None:
        """Raises GatewayDiedError if the gateway is gone after a trial, which then says nothing about its rate."""
        if not self.asks_alive:
            return
        try:
            with self.gateway() as gateway:
                gateway.check_alive()
        except GatewayDiedError as died:
            so_far = f"; {came_through(result.streams)}" if result else ""
            raise GatewayDiedError(f"the gateway died by the end of {trial}: {died}{so_far}") from died

    def _absence(self) -> Absence | None:
        """Returns the absence of the gateway's core during the trial that has just ended."""
        watched = self.watch.end() if self.watch else None
        with self.gateway() as gateway:
            own_s = gateway.pause_s()
        # A gateway that polls looks at its clock all the time, and knows better than the counters of Linux.
        return watched if own_s is None else Absence(own_s, stolen_s=watched.stolen_s if watched else None)

    def _disturbance(self, result: TrialResult, absence: Absence | None, load: DutLoad | None) -> str:
        if self.watch is None or self.watch.buffer_frames is None:
            return ""
        cores = self.experiment.cores or self.watch.cores
        tolerated, buffer_frames = tolerated_loss(self.experiment), self.watch.buffer_frames
        away = disturbance(
            result,
            absence,
            cores=cores,
            buffer_frames=buffer_frames,
            drain_s=self.experiment.timing.drain,
            tolerated=tolerated,
            frame_timeout_s=self.experiment.procedure.frame_timeout_s,
        )
        return away or crowding(result, load)

    def transfer(self, number: int, test: TcpTest) -> dict[str, Transfer]:
        """Runs one test between hosts, stores its transfers and returns them by direction."""
        started_at = timestamp()
        found = self.hosts.transfer(test)
        self._check_alive(f"test {number}")
        self.observer.transferred(number, started_at, test, found)
        return found

    def _seed(self, attempt: Attempt, kind: TrialKind) -> int:
        """Derives the trial's seed from the plan's, so that trials differ and can be reproduced (RFC 4814)."""
        words = (self.plan_seed, self.experiment.name, self.number, attempt.step, attempt.number, kind)
        return int.from_bytes(blake2b("/".join(map(str, words)).encode(), digest_size=8).digest(), "big")


def _record(
    result: TrialResult, attempt: Attempt, kind: TrialKind, purpose: Purpose, rate_fps: float, *, started_at: str = "",
    absence: Absence | None = None,
) -> TrialRecord:  # fmt: skip
    return TrialRecord.of(
        result, absence=absence, number=attempt.step, attempt=attempt.number, kind=kind, purpose=purpose,
        step_rate=attempt.rate, rate_fps=rate_fps, started_at=started_at,
    )  # fmt: skip
