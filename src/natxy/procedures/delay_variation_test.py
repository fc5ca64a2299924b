# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, cast

import pytest

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.results import DelayVariation, StreamResult, TrialResult
from natxy.plan.procedures.delay_variation import IpdvConfig
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.delay_variation import Ipdv


@pytest.mark.parametrize("heard", [True, False])
def test_the_extremes_of_variations_are_known_without_a_histogram(monkeypatch: pytest.MonkeyPatch, heard: bool) -> None:
    """The largest of all is unknown where a stream of a pair of interfaces has none: that stream may vary most."""

    def stream(name: str, **variation: int) -> StreamResult:
        values: dict[str, Any] = {"p1_ns": 0, "median_ns": 0, "p99_ns": 0} | variation
        own: dict[str, Any] = {"name": name, "source": Side.LEFT, "role": StreamRole.FOREGROUND, "lost": 0}
        fields = own | {"ipdv": DelayVariation(**values)}
        return StreamResult.model_construct(**fields)

    recorded: dict[str, Any] = {
        "streams": [
            stream("forward", pairs=9, min_ns=-30, max_ns=20),
            stream("forward 2", pairs=9, min_ns=-10, max_ns=40),
            *([] if heard else [stream("forward 3", pairs=0, min_ns=-99, max_ns=99)]),
        ]
    }
    result = TrialResult.model_construct(**recorded)
    monkeypatch.setattr("natxy.procedures.delay_variation.known_rate_step", lambda *_: result)
    found = Ipdv(IpdvConfig(name="ipdv")).measure(cast("Repetition", None))
    figures = found.figures
    assert (figures["max"], figures["max_forward"], figures["min_forward"]) == (40 if heard else None, 40, -30)
    assert found.remark == ("" if heard else "no frame that has a delay arrived: forward 3")
    assert figures.get("median_forward") is None
