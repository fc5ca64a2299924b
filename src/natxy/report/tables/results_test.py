# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.events.listener import RunListener
from natxy.procedures.truth_test import plan_of
from natxy.report.tables import results as results_tables
from natxy.report.tables import trials
from natxy.report.tables.statistics import intervals_note
from natxy.report.tables.table import Table
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan
from tests.support.repetitions import experiment
from tests.support.sample_runs import SampleRun, Sought, measured_latency, measured_rates, quickstart


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return RunReader(quickstart(tmp_path_factory.mktemp("run"))).run


def column(table: Table, title: str) -> dict[str, str]:
    index = [column.title for column in table.columns].index(title)
    return {row[0]: row[index] for row in table.rows}


def test_the_rfc_form_states_conditions_and_statistics(run: RunRecord) -> None:
    throughput, rates = results_tables.rfc_form(run)
    assert "per direction" in throughput.title
    assert "connections/s" in rates.title
    nat = column(throughput, "NAT44 throughput")
    assert nat["Sessions (connections)"] == "50,000"
    assert nat["Source ports"] == "25,000 (10000–34999)"
    assert nat["Destination ports"] == "2 (1000–1001)"
    assert nat["Phase 1 rate"] == "50 kcps"
    assert nat["Error of the search"] == "2 %"
    assert nat["Number of repetitions"] == "3"
    assert (nat["Minimum"], nat["Median"], nat["Maximum"]) == ("150,000", "150,000", "153,125")
    assert nat["Median, aggregate of both directions"] == "300,000"
    assert nat["Dispersion (max − min) / median"] == "2.1 %"
    assert nat["Relative to the baseline"] == "65.8 % [64.5, 67.8]"
    assert column(rates, "NAT44 validated connection rate")["Validation rate"] == "α = 0.5 of the rate"


def test_a_search_whose_maximum_passed_is_a_lower_bound(run: RunRecord) -> None:
    fast = column(results_tables.rfc_form(run)[0], "A gateway faster than the search")
    assert fast["Median"] == "≥ 400,000"
    assert fast["Median, aggregate of both directions"] == "≥ 800,000"
    assert {fast[label] for label in ("1st percentile", "99th percentile", "Minimum", "Maximum")} == {"≥ 400,000"}
    assert fast["Dispersion (max − min) / median"] == "≥ 0.0 %"


