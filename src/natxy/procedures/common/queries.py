# SPDX-License-Identifier: Apache-2.0
"""Requests the queries to a DNS64 server, whose authority is the tester's right port (RFC 8219 §9)."""

from __future__ import annotations

from typing import Final

from natxy.engine.interface import Engine
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    Queries,
    StreamSpec,
    TrialRequest,
)
from natxy.engine.messages.results import StreamResult
from natxy.plan.experiment import Experiment
from natxy.plan.model.addresses import WELL_KNOWN_PREFIX
from natxy.procedures.common.streams import allowed_backlog_s, request_of, tolerated

CACHED_NAMES: Final = 1009
"""The names that the engine asks for again and again, where a share of the queries is for these."""


_GREETINGS: Final = 20
_GREETINGS_QPS: Final = 100.0
# The first queries may wait while a server looks for the authority.
_ATTEMPTS: Final = 3
_SEED: Final = 6147


def queries_of(experiment: Experiment, **shares: int) -> Queries:
    """Returns queries to the experiment's DNS64 server, or to the authority where there is no gateway, so that no
    address has a prefix. `shares` are of the server's names and queries."""
    return Queries(prefix=experiment.gateway.dns64_prefix or WELL_KNOWN_PREFIX, **shares)


def queries_request(
    experiment: Experiment, queries: Queries, rate_fps: float, seed: int, *, frames: int | None = None
) -> TrialRequest:
    """Requests queries for the experiment's `traffic_s`, or so many `frames`, one each."""
    length_s = frames / rate_fps if frames else experiment.traffic_s
    links, ports = experiment.address_plan, experiment.ports
    stream = StreamSpec(
        name="queries",
        source=Side.LEFT,
        frame=FrameFormat(size=experiment.frame_size, ttl=experiment.ttl),
        rate_fps=rate_fps,
        frames=frames or max(1, round(rate_fps * length_s)),
        flows=FlowSpace(
            source_address=AddressField(address=links.left.tester.ip),
            destination_address=AddressField(address=links.left.dut.ip),
            source_port=PortField(min=ports.source.min, max=ports.source.max),
            destination_port=PortField(min=ports.destination.min, max=ports.destination.max),
        ),
        max_loss_ratio=tolerated(experiment, Side.LEFT),
        max_backlog_s=allowed_backlog_s(experiment, length_s),
        frame_timeout_s=experiment.procedure.frame_timeout_s,
        queries=queries,
    )
    return request_of(experiment, [stream], seed)


def greet(engine: Engine, experiment: Experiment) -> StreamResult:
    """Asks a server that has just started a few queries, three times at most, until it answers one rightly. Returns the
    result of the last of these trials, which says whether it did."""
    queries = queries_of(experiment)
    if not experiment.gateway.is_gateway:
        # Of a loop, the tester's own authority answers, and has addresses for the experiment's own queries alone.
        queries = queries.model_copy(update={"aaaa_percent": 100})
    for _ in range(_ATTEMPTS):
        request = queries_request(experiment, queries, _GREETINGS_QPS, _SEED, frames=_GREETINGS)
        [found] = engine.run_trial(request).streams
        if found.received:
            break
    return found
