# SPDX-License-Identifier: Apache-2.0
"""Background traffic in virtual time: shares, what each class loses, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamKind
from natxy.events.listener import RunListener
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import neighbors_request, traffic_request
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan

THROUGHPUT: dict[str, Any] = {"name": "e", "procedure": "throughput", "search": {"max_rate": "1M", "error": 500}}


def plan_of(experiment: dict[str, Any], **gateway: Any) -> Plan:
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}}
    return Plan.model_validate(head | {"experiments": [{"gateway": {"driver": "simulated"} | gateway} | experiment]})


def measure(experiment: dict[str, Any], code: int = 0, **gateway: Any) -> RunRecord:
    with TemporaryDirectory() as folder:
        assert run_plan(resolve(plan_of(experiment, **gateway)), Path(folder) / "run", RunListener()) == code
        return RunReader(Path(folder) / "run").run


@given(
    permille=st.integers(min_value=1, max_value=999),
    rate=st.integers(min_value=2_000, max_value=10**7),
    directions=st.sampled_from(["bidirectional", "forward", "reverse"]),
)
def test_the_shares_are_exact_and_the_rate_is_of_both(permille: int, rate: int, directions: str) -> None:
    own = THROUGHPUT | {"background": f"{permille / 10}%", "directions": directions}
    experiment = resolve(plan_of(own)).experiments[0]
    request = traffic_request(experiment, rate, 1)
    assert len(request.streams) == (4 if directions == "bidirectional" else 2)
    for foreground, background in zip(request.streams[::2], request.streams[1::2], strict=True):
        assert background.interleaved_with == foreground.name
        assert background.source == foreground.source
        total = foreground.frames + background.frames
        assert 1000 * background.frames == permille * total
        assert foreground.rate_fps + background.rate_fps == pytest.approx(rate)
        assert foreground.frames / foreground.rate_fps == pytest.approx(background.frames / background.rate_fps)


def test_background_is_native_ipv6_and_no_connection() -> None:
    stateful = THROUGHPUT | {"connections": "20k", "phase1_rate": "50k", "background": "50%"}
    experiment = resolve(plan_of(stateful)).experiments[0]
    forward, native, reverse, native_back = traffic_request(experiment, 10_000, 1).streams
    assert [forward.kind, reverse.kind] == [StreamKind.CONNECTIONS, StreamKind.REPLIES]
    assert (forward.frame.size, native.frame.size, native.kind) == (64, 84, StreamKind.FLOWS)
    assert native.flows is not None
    assert native_back.flows is not None
    assert native.flows.source_address.address == native_back.flows.destination_address.address
    assert native.flows.source_address.address.version == 6
    sides = [(link.side, link.address.version) for link in neighbors_request(experiment).neighbors]
    assert sides == [(Side.LEFT, 4), (Side.RIGHT, 4), (Side.LEFT, 6), (Side.RIGHT, 6)]


@settings(max_examples=15, deadline=None)
@given(share=st.sampled_from(["0%", "10%", "50%", "90%"]), limit=st.integers(min_value=20_000, max_value=900_000))
def test_throughput_is_of_both_classes_together(share: str, limit: int) -> None:
    run = measure(THROUGHPUT | {"background": share}, forwarding_fps=2 * limit)
    assert run.experiments[0].values == [pytest.approx(limit, abs=600)]


@settings(max_examples=15, deadline=None)
@given(percent=st.integers(min_value=1, max_value=60), own_percent=st.integers(min_value=0, max_value=60))
def test_each_class_has_its_own_loss(percent: int, own_percent: int) -> None:
    loss = {"name": "e", "procedure": {"name": "frame-loss-rate", "maximum_rate": 100_000}, "background": "10%"}
    run = measure(loss, background_loss_ratio=percent / 100, reverse_loss_ratio=own_percent / 100)
    curves = {curve.name: dict(curve.points)[100] for curve in run.experiments[0].repetitions[0].curves}
    assert curves == {
        "loss_forward": 0,
        "loss_forward_background": pytest.approx(percent, abs=0.05),
        "loss_reverse": pytest.approx(own_percent, abs=0.05),
        "loss_reverse_background": pytest.approx(percent, abs=0.05),
    }
    table = results_tables.overview(run)[-1]
    assert table.title.startswith("Foreground and background apart")
    assert [(row[1], float(row[4].removesuffix(" %"))) for row in table.rows] == [
        ("forward", 0),
        ("forward background", pytest.approx(percent, abs=0.05)),
        ("reverse", pytest.approx(own_percent, abs=0.05)),
        ("reverse background", pytest.approx(percent, abs=0.05)),
    ]


def test_a_class_that_loses_frames_fails_the_trial_of_both() -> None:
    run = measure(THROUGHPUT | {"background": "10%"}, background_loss_ratio=0.01)
    assert run.experiments[0].values == [0]
    assert "forward background: " in run.experiments[0].repetitions[0].reason


@pytest.mark.parametrize("procedure", ["latency", "single-tag-latency", "pdv", "ipdv"])
def test_delays_are_those_of_the_foreground(procedure: str) -> None:
    own = {"name": "e", "procedure": procedure, "rate": "20k"}
    mixed = measure(own | {"background": "10%"}, delay_spread_ns=0, forward_delay_ns=1000, background_loss_ratio=1.0)
    alone = measure(own, delay_spread_ns=0, forward_delay_ns=1000)
    assert mixed.experiments[0].repetitions[0].figures == alone.experiments[0].repetitions[0].figures


def in_ratio(run: RunRecord, permille: int) -> None:
    """Asserts that every pair of foreground and background streams has its frames in the exact ratio."""
    for repetition in run.experiments[0].repetitions:
        for trial in repetition.trials:
            planned = {stream.name: stream.planned for stream in trial.result.streams}
            for name, background in planned.items():
                if "background" in name:
                    own = planned[name.replace(" background", "")]
                    assert background * (1000 - permille) == own * permille


@settings(max_examples=25, deadline=None)
@given(permille=st.sampled_from([0, 1, 100, 500, 900]), buffer=st.integers(1000, 20_000), error=st.integers(1, 50))
def test_back_to_back_frames_are_whole_turns(permille: int, buffer: int, error: int) -> None:
    own = {"name": "e", "procedure": {"name": "back-to-back", "maximum_rate": "1M", "error": error}, "rate": "600k"}
    run = measure(own | {"background": f"{permille / 10}%"}, forwarding_fps=2 * 600_000, buffer_frames=buffer)
    in_ratio(run, permille)
    turn = {0: 1, 1: 1000, 100: 10, 500: 2, 900: 10}[permille]
    repetition = run.experiments[0].repetitions[0]
    burst = repetition.figures["burst"] or 0
    # Of a burst 40 % have to be buffered; both directions share the buffer.
    assert burst % turn == 0
    assert burst <= buffer / 2 / 0.4 + 1e-6 < burst + max(turn, error) + 1e-6
    assert repetition.upper_bound is not None
    assert burst < repetition.upper_bound <= burst + max(turn, error)


@settings(max_examples=15, deadline=None)
@given(
    share=st.sampled_from([0, 100, 500, 900]), limit=st.integers(20_000, 900_000), frames=st.sampled_from([2, 16, 64])
)
def test_bursts_are_of_both_classes_together(share: int, limit: int, frames: int) -> None:
    own = THROUGHPUT | {"procedure": {"name": "burst", "frames": frames}, "background": f"{share / 10}%"}
    # One burst of each direction fits in, and no frame more.
    run = measure(own, forwarding_fps=2 * limit, buffer_frames=2 * frames)
    in_ratio(run, share)
    assert run.experiments[0].values == [pytest.approx(limit, abs=600 + 2.1 * frames * limit / 10_000)]
    for trial in run.experiments[0].repetitions[0].trials:
        together = sum(stream.planned for stream in trial.result.streams) / 2
        assert together % frames == 0
        assert together >= 2 * frames


def test_a_burst_no_turn_of_which_gets_through_is_said_to_be_shorter() -> None:
    own = {"name": "e", "procedure": {"name": "back-to-back", "maximum_rate": "1M"}, "rate": "600k"}
    run = measure(own | {"background": "10%"}, forwarding_fps=2 * 600_000, buffer_frames=7)
    assert (run.experiments[0].repetitions[0].value, run.experiments[0].repetitions[0].upper_bound) == (0, 10)


def test_bursts_of_both_classes_that_do_not_fit_in_pass_at_no_rate() -> None:
    own = THROUGHPUT | {"procedure": {"name": "burst", "frames": 16}, "background": "10%"}
    assert measure(own, forwarding_fps=10**6, buffer_frames=31).experiments[0].values == [0]


@pytest.mark.parametrize("share", ["10%", "50%", "90%"])
def test_an_overload_costs_what_the_translated_flows_do(share: str) -> None:
    """The background has the same flows beside one foreground flow as beside many."""
    own = THROUGHPUT | {"procedure": "overload", "flows": 100, "background": share}
    run = measure(own, forwarding_fps=200_000, flow_cost=0.01)
    found = run.experiments[0].repetitions[0].figures
    assert (found["single"], found["many"]) == pytest.approx((100_000, 100_000 / 1.99), abs=600)


RECOVERY: dict[str, Any] = {"name": "e", "procedure": "system-recovery", "rate": "100k"}


@settings(max_examples=25, deadline=None)
@given(
    permille=st.sampled_from([0, 1, 100, 500, 900]),
    recovery_s=st.floats(0.02, 0.45),
    directions=st.sampled_from(["bidirectional", "forward", "reverse"]),
)
def test_system_recovery_is_that_of_both(permille: int, recovery_s: float, directions: str) -> None:
    own = RECOVERY | {"background": f"{permille / 10}%", "directions": directions}
    senders = 2 if directions == "bidirectional" else 1
    run = measure(own, forwarding_fps=100_000 * senders, recovery_time=recovery_s)
    in_ratio(run, permille)
    found = run.experiments[0].repetitions[0].figures
    # The class with more frames decides.
    assert found["recovery"] == pytest.approx(recovery_s, abs=2.1 / 55_000)
    for stream in ("forward", "reverse"):
        sent = directions in ("bidirectional", stream)
        assert found[f"recovery_{stream}"] == (pytest.approx(recovery_s, abs=2.1 / 55_000) if sent else None)
        assert found[f"overload_loss_{stream}"] == (pytest.approx(100 * (1 - 1 / 1.1), abs=0.1) if sent else None)
    streams = run.experiments[0].repetitions[0].trials[0].result.streams
    assert len(streams) == 2 * senders * (2 if permille else 1)
    assert sum(stream.intended_rate_fps for stream in streams) == pytest.approx(1.5 * 110_000 * senders)


def test_a_background_that_does_not_recover_has_no_recovery_time() -> None:
    run = measure(RECOVERY | {"background": "10%"}, code=4, forwarding_fps=200_000, background_loss_ratio=0.1)
    repetition = run.experiments[0].repetitions[0]
    assert repetition.figures["recovery"] is None
    assert "lost to the end, forward background, reverse background: raise" in repetition.reason


@pytest.mark.parametrize("share", ["10%", "50%", "90%"])
def test_a_reset_is_timed_by_the_foreground(share: str) -> None:
    own = {"name": "e", "procedure": {"name": "reset", "recovery": "1.5s"}, "rate": "10k", "background": share}
    run = measure(own, forwarding_fps=100_000, restart_time=0.4)
    repetition = run.experiments[0].repetitions[0]
    foreground_fps = 10_000 * (1 - float(share[:-1]) / 100)
    for stream in ("", "_forward", "_reverse"):
        assert repetition.figures[f"loss{stream}"] == pytest.approx(0.4, abs=1.1 / foreground_fps)
        assert repetition.figures[f"timestamps{stream}"] == pytest.approx(0.4, abs=2.1 / foreground_fps)
    lost = {stream.name: stream.lost for stream in repetition.trials[0].result.streams}
    assert lost["forward background"] == pytest.approx(0.4 * (10_000 - foreground_fps), abs=1.1)


def test_what_only_the_background_loses_to_the_end_is_no_reset_time() -> None:
    own = {"name": "e", "procedure": "reset", "rate": "10k", "background": "10%"}
    run = measure(own, code=4, forwarding_fps=100_000, restart_time=0.1, background_loss_ratio=0.5)
    repetition = run.experiments[0].repetitions[0]
    assert repetition.figures["loss"] is None
    assert "frames are lost to the end, forward background, reverse background" in repetition.reason


def test_the_report_states_it(tmp_path: Path) -> None:
    own = THROUGHPUT | {"background": "10%", "line_rate": "1Gbps"}
    assert run_plan(resolve(plan_of(own)), tmp_path / "run", RunListener()) == 0
    table = results_tables.rfc_form(RunReader(tmp_path / "run").run)[0]
    rows = {row[0]: row[1] for row in table.rows}
    assert rows["Background traffic"] == "10 % native IPv6, 1 of every 10 frames, 84 bytes"
    assert rows["Theoretical maximum"].startswith(f"{1e9 / 8 / (66 + 20):,.0f} frames/s")
    plan = resolve(plan_of(own))
    again = resolve(Plan.model_validate(plan.model_dump(mode="json", exclude_none=True)))
    assert again.experiments == plan.experiments


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"background": "33.33%"}, "33.33% is no share of at most 1000 frames"),
        ({"procedure": "connection-rate", "connections": "1k", "background": "10%"}, "connection-rate doesn't take it"),
        (
            {"background": {"share": "10%", "left": {"dut": "10.9.0.1/24", "tester": "10.9.0.2/24"}}},
            "must be two IPv6 addresses",
        ),
        (
            {"background": {"share": "10%", "left": {"dut": "2001:db8::1/64", "tester": "2001:db8::2/64"}}},
            "must not leak",
        ),
        (
            {
                "family": "ipv6",
                "background": {"share": "10%", "left": {"dut": "2001:2::9/64", "tester": "2001:2::8/64"}},
            },
            "is the experiment's own too",
        ),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(PlanProblems, match=wrong):
        resolve(plan_of(THROUGHPUT | fields))


def test_a_gateway_that_would_translate_it_too_is_refused() -> None:
    own = {"gateway": "nftables", "family": "ipv6", "connections": "1k", "phase1_rate": "10k", "background": "10%"}
    lab = plan_of(THROUGHPUT | own).model_dump(mode="json", exclude_none=True) | {"testbed": {"kind": "lab"}}
    with pytest.raises(PlanProblems, match="would translate the native IPv6 traffic too"):
        resolve(Plan.model_validate(lab))
