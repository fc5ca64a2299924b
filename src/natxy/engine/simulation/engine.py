# SPDX-License-Identifier: Apache-2.0
"""An engine in virtual time.

A trial takes no time and its result is computed, so that searches, procedures and statistics can be tested exactly,
thousands of times per second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Final

from natxy.engine.interface import OnProgress
from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.ports import EngineInfo, NeighborsResolve, NeighborsResolved, PortsOpen, PortsOpened
from natxy.engine.messages.requests import StreamKind, StreamSpec, TrialRequest
from natxy.engine.messages.results import (
    Cause,
    Pacing,
    PortUse,
    Progress,
    SourceSpread,
    StreamResult,
    TrialResult,
    Verdict,
)
from natxy.engine.simulation.delays import SimulatedDelays
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.expiry import Made, expired
from natxy.engine.simulation.lives import Lives
from natxy.engine.simulation.losses import (
    Carried,
    Outage,
    StreamLosses,
    arrivals,
    during,
    end_s,
    lose,
    lost_frame,
    merged,
    received_per_second,
    sent_per_second,
)
from natxy.engine.simulation.stalls import longest_silence
from natxy.errors import NatxyError
from natxy.plan.draws import expected_distinct
from natxy.plan.gateways.simulated import AfterRestart
from natxy.plan.model.terms import Selection
from natxy.plan.model.units import counted

# The real engine reports progress five times per second.
PROGRESS_S: Final = 0.2


@dataclass
class _Established:
    """Counts the frames of a phase 1, those of connections that the gateway keeps, and the different connections;
    `offered` says when they were sent, and `clears` how often the table had been emptied by then.

    Phase 2 does without as many as `tolerated`.
    """

    asked: int
    made: int
    distinct: int
    tolerated: int
    offered: Made
    clears: int

    @property
    def share(self) -> float:
        """The share of phase 2's frames whose connections the gateway keeps."""
        return 1.0 if self.asked - self.made <= self.tolerated else self.made / self.asked


