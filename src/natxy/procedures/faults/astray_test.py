# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.faults.astray import astray

CONNECTIONS: dict[str, Any] = {"connections": 1000, "phase1_rate": "1k"}


def said(verdict: Verdict, *misrouted: int, **own: Any) -> str:
    given = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "9k"}} | own
    [experiment] = resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [given]})).experiments
    counts: list[dict[str, Any]] = [{"misrouted": count} for count in misrouted]
    streams = [StreamResult.model_construct(**count) for count in counts]
    trial: dict[str, Any] = {"verdict": verdict, "streams": streams}
    return astray(experiment, TrialResult.model_construct(**trial))


@pytest.mark.parametrize(
    ("own", "how"),
    [
        ({"gateway": "tayga", "translation": "siit"}, "untranslated, or with other addresses, ports or another family"),
        ({"gateway": "nftables"} | CONNECTIONS, "untranslated, or with other addresses or ports than those of their "),
        (
            {"gateway": {"driver": "nftables", "nat": False}} | CONNECTIONS,
            "with other addresses or ports than those of",
        ),
        ({}, "to the wrong port, or with an address family that was not sent"),
    ],
)
def test_the_reason_counts_them_apart(own: dict[str, Any], how: str) -> None:
    assert said(Verdict.FAIL, 1000, 234, **own).startswith(f"1,234 frames came through {how}")


def test_nothing_is_said_of_none_nor_of_trials_that_did_not_fail() -> None:
    assert said(Verdict.FAIL, 0, 0) == ""
    assert said(Verdict.PASS, 1, 0) == ""
    assert said(Verdict.INVALID, 1, 0) == ""
