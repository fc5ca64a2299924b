# SPDX-License-Identifier: Apache-2.0
"""Makes one engine of several: each has the ports of some pairs, and all begin a trial at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, TypeVar

from natxy.engine.clocks import ClockOffset, TimedEngine, measured_offset, now_ns
from natxy.engine.interface import OnProgress
from natxy.engine.messages.ports import (
    EngineInfo,
    NeighborSide,
    NeighborsResolve,
    NeighborsResolved,
    PortsOpen,
    PortsOpened,
    PortSpec,
)
from natxy.engine.messages.requests import StreamSpec, TrialRequest
from natxy.engine.messages.results import Cause, Progress, SourceSpread, TrialResult, Verdict
from natxy.errors import DutError, EngineDiedError, PlanError, TesterLimitError

# After one tester has failed, the others have so long to end the trial.
_END_S: Final = 2.0
_ASK_S: Final = 0.1
# How far ahead the start of the first trial is. Engines that were not ready by then get more time for the next ones.
_FIRST_LEAD_S: Final = 0.05
# An engine waits for its workers for 1 s at most.
_LONGEST_LEAD_S: Final = 2.0
_SPARE: Final = 1.5
# What one engine's verdict means for the trial of all, the worst last. No engine says DISTURBED.
_ORDER: Final = (Verdict.PASS, Verdict.FAIL, Verdict.INVALID)
_CAUSES: Final = {Cause.LOSSLESS: 0, Cause.LOSS: 1}

OfPair = TypeVar("OfPair", PortSpec, NeighborSide, StreamSpec)
_News = SimpleQueue[tuple[int, Progress | TrialResult | BaseException]]


@dataclass(frozen=True)
class Tester:
    """Joins a tester's name, its engine and the numbers of its pairs of ports, by which all engines call them."""

    name: str
    engine: TimedEngine
    pairs: tuple[int, ...]

    def own(self, messages: Iterable[OfPair]) -> list[OfPair]:
        """Returns what belongs to this tester's pairs."""
        return [message for message in messages if message.pair in self.pairs]

    @contextmanager
    def named(self) -> Iterator[TimedEngine]:
        """Yields the engine, in whose errors it is named."""
        try:
            yield self.engine
        except (DutError, EngineDiedError, PlanError, TesterLimitError) as error:
            raise type(error)(f"{self.name}: {error}") from error


