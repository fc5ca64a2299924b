# SPDX-License-Identifier: Apache-2.0
"""Writes what trials cost besides their traffic into docs/explanation/speed.md.

`python -m tools.bench.trial_overhead RUN…`: each RUN is the folder of a complete run. The cost is the time from the
start of a trial to the start of the next one in the same repetition, less the traffic of the first and less the waits
that the plan asks for. Only trials without loss count, because others wait for their last frames, and only first
attempts, because further ones follow longer rests.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

from natxy.engine.messages.results import Verdict
from natxy.report.words.wording import percent
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.trials import TrialKind, TrialRecord
from tools.bench.speed_tables import PAGE, put


@dataclass(frozen=True, order=True)
class Passage:
    """Identifies what lies between two trials: the kinds of both, and the connections that are cleared meanwhile."""

    connections: int
    before: TrialKind
    after: TrialKind

    def __str__(self) -> str:
        cleared = f", {self.connections:,} connections cleared" if self.after == TrialKind.PHASE1 else ""
        return f"{self.before} → {self.after}{cleared}"


@dataclass(frozen=True)
class Gap:
    """Holds the time between the traffic of two trials, and the part of it that the plan asks for, in seconds."""

    lasting_s: float
    waits_s: float

    @property
    def rest_s(self) -> float:
        return self.lasting_s - self.waits_s


def passages(experiment: ExperimentRecord) -> Iterator[tuple[Passage, Gap]]:
    """Yields what lies between every two trials of the experiment that count."""
    timing = experiment.planned.timing
    for repetition in experiment.repetitions:
        for first, second in pairwise(repetition.trials):
            if first.verdict != Verdict.PASS or first.lost or second.attempt > 1:
                continue
            waits_s = timing.learning_pause if second.kind == TrialKind.TRAFFIC else 0.0
            if (first.number, first.attempt) != (second.number, second.attempt):
                waits_s = timing.settle
            passage = Passage(experiment.planned.connections or 0, first.kind, second.kind)
            yield passage, Gap(between_s(first, second), waits_s)


def between_s(first: TrialRecord, second: TrialRecord) -> float:
    started = [datetime.fromisoformat(trial.started_at) for trial in (first, second)]
    return (started[1] - started[0]).total_seconds() - first.duration_s


def rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    found: Mapping[Passage, list[Gap]] = defaultdict(list)
    for run in runs:
        for experiment in run.experiments:
            for passage, gap in passages(experiment):
                found[passage].append(gap)
    yield "| from trial to trial | times | median | the plan's waits | the rest |"
    yield "|---|---:|---:|---:|---:|"
    for passage, gaps in sorted(found.items()):
        medians = (median(getattr(gap, part) for gap in gaps) for part in ("lasting_s", "waits_s", "rest_s"))
        yield f"| {passage} | {len(gaps)} | {' | '.join(map(_ms, medians))} |"
    yield ""
    active_s = sum(run.active_s for run in runs)
    yield (
        f"{len(runs)} runs took {active_s:,.0f} s in all: {_share(traffic(runs), active_s)} were traffic, "
        f"{_share(drains(runs), active_s)} the wait for frames that were lost."
    )


def traffic(runs: Iterable[RunRecord]) -> float:
    """Returns the seconds in which trials sent."""
    return sum(
        trial.duration_s for run in runs for experiment in run.experiments for _, _, trial in experiment.all_trials
    )


def drains(runs: Iterable[RunRecord]) -> float:
    """Returns the seconds in which trials waited for frames that never came."""
    return sum(
        experiment.planned.timing.drain
        for run in runs
        for experiment in run.experiments
        for _, _, trial in experiment.all_trials
        if trial.lost
    )


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"


def _share(part: float, whole: float) -> str:
    return percent(100 * part / whole, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, nargs="+")
    table = rows([RunReader(folder).run for folder in parser.parse_args().run])
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "overhead", table), encoding="utf-8")
