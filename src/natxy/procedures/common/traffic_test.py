# SPDX-License-Identifier: Apache-2.0
"""The procedures that measure at known rates, in virtual time: loss curves and delay distributions are the model's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult
from natxy.engine.simulation.delays import PERIOD
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.caveats import caveats_of_plan
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import DRAWN_PERCENTILES, by_direction, foreground, of_each_direction
from natxy.procedures.common.traffic import lost as lost_by_direction
from natxy.report.page import html
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.run.run import run_plan

LATENCY = {"name": "latency", "procedure": {"name": "latency", "tagged_frames": 2 * PERIOD}, "rate": "50k"}
PDV = {"name": "pdv", "procedure": "pdv", "rate": "50k"}
IPDV = {"name": "ipdv", "procedure": "ipdv", "rate": "50k"}
THROUGHPUT = {"name": "throughput", "procedure": "throughput", "search": {"max_rate": "1M", "error": 500}}


def loss(maximum_rate: float, step_percent: float = 10) -> dict[str, Any]:
    own = {"name": "frame-loss-rate", "maximum_rate": maximum_rate, "step_percent": step_percent}
    return {"name": "loss", "procedure": own}


def plan_of(*experiments: dict[str, Any], timing: Any = "lab", **gateway: Any) -> Plan:
    common: dict[str, Any] = {"gateway": {"driver": "simulated"} | gateway}
    head = {"name": "p", "repeat": 1, "timing": timing, "testbed": {"kind": "simulated"}}
    return Plan.model_validate(head | {"experiments": [common | experiment for experiment in experiments]})


def measure(*experiments: dict[str, Any], code: int = 0, **given: Any) -> RunRecord:
    with TemporaryDirectory() as folder:
        assert run_plan(resolve(plan_of(*experiments, **given)), Path(folder) / "run", RunListener()) == code
        return RunReader(Path(folder) / "run").run


def figures(run: RunRecord, name: str) -> Mapping[str, float | None]:
    return next(e for e in run.experiments if e.name == name).repetitions[0].figures


def test_a_warm_up_is_sent_before_each_trial_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[TrialRequest] = []
    run_trial = SimulatedEngine.run_trial

    def noting(engine: SimulatedEngine, request: TrialRequest, *more: Any) -> TrialResult:
        sent.append(request)
        return run_trial(engine, request, *more)

    monkeypatch.setattr(SimulatedEngine, "run_trial", noting)
    run = measure(LATENCY, timing={"preset": "lab", "warm_up": "250ms"})
    (trial,) = [trial for _, _, trial in run.experiments[0].all_trials]
    warm_up, measured = sent
    assert [stream.frames for stream in warm_up.streams] == [12_500, 12_500]
    assert [stream.tagged for stream in warm_up.streams] == [None, None]
    assert trial.planned == sum(stream.frames for stream in measured.streams)
    assert any("250 ms of the same traffic is sent" in caveat.text for caveat in run.caveats)


def sent_from(source: Side, **fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"name": source.direction, "source": source, "role": StreamRole.FOREGROUND} | fields)


def result_of(stream: Any) -> StreamResult:
    """Returns a result with what the stream says of itself, and 0 in all other fields."""
    known: dict[str, Any] = {name: getattr(stream, name, 0) for name in StreamResult.model_fields}
    return StreamResult.model_construct(**known)


def test_the_foreground_is_what_is_not_background() -> None:
    plan = plan_of({"name": "t", "procedure": "throughput", "search": {"max_rate": "1M"}, "background": "10%"})
    [experiment] = resolve(plan).experiments
    streams = [result_of(stream) for stream in traffic_request(experiment, 10_000, 1).streams]
    assert len(streams) == 4
    assert [stream.name for stream in foreground(streams)] == ["forward", "reverse"]


def test_a_direction_has_the_streams_of_all_pairs() -> None:
    streams = [
        result_of(sent_from(Side.LEFT, lost=3)),
        result_of(sent_from(Side.RIGHT)),
        result_of(sent_from(Side.LEFT, pair=1, lost=5)),
        result_of(sent_from(Side.LEFT, role=StreamRole.BACKGROUND, lost=99)),
        result_of(sent_from(Side.LEFT, pair=11)),
    ]

    def value(stream: StreamResult) -> float | None:
        return stream.lost or None

    assert of_each_direction(streams, value) == {"forward": 5, "reverse": None}
    assert of_each_direction(streams, value, min) == {"forward": 3, "reverse": None}
    assert lost_by_direction(streams) == {"forward": 8, "reverse": 0}
    assert by_direction("lost", {"forward": 8}) == {"lost_forward": 8, "lost_reverse": None}


# --- frame loss rate


@settings(max_examples=40, deadline=None)
@given(
    maximum=st.integers(min_value=50_000, max_value=900_000),
    share=st.floats(min_value=0.01, max_value=1.5),
    step=st.sampled_from([10.0, 7.0, 3.5, 1.0]),
)
def test_the_loss_curve_is_the_models(maximum: int, share: float, step: float) -> None:
    """Both directions share the model's forwarding rate: above it, what is too much is lost."""
    limit_fps = maximum * share
    run = measure(loss(maximum, step), forwarding_fps=2 * limit_fps)
    repetition = run.experiments[0].repetitions[0]
    offered = [maximum * (100 - step * number) / 100 for number in range(math.ceil(100 / step))]
    # Half a frame of a trial of half a second decides nothing.
    clear = [rate for rate in offered if abs(rate - limit_fps) > 4]
    lossless = max((rate for rate in clear if rate <= limit_fps), default=0.0)
    if len(clear) == len(offered):
        assert repetition.value == pytest.approx(lossless)
        assert len(repetition.steps) == min(len(offered), len([r for r in offered if r > limit_fps]) + 2)
    for curve in repetition.curves:
        assert curve.points[0][0] == 100
        for percent, lost in curve.points:
            truth = max(0.0, 100 * (1 - limit_fps / (maximum * percent / 100)))
            assert lost == pytest.approx(truth, abs=2 * 100 / (maximum * percent / 100 / 2))
    assert [curve.name for curve in repetition.curves] == ["loss_forward", "loss_reverse"]


