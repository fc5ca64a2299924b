# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.registry import procedure_of
from natxy.procedures.tcp_goodput import _line_share, _spread


def experiment(**plan: Any) -> Experiment:
    own = {"name": "tcp", "procedure": {"name": "tcp-goodput", "best_of": 4}, "gateway": "linux-forward"}
    return resolve(Plan.model_validate({"name": "p", "experiments": [own]} | plan)).experiments[0]


def test_the_share_of_the_line_counts_its_headers_in_each_direction() -> None:
    lined = experiment(line_rate="1Gbps")
    # 1448 of 1538 bytes on the line are those of a segment.
    most_bps = 1e9 * 1448 / 1538
    assert _line_share(lined, most_bps, 1) == {"line_share": pytest.approx(100)}
    assert _line_share(lined, most_bps, 2) == {"line_share": pytest.approx(50)}
    assert _line_share(experiment(), 1e9, 1) == {}


@pytest.mark.parametrize(("totals", "wide"), [([100.0, 100.0], False), ([100.0, 95.5], False), ([100.0, 50.0], True)])
def test_tests_that_differ_widely_are_remarked_on(totals: list[float], wide: bool) -> None:
    assert ("differ by more than" in _spread(totals)) == wide


def test_a_goodput_takes_as_many_steps_as_tests() -> None:
    own = experiment()
    procedure = procedure_of(own)
    assert procedure.expected_steps(own) == 4
    assert procedure.expected_step_s(own, None) == own.traffic_s
