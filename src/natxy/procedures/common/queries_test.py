# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from natxy.engine.messages.common import Side
from natxy.plan.checks.dns64_test import experiment_of
from natxy.procedures.common.queries import greet, queries_of, queries_request


def test_the_left_address_asks_the_servers() -> None:
    experiment = experiment_of(gateway={"driver": "unbound", "prefix": "2001:2:64::/64"}, loss_tolerance="1%")
    request = queries_request(experiment, queries_of(experiment, aaaa_percent=20), 1000.0, 7)
    [stream] = request.streams
    assert stream.source == Side.LEFT
    assert stream.flows
    assert str(stream.flows.source_address.address) == "2001:2::2"
    assert str(stream.flows.destination_address.address) == "2001:2::1"
    assert stream.flows.destination_port.min == stream.flows.destination_port.max == 53
    assert stream.queries
    assert str(stream.queries.prefix) == "2001:2:64::/64"
    assert (stream.queries.cached_percent, stream.queries.aaaa_percent) == (0, 20)
    assert stream.frame_timeout_s == 1
    assert stream.max_loss_ratio == 0.01
    assert stream.frames == 1000 * experiment.timing.trial
    assert request.seed == 7


def test_a_number_of_queries_may_be_asked_for() -> None:
    experiment = experiment_of()
    request = queries_request(experiment, queries_of(experiment), 100.0, 0, frames=20)
    assert request.streams[0].frames == 20
    # 5 % of a fifth of a second.
    assert request.streams[0].max_backlog_s == pytest.approx(0.01)


@pytest.mark.parametrize(("answered", "trials"), [([0, 0, 7, 20], 3), ([1], 1), ([0, 0, 0, 20], 3)])
def test_a_server_that_has_just_started_is_asked_until_it_answers(answered: list[int], trials: int) -> None:
    asked: list[Any] = []

    def run_trial(request: Any) -> Any:
        asked.append(request)
        return SimpleNamespace(streams=[SimpleNamespace(received=answered[len(asked) - 1])])

    engine: Any = SimpleNamespace(run_trial=run_trial)
    found = greet(engine, experiment_of())
    assert found.received == answered[trials - 1]
    assert [request.streams[0].frames for request in asked] == [20] * trials


def test_without_a_gateway_the_authority_answers_the_names_that_have_an_address() -> None:
    experiment = experiment_of(
        gateway="wire", testbed={"kind": "loop"}, procedure={"name": "dns64-rate", "aaaa_percent": 100}
    )
    assert queries_of(experiment, aaaa_percent=100).aaaa_percent == 100