def test_each_direction_has_its_own_loss() -> None:
    run = measure(loss(100_000), reverse_loss_ratio=0.02)
    found = figures(run, "loss")
    assert (found["loss_at_maximum_forward"], found["loss_at_maximum_reverse"]) == (0, 2)
    repetition = run.experiments[0].repetitions[0]
    assert (repetition.value, repetition.lower_bound) == (0, None)
    assert repetition.upper_bound == pytest.approx(10_000)
    assert "no two steps" in repetition.reason
    one_way = measure(loss(100_000) | {"directions": "forward"}, reverse_loss_ratio=0.02)
    assert figures(one_way, "loss")["loss_at_maximum_reverse"] is None
    assert one_way.experiments[0].is_only_a_lower_bound


def test_a_maximum_that_loses_nothing_is_at_least_the_result() -> None:
    run = measure(loss(100_000), forwarding_fps=1e6)
    assert run.experiments[0].is_only_a_lower_bound
    assert [step.rate for step in run.experiments[0].repetitions[0].steps] == [100_000, 90_000]


# --- latency, PDV, IPDV


@settings(max_examples=25, deadline=None)
@given(
    rate=st.integers(min_value=6_000, max_value=100_000),
    forward=st.integers(min_value=1, max_value=10**7),
    reverse=st.integers(min_value=1, max_value=10**7),
    spread=st.integers(min_value=0, max_value=1000),
)
def test_latency_is_that_of_the_tagged_frames(rate: int, forward: int, reverse: int, spread: int) -> None:
    """Twice as many are tagged as there are delays, each a whole number of spreads above the least one."""
    gateway = {
        "forward_delay_ns": forward,
        "reverse_delay_ns": reverse,
        "delay_spread_ns": spread * (PERIOD - 1),
    }
    found = figures(measure(LATENCY | {"rate": rate}, **gateway), "latency")
    # Of 2018 delays in order the median is between the 1009th and the 1010th, the 99.9th percentile is the 2016th.
    truth = {"tl": spread * 504, "wcl": spread * 1007}
    for name, above in truth.items():
        assert found[f"{name}_forward"] == forward + above
        assert found[f"{name}_reverse"] == reverse + above
        assert found[name] == max(forward, reverse) + above
    assert (found["lost_tagged_forward"], found["lost_tagged_reverse"]) == (0, 0)


