# SPDX-License-Identifier: Apache-2.0
"""Carries out one trial of a program: phase 1 if the configuration is stateful, then the traffic, then the lines."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from natxy.api import PlanError
from natxy.api.engine import EngineClient, PortsOpen, StreamKind, TrialRequest, TrialResult
from natxy.api.labs import DUT_MACS, FLOOR_MS
from natxy.api.programs import plain
from natxy_siitperf.arguments import Arguments, Phase1
from natxy_siitperf.conf import FILE, Conf
from natxy_siitperf.program import Program
from natxy_siitperf.sides import Direction, active, initiator
from natxy_siitperf.trial.delays import latency, variation
from natxy_siitperf.trial.lines import fail, now, remark, remark_on, say, say_received, say_sending, streams_of
from natxy_siitperf.trial.neighbors import neighbors_request
from natxy_siitperf.trial.phases import Phase
from natxy_siitperf.trial.ports import TrialPorts
from natxy_siitperf.trial.requests import Limits, establish_request, trial_request

STRICT: Final = "NATXY_SIITPERF_STRICT"
_MOST_FLOOR_MS: Final = 1000


@dataclass(frozen=True)
class Test:
    """One call of a program. `strict` makes an invalid trial fail loudly."""

    conf: Conf
    arguments: Arguments
    limits: Limits
    strict: bool = False

    @classmethod
    def of(cls, conf: Conf, arguments: Arguments, environment: Mapping[str, str]) -> Test:
        return cls(conf, arguments, Limits(_floor_s(environment)), _strict(environment))


def _strict(environment: Mapping[str, str]) -> bool:
    """Raises PlanError unless the variable is 0, 1 or empty."""
    text = environment.get(STRICT) or "0"
    if text not in {"0", "1"}:
        raise PlanError(f"{STRICT} is {plain(text)!r}, expected 1, 0 or nothing")
    return text == "1"


def _floor_s(environment: Mapping[str, str]) -> float:
    """Returns how late a sender may be at any duration. Raises PlanError unless it is 0 to 1000 ms."""
    text = environment.get(FLOOR_MS) or "0"
    try:
        floor_ms = float(text)
    except ValueError:
        floor_ms = math.nan
    if not 0 <= floor_ms <= _MOST_FLOOR_MS:
        raise PlanError(f"{FLOOR_MS} is {plain(text)!r}, expected 0 to {_MOST_FLOOR_MS} milliseconds")
    return floor_ms / 1000


def check_requests(test: Test) -> None:
    """Makes the requests of all phases, to find their errors before anything starts."""
    neighbors_request(test.conf, test.arguments)
    first, phase1 = initiator(test.conf), test.arguments.phase1
    if first and phase1:
        establish_request(test.conf, test.arguments, phase1, first, 0, test.limits)
    if active(test.conf):
        trial_request(test.conf, test.arguments, 0, test.limits)


def prepare(test: Test, engine: EngineClient, tester: TrialPorts) -> None:
    """Opens the ports and names the neighbours. Errors of this are those of the initialisation."""
    engine.open_ports(PortsOpen(ports=tester.ports))
    engine.resolve_neighbors(neighbors_request(test.conf, test.arguments))


def run(test: Test, engine: EngineClient) -> Iterator[Phase]:
    """Carries out the test and prints its lines; yields each phase when it has ended, before its lines."""
    first, phase1 = initiator(test.conf), test.arguments.phase1
    traffic = trial_request(test.conf, test.arguments, _seed(), test.limits) if active(test.conf) else None
    if first and phase1:
        started = time.monotonic()
        request = _begin_phase1(test, phase1, first)
        started_at = datetime.now(UTC)
        result = engine.run_trial(request)
        yield Phase(preliminary=True, rate_fps=float(phase1.rate_fps), started_at=started_at, result=result)
        needed = _needed(phase1, request, traffic)
        _say_phase1(test, phase1, needed, result)
        if (result.established or 0) < needed:
            traffic = None
        if traffic:
            time.sleep(max(0.0, started + phase1.start_of_phase2_ms / 1000 - time.monotonic()))
    if traffic is None:
        say("Info: Test finished.")
        return
    at = f" initiated at {now()}" if test.arguments.program is Program.THROUGHPUT else " started."
    say(f"Info: Testing{at}")
    started_at = datetime.now(UTC)
    result = engine.run_trial(traffic)
    yield Phase(preliminary=False, rate_fps=float(test.arguments.rate_fps), started_at=started_at, result=result)
    late = False
    for direction in active(test.conf):
        streams = streams_of(result, direction.key)
        pdv = test.arguments.program is Program.PDV
        in_order = say_sending(streams, direction.key, float(test.arguments.duration_s), test.limits, pdv=pdv)
        late = late or not in_order
        if not (pdv and test.arguments.frame_timeout_ms):
            say_received(streams, direction.key)
    say("Info: Test finished.")
    _say_delays(test, result)
    _say_total_loss(test, result, active(test.conf))
    remark_on(result, late, strict=test.strict)


def _begin_phase1(test: Test, phase1: Phase1, first: Direction) -> TrialRequest:
    tp = test.arguments.program is Program.THROUGHPUT
    at = f" initiated at {now()}" if tp else " started."
    say(f"Info: Preliminary frame sending{at}")
    request = establish_request(test.conf, test.arguments, phase1, first, _seed(), test.limits)
    frames = request.streams[0].frames
    if frames < phase1.frames:
        remark(f"phase 1 has no background: {frames} of its {phase1.frames} frames are sent")
    return request


def _needed(phase1: Phase1, request: TrialRequest, traffic: TrialRequest | None) -> int:
    """Returns how many connections of phase 1 fill the state table: all if there are replies, because the engine's
    responder needs every one of them."""
    replies = traffic is not None and any(stream.kind is StreamKind.REPLIES for stream in traffic.streams)
    return request.streams[0].frames if replies else phase1.table


def _say_phase1(test: Test, phase1: Phase1, needed: int, result: TrialResult) -> None:
    duration_s = phase1.frames / phase1.rate_fps
    in_order = say_sending(result.streams, "Preliminary", duration_s, test.limits, pdv=False)
    say_received(result.streams, "Preliminary")
    established = result.established or 0
    if established < needed:
        if established >= phase1.table:
            remark(f"M is {phase1.table}, but natxy's responder needs all {needed} connections of phase 1 for phase 2")
        say(f"Error: Failed to fill state table, valid entries: {established}, table size: {needed}")
    else:
        say("Info: Preliminary phase finished.")
    if first := initiator(test.conf):
        _say_total_loss(test, result, [first], of="Preliminary")
    remark_on(result, not in_order, strict=test.strict)


def _say_total_loss(test: Test, result: TrialResult, directions: Iterable[Direction], of: str = "") -> None:
    """Says where the frames of a direction went if none arrived: siitperf's users know a MAC address by its key."""
    for direction in directions:
        streams = streams_of(result, of or direction.key)
        sent = sum(stream.sent for stream in streams)
        if sent and not any(stream.received + stream.timed_out for stream in streams):
            key = f"MAC-{direction.sender}-DUT"
            named_by = key if key in test.conf.lines else DUT_MACS
            remark(
                f"none of the {sent} frames of {of or direction.key} arrived; they were sent to {test.conf.mac(key)} "
                f"({named_by}): compare it with the gateway's interface there (`ip link`), then its routes and rules "
                f"with the addresses of {FILE}"
            )


