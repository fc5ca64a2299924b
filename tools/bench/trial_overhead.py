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
from natxy.results.records import ExperimentRecord
from natxy.results.trials import TrialKind, TrialRecord
from tools.bench.speed_tables import PAGE, put


@dataclass(frozen=True, order=True)
class Passage:
    """Identifies what lies between two trials: the kinds of both, and the connections that are cleared meanwhile."""

    connections: int
    before: TrialKind
    after: TrialKind

    def __str__(self) -> str:
        clears = self.connections and self.after == TrialKind.PHASE1
        cleared = f", {self.connections:,} connections cleared" if clears else ""
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


def rows(experiments: Sequence[ExperimentRecord], active_s: float) -> Iterator[str]:
    """Yields the table, and the shares of the `active_s` that the experiments' runs took."""
    found: defaultdict[Passage, list[Gap]] = defaultdict(list)
    for experiment in experiments:
        for passage, gap in passages(experiment):
            found[passage].append(gap)
    yield "| from trial to trial | number | median | the plan's waits | the rest |"
    yield "|---|---:|---:|---:|---:|"
    for passage, gaps in sorted(found.items()):
        medians = (median(getattr(gap, part) for gap in gaps) for part in ("lasting_s", "waits_s", "rest_s"))
        yield f"| {passage} | {len(gaps)} | {' | '.join(map(_ms, medians))} |"
    yield ""
    parts_s = (traffic(experiments), drains(experiments), waits(found), rests(found))
    shares = [percent(100 * part_s / active_s, 0) for part_s in parts_s]
    yield (
        f"The runs took {active_s:,.0f} s in all. Of that, {shares[0]} were traffic, up to {shares[1]} the wait for "
        f"frames that were lost, {shares[2]} the plan's waits of this table, and {shares[3]} the rest of it. What is "
        "missing are further attempts and set-ups."
    )


def traffic(experiments: Iterable[ExperimentRecord]) -> float:
    """Returns the seconds in which trials sent."""
    return sum(trial.duration_s for experiment in experiments for _, _, trial in experiment.all_trials)


def drains(experiments: Iterable[ExperimentRecord]) -> float:
    """Returns the seconds in which trials may have waited for frames that never came."""
    return sum(
        experiment.planned.timing.drain
        for experiment in experiments
        for _, _, trial in experiment.all_trials
        if trial.lost
    )


def waits(found: Mapping[Passage, Sequence[Gap]]) -> float:
    return sum(gap.waits_s for gaps in found.values() for gap in gaps)


def rests(found: Mapping[Passage, Sequence[Gap]]) -> float:
    return sum(gap.rest_s for gaps in found.values() for gap in gaps)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, nargs="+")
    runs = [RunReader(folder).run for folder in parser.parse_args().run]
    table = rows([experiment for run in runs for experiment in run.experiments], sum(run.active_s for run in runs))
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "overhead", table), encoding="utf-8")
