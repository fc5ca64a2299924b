# SPDX-License-Identifier: Apache-2.0
"""Carries out every plan of plans/paper in virtual time, at its full size, through gateways with the published limits.

The report's tables must then show the published values, so that plans, searches, procedures, reports and published
tables prove each other. Where they were published, the gateways of three repetitions have the median, the minimum and
the maximum. Each test notes what it compares, for the table of docs/explanation/papers.md.

Testbed and gateways are replaced, and with them go the settings of drivers. A simulated gateway has no lifetimes, its
table holds exactly the experiment's connections, and its rates are published ones, whatever its cores. So these tests
do not show that the planned lifetimes and tables suffice, which `natxy check` computes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.dut.registry import GATEWAYS
from natxy.events.listener import RunListener
from natxy.events.run import RepetitionStarted
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.plan.yaml.loading import load_plan
from natxy.published import published_table
from natxy.report.tables.goodput import goodput_tables
from natxy.report.tables.per_procedure import capacity_table
from natxy.report.tables.results import plain_form
from natxy.report.tables.sweep import sweep_tables
from natxy.report.words import wording
from natxy.results.analysis.sweeps import sweeps
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.results.trials import TrialKind
from natxy.run.run import run_plan
from natxy.tcp.simulated import FRAMES_PER_SEGMENT, SEGMENT_BYTES

FOLDER: Final = Path(__file__).parents[2] / "plans" / "paper"
# The second paper's tester sends at least 7.1 M frames/s in each direction (Tables II and III); some plans search up to
# twice that.
TESTBED: Final = SimulatedTestbedConfig(tester_limit=7.1e6, dut_cores=16)
ANY: Final = 1e9
STATISTICS: Final = ("median", "min", "max")
LABELS: Final = ("Median", "Minimum", "Maximum")
# By the error of the searches, up to 0.1 %, and by rounding.
WITHIN: Final = 1.2e-3
RATIO_WITHIN: Final = 6e-3

# The first columns of published tables that name the value of a swept field.
SWEPT: Final = {"CPU cores": "cores", "Connections": "connections"}

Limits = dict[str, float]
# Notes a plan, what its values are, the published and the found ones.
Note = Callable[[str, str, Sequence[float], Sequence[float]], None]
# The value of a swept field, or the number of a cell in its sweep.
Cell = tuple[str, int | None]
Cells = Mapping[Cell, Sequence[Limits]]


@dataclass(frozen=True)
class Shown:
    """Says which row of the report shows a published column, which is `times` the row. `within` is the greatest
    relative difference, `points` an absolute one."""

    experiment: str
    label: str
    table: str
    column: str
    within: float = WITHIN
    times: int = 1
    points: float = 0.0


@dataclass(frozen=True)
class Paper:
    """Holds the limits of each experiment's or sweep's gateways, for each cell and repetition, and what is shown."""

    limits: Mapping[str, Cells]
    shown: Sequence[Shown]


def column(table: str, title: str) -> list[float]:
    published = published_table(table)
    return [float(row[published.columns.index(title)]) for row in published.rows]


def of_repetitions(table: str, quantity: str) -> list[list[float]]:
    """Returns the published median, minimum and maximum of a quantity for each row; {} is their place in its name."""
    titles = published_table(table).columns
    named = [quantity.format(each) for each in STATISTICS]
    known = [column(table, title if title in titles else named[0]) for title in named]
    return [list(row) for row in zip(*known, strict=True)]


def gateways(table: str, **limits: list[list[float]]) -> Cells:
    """Returns the limits of gateways from those of each row and repetition; nothing else limits the gateways.

    They are those of the cell with the value in the row's first column, or of the cells in the order of the rows.
    """
    count = len(next(iter(limits.values())))
    whole = {"connection_rate_fps": [[ANY] * 3] * count, "forwarding_fps": [[ANY] * 3] * count} | limits
    rows = (
        [dict(zip(whole, values, strict=True)) for values in zip(*cells, strict=True)]
        for cells in zip(*whole.values(), strict=True)
    )
    title = published_table(table).columns[0]
    if title not in SWEPT:
        return by_number(*rows)
    return {(SWEPT[title], int(value)): row for value, row in zip(column(table, title), rows, strict=True)}


def by_number(*cells: Sequence[Limits]) -> Cells:
    return {("number", number): cell for number, cell in enumerate(cells)}


def statistics(experiment: str, table: str, quantity: str, times: int = 1) -> list[Shown]:
    """Returns the rows of the median, the minimum and the maximum, as far as they were published."""
    titles = published_table(table).columns
    named = zip(LABELS, (quantity.format(each) for each in STATISTICS), strict=True)
    return [Shown(experiment, label, table, title, times=times) for label, title in named if title in titles]


def against(table: str) -> Paper:
    """Returns the paper of a table of both rates against cores or connections."""
    cps, fps = of_repetitions(table, "cps {}"), of_repetitions(table, "fps {}")
    return Paper(
        {
            "rate": gateways(table, connection_rate_fps=cps),
            "throughput": gateways(table, connection_rate_fps=cps, forwarding_fps=fps),
        },
        [
            *statistics("rate", table, "cps {}"),
            *statistics("throughput", table, "fps {}", times=2),
            Shown("throughput", "Median, aggregate of both directions", table, "fps median"),
        ],
    )


def against_cores(table: str, forwarding: list[list[float]], *more: Shown) -> Paper:
    found = against(table)
    relative = [
        Shown(experiment, "Relative scale-up", table, f"{rate} relative scale-up", RATIO_WITHIN)
        for experiment, rate in (("rate", "cps"), ("throughput", "fps"))
    ]
    limits = {**found.limits, "forwarding": gateways(table, forwarding_fps=forwarding)}
    return Paper(limits, [*found.shown, *relative, *more])


def iptables_cores() -> Paper:
    name = "iptables-cores"
    return against_cores(
        name,
        of_repetitions(name, "Forwarding fps {}"),
        *statistics("forwarding", name, "Forwarding fps {}", times=2),
        Shown("forwarding", "Relative scale-up", name, "Forwarding relative scale-up", RATIO_WITHIN),
        Shown("throughput", "Throughput ratio (to the baseline)", name, "Throughput ratio, %", RATIO_WITHIN),
    )


def jool_cores() -> Paper:
    # Forwarding was not published.
    return against_cores("jool-cores", [[1e6] * 3] * 5)


def tear_down(table: str) -> Paper:
    full_s, empty_s = of_repetitions(table, "Full s {}"), of_repetitions(table, "Empty s {}")
    per_s = [
        [n / (full - empty) for full, empty in zip(*cell, strict=True)]
        for n, *cell in zip(column(table, "Connections"), full_s, empty_s, strict=True)
    ]
    empty = statistics("tear-down", table, "Empty s {}")
    full = statistics("tear-down", table, "Full s {}")
    times = [
        Shown("tear-down", f"Time to empty the {which} table, s, {each.label.lower()}", table, each.column, 1e-4)
        for which, rows in (("full", full), ("empty", empty))
        for each in rows
    ]
    # The source has computed these from the medians, and rounded.
    computed = [
        Shown("tear-down", "Difference of the two, s, median", table, "Net s", 5e-3),
        Shown("tear-down", "Median", table, "Tear-down cps", 5e-3),
    ]
    return Paper({"tear-down": gateways(table, tear_down_rate=per_s, clear_time=empty_s)}, [*times, *computed])


def enumeration(driver: str) -> Paper:
    rate, throughput = f"{driver}-nat64-rate", f"{driver}-nat64-throughput"
    cps, fps = of_repetitions(rate, "cps {}"), of_repetitions(throughput, "fps {}")
    shown = [
        each
        for experiment, table, quantity in (("rate", rate, "cps {}"), ("throughput", throughput, "fps {}"))
        for each in (
            *statistics(experiment, table, quantity),
            Shown(experiment, "Dispersion (max − min) / median", table, "Dispersion, %", points=0.25),
            Shown(experiment, "Relative performance", table, "Relative performance, %", RATIO_WITHIN),
        )
    ]
    if driver == "pf":
        # A median of the ratios within blocks is not the published ratio of medians where results spread by 40 %.
        shown.pop()
    both = [[2 * each for each in cell] for cell in fps]
    limits = {
        "rate": gateways(rate, connection_rate_fps=cps),
        "throughput": gateways(throughput, connection_rate_fps=cps, forwarding_fps=both),
    }
    return Paper(limits, shown)


def addresses_and_ports(table: str) -> Paper:
    columns = ("fps median, per direction", "fps min", "fps max")
    cells = [list(cell) for cell in zip(*(column(table, title) for title in columns), strict=True)]
    rows = [Shown("forwarding", label, table, title) for label, title in zip(LABELS, columns, strict=True)]
    dispersion = Shown("forwarding", "Dispersion (max − min) / median", table, "Dispersion, %", points=0.25)
    both = [[2 * each for each in cell] for cell in cells]
    return Paper({"forwarding": gateways(table, forwarding_fps=both)}, [*rows, dispersion])


def stateless() -> Paper:
    table, title = "stateless-nat64-frame-rate", "Frames/s"
    both = [[2 * fps] * 3 for fps in column(table, title)]
    return Paper({"siit": gateways(table, forwarding_fps=both)}, [Shown("siit", "Median", table, title)])


PAPERS: Final = {
    "iptables-connections": lambda: against("iptables-connections"),
    "iptables-cores": iptables_cores,
    "iptables-tear-down": lambda: tear_down("iptables-tear-down"),
    "jool-connections": lambda: against("jool-connections"),
    "jool-cores": jool_cores,
    "jool-nat64-enumeration": lambda: enumeration("jool"),
    "jool-tear-down": lambda: tear_down("jool-tear-down"),
    "openbsd-addresses-ports-ipv4": lambda: addresses_and_ports("openbsd-ipv4-addresses-ports"),
    "openbsd-addresses-ports-ipv6": lambda: addresses_and_ports("openbsd-ipv6-addresses-ports"),
    "pf-nat64-enumeration": lambda: enumeration("pf"),
    "router-addresses-ports-ipv4": lambda: addresses_and_ports("linux-ipv4-addresses-ports"),
    "router-addresses-ports-ipv6": lambda: addresses_and_ports("linux-ipv6-addresses-ports"),
    "stateless-nat64": stateless,
}
# These tables have other forms.
ALPHA, CAPACITY, TCP = "jool-alpha", "iptables-capacity", "tcp-goodput"


class Turns(RunListener):
    """Gives the gateway of each repetition the limits of its turn, by the experiment's name."""

    def __init__(self, experiments: Sequence[Experiment], limits: Mapping[str, Sequence[Limits]]) -> None:
        self._gateways = {experiment.name: experiment.gateway for experiment in experiments}
        self._limits = limits

    def repetition_started(self, event: RepetitionStarted) -> None:
        vars(self._gateways[event.experiment]).update(self._limits[event.experiment][event.repetition - 1])


