# SPDX-License-Identifier: Apache-2.0
"""Offers the events of a run to Prometheus, as metrics at an HTTP address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from natxy.errors import PlanError
from natxy.events.listener import RunListener
from natxy.events.run import ExperimentFinished, RepetitionFinished, RunFinished, RunStarted, Warned
from natxy.events.trials import AttemptStarted, TrialFinished, TrialProgress
from natxy.installation import ExtraMissingError

LOOPBACK: Final = "127.0.0.1"


class Metrics(RunListener):
    """Counts and keeps the last values of what happens in one run, in a `registry` of its own."""

    def __init__(self) -> None:
        """Raises ExtraMissingError when prometheus-client is not installed."""
        try:
            import prometheus_client as client
        except ModuleNotFoundError as error:
            raise ExtraMissingError("--metrics", "metrics") from error
        self.registry = client.CollectorRegistry()

        def gauge(name: str, text: str, *labels: str) -> Any:
            return client.Gauge(f"natxy_{name}", text, labels, registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Any:
            return client.Counter(f"natxy_{name}", text, labels, registry=self.registry)

        self._run = client.Info("natxy_run", "The run that is measured.", registry=self.registry)
        self._running = gauge("running", "1 while the run is under way, then 0.")
        self._exit_code = gauge("exit_code", "The exit code of a run that has ended by itself; -1 before.")
        self._warnings = counter("warnings", "Remarks that something may bias the results.")
        self._planned = gauge("repetitions_planned", "How many repetitions there are at most.", "experiment")
        self._done = gauge("repetitions_done", "Repetitions with a result.", "experiment")
        self._rate = gauge("step_rate", "What the search tries, in the unit of its steps.", "experiment", "unit")
        self._trials = counter("trials", "Trials that ended.", "experiment", "verdict")
        self._sent = counter("frames_sent", "Frames that the tester sent in trials that ended.", "experiment")
        self._lost = counter("frames_lost", "Frames that did not come back in trials that ended.", "experiment")
        self._busy = counter("dut_busy_seconds", "What the DUT's cores spent in trials that ended.", "experiment")
        self._trial_sent = gauge("trial_frames_sent", "Frames sent so far in the trial under way.")
        self._trial_received = gauge("trial_frames_received", "Frames received so far in the trial under way.")
        self._result = gauge("result", "The median of the repetitions.", "experiment", "figure", "unit")
        self._units: dict[str, str] = {}
        self._figures: dict[str, tuple[str, str]] = {}
        self._exit_code.set(-1)

    def run_started(self, event: RunStarted) -> None:
        self._running.set(1)
        self._run.info({"plan": event.name, "testbed": event.testbed, "natxy_version": event.natxy_version})
        for experiment in event.experiments:
            self._units[experiment.name] = experiment.step_unit.value
            self._planned.labels(experiment.name).set(experiment.repetitions)
            self._done.labels(experiment.name).set(0)

    def warned(self, event: Warned) -> None:
        self._warnings.inc()

    def attempt_started(self, event: AttemptStarted) -> None:
        self._rate.labels(event.experiment, self._units[event.experiment]).set(event.rate)

    def trial_progress(self, event: TrialProgress) -> None:
        self._trial_sent.set(event.sent)
        self._trial_received.set(event.received)

    def trial_finished(self, event: TrialFinished) -> None:
        self._trials.labels(event.experiment, event.verdict.value).inc()
        self._sent.labels(event.experiment).inc(event.sent)
        self._lost.labels(event.experiment).inc(event.lost)
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


@contextmanager
def serving(metrics: Metrics, address: str) -> Iterator[str]:
    """Serves the metrics at `PORT` of the loopback interface, or at `HOST:PORT`; yields where.

    Raises PlanError when the address is none or is taken.
    """
    from prometheus_client import start_http_server

    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise PlanError(f"--metrics {address}: expected PORT or HOST:PORT, such as 9464, with a port of at most 65535")
    try:
        server, thread = start_http_server(int(port), host.strip("[]") or LOOPBACK, metrics.registry)
    except OSError as error:
        raise PlanError(f"--metrics {address}: {error.strerror}; choose another port, or 0 for any") from error
    try:
        yield f"http://{host or LOOPBACK}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
