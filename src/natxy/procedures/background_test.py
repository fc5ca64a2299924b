# SPDX-License-Identifier: Apache-2.0
"""Background traffic in virtual time: shares, what each class loses, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages import Side, StreamKind
from natxy.plan.models import Plan
from natxy.plan.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.procedures.listener import RunListener
from natxy.procedures.runner import run_plan
from natxy.procedures.streams import neighbors_request, traffic_request
from natxy.report import results_tables
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord

THROUGHPUT: dict[str, Any] = {"name": "e", "procedure": "throughput", "search": {"max_rate": "1M", "error": 500}}


def plan_of(experiment: dict[str, Any], **gateway: Any) -> Plan:
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}}
    return Plan.model_validate(head | {"experiments": [{"gateway": {"driver": "simulated"} | gateway} | experiment]})


def measure(experiment: dict[str, Any], **gateway: Any) -> RunRecord:
    with TemporaryDirectory() as folder:
        assert run_plan(resolve(plan_of(experiment, **gateway)), Path(folder) / "run", RunListener()) == 0
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


def test_the_report_states_it(tmp_path: Path) -> None:
    own = THROUGHPUT | {"background": "10%", "line_rate": "1Gbps"}
    assert run_plan(resolve(plan_of(own)), tmp_path / "run", RunListener()) == 0
    table = results_tables.rfc_form(RunReader(tmp_path / "run").run)[0]
    rows = {row[0]: row[1] for row in table.rows}
    assert rows["Background traffic"] == "10 % native IPv6, 1 of every 10 frames, 84 bytes"
    assert rows["Theoretical maximum"].startswith(f"{1e9 / 8 / (66 + 20):,.0f} frames/s")
    plan = resolve(plan_of(own))
    again = resolve(Plan.model_validate(plan.model_dump(mode="json", exclude_none=True, exclude={"deviations"})))
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
