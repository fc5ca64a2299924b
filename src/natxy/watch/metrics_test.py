# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import socket
import threading
import urllib.request
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.events.listener import Listeners, RunListener
from natxy.events.run import RunFinished
from natxy.installation import full_version
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from natxy.run.run import run_plan
from natxy.watch.metrics import Metrics, Scrapes, serving
from tests.support.timing import wait_until

pytest.importorskip("prometheus_client", reason="prometheus-client is not installed (make setup-dev)")

PLAN: Any = {
    "name": "nightly",
    "testbed": {"kind": "simulated"},
    "experiments": [
        {
            "name": "x", "procedure": "throughput", "gateway": "simulated", "repeat": 2,
            "search": {"min_rate": "10k", "max_rate": "1M"},
        },
    ],
}  # fmt: skip


class Scraper(RunListener):
    """Asks for the metrics when the second repetition begins."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.found = ""

    def receive(self, event: Event) -> None:
        if event.event == "repetition_started" and getattr(event, "repetition", 0) == 2:
            self.found = fetched(self._address)


def fetched(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        text: str = answer.read().decode()
    return text


def samples(text: str) -> dict[tuple[str, ...], float]:
    from prometheus_client.parser import text_string_to_metric_families

    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_are_those_of_the_run_while_it_measures_and_at_its_end(tmp_path: Path) -> None:
    name = PLAN["experiments"][0]["name"]
    metrics = Metrics()
    with serving(metrics, "0", pytest.fail) as address:
        scraper = Scraper(address)
        code = run_plan(resolve(Plan.model_validate(PLAN)), tmp_path / "run", Listeners(metrics, scraper))
        during, after = samples(scraper.found), samples(fetched(address))
        assert metrics.scrapes.await_expected(60)
    assert (during["natxy_running",], during["natxy_exit_code",]) == (1, -1)
    assert during["natxy_repetitions_done", name] == 1
    assert during["natxy_repetitions_planned", name] == 2
    assert (after["natxy_running",], after["natxy_exit_code",]) == (0, code)
    assert after["natxy_run_info", str(tmp_path / "run"), full_version(), "nightly", "simulated"] == 1
    (experiment,) = RunReader(tmp_path / "run").run.experiments
    trials = [placed.trial for placed in experiment.all_trials]
    counts = Counter(trial.verdict.value for trial in trials)
    assert {key[2]: value for key, value in after.items() if key[0] == "natxy_trials_total"} == counts
    assert experiment.statistics is not None
    assert after["natxy_result", name, "rate", "fps"] == experiment.statistics.median
    assert not any("created" in name for name, *_ in after)
    assert during["natxy_time_left_seconds",] > after["natxy_time_left_seconds",] == 0
    # Between two repetitions no search tries anything.
    assert not any(name == "natxy_step_rate" for name, *_ in during)
    assert after["natxy_step_rate", name, "fps"] == trials[-1].step_rate
    assert after["natxy_tester_pause_seconds_total", name] == pytest.approx(sum(t.tester_pause_s for t in trials))
    sent = sum(stream.sent for trial in trials for stream in trial.result.streams)
    assert after["natxy_frames_sent_total", name] == sent


@pytest.mark.parametrize("address", ["", "http", "70000", "localhost:", "-1"])
def test_a_wrong_address_is_named(address: str) -> None:
    with (
        pytest.raises(PlanError, match=f"--metrics {address}: expected PORT or HOST:PORT"),
        serving(Metrics(), address, pytest.fail),
    ):
        pass


def test_a_taken_port_is_named() -> None:
    with serving(Metrics(), "0", pytest.fail) as address:
        port = address.split(":")[2].removesuffix("/metrics")
        with (
            pytest.raises(PlanError, match=f"--metrics {port}: .*choose another port"),
            serving(Metrics(), port, pytest.fail),
        ):
            pass


def test_who_asks_gets_an_answer_beside_those_who_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.watch.metrics_server._LONGEST_S", 600.0)
    before = threading.active_count()
    with serving(Metrics(), "0", pytest.fail) as address, ExitStack() as stack:
        port = int(address.split(":")[2].removesuffix("/metrics"))
        for _ in range(20):
            stack.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(b"GET / HTTP/1.1\r\n")
        assert "natxy_running" in fetched(address)
    # The end of half a request is answered, too, and other tests replace the clock.
    wait_until(lambda: threading.active_count() <= before)


def test_the_last_values_can_be_fetched_by_who_fetches_regularly(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.chain([0.0, 30.0], itertools.repeat(45.0))
    monkeypatch.setattr("natxy.watch.metrics.monotonic", lambda: next(clock))
    last: list[str] = []
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        last.append(fetched(address))

    metrics = Metrics()
    with serving(metrics, "0", tell) as address:
        fetched(address)
        fetched(address)
        metrics.receive(RunFinished(state=RunState.DONE, exit_code=3))
    assert told == ["The metrics of the end wait to be fetched, at most 18 s."]
    assert metrics.scrapes.due_s == 0
    assert samples(last[0])["natxy_exit_code",] == 3


def test_a_run_does_not_wait_for_who_fetches_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.chain([0.0, 1.0], itertools.repeat(45.0))
    monkeypatch.setattr("natxy.watch.metrics.monotonic", lambda: next(clock))
    metrics = Metrics()
    with serving(metrics, "0", pytest.fail) as address:
        fetched(address)
        fetched(address)
        metrics.receive(RunFinished(state=RunState.DONE, exit_code=0))


def test_the_last_values_are_fetched_when_they_have_been_sent() -> None:
    scrapes = Scrapes()
    app: Any = scrapes.counted(lambda environ, start_response: [b"values"])
    earlier = app({}, None)
    scrapes.expect()
    last = app({}, None)
    assert [*last] == [b"values"]
    earlier.close()
    assert not scrapes.await_expected(0)
    last.close()
    assert scrapes.await_expected(0)
