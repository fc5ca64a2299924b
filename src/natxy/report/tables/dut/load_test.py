# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.engine.messages.results import Verdict
from natxy.report.tables.dut.load import cost_table, load_tables
from natxy.results.dut_load import InterfaceLoad
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from tests.support.sample_runs import SampleRun, Sought, dut_load, measured_rates, result, trial


def sampled(folder: Path) -> RunRecord:
    sample = SampleRun(folder, loads=True)
    sample.experiment("forward", Sought(231e3), title="Forwarding")
    measured_rates(sample, "other", [100e3])
    return RunReader(sample.end()).run


def test_a_frames_cost_has_its_spread(tmp_path: Path) -> None:
    table = cost_table(sampled(tmp_path))
    assert table is not None
    # An experiment without a load has no row.
    ((title, median, interval, least, most, dispersion, count),) = table.rows
    assert (title, median, count) == ("Forwarding", "2,005", "3")
    assert least <= median <= most
    assert interval.startswith("[")
    assert dispersion.endswith("%")


def test_the_load_of_each_core_and_the_losses_are_shown(tmp_path: Path) -> None:
    run = sampled(tmp_path)
    loads, losses = load_tables(run)
    assert [row[2] for row in loads.rows] == ["0", "1"]
    busy, softirq, frames = loads.rows[1][3], loads.rows[1][6], loads.rows[1][9]
    repetitions = run.experiments[0].repetitions
    assert busy == f"{100 * 2 * 2e-6 * sum(r.value or 0 for r in repetitions) / 3:.1f} %"
    assert float(softirq[:-2]) < float(busy[:-2])
    assert int(frames.replace(",", "")) == sum(int(2 * (r.value or 0) * 4.5) for r in repetitions)
    trials = [trial for _, _, trial in run.experiments[0].all_trials]
    full = [trial for trial in trials if dut_load(2 * trial.rate_fps).dropped]
    assert losses.rows[0][1] == f"{sum(trial.sent for trial in trials):,}"
    assert losses.rows[0][4:] == (f"{3 * len(full)}", f"{7 * len(full)}", f"dut-left rx_missed_errors {3 * len(full)}")


def test_the_losses_of_a_chain_have_a_row_for_each_place(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path, loads=True)
    gateways = {"driver": "chain", "gateways": [{"driver": "linux-forward"}] * 2}
    number = sample.declare("chain", title="Chain", gateway="chain", variant=gateways)
    row = sample.store.start_repetition(number, 1)
    sent = result(1000, Verdict.FAIL)
    (stream,) = sent.streams
    counts = [(stream.sent, 0), (0, stream.sent), (stream.sent, 0), (0, stream.received)]
    interfaces = tuple(
        InterfaceLoad(name=f"i{place}", received=received, sent=given) for place, (received, given) in enumerate(counts)
    )
    load = dut_load(1000).model_copy(update={"interfaces": interfaces})
    sample.store.add_trial(row, trial(sent, rate_fps=1000, dut_load=load))
    sample.store.finish_repetition(row, State.DONE)
    *_, places = load_tables(RunReader(sample.end()).run)
    assert [tuple(each) for each in places.rows] == [
        ("Chain", "between the tester and linux-forward (gateway 1)", "0", "–"),
        ("Chain", "in linux-forward (gateway 1)", "0", "–"),
        ("Chain", "between linux-forward (gateway 1) and linux-forward (gateway 2)", "0", "–"),
        ("Chain", "in linux-forward (gateway 2)", f"{stream.lost}", "100.0 %"),
        ("Chain", "between linux-forward (gateway 2) and the tester", "0", "–"),
    ]


def test_a_reply_that_was_not_sent_is_not_lost(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path, loads=True)
    number = sample.declare("nat", title="NAT")
    row = sample.store.start_repetition(number, 1)
    found = result(1000, Verdict.FAIL)
    (stream,) = found.streams
    assert stream.lost > 1
    partly = found.model_copy(update={"streams": [stream.model_copy(update={"absent": stream.lost - 1})]})
    sample.store.add_trial(row, trial(partly, rate_fps=1000, dut_load=dut_load(1000)))
    sample.store.finish_repetition(row, State.DONE)
    [losses] = load_tables(RunReader(sample.end()).run)
    assert losses.rows[0][3] == "1"


def test_a_run_of_before_loads_were_recorded_has_no_such_tables(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    measured_rates(sample, "other", [100e3])
    run = RunReader(sample.end()).run
    assert cost_table(run) is None
    assert load_tables(run) == []