def carried_out(stem: str, limits: Mapping[str, Cells], folder: Path) -> RunRecord:
    """Carries out a plan through gateways with these limits; every experiment must end with a result."""
    (repetitions,) = {len(turns) for cells in limits.values() for turns in cells.values()}
    plan = load_plan(FOLDER / f"{stem}.yaml", repeat=repetitions)
    turns = turns_of(plan, limits)
    simulated = [each.model_copy(update={"gateway": model(each)}) for each in plan.experiments]
    run_plan(plan.model_copy(update={"testbed": TESTBED, "experiments": simulated}), folder, Turns(simulated, turns))
    run = RunReader(folder).run
    assert [experiment.state for experiment in run.experiments] == [State.DONE] * len(simulated)
    return run


def turns_of(plan: ResolvedPlan, limits: Mapping[str, Cells]) -> dict[str, Sequence[Limits]]:
    """Returns the limits of each experiment in each repetition; each limits exactly one experiment."""
    turns: dict[str, Sequence[Limits]] = {}
    for name, group in groupby(plan.experiments, lambda each: each.sweep or each.name):
        cells = dict(limits[name])
        for number, each in enumerate(group):
            known: list[Cell] = [("cores", each.cores), ("connections", each.connections), ("number", number)]
            (cell,) = (cell for cell in known if cell in cells)
            turns[each.name] = cells.pop(cell)
        assert not cells
    return turns


