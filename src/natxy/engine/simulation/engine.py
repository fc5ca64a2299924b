# SPDX-License-Identifier: Apache-2.0
"""An engine and a gateway in virtual time.

A trial takes no time and its result is arithmetic, so searches, procedures and statistics can be tested exactly,
thousands of times a second.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from natxy.engine.interface import OnProgress
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import EngineInfo, NeighborsResolve, NeighborsResolved, PortsOpen, PortsOpened
from natxy.engine.messages.requests import EstablishRequest, StreamKind, StreamSpec, TrialRequest, ValidateRequest
from natxy.engine.messages.results import Cause, Pacing, Progress, StreamResult, TrialResult, Verdict
from natxy.engine.simulation.delays import SimulatedDelays
from natxy.engine.simulation.losses import NOTHING, Carried, Outage, StreamLosses, carried, during, lose
from natxy.engine.simulation.seconds import received_per_second, sent_per_second
from natxy.engine.simulation.table import SimulatedTable
from natxy.errors import NatxyError
from natxy.plan.gateways.simulated import AfterRestart, SimulatedConfig

# The real engine tells five times a second how far a trial is.
PROGRESS_S: Final = 0.2


class SimulatedDut:
    """The gateway's model: limits from `config`, each trial's spread evenly by up to `noise` (a ratio)."""

    def __init__(self, config: SimulatedConfig, noise: float = 0.0, seed: int = 0) -> None:
        self.config = config
        self.cores = 1
        self.table = SimulatedTable(config.table_capacity, config.table_policy)
        self._noise = noise
        self._seed = seed
        self._random = random.Random(seed)
        self.trial_time_s = 0.0
        self.outages: list[Outage] = []
        self.forgotten_from_s = math.inf

    def begin_trial(self, seed: int) -> None:
        """A trial's noise comes from its own seed: it is the same whatever was tried before."""
        self._random = random.Random(f"{self._seed}/{seed}")
        self.trial_time_s = 0.0
        self.outages = []
        self.forgotten_from_s = math.inf

    def forwarded(self, rate_fps: float, flows: int = 1) -> float:
        """The share of frames forwarded at `rate_fps`, both directions together."""
        return 0.0 if self.table.collapsed else min(1.0, self.most_forwarded(flows) / rate_fps)

    def most_forwarded(self, flows: int) -> float:
        """Frames per second, both directions together."""
        return self._all_cores(self.config.forwarding_fps / (1 + self.config.flow_cost * (flows - 1)))

    def carry(self, streams: Sequence[StreamSpec], flows: int) -> Carried:
        """Streams that begin together. What overloads the gateway is followed by an outage."""
        share = self.forwarded(sum(stream.rate_fps for stream in streams), flows)
        if share < 1 and self.config.recovery_time:
            end_s = max(map(_end_s, streams))
            self.outages.append(Outage(end_s, end_s + self.config.recovery_time))
        return carried(streams, share, self.config.buffer_frames) if share else NOTHING

    def connect(self, connections: int, rate_fps: float) -> tuple[int, int]:
        """Offers new connections; returns how many of their frames pass, and how many are in the table at the end."""
        share = min(1.0, self._all_cores(self.config.connection_rate_fps) / rate_fps) * self.forwarded(rate_fps)
        return self.table.offer(int(connections * share))

    def restart(self) -> None:
        """At the present time of the trial that is under way."""
        self.table.restart()
        back_s = self.trial_time_s + self.config.restart_time
        self.outages.append(Outage(self.trial_time_s, back_s))
        if self.config.after_restart != AfterRestart.FORWARD:
            self.forgotten_from_s = back_s

    def _all_cores(self, limit_fps: float) -> float:
        return self._today(limit_fps * (1 + self.config.core_efficiency * (self.cores - 1)))

    def _today(self, limit_fps: float) -> float:
        return limit_fps * (1 + self._noise * self._random.uniform(-1, 1)) if self._noise else limit_fps


@dataclass
class _Established:
    asked: int
    made: int


