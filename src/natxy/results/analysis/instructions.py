# SPDX-License-Identifier: Apache-2.0
"""Computes what frames and connections cost the gateway in instructions, from rounds of trials that counted them.

A round has three trials of about the same length: single frames (`many`), very few single frames (`few`), and about as
many frames as in the first trial in bursts. The first two trials give the cost of a single frame and the DUT's
instructions without frames. The cost of a burst's frame is without the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.results.dut_load import InstructionCount
from natxy.results.trials import TrialKind, TrialRecord

MANY, FEW, BURSTS = range(3)
TRIALS: Final = 3
"""The number of trials of a round, in the order above."""

Count = Callable[[InstructionCount], int]


@dataclass(frozen=True)
class Spent:
    """Holds what the DUT executed in a trial, for the frames that it forwarded."""

    executed: InstructionCount
    frames: int

    @property
    def elapsed_s(self) -> float:
        return self.executed.elapsed_s


@dataclass(frozen=True)
class Round:
    """Holds the trials of a round; `phase1` are those before them, whose frames each made a connection."""

    many: Spent
    few: Spent
    bursts: Spent
    phase1: tuple[Spent, ...] = ()

    def single(self, of: Count) -> float:
        """Returns what a frame adds if it comes alone."""
        return self._apart(of)[0]

    def background(self, of: Count) -> float:
        """Returns what is executed each second without frames."""
        return self._apart(of)[1]

    def in_bursts(self, of: Count) -> float:
        """Returns what a frame of a burst adds."""
        return self._without_background(self.bursts, of)

    def connection(self, of: Count) -> float | None:
        """Returns what a frame adds if it makes a connection; None if there was no phase 1."""
        costs = [self._without_background(each, of) for each in self.phase1]
        return median(costs) if costs else None

    def _without_background(self, spent: Spent, of: Count) -> float:
        return (of(spent.executed) - self.background(of) * spent.elapsed_s) / spent.frames

    def _apart(self, of: Count) -> tuple[float, float]:
        many, few = self.many, self.few
        scale = few.elapsed_s / many.elapsed_s
        frame = (of(many.executed) * scale - of(few.executed)) / (many.frames * scale - few.frames)
        return frame, (of(few.executed) - frame * few.frames) / few.elapsed_s


def instructions(executed: InstructionCount) -> int:
    return executed.count


def cycles(executed: InstructionCount) -> int:
    assert executed.cycles is not None
    return executed.cycles


def burst_cost(rounds: Sequence[Round]) -> float:
    """Returns how many instructions a frame of a burst adds.

    Where functions are known, it is the sum of their medians over the rounds: what runs only now and then, such as the
    kernel's timers and its collection of old connections, is in few rounds, and moves the median of their sums.
    """
    functions = by_function(rounds)
    return sum(functions.values()) if functions else median(each.in_bursts(instructions) for each in rounds)


def rounds_of(trials: Iterable[TrialRecord]) -> list[Round]:
    """Returns the rounds of a repetition of `frame-cost` whose trials have all passed and counted instructions."""
    last = {(trial.number, trial.kind): trial for trial in trials}
    found = []
    for first in range(1, max((number for number, _ in last), default=0) + 1, TRIALS):
        numbers = range(first, first + TRIALS)
        spent, phase1 = (
            [_spent(last.get((number, kind))) for number in numbers] for kind in (TrialKind.TRAFFIC, TrialKind.PHASE1)
        )
        counted = [each for each in spent if each]
        if len(counted) == TRIALS:
            many, few, bursts = counted
            found.append(Round(many, few, bursts, tuple(each for each in phase1 if each)))
    return found


def by_module(rounds: Sequence[Round]) -> dict[str, float]:
    """Returns what a frame of a burst adds in each module of the gateway's kernel."""
    return _by_name(rounds, lambda executed: executed.modules)


def by_function(rounds: Sequence[Round]) -> dict[str, float]:
    """Returns what a frame of a burst adds in each of the kernel's functions."""
    return _by_name(rounds, lambda executed: executed.functions)


def _by_name(rounds: Sequence[Round], names: Callable[[InstructionCount], dict[str, int]]) -> dict[str, float]:
    def cost(name: str) -> float:
        return median(each.in_bursts(lambda executed: names(executed).get(name, 0)) for each in rounds)

    known: Iterable[str] = {name for each in rounds for name in names(each.bursts.executed)}
    return dict(sorted(((name, cost(name)) for name in known), key=lambda found: (-found[1], found[0])))


def _spent(trial: TrialRecord | None) -> Spent | None:
    """Returns what a trial has cost; None for one that decided nothing or counted no instructions."""
    if trial is None or trial.verdict != Verdict.PASS or not (trial.dut_load and trial.dut_load.instructions):
        return None
    return Spent(trial.dut_load.instructions, trial.received) if trial.received else None