def model(experiment: Experiment) -> SimulatedConfig:
    """Returns a gateway without limits; those of a repetition are set when it begins.

    The time of a restart, which does not matter here, is that of its driver, so that the report has a row for each.
    """
    size = {"table_capacity": experiment.connections} if experiment.connections else {}
    fixed = {"core_efficiency": 0.0, "restart_time": mark(experiment.gateway.driver)}
    return SimulatedConfig.model_validate(fixed | size)


def mark(driver: str) -> float:
    return float([*GATEWAYS].index(driver))


def row(run: RunRecord, experiment: str, label: str) -> list[float]:
    """Returns the numbers in a row of the table of a sweep."""
    sweep = next(each for each in sweeps(run) if each.name == experiment)
    prefix = f"{sweep.title}, {wording.unit(sweep.cells[0].unit)}: "
    for table in sweep_tables(run):
        rows = {title: cells for title, *cells in table.rows}
        found = rows.get(prefix + label) or (rows.get(label) if table.title.startswith(f"{sweep.title}: ") else None)
        if found:
            return [number(cell) for cell in found]
    raise AssertionError(f"no table of the report has {prefix}{label}")


def number(cell: str) -> float:
    """Returns the number that a cell begins with, before its unit and its interval; a bound is an error."""
    return float(cell.replace(",", "").split()[0])


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    return lambda *compared: record_property("compared", json.dumps(compared))


