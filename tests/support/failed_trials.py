# SPDX-License-Identifier: Apache-2.0
"""Makes records of trials that failed, for tests of what is said about them."""

from __future__ import annotations

from typing import Any

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.results import (
    Cause,
    LostFrame,
    Pacing,
    PortResult,
    StreamResult,
    TrialResult,
    Verdict,
)
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.dut_counts import DutCounts
from natxy.results.dut_load import DutLoad
from natxy.results.trials import Purpose, TrialKind, TrialRecord

ONE_HOST = {
    "preset": "multiple",
    "right_hosts": {"first": "198.19.1.0", "last": "198.19.1.0"},
    "left_hosts": {"first": "198.18.1.0", "last": "198.18.1.0"},
}
FOUR_HOSTS = ONE_HOST | {"left_hosts": {"first": "198.18.1.0", "last": "198.18.1.3"}}


def experiment(connections: int | None = None, **given: Any) -> Experiment:
    own: dict[str, Any] = {"name": "x", "gateway": "simulated", "search": {"max_rate": "100k"}}
    own |= {"procedure": "connection-rate", "connections": connections} if connections else {"procedure": "throughput"}
    own |= {"ports": {"source": "1024-65535", "destination": 7}, "addresses": ONE_HOST} if connections else {}
    testbed = given.pop("testbed", {"kind": "simulated"})
    plan = {"name": "p", "timing": "lab", "testbed": testbed, "experiments": [own | given]}
    return resolve(Plan.model_validate(plan)).experiments[0]


def stream(
    name: str,
    planned: int,
    lost: int,
    rate: float,
    within_s: tuple[float, float] | None = None,
    *,
    corrupt: int = 0,
    misrouted: int = 0,
    unsent: int = 0,
) -> StreamResult:
    pacing = Pacing(median_ns=0, p99_ns=0, p999_ns=0, max_ns=0, overrun_ns=0, max_pause_ns=0, refused=0)
    due = within_s if within_s and lost else (None, None)
    ends = [None if each is None else LostFrame(sequence=round(rate * each), due_s=each) for each in due]
    return StreamResult(
        name=name, source=Side.RIGHT if name.startswith("reverse") else Side.LEFT,
        role=StreamRole.PHASE1 if name == "phase 1" else StreamRole.FOREGROUND,
        planned=planned, sent=planned, received=planned - lost, lost=lost, reordered=0, pacing=pacing,
        intended_rate_fps=rate, offered_rate_fps=rate, delay=None, sent_per_second=[planned],
        received_per_second=[planned - lost], first_lost=ends[0], last_lost=ends[1], unsent=unsent, duplicate=0,
        corrupt=corrupt, misrouted=misrouted, beyond_window=0,
    )  # fmt: skip


def record(
    rate: float, *streams: StreamResult, kind: TrialKind = TrialKind.TRAFFIC, counts: DutCounts | None = None,
    load: DutLoad | None = None, foreign: dict[str, int] | None = None, purpose: Purpose = Purpose.MEASURE,
    **over: Any,
) -> TrialRecord:  # fmt: skip
    result = TrialResult(
        run_id=1, verdict=Verdict.FAIL, cause=Cause.LOSS, reason="lost", stale=0, streams=[*streams],
        duration_s=streams[0].planned / rate,
        ports=[PortResult(side=Side.LEFT, missed=0, no_buffer=0, kernel_drops=0, foreign=foreign or {})],
    ).model_copy(update=over)  # fmt: skip
    return TrialRecord.of(
        result, number=1, attempt=1, kind=kind, purpose=purpose, step_rate=rate, rate_fps=rate,
        started_at="2026-01-01T00:00:00+00:00", dut_counts=counts, dut_load=load,
    )  # fmt: skip


def connections(rate: float, planned: int, lost: int, rose: dict[str, int] | None = None, **over: Any) -> TrialRecord:
    counts = DutCounts(rose={"conntrack -S": rose} if rose else {}, **over)
    return record(rate, stream("phase 1", planned, lost, rate), kind=TrialKind.PHASE1, counts=counts)
