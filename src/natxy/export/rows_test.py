# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.export.rows import comparison_rows, figure_rows, to_csv, trial_rows
from natxy.results.analysis.ceilings import ceiling_share
from natxy.results.analysis.ceilings_test import FOUND
from natxy.results.analysis.compare import compare
from natxy.results.reader import RunReader
from natxy.results.trials import TransferRecord
from tests.support.sample_runs import SampleRun, Sought, measured_rates, quickstart
from tests.support.sample_sweeps import sweeps


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    run = RunReader(sweeps(tmp_path_factory.mktemp("run"))).run
    return list(csv.DictReader(to_csv(figure_rows(run)).splitlines()))


def row(rows: list[dict[str, str]], experiment: str, figure: str) -> dict[str, str]:
    (found,) = (row for row in rows if row["experiment"] == experiment and row["figure"] == figure)
    return found


def test_cells_are_plain_numbers_or_empty(rows: list[dict[str, str]]) -> None:
    words = {
        "experiment", "title", "procedure", "gateway", "family", "directions", "state", "figure", "unit",
        "cell_addresses", "cell_ports.source", "protocol", "mix", "extension_headers",
    }  # fmt: skip
    for one in rows:
        for column, value in one.items():
            if column.endswith("_bound"):
                assert value in {"", "≥", "≤", "<", ">"}
            elif column not in words and value:
                float(value)


def test_a_bound_stands_beside_its_number(rows: list[dict[str, str]]) -> None:
    measured = row(rows, "nat44/cores=4", "rate")
    assert (measured["median"], measured["median_bound"], measured["unit"]) == ("275000.0", "", "fps")
    assert (measured["throughput_ratio_percent"], measured["throughput_ratio_bound"]) == ("68.75", "≤")
    assert float(measured["dispersion"]) == pytest.approx(3125 / 275_000)
    assert float(measured["standard_deviation"]) == pytest.approx(3125 / 3**0.5)
    bound = row(rows, "forward/cores=4", "rate")
    assert (bound["median"], bound["median_bound"]) == ("400000.0", "≥")
    assert (bound["standard_deviation"], bound["dispersion_bound"]) == ("", "≥")


def test_delays_are_in_nanoseconds_and_every_direction_has_its_row(rows: list[dict[str, str]]) -> None:
    worst = row(rows, "latency/frame_size=1518", "wcl_reverse")
    assert (worst["frame_size_bytes"], worst["unit"], worst["repetitions"]) == ("1518", "ns", "3")
    assert float(worst["median"]) == pytest.approx(1.1 * 44_400)


def test_a_failed_cell_has_a_row_without_numbers(rows: list[dict[str, str]]) -> None:
    failed = row(rows, "many/connections=12800000", "rate")
    assert (failed["state"], failed["median"], failed["repetitions"]) == ("failed", "", "0")


def test_compared_runs_are_counted_from_1(tmp_path: Path) -> None:
    runs = []
    for name, rates in (("a", [100e3, 100e3]), ("b", [90e3, 90e3])):
        sample = SampleRun(tmp_path / name)
        measured_rates(sample, "forward", rates, 1e3)
        runs.append(RunReader(sample.end()).run)
    first, other = comparison_rows(compare(runs))
    assert (first["run"], first["median"], first["repetitions"], first["difference_percent"]) == (1, 100e3, 2, None)
    assert (other["run"], other["median"], other["difference"], other["difference_percent"]) == (
        2,
        90e3,
        -10e3,
        pytest.approx(-10),
    )


def test_what_a_frame_costs_the_dut_is_the_last_figure(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path, loads=True)
    sample.experiment("forward", Sought(231e3), title="Forwarding")
    *_, cost = figure_rows(RunReader(sample.end()).run)
    assert (cost["figure"], cost["unit"], cost["repetitions"]) == ("dut_time_per_frame", "ns", 3)
    assert cost["median"] == pytest.approx(2000, rel=0.01)


def test_a_row_of_a_trial_has_what_the_dut_spent(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path, loads=True)
    sample.experiment("forward", Sought(231e3), title="Forwarding")
    run = RunReader(sample.end()).run
    for row, (_, _, trial) in zip(trial_rows(run), run.all_trials, strict=True):
        load = trial.dut_load
        assert load is not None
        assert (row["dut_busy_s"], row["dut_core_1_busy_s"]) == (load.busy_s, load.cores[1].busy_s)
        dropped = (row["dut_queue_dropped_frames"], row["dut_interface_lost_frames"])
        assert dropped == (load.dropped, load.interfaces_lost)
        assert row["dut_time_per_frame_ns"] == pytest.approx(1e9 * load.busy_s / trial.received)


def test_a_search_that_found_nothing_is_below_its_lowest_rate(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    run.experiment("slow", Sought(1.0), title="Slow")
    (slow,) = figure_rows(RunReader(run.end()).run)
    for statistic in ("median", "mean", "minimum"):
        assert (slow[statistic], slow[f"{statistic}_bound"]) == (10e3, "<")


def test_a_row_of_a_trial_has_its_counts_and_those_of_each_stream(tmp_path: Path) -> None:
    run = RunReader(quickstart(tmp_path)).run
    rows = trial_rows(run)
    for row, (experiment, repetition, trial) in zip(rows, run.all_trials, strict=True):
        assert (row["experiment"], row["repetition"], row["step"]) == (experiment.name, repetition.number, trial.number)
        assert (row["attempt"], row["step_value"], row["stream_rate_fps"]) == (
            trial.attempt, trial.step_rate, trial.rate_fps,
        )  # fmt: skip
        assert (row["sent_frames"], row["lost_frames"], row["verdict"]) == (trial.sent, trial.lost, trial.verdict)
        assert (row["tester_pause_s"], row["gateway_pause_s"]) == (70e-6, None)
        forward = trial.result.streams[0]
        assert (row["forward_received_frames"], row["forward_overrun_ns"]) == (forward.received, 500)
        assert (row["forward_lateness_median_ns"], row["forward_lateness_max_ns"]) == (400, 90_000)
        assert (row["result_unit"], row["repetition_result"]) == (experiment.unit, repetition.value)
    assert "cell_cores" not in rows[0]
    assert "relative_scale_up" not in rows[0]
    assert {row["throughput_ratio_percent"] is None for row in rows} == {True, False}


def test_a_row_says_how_near_the_tester_is_to_its_limit(tmp_path: Path) -> None:
    run = replace(RunReader(quickstart(tmp_path)).run, self_test=FOUND)
    share = ceiling_share(run.experiments[0], FOUND)
    assert share is not None
    row = trial_rows(run)[0]
    assert row["tester_ceiling_fps"] == share.ceiling_fps == 550_000
    assert row["tester_ceiling_percent"] == pytest.approx(100 * share.share)
    assert row["tester_limited"] == share.doubtful
    assert trial_rows(replace(run, self_test=None))[0]["tester_ceiling_percent"] is None


def test_each_direction_of_a_test_between_hosts_has_a_row(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    row = run.store.start_repetition(run.declare("tcp", title="TCP", procedure="tcp-goodput", search=None), 1)
    run.store.add_transfer(row, TransferRecord(3, "reverse", "2026-01-01T12:00:00+00:00", 1.5, 1e9, 7))
    [found] = trial_rows(RunReader(run.end()).run)
    assert (found["test"], found["direction"], found["duration_s"]) == (3, "reverse", 1.5)
    assert (found["goodput_bps"], found["retransmitted_segments"], found["repetition"]) == (1e9, 7, 1)