def _say_delays(test: Test, result: TrialResult) -> None:
    arguments = test.arguments
    for direction in active(test.conf):
        name, streams = direction.key, streams_of(result, direction.key)
        lost_ms = 1000.0 * (arguments.duration_s - arguments.delay_s) + arguments.timeout_ms
        if arguments.program is Program.LATENCY:
            tagged = [each for stream in streams for each in stream.tagged_delays_ns or []]
            if not tagged:
                fail(f"Error: {name} has no tagged frames")
                continue
            typical, worst = latency(tagged, lost_ms)
            say(f"{name} TL: {typical:.6f}")
            say(f"{name} WCL: {worst:.6f}")
        elif arguments.program is Program.PDV and arguments.frame_timeout_ms:
            say_received(streams, name)
            missing = sum(stream.lost - stream.timed_out for stream in streams)
            say(f"Info: {name} frames completely missing: {missing}")
        elif arguments.program is Program.PDV:
            found = variation(streams, lost_ms)
            say(f"Info: {name} D99_9th_perc: {found.d999_ms:.6f}")
            say(f"Info: {name} Dmin: {found.min_ms:.6f}")
            say(f"Info: {name} Dmax: {found.max_ms:.6f}")
            say(f"{name} PDV: {found.pdv_ms:.6f}")
    if arguments.program is Program.PDV:
        say("Info: Test finished.")


def _seed() -> int:
    # As siitperf's, every trial has other random numbers.
    return secrets.randbits(63)