def test_every_plan_has_its_gateways() -> None:
    assert {*PAPERS, ALPHA, CAPACITY, TCP} == {file.stem for file in FOLDER.glob("*.yaml")}


@pytest.mark.parametrize(
    "stem", [pytest.param(stem, marks=[pytest.mark.long] if stem.endswith("-connections") else []) for stem in PAPERS]
)
def test_the_report_shows_what_was_published(stem: str, tmp_path: Path, note: Note) -> None:
    paper = PAPERS[stem]()
    run = carried_out(stem, paper.limits, tmp_path / "run")
    for each in paper.shown:
        published = column(each.table, each.column)
        found = [each.times * value for value in row(run, each.experiment, each.label)]
        doubled = f", {each.times} × the report's" if each.times > 1 else ""
        note(stem, f"{each.experiment}: {each.column}{doubled}", published, found)
        assert found == pytest.approx(published, rel=each.within, abs=each.points), each
    for experiment in run.experiments:
        trials = [trial for _, _, trial in experiment.all_trials]
        # All connections at once, however many there are.
        assert {trial.sent for trial in trials if trial.kind == TrialKind.PHASE1} <= {experiment.planned.connections}


def test_alpha(tmp_path: Path, note: Note) -> None:
    """One gateway has to give the whole table: it limits new connections, and the replies of the validation to the mean
    of 0.8 and 0.6 times the rates that were found with these α."""
    one = {"connection_rate_fps": 479_000.0, "validation_fps": 258_261.0, "forwarding_fps": ANY}
    run = carried_out(ALPHA, {"rate": by_number([one]), "validated-rate": by_number(*[[one]] * 4)}, tmp_path / "run")
    *validated, unvalidated = column("jool-alpha", "cps median")
    plain = {title: cells for title, *cells in plain_form(run)[0].rows}
    found = [*row(run, "validated-rate", "Median"), number(plain["Median"][0])]
    note(ALPHA, "validated-rate, rate: cps median", [*validated, unvalidated], found)
    assert found == pytest.approx([*validated, unvalidated], rel=2.5e-3)