def test_frames_are_tagged_after_the_warm_up_and_to_the_end() -> None:
    plan = resolve(plan_of(LATENCY | {"procedure": "latency"}, timing="rfc"))
    assert plan.experiments[0].traffic_s == 120
    (of_the_rate,) = [caveat.text for caveat in caveats_of_plan(plan) if "8219" in caveat.text]
    assert "a rate given in the plan" in of_the_rate
    lab = resolve(plan_of(LATENCY | {"procedure": {"name": "latency", "tagged_frames": 100}}))
    said = " ".join(each.text for each in caveats_of_plan(lab))
    assert "in a stream of 1 s; RFC 8219 §7.2 asks for at least 2 min" in said
    assert "follows after 500 ms; RFC 8219 §7.2 asks for at least 60 s" in said
    assert "100 tagged frames a stream" in said


def test_lost_tagged_frames_are_counted_and_left_out() -> None:
    run = measure(LATENCY, reverse_loss_ratio=0.25)
    found = figures(run, "latency")
    assert found["lost_tagged_forward"] == 0
    assert found["lost_tagged_reverse"] == pytest.approx(2 * PERIOD / 4, rel=0.1)
    assert found["tl_reverse"] is not None
    assert [trial.result.verdict for trial in run.experiments[0].repetitions[0].trials] == ["fail"]


def test_a_direction_that_delivers_nothing_has_no_latency() -> None:
    run = measure(LATENCY, PDV, IPDV, code=4, reverse_loss_ratio=1.0)
    found = [figures(run, name) for name in ("latency", "pdv", "ipdv")]
    assert [found[0]["tl_reverse"], found[1]["pdv_reverse"], found[2]["max_reverse"]] == [None] * 3
    assert None not in (found[0]["tl_forward"], found[1]["pdv_forward"], found[2]["max_forward"])
    # The other direction need not be the slower one.
    assert [found[0]["tl"], found[0]["wcl"], found[1]["pdv"], found[2]["max"]] == [None] * 4


def test_too_few_frames_after_the_warm_up_are_all_tagged() -> None:
    repetition = measure(LATENCY | {"rate": 100}).experiments[0].repetitions[0]
    tagged = repetition.trials[0].result.streams[0].tagged_delays_ns
    assert tagged is not None
    assert len(tagged) == 50
    assert "fewer frames than the 2018 asked" in repetition.reason


@settings(max_examples=25, deadline=None)
@given(
    periods=st.integers(min_value=1, max_value=50),
    least=st.integers(min_value=0, max_value=10**7),
    spread=st.integers(min_value=0, max_value=1000),
)
def test_pdv_and_ipdv_are_the_models(periods: int, least: int, spread: int) -> None:
    gateway = {"forward_delay_ns": least, "reverse_delay_ns": 2 * least, "delay_spread_ns": spread * (PERIOD - 1)}
    rate = {"rate": 2 * periods * PERIOD}
    run = measure(PDV | rate, IPDV | rate, **gateway)
    pdv, ipdv = figures(run, "pdv"), figures(run, "ipdv")
    assert pdv["pdv"] == pdv["pdv_forward"] == pdv["pdv_reverse"] == spread * 1007
    assert [pdv["min_delay_forward"], pdv["min_delay_reverse"]] == [least, 2 * least]
    assert ipdv["max"] == 617 * spread
    assert [ipdv["min_forward"], ipdv["median_reverse"]] == [-392 * spread] * 2
    for curve in run.experiments[0].repetitions[0].curves:
        base = 2 * least if curve.name == "delay_reverse" else least
        drawn = dict(curve.points)
        assert [drawn[0], drawn[50], drawn[100]] == [base, base + spread * 504, base + spread * 1008]


def test_the_report_draws_and_states_it_all(tmp_path: Path) -> None:
    run_plan(resolve(plan_of(loss(400_000), LATENCY, PDV)), tmp_path / "run", RunListener())
    reader = RunReader(tmp_path / "run")
    page = html.render(reader)
    curves = [curve for kind in ("loss", "delay", "delay") for curve in (f"{kind}_forward", f"{kind}_reverse")]
    names = [name.rpartition("-")[2] for name in re.findall(r'data-chart="([^"]+)"', page)]
    # The opening pictures of results in frames per second and in seconds, then each experiment's curves.
    assert names == ["fps", "ns", *curves]
    assert "No trial was run" not in page
    tables = results_tables.rfc_form(reader.run)
    stated = [{row[0]: row[1] for row in table.rows} for table in tables]
    assert (stated[0]["Maximum rate"], stated[0]["Step percent"]) == ("400 kfps", "10 %")
    assert (stated[1]["Rate"], stated[1]["Duration of a trial's traffic"]) == ("50 kfps", "1 s")
    assert stated[1]["Worst case latency, reverse, ms, median"] == "0.049970"
    assert stated[1]["Definition of delay"].startswith("RFC 1242 §3.8, store and forward")
    assert stated[1]["Lost tagged frames"] == "counted, and left out of both percentiles"
    assert stated[2]["PDV, forward, ms, median"] == "0.029970"
    overview = results_tables.overview(reader.run)
    assert [table.rows[0][1] for table in overview] == ["240k", "0.035000", "0.029970"]


