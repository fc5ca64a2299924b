# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from natxy.engine.messages.results import TrialResult, Verdict
from natxy.errors import DutError
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import FinishedTrial
from natxy.results.pcap import PcapWriter
from natxy.results.store import RunStore
from natxy.results.trials import Purpose, TrialKind
from natxy.run.events import RunListener
from natxy.run.recorder import TrialRecorder
from natxy.search.outcome import Attempt


@pytest.mark.parametrize(
    ("received", "forwards"), [({800: 5, 100: 0, 200: 5}, False), ({800: 0, 100: 1, 200: 0}, True), ({100: 0}, False)]
)
def test_a_gateway_must_forward_at_the_lowest_rate(tmp_path: Path, received: dict[int, int], *, forwards: bool) -> None:
    with closing(RunStore(tmp_path / "run.sqlite")) as store, closing(PcapWriter(tmp_path / "foreign.pcap")) as foreign:
        recorder = TrialRecorder(1, store, foreign, RunListener())
    for number, (rate, frames) in enumerate(received.items(), 1):
        stream = SimpleNamespace(sent=10, received=frames, corrupt=0, misrouted=0)
        result = cast(TrialResult, SimpleNamespace(verdict=Verdict.FAIL, streams=[stream]))
        attempt = Attempt(number, 1, rate)
        recorder.attempt_started(attempt)
        recorder.replayed(FinishedTrial(attempt, TrialKind.TRAFFIC, Purpose.MEASURE, rate, "", result))
    none_passed = ProcedureResult({}, lower_bound=None, upper_bound=100)
    if forwards:
        recorder.check_forwarding(none_passed)
        return
    with pytest.raises(DutError, match="none of 10 frames came through in traffic at 100 fps per direction"):
        recorder.check_forwarding(none_passed)
