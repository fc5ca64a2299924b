# SPDX-License-Identifier: Apache-2.0
"""Offers the events of a run to Prometheus, as metrics at an HTTP address."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.events.run import (
    ExperimentFinished,
    RepetitionFinished,
    RepetitionStarted,
    RunFinished,
    RunStarted,
    Warned,
)
from natxy.events.trials import AttemptStarted, TrialFinished, TrialProgress
from natxy.installation import ExtraMissingError
from natxy.watch.metrics_server import MetricsServer
from natxy.watch.state import State

LOOPBACK: Final = "127.0.0.1"
# Prometheus fetches once a minute unless it is told otherwise, and spreads its targets over that time.
_LONGEST_WAIT_S: Final = 65.0
_LATE: Final = 1.1


class Metrics(RunListener):
    """Counts and keeps the last values of what happens in one run, in a `registry` of its own."""

    def __init__(self) -> None:
        """Raises ExtraMissingError when prometheus-client is not installed."""
        try:
            import prometheus_client as client
        except ModuleNotFoundError as error:
            raise ExtraMissingError("--metrics", "metrics") from error
        # They would double the lines: nobody asks since when a counter of a run exists.
        client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = client.CollectorRegistry()
        self.scrapes = Scrapes()
        self._state = State()

        def gauge(name: str, text: str, *labels: str) -> Any:
            return client.Gauge(f"natxy_{name}", text, labels, registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Any:
            return client.Counter(f"natxy_{name}", text, labels, registry=self.registry)

        self._run = client.Info("natxy_run", "The run that is measured.", registry=self.registry)
        self._running = gauge("running", "1 while the run is under way, then 0.")
        self._exit_code = gauge("exit_code", "Exit code of the run; -1 while it has none.")
        self._time_left = gauge("time_left_seconds", "How long the run is estimated to go on.")
        self._warnings = counter("warnings", "Remarks that something may bias the results.")
        self._planned = gauge("repetitions_planned", "Repetitions that there are at most.", "experiment")
        self._done = gauge("repetitions_done", "Repetitions with a result.", "experiment")
        self._rate = gauge(
            "step_rate", "What the search tries now, in unit; frame rates are per direction.", "experiment", "unit"
        )
        self._trials = counter("trials", "Trials that ended.", "experiment", "verdict")
        self._sent = counter("frames_sent", "Frames that the tester sent in trials that ended.", "experiment")
        self._lost = counter("frames_lost", "Frames that did not come back in trials that ended.", "experiment")
        self._busy = counter(
            "dut_busy_seconds",
            "CPU time that the DUT's cores were busy between the readings before and after each trial that ended.",
            "experiment",
        )
        self._paused = counter(
            "tester_pause_seconds", "Time for which the tester's core was taken from it in trials.", "experiment"
        )
        self._trial_sent = gauge("trial_frames_sent", "Frames sent so far in the latest trial.")
        self._trial_received = gauge("trial_frames_received", "Frames received so far in the latest trial.")
        self._result = gauge(
            "result", "Median of the repetitions of an experiment that ended, in unit.", "experiment", "figure", "unit"
        )
        self._figures: dict[str, tuple[str, str]] = {}
        self._exit_code.set(-1)

    def receive(self, event: Event) -> None:
        self._state.receive(event)
        super().receive(event)
        self._time_left.set(self._state.seconds_left)

    def run_started(self, event: RunStarted) -> None:
        self._running.set(1)
        facts = {"plan": event.name, "folder": event.folder, "testbed": event.testbed}
        self._run.info(facts | {"natxy_version": event.natxy_version})
        for experiment in event.experiments:
            self._planned.labels(experiment.name).set(experiment.repetitions)
            self._done.labels(experiment.name).set(0)

    def warned(self, event: Warned) -> None:
        self._warnings.inc()

    def repetition_started(self, event: RepetitionStarted) -> None:
        # What another experiment tried is over.
        self._rate.clear()

    def attempt_started(self, event: AttemptStarted) -> None:
        unit = self._state.planned(event.experiment).step_unit
        self._rate.labels(event.experiment, unit.value).set(event.rate)

    def trial_progress(self, event: TrialProgress) -> None:
        self._trial_sent.set(event.sent)
        self._trial_received.set(event.received)

    def trial_finished(self, event: TrialFinished) -> None:
        self._trials.labels(event.experiment, event.verdict.value).inc()
        self._sent.labels(event.experiment).inc(event.sent)
        self._lost.labels(event.experiment).inc(event.lost)
        self._paused.labels(event.experiment).inc(event.tester_pause_s)
        if event.dut_load:
            self._busy.labels(event.experiment).inc(event.dut_load.busy_s)

    def repetition_finished(self, event: RepetitionFinished) -> None:
        self._done.labels(event.experiment).inc()
        for figure in event.figures[:1]:
            self._figures[event.experiment] = figure.name, figure.unit.value

    def experiment_finished(self, event: ExperimentFinished) -> None:
        if event.median and event.experiment in self._figures:
            name, unit = self._figures[event.experiment]
            self._result.labels(event.experiment, name, unit).set(event.median.value)

    def run_finished(self, event: RunFinished) -> None:
        self._running.set(0)
        if event.exit_code is not None:
            self._exit_code.set(event.exit_code)
        self.scrapes.expect()


class Scrapes:
    """Knows when the metrics were fetched last, and whether those of the end were."""

    def __init__(self) -> None:
        self._last_s: deque[float] = deque(maxlen=2)
        self._expected = False
        self._of_the_end = threading.Event()

    def counted(self, app: WSGIApplication) -> WSGIApplication:
        """Returns `app`, whose answers count as scrapes."""

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            # Values may change while they are gathered.
            told = self._of_the_end.set if self._expected else _nothing
            self._last_s.append(monotonic())
            return _Answer(app(environ, start_response), told)

        return answer

    @property
    def due_s(self) -> float:
        """Returns in how many seconds the expected one is due at the latest.

        0 if none is expected or it has been answered, or if nobody fetches regularly.
        """
        if len(self._last_s) < 2 or not self._expected or self._of_the_end.is_set():
            return 0.0
        before, last = self._last_s
        return min(_LONGEST_WAIT_S, max(0.0, last + _LATE * (last - before) - monotonic()))

    def expect(self) -> None:
        """Expects another one: the last values are there."""
        self._expected = True

    def await_expected(self, longest_s: float) -> bool:
        """Returns whether the expected one has been answered, at the latest after so long."""
        return self._of_the_end.wait(longest_s)


class _Answer(list[bytes]):
    """Holds the parts of an answer. The server closes it when they have been sent."""

    def __init__(self, parts: Iterable[bytes], sent: Callable[[], None]) -> None:
        super().__init__(parts)
        self.close = sent


def _nothing() -> None:
    """Does nothing."""


@contextmanager
def serving(metrics: Metrics, address: str, tell: Callable[[str], None]) -> Iterator[str]:
    """Serves the metrics at `PORT` of the loopback interface, or at `HOST:PORT`; yields where.

    At the end, whoever has fetched them regularly can do so once more; `tell` then says so. Raises PlanError
    when the address is none or is taken.
    """
    from prometheus_client import make_wsgi_app

    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise PlanError(f"--metrics {address}: expected PORT or HOST:PORT, such as 9464, with a port of at most 65535")
    try:
        server = MetricsServer(host.strip("[]") or LOOPBACK, int(port))
    except OSError as error:
        raise PlanError(f"--metrics {address}: {error.strerror}; choose another port, or 0 for any") from error
    server.set_app(metrics.scrapes.counted(make_wsgi_app(metrics.registry)))
    thread = threading.Thread(target=server.serve_until_shutdown, daemon=True)
    thread.start()
    try:
        yield f"http://{host or LOOPBACK}:{server.server_port}/metrics"
        if due_s := metrics.scrapes.due_s:
            tell(f"The metrics of the end wait to be fetched, at most {max(1.0, due_s):.0f} s.")
            metrics.scrapes.await_expected(due_s)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