# --- where the rate comes from


def test_a_rate_is_a_share_of_what_was_measured() -> None:
    shared = {"rate": {"experiment": "throughput", "percent": 80}}
    run = measure(THROUGHPUT, LATENCY | shared, PDV | shared, forwarding_fps=200_000)
    throughput = run.experiments[0].statistics
    assert throughput is not None
    for experiment in run.experiments[1:]:
        assert [trial.rate_fps for trial in experiment.repetitions[0].trials] == [throughput.median * 0.8]


def test_without_its_source_an_experiment_is_skipped() -> None:
    shared = {"rate": {"experiment": "throughput", "percent": 80}}
    run = measure(THROUGHPUT, LATENCY | shared, forward_loss_ratio=0.5, code=DutError.exit_code)
    assert run.experiments[1].state == State.SKIPPED
    assert run.experiments[1].reason == "its rate is a share of 'throughput', which has no result in the same block"


def test_only_keeps_what_rates_are_taken_from() -> None:
    connections = {"connections": "20k", "phase1_rate": {"experiment": "cps", "percent": 50}}
    cps = {"name": "cps", "procedure": "connection-rate", "connections": "20k", "search": {"max_rate": "1M"}}
    shared = {"rate": {"experiment": "throughput", "percent": 80}}
    plan = plan_of(cps, PDV, THROUGHPUT | connections, LATENCY | shared | connections)
    kept = resolve(plan, only=["latency"]).experiments
    assert [experiment.name for experiment in kept] == ["cps", "throughput", "latency"]


@pytest.mark.parametrize("said", [{"frame_size": 64}, {"directions": "bidirectional"}, {"family": "ipv4"}])
def test_what_is_said_of_the_traffic_in_one_and_left_unsaid_in_the_other_is_the_same(said: dict[str, Any]) -> None:
    rate = LATENCY | {"rate": {"experiment": "throughput", "percent": 50}}
    for plan in (plan_of(THROUGHPUT | said, rate), plan_of(THROUGHPUT, rate | said)):
        assert resolve(plan).experiments[1].rate is not None


@pytest.mark.parametrize(
    ("experiment", "wrong"),
    [
        ({"rate": None}, "missing; latency measures at a known rate"),
        ({"rate": {"experiment": "nothing", "percent": 50}}, "'nothing' is no earlier throughput .* are: throughput"),
        ({"rate": {"experiment": "throughput", "percent": 50}, "frame_size": 128}, "has another `frame_size`"),
        ({"procedure": "throughput", "search": {"max_rate": "1M"}}, "throughput doesn't take it"),
    ],
)
def test_unknown_rates_are_refused(experiment: dict[str, Any], wrong: str) -> None:
    plan = plan_of(THROUGHPUT, LATENCY | experiment)
    with pytest.raises(PlanProblems, match=wrong):
        resolve(plan)


# --- phase 2


def test_connections_are_established_before_every_step() -> None:
    stateful = {"connections": "20k", "phase1_rate": "50k"}
    run = measure(LATENCY | stateful, loss(400_000) | stateful, forwarding_fps=600_000)
    for experiment in run.experiments:
        kinds = [[trial.kind.value for trial in step.trials] for step in experiment.repetitions[0].steps]
        assert kinds == [["phase1", "traffic"]] * len(kinds)
    assert run.experiments[1].repetitions[0].value == 280_000


def test_the_percentiles_of_a_curve_rise_to_100() -> None:
    assert [*DRAWN_PERCENTILES] == sorted({*DRAWN_PERCENTILES})
    assert {*range(1, 101), 99.5, 99.9} == {*DRAWN_PERCENTILES}