class SimulatedEngine:
    """Runs trials through a simulated gateway.

    A stream faster than `tester_limit_fps` is sent late, and its trial is invalid.
    """

    def __init__(self, dut: SimulatedDut, tester_limit_fps: float | None = None) -> None:
        self._dut = dut
        self._tester_limit_fps = tester_limit_fps
        self._established: dict[int, _Established] = {}
        """The connections of each pair of ports, in the order in which they were made."""
        self._run_id = 0
        self.elapsed_s = 0.0

    def info(self) -> EngineInfo:
        return EngineInfo(
            name="natxy-engine (simulated)",
            version="0",
            protocol=1,
            dpdk="none",
            compiler="none",
            isa="none",
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

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        if request.phase1:
            lives = [*Lives.of(request.streams)]
            return self._live(request, lives, on_progress) if lives[0].steps else self._establish(request, on_progress)
        if request.streams[0].role == StreamRole.VALIDATION:
            return self._validate(request, on_progress)
        result = self._carry(self._as_offered(request), on_progress)
        intended_fps = {stream.name: stream.rate_fps for stream in request.streams}
        streams = [found.model_copy(update={"intended_rate_fps": intended_fps[found.name]}) for found in result.streams]
        return result.model_copy(update={"streams": streams})

    def _as_offered(self, request: TrialRequest) -> TrialRequest:
        """Returns the traffic as the tester sends it: at its own limit, where the request lets frames be so late."""
        limit_fps, late = self._tester_limit_fps, 1 + request.limits.max_overrun_ratio
        if limit_fps is None:
            return request
        streams = [
            stream.model_copy(update={"rate_fps": min(stream.rate_fps, limit_fps)})
            if stream.rate_fps <= late * limit_fps
            else stream
            for stream in request.streams
        ]
        return request.model_copy(update={"streams": streams})

    def _establish(self, request: TrialRequest, on_progress: OnProgress) -> TrialResult:
        streams = request.streams
        self._dut.begin_trial(request.seed, streams)
        # Frames of a connection that exists already pass with it.
        distinct = [_distinct(stream) for stream in streams]
        shares = [count / stream.frames for count, stream in zip(distinct, streams, strict=True)]
        heard = [stream.frames - self._unheard(stream) for stream in streams]
        offered = [round(frames * share) for frames, share in zip(heard, shares, strict=True)]
        rate_fps = sum(stream.rate_fps * share for stream, share in zip(streams, shares, strict=True))
        connected = self._dut.connect(sum(offered), rate_fps, sum(map(_destinations, streams)))

        def frames_of(connections: int) -> list[int]:
            parts = zip(_parts(connections, offered), heard, shares, strict=True)
            return [min(most, round(part / share)) for part, most, share in parts]

        passed, made = map(frames_of, connected)
        for stream in streams:
            self._established.pop(stream.pair, None)
        self._replace_oldest(self._dut.table.connections - connected[1])
        for stream, kept, each in zip(streams, made, distinct, strict=True):
            self._established[stream.pair] = _Established(
                asked=stream.frames,
                made=kept,
                distinct=each,
                tolerated=math.floor(stream.max_loss_ratio * stream.frames),
                offered=Made(self.elapsed_s, stream.rate_fps, stream.frames),
                clears=self._dut.table.clears,
            )
        loss_ratio = self._dut.config.forward_loss_ratio
        received = [_arrived(frames, loss_ratio) for frames in passed]
        result = self._result([*zip(streams, received, strict=True)], request, on_progress)
        update: dict[str, object] = {"established": sum(received)}
        if request.list_ports:
            update["sources"] = self._sources(sum(received))
        return result.model_copy(update=update)

    def _live(self, request: TrialRequest, lives: Sequence[Lives], on_progress: OnProgress) -> TrialResult:
        """Opens connections, each of which has further frames in the same trial."""
        config, lifetime_s = self._dut.config, self._dut.config.lifetime
        self._dut.begin_trial(request.seed, request.streams)
        carried = self._dut.forwarded(sum(stream.rate_fps for stream in request.streams))
        offered = sum(each.at_once(lifetime_s) for each in lives)
        passed, kept = self._dut.connect(offered, sum(each.opening.rate_fps for each in lives))
        arrived: dict[str, int] = {}
        ends: dict[str, dict[str, object]] = {}
        for each in lives:
            opened = int(each.opening.frames * carried * passed / offered)
            arrived[each.opening.name] = _arrived(opened, config.forward_loss_ratio)
            ends[each.opening.name] = each.ends_of(each.opening, opened, opened)
            if tagged := each.opening.tagged:
                # The first connections are those that find room.
                ends[each.opening.name]["tagged_delays_ns"] = self._delays(each.opening).tagged(tagged, opened, opened)
            for stream, first_gone in each.expired(lifetime_s):
                ratio = config.reverse_loss_ratio if stream.source == Side.RIGHT else config.forward_loss_ratio
                received = _arrived(int(min(first_gone, stream.frames * kept / offered) * carried), ratio)
                arrived[stream.name] = received
                ends[stream.name] = each.ends_of(stream, received, arrived[each.opening.name])
        found = self._result([(stream, arrived[stream.name]) for stream in request.streams], request, on_progress)
        streams = [
            self._with_delays(stream, result, histogram=False).model_copy(update=ends.get(stream.name, {}))
            for stream, result in zip(request.streams, found.streams, strict=True)
        ]
        established = sum(arrived[each.opening.name] for each in lives)
        return found.model_copy(update={"streams": streams, "established": established})

    def _sources(self, connections: int) -> SourceSpread | None:
        """Returns the ports of connections, which get those of the gateway's port set in turn; None without a set."""
        ports = self._dut.config.ports_in_use
        if not ports or not connections:
            return None
        each, more = divmod(connections, len(ports))
        counts = [(port, each + (number < more)) for number, port in enumerate(ports)]
        uses = [PortUse(first=port, last=port, connections=count) for port, count in counts if count]
        return SourceSpread(connections=connections, addresses=1, fewest=connections, most=connections, ports=uses)

    def _replace_oldest(self, left: int) -> None:
        """Leaves so many of the connections of other pairs, the newest, because new ones have replaced the others."""
        for other in reversed(self._established.values()):
            other.made = min(other.made, left)
            left -= other.made

    def _validate(self, request: TrialRequest, on_progress: OnProgress) -> TrialResult:
        streams = request.streams
        self._dut.begin_trial(request.seed, streams)
        share = self._dut.validated(sum(stream.rate_fps for stream in streams))
        late = [self._expired(stream) for stream in streams]
        arrived: list[tuple[StreamSpec, int]] = []
        for stream, missing in zip(streams, late, strict=True):
            established = self._require_phase1(stream.pair)
            # Rounded, because a product a little below a whole number would have a connection less.
            made = round(established.share * established.asked, 6)
            known = made if established.clears == self._dut.table.clears else 0
            heard = stream.frames - self._unheard(stream) - len(missing)
            frames = int(known * share * heard / stream.frames)
            arrived.append((stream, _arrived(frames, self._dut.config.reverse_loss_ratio)))
        self._dut.table.reply(sum(received for _, received in arrived))
        result = self._result(arrived, request, on_progress)
        ends = [
            {"first_lost": lost_frame(stream, missing[0]), "last_lost": lost_frame(stream, missing[-1])}
            if missing
            else {}
            for stream, missing in zip(streams, late, strict=True)
        ]
        found = [each.model_copy(update=end) for each, end in zip(result.streams, ends, strict=True)]
        return result.model_copy(update={"streams": found})

    def _expired(self, stream: StreamSpec) -> list[int]:
        """Returns the frames among the first of each connection that find the connection expired."""
        offered, lifetime_s = self._require_phase1(stream.pair).offered, self._dut.config.lifetime
        return expired(offered, lifetime_s, self.elapsed_s, stream.rate_fps, stream.order)

    def _carry(self, request: TrialRequest, on_progress: OnProgress) -> TrialResult:
        self._dut.begin_trial(request.seed, request.streams)
        # A restart during the trial has an outage of its own.
        clears = self._dut.table.clears
        self._pass_time(request, on_progress)
        # Traffic that the gateway does not translate has no flow cost.
        flows = max(self._flows(stream) for stream in request.streams if stream.role != StreamRole.BACKGROUND)
        through: dict[float, Carried] = {}
        for start_s, together in groupby(sorted(request.streams, key=_start_s), _start_s):
            through[start_s] = self._dut.carry([*together], flows)
        losses = [self._lose(stream, through[stream.start_s], clears) for stream in request.streams]
        arrived = [(stream, lost.received) for stream, lost in zip(request.streams, losses, strict=True)]
        backlogs_s = [through[stream.start_s].backlog_s for stream in request.streams]
        result = self._result(arrived, request, on_progress, backlogs_s)
        measured = zip(request.streams, result.streams, losses, strict=True)
        streams = [
            self._with_losses(stream, self._with_delays(stream, found, histogram=request.delay_histogram), lost)
            for stream, found, lost in measured
        ]
        apart = {
            "streams": [stream for stream in streams if stream.role != StreamRole.SPOOFED],
            "spoofed": [stream for stream in streams if stream.role == StreamRole.SPOOFED],
        }
        return result.model_copy(update=apart)

    def abort(self) -> None:
        """Does nothing: no trial runs between two calls."""

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def _pass_time(self, request: TrialRequest, on_progress: OnProgress) -> None:
        """Reports the trial's progress. The receiver of a report may act on the gateway."""
        duration_s, planned = max(map(end_s, request.streams)), sum(stream.frames for stream in request.streams)
        for tick in range(1, math.ceil(duration_s / PROGRESS_S)):
            self._dut.trial_time_s = tick * PROGRESS_S
            so_far = int(planned * self._dut.trial_time_s / duration_s)
            if on_progress:
                elapsed_s = self._dut.trial_time_s
                on_progress(Progress(elapsed_s=elapsed_s, planned=planned, sent=so_far, received=so_far))

    def _lose(self, stream: StreamSpec, through: Carried, clears: int) -> StreamLosses:
        """Returns what a stream loses in a trial that began after so many clearings of the table."""
        config = self._dut.config
        ratio = config.reverse_loss_ratio if stream.source == Side.RIGHT else config.forward_loss_ratio
        if stream.role == StreamRole.BACKGROUND:
            ratio = config.background_loss_ratio
        elif stream.role == StreamRole.SPOOFED:
            ratio = 1 - config.spoofed_ratio
        if stream.kind != StreamKind.FLOWS:
            established = self._require_phase1(stream.pair)
            first = min(stream.frames, established.asked)
            # A connection that has expired has no frames until its end, and all frames of one are alike.
            expired_share = sum(frame < first for frame in self._expired(stream)) / first
            known = established.share * (1 - expired_share)
            if stream.kind == StreamKind.REPLIES and established.clears != clears:
                known = 0.0
            through = Carried(through.share * known, 0.0 if known < 1 else through.lossless_part)
        outages = [*self._dut.outages, *self._dut.bindings.outages(stream), self._forgotten(stream)]
        return lose(stream, through, ratio, outages)

    def _unheard(self, stream: StreamSpec) -> int:
        """Returns the number of frames that the gateway's stalls lose."""
        return sum(map(len, merged(during(stream, outage) for outage in self._dut.outages)))

    def _forgotten(self, stream: StreamSpec) -> Outage:
        """Returns the time from which on the gateway has lost the stream's connections."""
        until_s = end_s(stream)
        since_s = until_s if stream.kind == StreamKind.FLOWS else min(until_s, self._dut.forgotten_from_s)
        return Outage(since_s, until_s)

    def _with_losses(self, stream: StreamSpec, result: StreamResult, losses: StreamLosses) -> StreamResult:
        misrouted = 0
        if self._dut.config.after_restart == AfterRestart.MISROUTE and stream.source == Side.LEFT:
            misrouted = len(during(stream, self._forgotten(stream)))
        found: dict[str, object] = {
            **arrivals(stream, losses),
            "first_lost": losses.first,
            "last_lost": losses.last,
            "longest_silence": longest_silence(losses.silence, self._dut.stalls),
        }
        if losses.unheard:
            found["received_per_second"] = received_per_second(stream, result.received, losses.unheard)
        return result.model_copy(update={"misrouted": misrouted, **found})

    def _with_delays(self, stream: StreamSpec, result: StreamResult, *, histogram: bool) -> StreamResult:
        delays, tagged = self._delays(stream), stream.tagged
        arrived = result.received + result.timed_out
        return result.model_copy(
            update={
                "delay": delays.summary(arrived, histogram=histogram),
                "ipdv": delays.variation(arrived, histogram=histogram) if stream.ipdv else None,
                "tagged_delays_ns": delays.tagged(tagged, stream.frames, arrived) if tagged else None,
            }
        )

    def _delays(self, stream: StreamSpec) -> SimulatedDelays:
        config = self._dut.config
        least_ns = config.reverse_delay_ns if stream.source == Side.RIGHT else config.forward_delay_ns
        return SimulatedDelays(least_ns, config.delay_spread_ns)

    def _flows(self, stream: StreamSpec) -> int:
        """Returns the number of flows that the stream uses."""
        if stream.kind == StreamKind.FLOWS:
            return stream.flows.size if stream.flows else 1
        established = self._require_phase1(stream.pair)
        return min(established.distinct, stream.active_connections or established.asked)

    def _require_phase1(self, pair: int) -> _Established:
        if pair not in self._established:
            raise NatxyError("replies were requested before a phase 1")
        return self._established[pair]

    def _result(
        self,
        streams: Sequence[tuple[StreamSpec, int]],
        request: TrialRequest,
        on_progress: OnProgress,
        backlogs_s: Sequence[float] = (),
    ) -> TrialResult:
        self._run_id += 1
        began_ns = None if request.begin_at_ns is None else round(1e9 * self.elapsed_s)
        duration_s = max(end_s(stream) for stream, _ in streams)
        complete = all(arrived == stream.frames for stream, arrived in streams)
        elapsed_s = duration_s + (0.0 if complete and request.drain_ends_early else request.drain_s)
        self.elapsed_s += elapsed_s
        frames = sum(arrived for _, arrived in streams)
        self._dut.work(elapsed_s, frames, frames if request.phase1 else 0)
        self._dut.now_s = self.elapsed_s
        results = [
            self._stream_result(stream, arrived, backlog_s)
            for (stream, arrived), backlog_s in zip(streams, backlogs_s or [0.0] * len(streams), strict=True)
        ]
        if on_progress:
            sent, received = sum(r.sent for r in results), sum(r.received for r in results)
            on_progress(Progress(elapsed_s=duration_s, planned=sent, sent=sent, received=received))
        verdict, cause, reason = self._verdict([stream for stream, _ in streams], results)
        return TrialResult(
            run_id=self._run_id,
            verdict=verdict,
            cause=cause,
            reason=reason,
            duration_s=duration_s,
            began_ns=began_ns,
            streams=results,
            ports=[],
            stale=0,
        )

    def _verdict(self, streams: Sequence[StreamSpec], results: Sequence[StreamResult]) -> tuple[Verdict, Cause, str]:
        limit_fps = self._tester_limit_fps
        for stream in streams:
            if limit_fps is not None and stream.rate_fps > limit_fps:
                reason = f"{stream.name}: the simulated tester sends at most {limit_fps:g} fps"
                return Verdict.INVALID, Cause.LATE, reason
        judged = [each for each in zip(streams, results, strict=True) if each[0].role != StreamRole.SPOOFED]
        losses = "; ".join(_loss_text(stream, result) for stream, result in judged if result.lost)
        if any(not _is_tolerated(stream, result) for stream, result in judged):
            return Verdict.FAIL, Cause.LOSS, losses
        for stream, result in judged:
            if stream.max_backlog_s is not None and result.backlog_ns / 1e9 > stream.max_backlog_s:
                delay = f"the last frame took {result.backlog_ns / 1e6:.3f} ms longer than the fastest"
                return Verdict.FAIL, Cause.BACKLOG, f"{stream.name}: {delay}; the simulated queue grows"
        if losses:
            return Verdict.PASS, Cause.LOSS, losses
        return Verdict.PASS, Cause.LOSSLESS, "every frame arrived"

    def _stream_result(self, stream: StreamSpec, arrived: int, backlog_s: float) -> StreamResult:
        timeout_s = stream.frame_timeout_s
        timed_out = 0 if timeout_s is None else self._delays(stream).longer_than(round(1e9 * timeout_s), arrived)
        received = arrived - timed_out
        on_time = self._tester_limit_fps is None or stream.rate_fps <= self._tester_limit_fps
        offered_fps = stream.rate_fps if on_time else float(self._tester_limit_fps or 0)
        overrun_ns = round((stream.frames / offered_fps - stream.frames / stream.rate_fps) * 1e9)
        return StreamResult(
            name=stream.name,
            source=stream.source,
            pair=stream.pair,
            role=stream.role,
            planned=stream.frames,
            sent=stream.frames,
            unsent=0,
            received=received,
            lost=stream.frames - received,
            timed_out=timed_out,
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
            backlog_ns=round(1e9 * backlog_s),
            delay=None,
            sent_per_second=sent_per_second(stream),
            received_per_second=received_per_second(stream, received),
        )


def _distinct(stream: StreamSpec) -> int:
    """Returns how many connections a phase 1 makes; on average, where it draws its four-tuples."""
    if stream.selection == Selection.ENUMERATE or stream.flows is None:
        return stream.frames
    flows = stream.flows
    fields = (flows.source_address, flows.destination_address, flows.source_port, flows.destination_port)
    return round(expected_distinct(stream.frames, ((field.size, field.order) for field in fields)))


def _destinations(stream: StreamSpec) -> int:
    """Returns the number of addresses and ports that a stream's connections go to."""
    flows = stream.flows
    return flows.destination_address.size * flows.destination_port.size if flows else 1


def _parts(whole: int, weights: Sequence[int]) -> list[int]:
    """Returns whole numbers that add up to `whole`, in proportion to the weights."""
    ends = [whole * upto // max(1, sum(weights)) for upto in accumulate(weights)]
    return [end - start for start, end in pairwise([0, *ends])]


def _arrived(frames: int, loss_ratio: float) -> int:
    return int(frames * (1 - loss_ratio)) if loss_ratio else frames


def _is_tolerated(stream: StreamSpec, result: StreamResult) -> bool:
    return result.lost <= stream.max_loss_ratio * stream.frames


def _loss_text(stream: StreamSpec, result: StreamResult) -> str:
    share = f"{100 * result.lost / stream.frames:.4f} %"
    text = f"{stream.name}: {result.lost:,} of {stream.frames:,} frames lost ({share})"
    if stream.frame_timeout_s is not None and result.timed_out:
        text += f", {counted(result.timed_out, 'frame')} came later than {1000 * stream.frame_timeout_s:g} ms"
    return f"{text}, which is tolerated" if _is_tolerated(stream, result) else text


def _start_s(stream: StreamSpec) -> float:
    return stream.start_s
