# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.report.text import terminal
from natxy.report.words.wide_intervals import explanations
from natxy.results.analysis.wide_intervals_test import AWAY, DISTURBED, INVALID, MARKED, QUIET
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from tests.support.repetitions import experiment
from tests.support.sample_runs import SampleRun

LEVELS = experiment([287e3, 512e3, 290e3, 508e3, 510e3, 289e3], title="NAT")
FALL = experiment([400e3, 381e3, 360e3, 342e3, 320e3, 301e3], title="NAT")
FEW = experiment([300e3, 290e3, 312e3], title="Few")


@pytest.fixture
def empty(tmp_path: Path) -> RunRecord:
    return RunReader(SampleRun(tmp_path).end()).run


def lines(run: RunRecord, *experiments: ExperimentRecord) -> list[str]:
    numbered = [replace(each, id=number) for number, each in enumerate(experiments, 1)]
    return [line for each in explanations(replace(run, experiments=numbered)) for line in each.lines]


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (experiment([100e3] * 5, bracket=12e3, title="NAT"), "NAT: ±6\N{NO-BREAK SPACE}%; the bracket is 12.0 %"),
        (LEVELS, "NAT: ±28\N{NO-BREAK SPACE}%; 3 near 289 kfps, 3 near 510 kfps"),
        (FALL, "NAT: ±14\N{NO-BREAK SPACE}%; a fall by 23 %"),
        (FEW, "Few: ±9\N{NO-BREAK SPACE}%; about 5 repetitions would be enough for ±5 %"),
        (
            experiment([33e3, 203e3, 188e3], title="NAT"),
            "NAT: ±100\N{NO-BREAK SPACE}%; more than 50 repetitions would be needed for ±5 %",
        ),
    ],
)
def test_each_cause_has_its_evidence(empty: RunRecord, record: ExperimentRecord, line: str) -> None:
    assert lines(empty, record) == [line]


def test_disturbed_trials_are_counted_as_in_the_summary(empty: RunRecord) -> None:
    trials = {
        1: [QUIET] * 5 + [INVALID, INVALID, MARKED],
        2: [QUIET] * 5 + [DISTURBED] * 3,
        3: [QUIET] * 6 + [AWAY, AWAY],
    }
    record = experiment([300e3, 200e3, 260e3], trials=trials, title="NAT")
    [line] = lines(empty, record)
    assert "of 24 trials, 2 were invalid, 3 were disturbed, 1 was counted as failed because no attempt was left" in line
    assert " and 2 were counted although a core was away for a moment, in 3 of 3 repetitions; " in line
    summary = terminal.count(replace(empty, experiments=[record]))
    assert summary.startswith("24 trials, 2 of them invalid (the tester fell short) and never counted")
    assert ", 3 disturbed (something else ran on the gateway's core) and repeated" in summary


def test_one_trial_is_no_plural(empty: RunRecord) -> None:
    alone = replace(empty, experiments=[experiment([300e3], trials={1: [QUIET]})])
    assert terminal.count(alone).startswith("1 trial. Seed ")


def test_experiments_with_one_cause_are_told_together(empty: RunRecord) -> None:
    records = [replace(FEW, id=1), replace(LEVELS, id=2), replace(FEW, id=3)]
    found = explanations(replace(empty, experiments=records))
    assert [len(each.lines) for each in found] == [1, 1]
    titled = [replace(FEW, id=1), replace(experiment([300e3, 290e3, 312e3], title="Also few"), id=3)]
    (few,) = explanations(replace(empty, experiments=titled))
    assert "Repeat more often." in few.cause
    assert [line.partition(":")[0] for line in few.lines] == ["Few", "Also few"]


def test_a_sweep_has_a_line_for_its_widest_cell(empty: RunRecord) -> None:
    cells = [
        experiment(values, sweep="sizes", cell={"frame_size": size}, title=f"Sizes, {size}-byte frames")
        for size, values in ((64, [300e3, 290e3, 312e3]), (128, [300e3, 250e3, 340e3]), (256, [300e3, 300e3, 301e3]))
    ]
    (line,) = lines(empty, *cells)
    assert line.startswith("Sizes, 2 cells, the widest: ±37")


def test_a_ratio_that_is_known_better_is_told(empty: RunRecord) -> None:
    forwarding = replace(experiment([400e3, 300e3, 350e3], title="Forwarding"), in_blocks=True)
    nat = replace(experiment([200e3, 150e3, 175e3], title="NAT"), in_blocks=True, baseline=forwarding)
    first, second = lines(empty, forwarding, nat)
    assert "ratio" not in first
    assert second.endswith("; its ratio to Forwarding is known to ±0.0 %")
    loose = replace(experiment([150e3, 250e3, 175e3], title="NAT"), in_blocks=True, baseline=forwarding)
    assert "ratio" not in lines(empty, forwarding, loose)[1]


def test_agreeing_repetitions_need_no_words(empty: RunRecord) -> None:
    assert lines(empty, experiment([300e3, 301e3, 299e3])) == []


def test_a_receive_rate_is_not_told_where_all_its_ratios_are_known(empty: RunRecord) -> None:
    def rate(values: list[float], title: str) -> ExperimentRecord:
        return replace(experiment(values, title=title, procedure="receive-rate"), in_blocks=True)

    forwarding = replace(rate([400e3, 300e3, 350e3], "Forwarding"), id=1)
    nat = replace(rate([200e3, 150e3, 175e3], "NAT"), baseline=forwarding)
    loose = replace(rate([150e3, 250e3, 175e3], "NAT"), baseline=forwarding)
    assert lines(empty, forwarding, nat) == []
    assert len(lines(empty, forwarding, loose)) == len(lines(empty, forwarding, nat, loose)) == 2
    assert len(lines(empty, forwarding)) == 1
