# SPDX-License-Identifier: Apache-2.0
"""Computes what a frame costs the DUT: the time of its cores, in nanoseconds, for each frame that it forwarded.

A cost depends on the rate: at a low one the cores wake for single frames, and beyond the highest one they work for
frames that are lost. It is therefore that of the highest rate at which trials of a repetition passed, all of them
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import Figure
from natxy.results.dut_load import CoreLoad, DutLoad
from natxy.results.records import ExperimentRecord, RepetitionRecord
from natxy.results.statistics import Summary, summarize
from natxy.results.trials import Purpose, TrialRecord

COST: Final = Figure("dut_time_per_frame", "DUT CPU time per forwarded frame", Unit.NS)

KINDS: Final = ("user", "system", "softirq", "irq")
SHARES: Final = ("busy", *KINDS, "steal")

# Linux tells times in ticks. The idle time of a core and the time that passed are each wrong by less than one.
_TICK_S: Final = 0.01
_WRONG_TICKS: Final = 2
_LEAST_PER_ERROR: Final = 10


def decisive_trials(repetition: RepetitionRecord) -> list[TrialRecord]:
    """Returns the trials that passed at the highest rate of those that passed, if the DUT's load is known in them."""
    passed = [t for t in repetition.trials if t.verdict is Verdict.PASS and t.purpose is Purpose.MEASURE]
    highest = max((trial.rate_fps for trial in passed), default=0.0)
    return [trial for trial in passed if trial.rate_fps == highest and trial.dut_load]


def ns_per_frame(trials: Iterable[TrialRecord]) -> float | None:
    """Returns the cost of a frame in these trials together.

    None when the cores were busy for less than ten times what the ticks of all of them may be wrong by.
    """
    frames, busy_s, wrong_s = 0, 0.0, 0.0
    for trial in trials:
        if trial.dut_load:
            frames += trial.received
            busy_s += trial.dut_load.busy_s
            wrong_s += _WRONG_TICKS * _TICK_S * len(trial.dut_load.cores)
    # Sums of hundredths are not exact.
    return busy_s * 1e9 / frames if frames and round(busy_s, 6) >= round(_LEAST_PER_ERROR * wrong_s, 6) else None


def cost(experiment: ExperimentRecord) -> Summary | None:
    """Summarizes the cost of a frame over the repetitions; None when it is unknown in all of them.

    A gateway that polls its ports is busy whatever it forwards, so a frame costs it nothing that could be told. In a
    trial that mostly waits, what else ran on the cores is most of their work.
    """
    if experiment.planned.gateway.polls or experiment.declaration.mostly_waits:
        return None
    known = (ns_per_frame(decisive_trials(each)) for each in experiment.repetitions if each.measured)
    return summarize([value for value in known if value is not None])


def shares(cores: Iterable[CoreLoad], duration_s: float) -> dict[str, float]:
    """Returns the part of a trial in which each of the cores was busy, and with what, on average; all are up to 1.

    The readings lie before the traffic and after its residual frames. What the cores did beyond the traffic's duration
    is cut off, of everything alike.
    """
    total = dict.fromkeys(SHARES, 0.0)
    count = 0
    for core in cores:
        count += 1
        scale = 1 / max(duration_s, core.busy_s)
        for name in ("busy", *KINDS):
            total[name] += min(1.0, scale * getattr(core, f"{name}_s"))
        total["steal"] += min(1.0, core.steal_s / duration_s)
    return {name: max(0.0, part / count) for name, part in total.items()}


def loads(trials: Sequence[TrialRecord]) -> list[tuple[TrialRecord, DutLoad]]:
    """Returns the trials whose load is known, with it."""
    return [(trial, trial.dut_load) for trial in trials if trial.dut_load]