def test_what_a_search_cut_off_is_a_bound_wherever_it_stands(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    # ±1 % from repetition to repetition: the last of the three passes at the search's highest rate.
    sample.experiment("near", Sought(399e3), title="Near the end")
    sample.experiment("nothing", Sought(0), title="Nothing passes", baseline="near")
    run = RunReader(sample.end()).run
    table = results_tables.rfc_form(run)[0]
    near, nothing = column(table, "Near the end"), column(table, "Nothing passes")
    assert (near["Minimum"], near["Median"], near["Maximum"]) == ("393,750", "396,875", "≥ 400,000")
    assert near["99th percentile"] == "≥ 400,000"
    assert near["Dispersion (max − min) / median"] == "≥ 1.6 %"
    assert (nothing["Median"], nothing["Maximum"]) == ("< 10,000", "< 10,000")
    assert nothing["Median, aggregate of both directions"] == "< 20,000"
    assert nothing["Relative to the baseline"] == "< 2.5 %"
    overview = results_tables.overview(run)[0]
    assert column(overview, "Max") == {"Near the end": "≥400k", "Nothing passes": "<10k"}


def test_an_experiment_without_a_result_keeps_its_place(run: RunRecord) -> None:
    limited = column(results_tables.rfc_form(run)[0], "NAT44, many addresses")
    assert limited["Number of repetitions"] == "0/3"
    assert limited["Median"] == "–"
    overview = results_tables.overview(run)[0]
    assert any(row[0] == "NAT44, many addresses (tester limit reached)" for row in overview.rows)


def test_a_ratio_that_is_unknown_is_absent_and_none_without_a_baseline(run: RunRecord, tmp_path: Path) -> None:
    rows = {"NAT44 throughput": "65.8 % [64.5, 67.8]", "NAT44, many addresses": "–", "Linux IPv4 forwarding": ""}
    for title, ratio in rows.items():
        assert column(results_tables.rfc_form(run)[0], title)["Relative to the baseline"] == ratio
    both = SampleRun(tmp_path)
    both.experiment("router", Sought(None), title="Router")
    both.experiment("nat", Sought(None), title="NAT", baseline="router")
    unknown = column(results_tables.overview(RunReader(both.end()).run)[0], "base")
    assert unknown == {"Router": "", "NAT": "–"}
    fast = SampleRun(tmp_path / "fast")
    fast.experiment("router", Sought(None), title="Router")
    limited = fast.declare("nat", title="NAT", baseline="router")
    fast.give_up(limited, 205e3, "too fast")
    assert list(column(results_tables.overview(RunReader(fast.end()).run)[0], "base").values()) == ["", "–"]


def test_a_title_that_goes_on_where_the_one_above_ended_is_shortened(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    titles = ("NAT", "NAT, validated", "NAT, many addresses", "NATs", "NAT, again")
    for number, title in enumerate(titles):
        sample.experiment(f"e{number}", Sought(1e5), title=title)
    overview = results_tables.overview(RunReader(sample.end()).run)[0]
    assert [row[0] for row in overview.rows] == ["NAT", "… validated", "… many addresses", "NATs", "NAT, again"]


@pytest.mark.parametrize(("repeat", "shown"), [(99, False), (100, True)])
def test_percentiles_stand_where_they_are_more_than_extremes(tmp_path: Path, repeat: int, *, shown: bool) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("one", Sought(1e5), title="One", repeat=repeat)
    run = RunReader(sample.end()).run
    overview, table = results_tables.overview(run)[0], results_tables.rfc_form(run)[0]
    assert ("p99" in [column.title for column in overview.columns]) == shown
    assert ("99th percentile" in column(table, "One"), "is the minimum" in table.note) == (True, not shown)


@pytest.mark.parametrize(
    ("values", "interval", "note"),
    [
        ([3e5, 3.1e5, 3.2e5], "[285,159, 334,841]", "of their mean by Student's t"),
        ([3e5, 3.1e5, 3.2e5, 3e5, 3.1e5, 3.2e5], "[300,000, 320,000]", "of their pseudo-median"),
        ([3e5, 3.1e5], "too few repetitions", None),
        # Its lower end would be below 0.
        ([1e5, 1.1e5, 5e5], "too few repetitions", None),
    ],
)
def test_an_interval_has_its_method_or_is_left_out(
    tmp_path: Path, values: list[float], interval: str, note: str | None
) -> None:
    sample = SampleRun(tmp_path)
    measured_rates(sample, "one", values)
    run = RunReader(sample.end()).run
    table = results_tables.rfc_form(run)[0]
    assert [row[1] for row in table.rows if row[0] == "95 % confidence interval"] == [interval]
    assert (note or "") in table.note
    assert ("95 % interval" in table.note) == (note is not None)
    overview = results_tables.overview(run)[0]
    assert ("too few" in overview.rows[0]) == (note is None)


def test_the_note_is_of_the_intervals_that_are_shown() -> None:
    note = intervals_note([experiment([1e5, 1.1e5] * 501)])
    assert note.startswith("The 95 % interval of more than 1,000 repetitions is that of their mean")
    assert note.endswith("upwards by the bracket that a search ended with.")
    # The interval of its median would reach down to 0, that of its worst case does not.
    latency = experiment([1e5, 1.1e5, 9e5], procedure="latency", rate={"rate": 1e5})
    worst = [replace(each, figures={"wcl": 9e5 + each.number}) for each in latency.repetitions]
    latency = replace(latency, repetitions=worst)
    assert "of fewer than six repetitions" in intervals_note([latency])
    assert intervals_note([latency], headlines_only=True) == ""


def test_invalid_trials_are_listed_with_their_reason(run: RunRecord) -> None:
    rows = trials.undecided_trials(run).rows
    assert [row[0] for row in rows] == ["forward"] * 3 + ["limited"] * 3
    assert rows[0][1:] == (
        "1", "4", "1", "traffic", "250,000", "late", "the last frame left 1.3 ms late, 1 ms is allowed",
    )  # fmt: skip


def test_every_trial_is_listed_and_a_retry_is_marked(run: RunRecord) -> None:
    forward = run.experiments[0]
    rows = trials.trials(forward).rows
    assert len(rows) == sum(len(repetition.trials) for repetition in forward.repetitions)
    assert [row[1] for row in rows[:5]] == ["1", "2", "3", "4", "4, attempt 2"]


def test_one_direction_has_no_aggregate(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("one", Sought(1e5), title="One way", directions="forward")
    table = results_tables.rfc_form(RunReader(sample.end()).run)[0]
    assert "Median, aggregate of both directions" not in column(table, "One way")
    assert column(table, "One way")["Directions"] == "one: initiator to responder"


def test_nothing_is_said_of_a_direction_in_which_nothing_was_sent(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    measured_latency(sample, "one", 31_000, title="One way", directions="reverse")
    figures, latencies = results_tables.rfc_form(RunReader(sample.end()).run)
    assert [label for label in column(figures, "One way") if "forward" in label.split(", ")] == []
    assert "Typical latency, reverse, ms, median" in column(figures, "One way")
    assert [column.title for column in latencies.columns] == ["Experiment", "TL reverse", "WCL reverse"]


def test_a_ratio_has_its_interval_and_method_wherever_it_stands(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("forward", Sought(200e3), title="Forwarding")
    sample.experiment("far", Sought(100e3), title="Far", baseline="forward")
    run = RunReader(sample.end()).run
    table, overview = results_tables.rfc_form(run)[0], results_tables.overview(run)[0]
    shown = column(overview, "base")["Far"]
    assert re.fullmatch(r"50\.0 % \[4\d\.\d, 5\d\.\d\]", shown)
    assert column(table, "Far")["Relative to the baseline"] == shown
    for found in (table, overview):
        assert "not measured in blocks" in found.note


def test_in_blocks_the_ratio_is_that_within_each_block(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path, in_blocks=True)
    sample.experiment("forward", Sought(200e3), title="Forwarding")
    sample.experiment("far", Sought(100e3), title="Far", baseline="forward")
    ratio = RunReader(sample.end()).run.experiments[1].baseline_ratio
    assert ratio is not None
    assert ratio.paired
    assert ratio.interval is not None
    # Both rates drift by 1 % from block to block: only the searches' brackets are left.
    assert 0.47 < ratio.interval.low < ratio.value < ratio.interval.high < 0.55


def test_figures_besides_the_headline_stand_below_it(tmp_path: Path) -> None:
    gateway = {"driver": "simulated", "table_capacity": 9000, "table_policy": "keep", "forward_delay_ns": 5000}
    plan = plan_of("fill", {}, phase2=False, gateway=gateway, title="Table")
    assert run_plan(plan, tmp_path / "run", RunListener()) == 0
    headline, further = results_tables.overview(RunReader(tmp_path / "run").run)
    assert "Connections whose first frame was lost" in headline.title
    rows = {figure: value for experiment, figure, value in further.rows if experiment == "Table"}
    assert rows["Share of the connections opened before the first loss"] == "90 %"
    assert rows["Median delay of opening frames at 50 %"].endswith(" ms")
    # Nothing arrives that could have a delay.
    assert "Median delay of opening frames at 99 %" not in rows


def test_latencies_and_directions_have_no_further_figures(run: RunRecord) -> None:
    assert "Further figures" not in {table.title for table in results_tables.overview(run)}