class Testers:
    """Sends each engine its part of a request, and merges the answers. Implements `natxy.engine.interface.Engine`.

    The first tester is the one on this machine. When an engine dies, the others end their trial within 2 s, or are
    ended within 2 s more.
    """

    def __init__(self, testers: Sequence[Tester]) -> None:
        self._testers = testers
        self._lead_s = _FIRST_LEAD_S

    def info(self) -> EngineInfo:
        """Returns what the engine on this machine says; the others are of the same version."""
        return self._testers[0].engine.info()

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        opened = []
        for number, tester in enumerate(self._testers):
            # The cores of the DUT are this machine's.
            cores = [] if number else request.dut_cores
            with tester.named() as engine:
                opened += engine.open_ports(PortsOpen(ports=tester.own(request.ports), dut_cores=cores)).ports
        return PortsOpened(ports=opened)

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        resolved = []
        for tester in self._testers:
            own = request.model_copy(update={"neighbors": tester.own(request.neighbors)})
            with tester.named() as engine:
                resolved += engine.resolve_neighbors(own).neighbors
        return NeighborsResolved(neighbors=resolved)

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        requests: dict[Tester, TrialRequest] = {
            tester: request.model_copy(update={"streams": streams})
            for tester, streams in self._of_testers(request.streams).items()
        }
        return self._run(requests, [stream.name for stream in request.streams], on_progress)

    def _of_testers(self, streams: Sequence[StreamSpec]) -> dict[Tester, list[StreamSpec]]:
        return {tester: own for tester in self._testers if (own := tester.own(streams))}

    def _run(
        self, requests: Mapping[Tester, TrialRequest], names: Sequence[str], on_progress: OnProgress
    ) -> TrialResult:
        """Runs a trial at all testers that have a part in it, from the same moment on; one alone begins at once.
        Returns the streams in the order of `names`.

        A trial of several is invalid if one of them begins more than `max_pause_s` late, or may have done so because
        its clock is not known well enough.
        """
        if len(requests) == 1:
            ((alone, request),) = requests.items()
            with alone.named() as engine:
                result = engine.run_trial(request, on_progress)
            return _merged(names, {alone: result})
        offsets = {tester: _offset(tester) for tester in requests}
        start_ns = now_ns() + round(self._lead_s * 1e9)
        timed: dict[Tester, TrialRequest] = {
            tester: request.model_copy(update={"begin_at_ns": start_ns + offsets[tester].offset_ns})
            for tester, request in requests.items()
        }
        results = _run_at_once(timed, on_progress)
        merged = _merged(names, results)
        late = {tester: _late_ns(timed[tester], result) for tester, result in results.items()}
        longest_s, most_s = max(late.values()) / 1e9, next(iter(timed.values())).limits.max_pause_s
        if longest_s > most_s:
            self._lead_s = min(_LONGEST_LEAD_S, _SPARE * (self._lead_s + longest_s))
        why = _not_together(late, offsets, most_s)
        # A tester's own reason says more than that it was late.
        if not why or merged.verdict == Verdict.INVALID:
            return merged
        return merged.model_copy(update={"verdict": Verdict.INVALID, "cause": Cause.LATE, "reason": why})

    def abort(self) -> None:
        for tester in self._testers:
            tester.engine.abort()

    def close(self) -> None:
        _close(self._testers)


def _offset(tester: Tester) -> ClockOffset:
    with tester.named() as engine:
        return measured_offset(engine)


def _close(testers: Collection[Tester]) -> None:
    """Ends the engines at the same time, so that several take no longer than one. Raises the first error when all have
    ended."""
    if testers:
        with ThreadPoolExecutor(len(testers)) as threads:
            list(threads.map(lambda tester: tester.engine.close(), testers))


def _run_at_once(requests: Mapping[Tester, TrialRequest], on_progress: OnProgress) -> dict[Tester, TrialResult]:
    """Runs each tester's part of a trial, and returns when all have ended. Raises the first error, after the others
    have been told to end."""
    news: _News = SimpleQueue()
    testers = [*requests]
    # They sleep until an engine says something, and disturb no core that measures.
    threads = [
        threading.Thread(target=_tell, args=(news, number, tester, requests[tester]), daemon=True)
        for number, tester in enumerate(testers)
    ]
    progress: dict[int, Progress] = {}
    results: dict[int, TrialResult] = {}
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(testers):
            number, told = news.get()
            if isinstance(told, Progress):
                progress[number] = told
                # All tell it at the same rate.
                if on_progress and number == min(n for n in range(len(testers)) if n not in results):
                    on_progress(_total(progress.values()))
            elif isinstance(told, TrialResult):
                results[number] = told
            else:
                raise told
    except BaseException:
        _end(testers, threads)
        raise
    return {tester: results[number] for number, tester in enumerate(testers)}


def _tell(news: _News, number: int, tester: Tester, request: TrialRequest) -> None:
    """Runs one tester's part of a trial, and tells what comes of it."""
    try:
        with tester.named() as engine:
            news.put((number, engine.run_trial(request, lambda progress: news.put((number, progress)))))
    except BaseException as error:
        news.put((number, error))


