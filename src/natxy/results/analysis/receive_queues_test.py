# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import PortResult, Verdict
from natxy.report.page.html import render
from natxy.report.tables.receive_queues import receive_queues_table
from natxy.report.words.tester import uneven_queues
from natxy.results.analysis.receive_queues import receive_queues
from natxy.results.reader import RunReader
from tests.support.repetitions import experiment
from tests.support.sample_runs import SampleRun, result, trial


def port(side: Side, *by_queue: int) -> PortResult:
    return PortResult(
        side=side, missed=0, no_buffer=0, kernel_drops=0, foreign={}, received_by_queue=list(by_queue)
    )  # fmt: skip


def uneven(*trials: tuple[int, ...], **planned: Any) -> list[bool]:
    """Returns for each port that has several queues whether they are uneven; each trial has a port on the right."""
    measured = [
        trial(result(1e5, Verdict.PASS).model_copy(update={"ports": [port(Side.RIGHT, *each)]})) for each in trials
    ]
    return [each.uneven for each in receive_queues(experiment([1e5], trials={1: measured}, **planned))]


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([(500, 500)], [False]),
        ([(0, 1000)], [True]),
        ([(667, 333)], [True]),
        ([(666, 334)], [False]),
        # Over all trials together they are even.
        ([(1000, 0), (0, 1000)], [False]),
        # So few frames show nothing of the flows: they may be questions of the gateway for an address.
        ([(99, 0)], [False]),
        ([(0, 0)], []),
        ([(1000,)], []),
        ([()], []),
    ],
)
def test_one_queue_with_most_of_many_flows_is_uneven(trials: list[tuple[int, ...]], expected: list[bool]) -> None:
    assert uneven(*trials) == expected


def test_few_flows_may_meet_on_one_queue() -> None:
    assert uneven((1000, 0), flows=99) == [False]
    assert uneven((1000, 0), flows=100) == [True]


def test_the_report_has_the_shares_and_a_remark(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    row = sample.store.start_repetition(sample.declare("router", title="Router", flows=4000), 1)
    ports = [port(Side.LEFT, 900, 1100), port(Side.RIGHT, 2, 1998), port(Side.LEFT, 0, 0)]
    further = ports[2].model_copy(update={"pair": 1, "received_by_queue": [10, 990]})
    told = result(1e3, Verdict.PASS).model_copy(update={"ports": [*ports[:2], further]})
    sample.store.add_trial(row, trial(told, rate_fps=1e3))
    run = RunReader(sample.end()).run
    table = receive_queues_table(run)
    assert table
    assert table.rows == (
        ("Router", "left", "2", "2,000", "45.0 %", "55.0 %"),
        ("Router", "left 2", "2", "1,000", "1.0 %", "99.0 %"),
        ("Router", "right", "2", "2,000", "0.1 %", "99.9 %"),
    )
    second, right = uneven_queues(run)
    assert second.startswith("Router: queue 1 of the tester's left 2 port received 99.0 % of the frames")
    assert right.startswith("Router: queue 1 of the tester's right port received 99.9 % of the frames")
    page = render(RunReader(tmp_path))
    assert "Receive queues" in page
    assert "although they had up to 4,000 four-tuples" in page
