# SPDX-License-Identifier: Apache-2.0
"""What a procedure has at hand while it measures one repetition of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Protocol

from natxy.dut.base import Gateway
from natxy.engine.interface import Engine, OnProgress
from natxy.engine.messages.results import TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit, format_quantity
from natxy.procedures.common.replay import Replay
from natxy.results.records import Purpose, TrialKind
from natxy.results.store import timestamp
from natxy.search.outcome import Attempt
from natxy.tcp.hosts import TcpHosts, TcpTest, Transfer

Tester = Engine | TcpHosts
"""What is at the ends of the DUT's links."""

GatewayInHand = Callable[[], AbstractContextManager[Gateway[Any]]]
"""The gateway, for as long as the context lasts: within it programs that it starts have the priority to be measured
at, and times that it takes are its own."""

KIND_WORDS: Final = {TrialKind.PHASE1: "phase 1", TrialKind.VALIDATE: "validation", TrialKind.TRAFFIC: "traffic"}


@dataclass(frozen=True)
class FinishedTrial:
    """`gateway_pause_s`: for how long the gateway's core was taken from it; None where nobody knows."""

    attempt: Attempt
    kind: TrialKind
    purpose: Purpose
    rate_fps: float
    started_at: str
    result: TrialResult
    gateway_pause_s: float | None = None

    @property
    def title(self) -> str:
        """`traffic at 812.5 kfps per direction`."""
        unit = Unit.CPS if self.kind == TrialKind.PHASE1 else Unit.FPS
        direction = " per direction" if self.kind == TrialKind.TRAFFIC else ""
        return f"{KIND_WORDS[self.kind]} at {format_quantity(self.rate_fps, unit)}{direction}"


class TrialObserver(Protocol):
    """Hears of every trial; `finished` returns when it is safely stored."""

    def attempt_started(self, attempt: Attempt) -> None: ...

    def progress(self, kind: TrialKind) -> OnProgress: ...

    def finished(self, trial: FinishedTrial) -> None: ...

    def transferred(self, number: int, started_at: str, test: TcpTest, found: Mapping[str, Transfer]) -> None:
        """Of test `number` between hosts, by direction."""
        ...

    def replayed(self, trial: FinishedTrial) -> None:
        """Of a trial that was stored before the run was resumed."""
        ...


@dataclass(frozen=True)
class Repetition:
    """`phase1_fps`: the rate that prepares the connections of an experiment with a `phase1_rate`, `rate`
    that of an experiment with one, in its procedure's unit. `sleep` takes seconds."""

    experiment: Experiment
    tester: Tester
    gateway: GatewayInHand
    observer: TrialObserver
    sleep: Callable[[float], None]
    plan_seed: int
    number: int
    phase1_fps: float | None = None
    rate: float | None = None
    replay: Replay = field(default_factory=Replay)

    @property
    def engine(self) -> Engine:
        assert not isinstance(self.tester, TcpHosts)
        return self.tester

    @property
    def hosts(self) -> TcpHosts:
        """Of a procedure between hosts."""
        assert isinstance(self.tester, TcpHosts)
        return self.tester

    def begin(self, attempt: Attempt) -> None:
        """RFC 2544 §23: the DUT rests before it is tried again. The table is empty before every trial (RFC 9693)."""
        self.observer.attempt_started(attempt)
        if self.replay.begin(attempt):
            return
        # What disturbed the tester may take a while to pass: wait longer before each further try.
        self.sleep(self.experiment.timing.settle * attempt.number)
        if self.experiment.uses_connections:
            with self.gateway() as gateway:
                gateway.clear()

    def trial(
        self,
        attempt: Attempt,
        kind: TrialKind,
        purpose: Purpose,
        rate_fps: float,
        run: Callable[[int, OnProgress], TrialResult],
    ) -> TrialResult:
        """Carries out one engine trial, `run(seed, on_progress)`, and keeps its result; unless it was carried out
        before the run was resumed."""
        recorded = self.replay.result(attempt, kind, purpose, rate_fps)
        if recorded:
            self.observer.replayed(FinishedTrial(attempt, kind, purpose, rate_fps, "", recorded))
            return recorded
        started_at = timestamp()
        result = run(self._seed(attempt, kind), self.observer.progress(kind))
        with self.gateway() as gateway:
            pause_s = gateway.pause_s()
        self.observer.finished(FinishedTrial(attempt, kind, purpose, rate_fps, started_at, result, pause_s))
        return result

    def transfer(self, number: int, test: TcpTest) -> dict[str, Transfer]:
        """Carries out one test between hosts and keeps what it found."""
        started_at = timestamp()
        found = self.hosts.transfer(test)
        self.observer.transferred(number, started_at, test, found)
        return found

    def _seed(self, attempt: Attempt, kind: TrialKind) -> int:
        """Reproducible from the plan's seed, and another one for every trial (RFC 4814)."""
        words = (self.plan_seed, self.experiment.name, self.number, attempt.step, attempt.number, kind)
        return int.from_bytes(blake2b("/".join(map(str, words)).encode(), digest_size=8).digest(), "big")
