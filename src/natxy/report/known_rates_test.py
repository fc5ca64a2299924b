# SPDX-License-Identifier: Apache-2.0
"""Tests how a report states rates that come from a result."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.procedures.common.traffic_test import THROUGHPUT, measure
from natxy.report.tables.per_procedure import capacity_table
from natxy.report.words import wording
from natxy.report.words.conditions import conditions
from natxy.results.records import ExperimentRecord

HALF = {"rate": {"experiment": "throughput", "percent": 50}}
BURSTS = {"name": "back-to-back", "maximum_rate": "1M", "longest_burst": 1000}


def stated(procedure: Any, rate: dict[str, Any], **gateway: Any) -> dict[str, str]:
    run = measure(THROUGHPUT, {"name": "taken", "procedure": procedure} | rate, **gateway)
    return conditions(run.experiments[1])


@pytest.mark.parametrize(
    ("procedure", "sent"), [(BURSTS, "1 Mfps"), ("system-recovery", "137.8 kfps"), ("reset", None)]
)
def test_the_rate_sent_is_not_taken_for_the_share_of_a_result(procedure: Any, sent: str | None) -> None:
    conditions = stated(procedure, HALF, buffer_frames=100)
    assert conditions["Throughput" if sent else "Rate"] == "125.2 kfps (50 % of throughput)"
    assert conditions["Rate sent"] == (sent or wording.ABSENT)
    given = stated(procedure, {"rate": "100k"}, buffer_frames=100)
    assert given["Throughput" if sent else "Rate"] == "100 kfps"


@pytest.mark.parametrize("procedure", [BURSTS, "pdv"])
def test_a_share_of_a_bound_says_so(procedure: Any) -> None:
    conditions = stated(procedure, HALF, forwarding_fps=10**7)
    title = "Throughput" if procedure is BURSTS else "Rate"
    assert conditions[title] == "500 kfps (50 % of throughput, which is ≥ 1 Mfps)"


BURST = {"name": "burst", "frames": 16}
CAPACITY = {"name": "table-capacity", "initial_connections": 100, "max_connections": 1000}


def test_what_follows_from_a_bound_is_one() -> None:
    kept = {"buffer_frames": 10**5}
    longest = measure(THROUGHPUT, {"name": "taken", "procedure": BURSTS} | HALF, forwarding_fps=400_000, **kept)
    assert medians(longest.experiments[1]) == {"burst": "≥ ", "implied_buffer": "≥ ", "corrected_buffer": "≥ "}
    search = {"search": {"max_rate": "100k", "error": 500}}
    fastest = measure({"name": "bursts", "procedure": BURST} | search, **kept)
    assert medians(fastest.experiments[0]) == {"rate": "≥ ", "gap": "≤ "}


def test_bounds_that_contradict_each_other_leave_nothing() -> None:
    run = measure(THROUGHPUT, {"name": "taken", "procedure": BURSTS} | HALF, forwarding_fps=10**7, buffer_frames=10**5)
    assert medians(run.experiments[1]) == {"burst": "≥ ", "implied_buffer": "≥ "}


def test_a_capacity_without_a_number_that_is_too_large() -> None:
    run = measure({"name": "capacity", "procedure": CAPACITY, "search": {"max_rate": "10k", "error": 500}})
    found = capacity_table(run.experiments[0])
    assert found is not None
    row = dict(zip([column.title for column in found.columns], found.rows[0], strict=True))
    assert (row["CS"], row["CT"], row["C"]) == ("1,000", "–", "≥ 1,000")


def medians(experiment: ExperimentRecord) -> dict[str, str]:
    """Their bounds."""
    headline = experiment.declaration.headline().name
    assert experiment.statistics is not None
    found = experiment.figure_statistics | {headline: experiment.statistics}
    return {name: summary.bounded_median.text(str)[:2] for name, summary in found.items()}
