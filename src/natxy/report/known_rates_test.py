# SPDX-License-Identifier: Apache-2.0
"""What a report states of rates that come from a result."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.procedures.traffic_test import THROUGHPUT, measure
from natxy.report import wording

HALF = {"rate": {"experiment": "throughput", "percent": 50}}
BURSTS = {"name": "back-to-back", "maximum_rate": "1M", "longest_burst": 1000}


def stated(procedure: Any, rate: dict[str, Any], **gateway: Any) -> dict[str, str]:
    run = measure(THROUGHPUT, {"name": "taken", "procedure": procedure} | rate, **gateway)
    return wording.conditions(run.experiments[1])


@pytest.mark.parametrize(
    ("procedure", "sent"), [(BURSTS, "1 Mfps"), ("system-recovery", "137.4 kfps"), ("reset", None)]
)
def test_the_rate_sent_is_not_taken_for_the_share_of_a_result(procedure: Any, sent: str | None) -> None:
    conditions = stated(procedure, HALF, buffer_frames=100)
    assert conditions["Throughput" if sent else "Rate"] == "124.9 kfps (50 % of throughput)"
    assert conditions["Rate sent"] == (sent or wording.ABSENT)
    given = stated(procedure, {"rate": "100k"}, buffer_frames=100)
    assert given["Throughput" if sent else "Rate"] == "100 kfps"


@pytest.mark.parametrize("procedure", [BURSTS, "pdv"])
def test_a_share_of_a_bound_says_so(procedure: Any) -> None:
    conditions = stated(procedure, HALF, forwarding_fps=10**7)
    title = "Throughput" if procedure is BURSTS else "Rate"
    assert conditions[title] == "500 kfps (50 % of throughput, which is ≥ 1 Mfps)"