class SimulatedEngine:
    """`tester_limit_fps`: a stream asked to be faster is sent late, and its trial is invalid."""

    def __init__(self, dut: SimulatedDut, tester_limit_fps: float | None = None) -> None:
        self._dut = dut
        self._tester_limit_fps = tester_limit_fps
        self._established: _Established | None = None
        self._run_id = 0
        self.elapsed_s = 0.0

    def info(self) -> EngineInfo:
        return EngineInfo(
            name="natxy-engine (simulated)",
            version="0",
            protocol=1,
            dpdk="none",
            compiler="none",
            worker_cores=[],
            hugepages=False,
            tsc_hz=1_000_000_000,
            tsc_error_ppm=0.0,
            tsc_uncertainty_ppm=0.0,
        )

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        return PortsOpened(ports=[])

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        return NeighborsResolved(neighbors=[])

    def establish(self, request: EstablishRequest, on_progress: OnProgress = None) -> TrialResult:
        stream = request.stream
        self._dut.begin_trial(request.seed)
        passed, made = self._dut.connect(stream.frames, stream.rate_fps)
        received = _arrived(passed, self._dut.config.forward_loss_ratio)
        self._established = _Established(asked=stream.frames, made=made)
        result = self._result([(stream, received)], request.drain_s, on_progress)
        return result.model_copy(update={"established": received})

    def validate(self, request: ValidateRequest, on_progress: OnProgress = None) -> TrialResult:
        established = self._require_phase1()
        self._dut.begin_trial(request.seed)
        stream = StreamSpec(
            name="validation",
            source=Side.RIGHT,
            kind=StreamKind.REPLIES,
            frame=request.frame,
            rate_fps=request.rate_fps,
            frames=established.asked,
            max_loss_ratio=request.max_loss_ratio,
        )
        share = self._dut.forwarded(request.rate_fps)
        received = _arrived(int(established.made * share), self._dut.config.reverse_loss_ratio)
        self._dut.table.reply(received)
        return self._result([(stream, received)], request.drain_s, on_progress)

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        self._dut.begin_trial(request.seed)
        self._pass_time(request, on_progress)
        known = self._known(request.streams)
        # What the gateway doesn't translate costs it none.
        flows = max(self._flows(stream) for stream in request.streams if not stream.interleaved_with)
        through: dict[float, Carried] = {}
        for start_s, together in groupby(sorted(request.streams, key=_start_s), _start_s):
            through[start_s] = self._dut.carry([*together], flows)
        losses = [self._lose(stream, through[stream.start_s], known) for stream in request.streams]
        received = [(stream, lost.received) for stream, lost in zip(request.streams, losses, strict=True)]
        result = self._result(received, request.drain_s, on_progress)
        measured = zip(request.streams, result.streams, losses, strict=True)
        streams = [
            self._with_losses(stream, self._with_delays(stream, found, histogram=request.delay_histogram), lost)
            for stream, found, lost in measured
        ]
        return result.model_copy(update={"streams": streams})

    def abort(self) -> None:
        """No trial is ever under way between two calls."""

    def close(self) -> None:
        """There is nothing to close."""

    def _pass_time(self, request: TrialRequest, on_progress: OnProgress) -> None:
        """Who hears of the progress may act on the gateway."""
        end_s, planned = max(map(_end_s, request.streams)), sum(stream.frames for stream in request.streams)
        for tick in range(1, math.ceil(end_s / PROGRESS_S)):
            self._dut.trial_time_s = tick * PROGRESS_S
            so_far = int(planned * self._dut.trial_time_s / end_s)
            if on_progress:
                elapsed_s = self._dut.trial_time_s
                on_progress(Progress(elapsed_s=elapsed_s, planned=planned, sent=so_far, received=so_far))

    def _known(self, streams: Sequence[StreamSpec]) -> float:
        """The share of the connections that a phase 2 asks for which are there."""
        if all(stream.kind == StreamKind.FLOWS for stream in streams):
            return 1.0
        established = self._require_phase1()
        return established.made / established.asked

    def _lose(self, stream: StreamSpec, through: Carried, known: float) -> StreamLosses:
        config = self._dut.config
        ratio = config.reverse_loss_ratio if stream.source == Side.RIGHT else config.forward_loss_ratio
        if stream.interleaved_with:
            ratio = config.background_loss_ratio
        if stream.kind != StreamKind.FLOWS:
            through = Carried(through.share * known, 0.0 if known < 1 else through.lossless_part)
        return lose(stream, through, ratio, [*self._dut.outages, self._forgotten(stream)])

    def _forgotten(self, stream: StreamSpec) -> Outage:
        """From when on the stream's connections are none of the gateway's any more."""
        end_s = _end_s(stream)
        since_s = end_s if stream.kind == StreamKind.FLOWS else min(end_s, self._dut.forgotten_from_s)
        return Outage(since_s, end_s)

    def _with_losses(self, stream: StreamSpec, result: StreamResult, losses: StreamLosses) -> StreamResult:
        misrouted = 0
        if self._dut.config.after_restart == AfterRestart.MISROUTE and stream.source == Side.LEFT:
            misrouted = len(during(stream, self._forgotten(stream)))
        found: dict[str, object] = {
            "first_lost": losses.first,
            "last_lost": losses.last,
            "longest_silence": losses.silence,
        }
        if losses.unheard:
            found["received_per_second"] = received_per_second(stream, losses.received, losses.unheard)
        return result.model_copy(update={"misrouted": misrouted, **found})

    def _with_delays(self, stream: StreamSpec, result: StreamResult, *, histogram: bool) -> StreamResult:
        config = self._dut.config
        reverse = stream.source == Side.RIGHT
        delays = SimulatedDelays(
            config.reverse_delay_ns if reverse else config.forward_delay_ns, config.delay_spread_ns
        )
        tagged = stream.tagged
        return result.model_copy(
            update={
                "delay": delays.summary(result.received, histogram=histogram),
                "ipdv": delays.variation(result.received) if stream.ipdv else None,
                "tagged_delays_ns": delays.tagged(tagged, stream.frames, result.received) if tagged else None,
            }
        )

    def _flows(self, stream: StreamSpec) -> int:
        """Both directions have the same."""
        if stream.kind == StreamKind.FLOWS:
            return stream.flows.size if stream.flows else 1
        return self._require_phase1().asked

    def _require_phase1(self) -> _Established:
        if self._established is None:
            raise NatxyError("replies were asked for before a phase 1")
        return self._established

    def _result(
        self, streams: Sequence[tuple[StreamSpec, int]], drain_s: float, on_progress: OnProgress
    ) -> TrialResult:
        self._run_id += 1
        duration_s = max(_end_s(stream) for stream, _ in streams)
        self.elapsed_s += duration_s + drain_s
        results = [self._stream_result(stream, received) for stream, received in streams]
        if on_progress:
            sent, arrived = sum(r.sent for r in results), sum(r.received for r in results)
            on_progress(Progress(elapsed_s=duration_s, planned=sent, sent=sent, received=arrived))
        verdict, cause, reason = self._verdict(streams)
        return TrialResult(
            run_id=self._run_id,
            verdict=verdict,
            cause=cause,
            reason=reason,
            duration_s=duration_s,
            streams=results,
            ports=[],
            stale=0,
        )

    def _verdict(self, streams: Sequence[tuple[StreamSpec, int]]) -> tuple[Verdict, Cause, str]:
        limit_fps = self._tester_limit_fps
        for stream, _ in streams:
            if limit_fps is not None and stream.rate_fps > limit_fps:
                reason = f"{stream.name}: the simulated tester sends at most {limit_fps:g} fps"
                return Verdict.INVALID, Cause.LATE, reason
        for stream, received in streams:
            lost = stream.frames - received
            if lost > stream.max_loss_ratio * stream.frames:
                return Verdict.FAIL, Cause.LOSS, _told(stream, lost)
        for stream, received in streams:
            if lost := stream.frames - received:
                return Verdict.PASS, Cause.LOSS, f"{_told(stream, lost)}, which is tolerated"
        return Verdict.PASS, Cause.LOSSLESS, "every frame arrived"

    def _stream_result(self, stream: StreamSpec, received: int) -> StreamResult:
        on_time = self._tester_limit_fps is None or stream.rate_fps <= self._tester_limit_fps
        offered_fps = stream.rate_fps if on_time else float(self._tester_limit_fps or 0)
        overrun_ns = round((stream.frames / offered_fps - stream.frames / stream.rate_fps) * 1e9)
        return StreamResult(
            name=stream.name,
            planned=stream.frames,
            sent=stream.frames,
            unsent=0,
            received=received,
            lost=stream.frames - received,
            duplicate=0,
            reordered=0,
            corrupt=0,
            misrouted=0,
            beyond_window=0,
            intended_rate_fps=stream.rate_fps,
            offered_rate_fps=offered_fps,
            pacing=Pacing(
                median_ns=0,
                p99_ns=0,
                p999_ns=0,
                max_ns=overrun_ns,
                overrun_ns=overrun_ns,
                max_pause_ns=0,
                refused=0,
            ),
            delay=None,
            sent_per_second=sent_per_second(stream),
            received_per_second=received_per_second(stream, received),
        )


def _arrived(frames: int, loss_ratio: float) -> int:
    return int(frames * (1 - loss_ratio)) if loss_ratio else frames


def _told(stream: StreamSpec, lost: int) -> str:
    return f"{stream.name}: {lost:,} of {stream.frames:,} frames lost ({100 * lost / stream.frames:.4f} %)"


def _start_s(stream: StreamSpec) -> float:
    return stream.start_s


def _end_s(stream: StreamSpec) -> float:
    return stream.start_s + stream.frames / stream.rate_fps
