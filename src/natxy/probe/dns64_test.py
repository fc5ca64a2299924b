# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import cast

import pytest

from natxy.engine.interface import Engine
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import QueryResult, TrialResult
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError
from natxy.plan.checks.dns64_test import experiment_of
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.probe.dns64 import check_answers

RIGHT = dict.fromkeys(QueryResult.model_fields, 0) | {"authority_a": 20, "authority_aaaa": 20}


class Server:
    """An engine whose DNS64 server answers `received` queries rightly, and the others as `told` says."""

    def __init__(self, received: int, **told: int) -> None:
        self.asked: list[TrialRequest] = []
        self._received = received
        self._told = QueryResult.model_validate(RIGHT | told)

    def run_trial(self, request: TrialRequest) -> TrialResult:
        self.asked.append(request)
        result = SimulatedEngine(SimulatedDut(SimulatedConfig())).run_trial(request)
        counted = {"received": self._received, "queries": self._told}
        return result.model_copy(update={"streams": [result.streams[0].model_copy(update=counted)]})


def test_one_right_answer_is_enough() -> None:
    server = Server(1)
    check_answers(cast("Engine", server), experiment_of())
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, r"no answer came; does it listen there\? \(the authority was asked 40 times\)"),
        ({"server_failure": 20}, "20 answers with SERVFAIL"),
        ({"no_address": 20}, r"without an AAAA record; is `dns64` on\?"),
        ({"wrong_address": 20}, r"a wrong address; is the prefix the plan's\?"),
        ({"other_error": 20, "authority_a": 0, "authority_aaaa": 0}, "it did not ask the authority"),
    ],
)
def test_a_server_without_right_answers_is_asked_again_and_then_refused(told: dict[str, int], expected: str) -> None:
    server = Server(0, **told)
    with pytest.raises(DutError, match=f"unbound answered none of 20 queries rightly: .*{expected}"):
        check_answers(cast("Engine", server), experiment_of())
    assert len(server.asked) == 3
