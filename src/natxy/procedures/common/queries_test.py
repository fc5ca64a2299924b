# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.engine.messages.common import Side
from natxy.plan.checks.dns64_test import experiment_of
from natxy.procedures.common.queries import queries_of, queries_request


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
