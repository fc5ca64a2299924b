# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.events.listener import RunListener
from natxy.plan.model.terms import EarlyEnd
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.run.run import run_plan

BINARY = {"kind": "binary", "min_rate": "1k", "max_rate": "1M", "error": "5%"}
MLR = BINARY | {"kind": "mlrsearch"}
EARLY = {"timing": {"ends_early": "lost"}}


@pytest.mark.parametrize(
    ("own", "early"),
    [
        ({"search": BINARY, **EARLY}, EarlyEnd.LOST),
        ({"search": BINARY, "connections": 100, "phase1_rate": "1k", **EARLY}, EarlyEnd.LOST),
        ({"search": BINARY}, EarlyEnd.INVALID),
        ({"search": BINARY, "timing": {"ends_early": "never"}}, EarlyEnd.NEVER),
        # It steers by the loss of whole trials.
        ({"search": MLR, **EARLY}, EarlyEnd.NEVER),
        ({"procedure": "frame-loss-rate", **EARLY}, EarlyEnd.NEVER),
        ({"procedure": "latency", "rate": "10k", **EARLY}, EarlyEnd.NEVER),
    ],
)
def test_a_trial_ends_early_where_only_its_verdict_counts(
    own: dict[str, Any], early: EarlyEnd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TrialRequest] = []
    run_trial = SimulatedEngine.run_trial

    def noted(self: SimulatedEngine, request: TrialRequest, *rest: Any) -> TrialResult:
        asked.append(request)
        return run_trial(self, request, *rest)

    monkeypatch.setattr(SimulatedEngine, "run_trial", noted)
    experiment = {"name": "e", "procedure": "throughput", "gateway": "simulated", "line_rate": "1G"} | own
    timing = {"preset": "lab", "warm_up": "10ms"}
    plan = {"name": "p", "repeat": 1, "timing": timing, "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    assert run_plan(resolve(Plan.model_validate(plan)), tmp_path / "run", RunListener()) == 0
    # The warm-up has a tenth of a trial's length.
    traffic = [each for each in asked if not each.phase1]
    lasting = {True: set[EarlyEnd](), False: set[EarlyEnd]()}
    for each in traffic:
        stream = each.streams[0]
        lasting[stream.frames / stream.rate_fps > 0.1].add(each.ends_early)
    assert lasting[False] == {EarlyEnd.NEVER}
    # Trials that look whether old connections pass are not among those of the search.
    assert lasting[True] | {EarlyEnd.NEVER} == {early, EarlyEnd.NEVER}
