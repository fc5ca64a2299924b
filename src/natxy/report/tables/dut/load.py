# SPDX-License-Identifier: Apache-2.0
"""Tables of what the DUT spent: the cost of a frame, the load of each core, and where frames were lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from natxy.causes.places import lost_by_place
from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit, format_quantity
from natxy.report.tables.statistics import narrow_interval
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.analysis.dut_cost import SHARES, cost, decisive_trials, loads, shares
from natxy.results.dut_load import CoreLoad, DutLoad
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.trials import TrialKind, TrialRecord

COST_TITLE: Final = "DUT CPU time per forwarded frame, ns"
_COST_NOTE: Final = (
    "At the highest rate at which trials of the repetition passed: the time in which the DUT's cores were neither idle "
    "nor taken away by the machine's host, divided by the frames that arrived. Whatever else ran on these cores counts "
    "too."
)
_OF_QUERIES: Final = " Of a DNS64 server, it is the time per answered query."
_LOAD_NOTE: Final = (
    "As shares of the trials' duration, of the same trials as above. Busy is measured: the time that was not idle. The "
    "other shares are those that Linux samples at its ticks, and interrupts that end between two ticks are in none of "
    "them. Frames are those that the kernel's receive path processed on that core."
)
_LOST_NOTE: Final = (
    "Of all trials whose load is known, without invalid ones. Queues are those in which frames wait for a core of the "
    "DUT. A frame dropped there may count as lost at the interface too, and interfaces also count frames that are not "
    "the tester's. Replies to connections that had not arrived were not sent, and are not among the lost frames."
)

_PLACES_NOTE: Final = (
    "Of the same trials, by the counters of all interfaces from the left to the right. A frame that the next gateway's "
    "core had no room for counts as lost between the two. A frame that came back wrong was lost at no place."
)


def cost_table(run: RunRecord) -> Table | None:
    """Returns the cost of a frame for each experiment; None when it is unknown in all of them."""
    titles = ("Median", "95 %", "Min", "Max", "Disp.", "N")
    rows = []
    for experiment in run.experiments:
        summary = cost(experiment)
        if summary is None:
            continue
        values = (summary.median, summary.minimum, summary.maximum)
        median, least, most = (wording.number(value) for value in values)
        interval = narrow_interval(summary, lambda ends: wording.ends(ends, wording.number).strip() or wording.ABSENT)
        count = f"{summary.count}"
        rows.append((experiment.title, median, interval, least, most, wording.dispersion(summary, gap=""), count))
    columns = (Column("Experiment"), *(Column(title, numeric=True) for title in titles))
    asked = any(experiment.declaration.asks_dns64 for experiment in run.experiments)
    return Table(COST_TITLE, columns, tuple(rows), note=_COST_NOTE + _OF_QUERIES * asked) if rows else None


def load_tables(run: RunRecord) -> list[Table]:
    """Returns the load of each core and the losses in the DUT, for the experiments whose load is known."""
    known = [(each, [trial for _, _, trial in each.all_trials if trial.dut_load]) for each in run.experiments]
    known = [(experiment, trials) for experiment, trials in known if trials]
    if not known:
        return []
    loaded = tuple(row for experiment, _ in known for row in _core_rows(experiment))
    lost = tuple(_lost_row(experiment, trials) for experiment, trials in known)
    tables = [
        Table("Load of the DUT's cores", _columns("Experiment", "Rate", "Core", *_TITLES, "Frames"), loaded,
              note=_LOAD_NOTE),
        Table("Where frames were lost", _columns("Experiment", *_LOSSES), lost, note=_LOST_NOTE),
        Table("Between which gateways frames were lost", _columns("Experiment", *_PLACES),
              tuple(row for each in known for row in _place_rows(*each)), note=_PLACES_NOTE),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


_TITLES: Final = ("Busy", "User", "System", "Softirq", "IRQ", "Steal")
_LOSSES: Final = ("Sent", "Arrived", "Lost", "At the DUT's interfaces", "In its cores' queues", "Cause by interface")


_PLACES: Final = ("Place", "Lost", "Share")


def _columns(first: str, *others: str) -> tuple[Column, ...]:
    texts = {"Rate", "Cause by interface", "Place"}
    return (Column(first), *(Column(title, numeric=title not in texts) for title in others))


def _core_rows(experiment: ExperimentRecord) -> Iterator[tuple[str, ...]]:
    """Yields a row for each core in the decisive trials of all repetitions together."""
    decisive = [trial for each in experiment.repetitions if each.measured for trial in decisive_trials(each)]
    if not decisive:
        return
    by_core: dict[int, list[tuple[CoreLoad, float]]] = {}
    for trial, load in loads(decisive):
        for core in load.cores:
            by_core.setdefault(core.core, []).append((core, trial.duration_s))
    rate = _rates(decisive)
    for number, cores in sorted(by_core.items()):
        each = [(shares([core], duration_s), duration_s) for core, duration_s in cores if duration_s]
        whole_s = sum(duration_s for _, duration_s in each)
        means = (sum(part[name] * duration_s for part, duration_s in each) / whole_s for name in SHARES)
        cells = [wording.percent(100 * mean) for mean in means] if whole_s else [wording.ABSENT] * len(SHARES)
        frames = [core.frames for core, _ in cores if core.frames is not None]
        yield experiment.title, rate, str(number), *cells, f"{sum(frames):,}" if frames else wording.ABSENT


def _rates(trials: Sequence[TrialRecord]) -> str:
    ends = sorted({trial.rate_fps for trial in trials})
    unit = Unit.QPS if trials[0].kind == TrialKind.QUERIES else Unit.FPS
    shown = dict.fromkeys(format_quantity(rate, unit) for rate in (ends[0], ends[-1]))
    return " to ".join(shown)


def _lost_row(experiment: ExperimentRecord, trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    valid = [trial for trial in trials if trial.verdict is not Verdict.INVALID]
    found = [load for _, load in loads(valid)]
    sent, received, lost = (sum(getattr(trial, name) for trial in valid) for name in ("sent", "received", "lost"))
    lost -= sum(stream.absent for trial in valid for stream in trial.result.streams)
    return (
        experiment.title, f"{sent:,}", f"{received:,}", f"{lost:,}",
        _sum(load.interfaces_lost for load in found), _sum(load.dropped for load in found), _causes(found),
    )  # fmt: skip


def _place_rows(experiment: ExperimentRecord, trials: Sequence[TrialRecord]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each gateway and link of a chain, from left to right."""
    gateways = experiment.planned.gateway.hop_titles
    total: dict[str, int] = {}
    for trial in trials:
        if trial.verdict is not Verdict.INVALID:
            for place, number in lost_by_place(trial.result, trial.dut_load, gateways).items():
                total[place] = total.get(place, 0) + number
    # A frame of another program, such as a request for an address, is missing at one place and too many at the next.
    lost = sum(number for number in total.values() if number > 0)
    if sum(total.values()) <= 0:
        return
    for place, number in total.items():
        share = wording.percent(100 * number / lost) if number > 0 else wording.ABSENT
        yield experiment.title, place, f"{max(0, number):,}", share


def _sum(counts: Iterable[int | None]) -> str:
    known = [count for count in counts if count is not None]
    return f"{sum(known):,}" if known else wording.ABSENT


def _causes(found: Iterable[DutLoad]) -> str:
    total: dict[tuple[str, str], int] = {}
    for load in found:
        for interface in load.interfaces:
            for cause, count in interface.lost.items():
                total[interface.name, cause] = total.get((interface.name, cause), 0) + count
    return "; ".join(f"{name} {cause} {count:,}" for (name, cause), count in total.items()) or wording.ABSENT