@pytest.mark.parametrize("statistic", range(3))
def test_capacity(statistic: int, tmp_path: Path, note: Note) -> None:
    """The rate of the gateway falls from R0 with C0 connections to RS with CS."""
    c0, r0, cs, rs, ct, most = [float(cell) for cell in published_table(CAPACITY).rows[statistic][1:]]
    cost = (r0 - rs) / (rs * (cs - 1) - r0 * (c0 - 1))
    limits = {"connection_cost": cost, "connection_rate_fps": r0 * (1 + cost * (c0 - 1)), "forwarding_fps": ANY}
    run = carried_out(CAPACITY, {"capacity": by_number([limits | {"table_capacity": int(most)}])}, tmp_path / "run")
    table = capacity_table(run.experiments[0])
    assert table
    shown = dict(zip((each.title for each in table.columns[1:]), map(number, table.rows[0][1:]), strict=True))
    found = [shown[title] for title in ("C0", "R0", "CS", "RS", "CT", "C")]
    note(CAPACITY, f"capacity: C0, R0, CS, RS, CT, C {STATISTICS[statistic]}", [c0, r0, cs, rs, ct, most], found)
    assert (shown["C0"], shown["CS"], shown["CT"], shown["C"]) == (c0, cs, ct, most)
    assert [shown["R0"], shown["RS"]] == pytest.approx([r0, rs], rel=6e-3)


@pytest.mark.parametrize("machine", ["apu", "ryzen"])
def test_goodput(machine: str, tmp_path: Path, note: Note) -> None:
    """The published NAT64 keeps no connections: it is the plan's SIIT, and nothing was published for its NAT64."""
    published = published_table(f"tcp-goodput-{machine}")
    tayga, jool = (dict(zip(published.columns, row, strict=True)) for row in published.rows[:2])
    # By experiment, in the order of its gateways.
    mbps: dict[str, dict[str, Any]] = {
        "ipv4": {"linux-forward": tayga["IPv4, Mbit/s"]},
        "ipv6": {"linux-forward": tayga["IPv6, Mbit/s"]},
        "siit": {"tayga": tayga["NAT64, Mbit/s"], "jool-siit": jool["NAT64, Mbit/s"]},
        "nat46": {"tayga": tayga["NAT46, Mbit/s"], "jool-siit": jool["NAT46, Mbit/s"]},
        "nat64": {"tayga-netfilter": 1, "jool": 2},
    }
    frames_per_megabit = 1e6 * FRAMES_PER_SEGMENT / (8 * SEGMENT_BYTES)
    limits = {
        name: by_number(*([{"forwarding_fps": each * frames_per_megabit}] for each in cells.values()))
        for name, cells in mbps.items()
    }
    table = goodput_tables(carried_out(TCP, limits, tmp_path / "run"))[0]
    titles = {"ipv4": "IPv4", "ipv6": "IPv6", "siit": "SIIT", "nat46": "NAT46", "nat64": "NAT64"}
    assert [each.title for each in table.columns] == ["Gateway", *titles.values()]
    shown = {name: cells for name, *cells in table.rows}
    for place, name in enumerate([*titles][:-1]):
        by = mbps[name]
        found = [number(shown[f"simulated, restart_time={mark(driver)}"][place]) for driver in by]
        note(TCP, f"{machine}, {titles[name]}: Mbit/s by {', '.join(by)}", [*by.values()], found)
    assert shown == {
        f"simulated, restart_time={mark(driver)}": [
            f"{mbps[name][driver]:,.1f}" if driver in mbps[name] else wording.ABSENT for name in titles
        ]
        for driver in ("linux-forward", "tayga", "jool-siit", "tayga-netfilter", "jool")
    }
