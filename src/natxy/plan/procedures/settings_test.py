# SPDX-License-Identifier: Apache-2.0
"""Tests what follows from a procedure's settings: durations, rates and numbers of frames, and what they lack."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.procedures import DECLARATIONS, suppliers, takers
from natxy.plan.procedures.back_to_back import BackToBackConfig
from natxy.plan.procedures.base import MaximumRate, ProcedureDeclaration
from natxy.plan.procedures.binding_churn import BindingChurnConfig
from natxy.plan.procedures.burst import BurstConfig
from natxy.plan.procedures.frame_loss_rate import FrameLossRateConfig
from natxy.plan.procedures.latency import LatencyConfig, SingleTagLatencyConfig
from natxy.plan.procedures.reset import ResetConfig, ResetKind
from natxy.plan.procedures.system_recovery import SystemRecoveryConfig
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig, line_goodput_bps
from natxy.plan.procedures.throughput import ThroughputConfig

TRIAL_S = 10.0


@pytest.mark.parametrize(
    ("procedure", "traffic_s"),
    [
        (ThroughputConfig(), 10),
        (LatencyConfig(), 20),
        (LatencyConfig(warm_up=3), 13),
        (LatencyConfig(warm_up=0), 10),
        (SingleTagLatencyConfig(tagging=4), 14),
        (SingleTagLatencyConfig(warm_up=3, tagging=4), 7),
        (ResetConfig(), 20),
        (ResetConfig(steady=3), 13),
        (ResetConfig(recovery=4), 14),
        (SystemRecoveryConfig(), 20),
        (SystemRecoveryConfig(recovery=4), 14),
        (TcpGoodputConfig(), 10),
        (TcpGoodputConfig(duration=7), 7),
        (BackToBackConfig(maximum_rate=1000), 2),  # RFC 2544 §26.4
        (BackToBackConfig(maximum_rate=1000, longest_burst=500), 0.5),
    ],
)
def test_how_long_the_traffic_of_a_trial_lasts(procedure: ProcedureDeclaration, traffic_s: float) -> None:
    assert procedure.traffic_s(TRIAL_S) == pytest.approx(traffic_s)


def test_the_longest_burst_has_the_frames_that_two_seconds_hold() -> None:
    assert BackToBackConfig(maximum_rate=1000).longest_frames == 2000
    assert BackToBackConfig(maximum_rate=1000.2).longest_frames == 2001
    assert BackToBackConfig(maximum_rate=1000, longest_burst=7).longest_frames == 7


@pytest.mark.parametrize(
    ("step", "percents"),
    [(10, [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]), (7.5, [100 - 7.5 * number for number in range(14)])],
)
def test_the_loss_is_measured_at_every_step_above_0_percent(step: float, percents: list[float]) -> None:
    assert FrameLossRateConfig(step_percent=step).offered_percents() == pytest.approx(percents)


@pytest.mark.parametrize("tenths", range(1, 101))
def test_the_last_step_is_above_0_percent_but_no_further_than_a_step(tenths: int) -> None:
    percents = FrameLossRateConfig(step_percent=tenths / 10).offered_percents()
    assert percents[0] == 100
    assert 1e-6 < percents[-1] <= tenths / 10 + 1e-6


def test_the_gap_between_bursts_is_what_a_period_has_beside_the_burst() -> None:
    assert BurstConfig(frames=100).gap_s(1000) == pytest.approx(0.1)
    assert BurstConfig(frames=100, maximum_rate=4000).gap_s(1000) == pytest.approx(0.075)
    assert BurstConfig(frames=100, maximum_rate=1000).gap_s(1000.0001) == 0, "rounding makes no gap negative"


def test_an_overload_is_110_percent_of_the_throughput_or_what_the_medium_carries() -> None:
    assert SystemRecoveryConfig().overload_fps(1000) == pytest.approx(1100)
    assert SystemRecoveryConfig(maximum_rate=1200).overload_fps(1000) == pytest.approx(1100)
    assert SystemRecoveryConfig(maximum_rate=1050).overload_fps(1000) == 1050


def test_a_segment_of_1448_bytes_takes_1538_bytes_of_the_line() -> None:
    # RFC 879, RFC 7323: 1500 bytes without the headers of IPv4 and TCP and its time stamps.
    assert line_goodput_bps(1e9, 1518, 20) == pytest.approx(1e9 * 1448 / 1538)
    assert line_goodput_bps(1e9, 1518, 40) == pytest.approx(1e9 * 1428 / 1538)


@pytest.mark.parametrize("name", [name for name, each in DECLARATIONS.items() if issubclass(each, MaximumRate)])
def test_a_maximum_rate_is_the_plans_or_else_the_lines(name: str) -> None:
    declaration = DECLARATIONS[name]
    assert issubclass(declaration, MaximumRate)
    without = declaration.model_validate({})
    needs = name in {"frame-loss-rate", "receive-rate", "back-to-back"}
    assert without.lacks_maximum_rate == needs
    for given, rate in ((without, 5000), (declaration.model_validate({"maximum_rate": 3000}), 3000)):
        on_a_line = given.with_line_rate(5000)
        assert isinstance(on_a_line, MaximumRate)
        assert (on_a_line.maximum_fps, on_a_line.lacks_maximum_rate) == (rate, False)


def test_who_takes_and_who_supplies_a_field() -> None:
    assert takers("rate") == [
        "latency", "single-tag-latency", "pdv", "ipdv", "back-to-back", "system-recovery", "reset",
        "binding-check", "binding-churn", "port-set", "ageing", "fill",
    ]  # fmt: skip
    assert takers("frame_size") == [], "a field of all procedures"
    assert suppliers("rate") == ["throughput", "ndr-pdr"]
    assert suppliers("phase1_rate") == ["connection-rate", "validated-connection-rate", "tcp-connection-rate"]
    assert suppliers("alpha") == []


@pytest.mark.parametrize(
    ("declaration", "accepted", "refused", "complaint"),
    [
        (
            TableCapacityConfig,
            {"initial_connections": 500, "max_connections": 500},
            {"initial_connections": 501, "max_connections": 500},
            r"initial_connections \(501\) must not be above max_connections \(500\)",
        ),
        (
            ResetConfig,
            {"kind": ResetKind.POWER, "command": ["pdu", "off"]},
            {"kind": ResetKind.POWER},
            "a reset of kind power needs the `command`",
        ),
    ],
)
def test_settings_that_contradict_each_other(
    declaration: type[ProcedureDeclaration], accepted: dict[str, Any], refused: dict[str, Any], complaint: str
) -> None:
    declaration.model_validate(accepted)
    with pytest.raises(ValidationError, match=complaint):
        declaration.model_validate(refused)


@pytest.mark.parametrize(
    ("declaration", "setting"),
    [
        (LatencyConfig, "tagging"), (ResetConfig, "command_timeout"), (ResetConfig, "steady"),
        (ResetConfig, "recovery"), (BindingChurnConfig, "steady"), (SystemRecoveryConfig, "recovery"),
    ],
)  # fmt: skip
def test_a_time_without_which_nothing_is_measured_is_above_0(
    declaration: type[ProcedureDeclaration], setting: str
) -> None:
    assert getattr(declaration.model_validate({setting: "1ms"}), setting) == 0.001
    with pytest.raises(ValidationError, match="greater than 0"):
        declaration.model_validate({setting: 0})


@pytest.mark.parametrize("declaration", [ThroughputConfig, FrameLossRateConfig])
def test_a_frame_timeout_is_at_least_a_microsecond(declaration: type[ThroughputConfig | FrameLossRateConfig]) -> None:
    assert declaration().frame_timeout_s is None
    assert declaration.model_validate({"frame_timeout": "1us"}).frame_timeout_s == 1e-6
    with pytest.raises(ValidationError, match="expected at least 1us"):
        declaration.model_validate({"frame_timeout": "0.99us"})


def test_a_goodput_is_measured_for_whole_seconds() -> None:
    assert TcpGoodputConfig.model_validate({"duration": 1}).duration == 1
    for duration in (0, 1.5):
        with pytest.raises(ValidationError):
            TcpGoodputConfig.model_validate({"duration": duration})


def test_a_command_on_the_dut_is_a_setting_of_its_own() -> None:
    assert ResetConfig().dut_command_field is None
    assert ResetConfig(command=["reboot"]).dut_command_field == "command"
    assert ThroughputConfig().dut_command_field is None
    assert (TableCapacityConfig(max_connections=20_000).most_connections, ThroughputConfig().most_connections) == (
        20_000, None,
    )  # fmt: skip


def test_procedures_are_listed_by_topic() -> None:
    assert [*DECLARATIONS] == [
        "throughput", "ndr-pdr", "frame-loss-rate", "receive-rate", "frame-cost", "latency", "single-tag-latency",
        "pdv", "ipdv", "overload", "back-to-back", "burst", "system-recovery", "reset", "connection-rate",
        "validated-connection-rate", "tear-down-rate", "table-capacity", "binding-check", "binding-churn", "port-set",
        "tcp-connection-rate", "churn", "ageing", "fill", "tcp-goodput", "dns64-rate",
    ]  # fmt: skip