def _end(testers: Sequence[Tester], threads: Sequence[threading.Thread]) -> None:
    """Ends the trials that still run, and the engines that do not end theirs."""
    deadline = time.monotonic() + _END_S
    running = [(tester, thread) for tester, thread in zip(testers, threads, strict=True) if thread.is_alive()]
    while running and time.monotonic() < deadline:
        for tester, thread in running:
            # An engine may get its request only after the first of these.
            tester.engine.abort()
            thread.join(_ASK_S)
        running = [(tester, thread) for tester, thread in running if thread.is_alive()]
    _close([tester for tester, _ in running])


def _total(progress: Iterable[Progress]) -> Progress:
    all_of_them = [*progress]
    return Progress(
        elapsed_s=max(each.elapsed_s for each in all_of_them),
        planned=sum(each.planned for each in all_of_them),
        sent=sum(each.sent for each in all_of_them),
        received=sum(each.received for each in all_of_them),
    )


def _merged(names: Sequence[str], results: Mapping[Tester, TrialResult]) -> TrialResult:
    """Returns the result of all: the worst verdict, and every stream and port with what its own tester counted."""
    # Of several causes, a loss says least: a search may allow it.
    worst = max(results.values(), key=lambda result: (_ORDER.index(result.verdict), _CAUSES.get(result.cause, 2)))
    deciding = {tester: result for tester, result in results.items() if result.verdict == worst.verdict}
    streams = {stream.name: stream for result in results.values() for stream in result.streams}
    whole: dict[str, object] = {
        "duration_s": max(result.duration_s for result in results.values()),
        "began_ns": None,
        "streams": [streams[name] for name in names],
        "ports": [port for result in results.values() for port in result.ports],
        "stale": sum(result.stale for result in results.values()),
        "samples": [sample for result in results.values() for sample in result.samples],
        "dut_cores": [core for result in results.values() for core in result.dut_cores],
    }
    if worst.established is not None:
        whole["established"] = sum(result.established or 0 for result in results.values())
        whole["sources"] = _joined([result.sources for result in results.values()])
    if worst.cause != Cause.LOSSLESS:
        whole["reason"] = "; ".join(
            f"{tester.name}: {result.reason}" for tester, result in deciding.items() if result.cause != Cause.LOSSLESS
        )
    return worst.model_copy(update=whole)


def _joined(sources: Sequence[SourceSpread | None]) -> SourceSpread | None:
    """Returns the spread over the public addresses of all pairs, which have none in common; None if any is unknown."""
    known = [each for each in sources if each]
    if len(known) < len(sources):
        return None
    endpoints = [each.endpoints for each in known if each.endpoints is not None]
    return SourceSpread(
        connections=sum(each.connections for each in known),
        addresses=sum(each.addresses for each in known),
        fewest=min(each.fewest for each in known),
        most=max(each.most for each in known),
        lowest=min((each.lowest for each in known if each.lowest), key=int, default=None),
        highest=max((each.highest for each in known if each.highest), key=int, default=None),
        endpoints=sum(endpoints) if len(endpoints) == len(known) else None,
        lowest_port=min((each.lowest_port for each in known if each.lowest_port is not None), default=None),
        highest_port=max((each.highest_port for each in known if each.highest_port is not None), default=None),
    )


def _late_ns(request: TrialRequest, result: TrialResult) -> int:
    """Returns by how much the engine began later than it was asked to."""
    assert request.begin_at_ns is not None
    assert result.began_ns is not None
    return max(0, result.began_ns - request.begin_at_ns)


def _not_together(late_ns: Mapping[Tester, int], offsets: Mapping[Tester, ClockOffset], most_s: float) -> str:
    """Returns why the testers may not have begun together, or an empty text."""
    for tester, late in late_ns.items():
        if late > most_s * 1e9:
            return f"{tester.name} was ready {late / 1e6:.1f} ms after the start on which the testers had agreed"
        if offsets[tester].error_ns > most_s * 1e9:
            error_ms = offsets[tester].error_ns / 1e6
            return f"the clock of {tester.name} is known within {error_ms:.1f} ms only, so the start may not be common"
    return ""
