# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.caveats import caveats_of_plan

THROUGHPUT = {"name": "t", "procedure": "throughput", "search": {"max_rate": "100%"}}
AT_THROUGHPUT = {"rate": {"experiment": "t", "percent": 100}}
TAKERS = [
    ("latency", "RFC 8219 §7.2"),
    ("single-tag-latency", "RFC 2544 §26.2"),
    ("pdv", "RFC 8219 §7.3.1"),
    ("ipdv", "RFC 8219 §7.3.2"),
    ("back-to-back", "RFC 9004 §6.4"),
    ("system-recovery", "RFC 2544 §26.5"),
    ("reset", "RFC 6201"),
]


def caveats_of(procedure: Any, *, source: dict[str, Any] = THROUGHPUT, **fields: Any) -> list[str]:
    """Returns the sentences of the caveats of a plan that has none but the procedure's."""
    head = {"name": "p", "repeat": 50, "testbed": {"kind": "simulated"}, "line_rate": "1Gbps"}
    both = [source, {"name": "e", "procedure": procedure} | fields]
    plan = head | {"experiments": [{"gateway": "simulated"} | experiment for experiment in both]}
    return [caveat.text for caveat in caveats_of_plan(resolve(Plan.model_validate(plan)))]


@pytest.mark.parametrize(("procedure", "source"), TAKERS)
def test_a_rate_that_is_no_throughput_is_a_deviation(procedure: str, source: str) -> None:
    assert caveats_of(procedure, **AT_THROUGHPUT) == []
    (share,) = caveats_of(procedure, rate={"experiment": "t", "percent": 10})
    assert f" 10 % of the throughput; {source} asks for the measured throughput." in share
    (given,) = caveats_of(procedure, rate="1k")
    assert f" 1 kfps, a rate given in the plan; {source} asks for the measured throughput." in given


@pytest.mark.parametrize(("size", "family"), [(128, "ipv4"), (128, "ipv6")])
def test_a_reset_with_longer_frames_is_a_deviation(size: int, family: str) -> None:
    own = {"frame_size": size, "family": family}
    (sentence,) = caveats_of("reset", source=THROUGHPUT | own, **AT_THROUGHPUT, **own)
    smallest = {"ipv4": 64, "ipv6": 84}[family]
    assert f"frames of {size} bytes; RFC 6201 asks for the smallest, here {smallest} bytes" in sentence


@pytest.mark.parametrize(
    ("procedure", "source"),
    [("frame-loss-rate", "§26.3"), ("back-to-back", "§26.4"), ("system-recovery", "§26.5")],
)
def test_a_maximum_rate_below_the_lines_is_a_deviation(procedure: str, source: str) -> None:
    rate = {} if procedure == "frame-loss-rate" else AT_THROUGHPUT
    (sentence,) = caveats_of({"name": procedure, "maximum_rate": "1M"}, **rate)
    assert f" 1 Mfps; RFC 2544 {source} asks for the theoretical maximum of the line, 1.488 Mfps." in sentence
    assert caveats_of({"name": procedure, "maximum_rate": "1.488M"}, **rate) == []


def test_the_rate_of_bursts_is_no_throughput() -> None:
    with pytest.raises(PlanProblems, match="'t' is no earlier throughput or ndr-pdr experiment"):
        caveats_of("latency", source=THROUGHPUT | {"procedure": "burst"}, **AT_THROUGHPUT)
