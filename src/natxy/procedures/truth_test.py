# SPDX-License-Identifier: Apache-2.0
"""Every procedure against gateways in virtual time whose limits are drawn at random: all its figures are the model's.

A new procedure adds its `Truth` below, and to GATEWAYS the fields of the simulated gateway that it measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from natxy.engine.simulation.delays import PERIOD
from natxy.events.listener import RunListener
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.procedures.fill import FILLS_PERCENT
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.run import run_plan
from tests.support.delay_truths import (
    KNOWN_RATE,
    TRIAL_S,
    Figures,
    both,
    delay_models,
    ipdv,
    latency,
    pdv,
    single_tag_latency,
    smallest_with_share,
)

ERROR: Final = 500
SEARCH: Final = {"min_rate": "1k", "max_rate": "1M", "error": ERROR}
FLOWS: Final = 1001
MAXIMUM: Final = 800_000
BURST: Final = 64
PARTIAL_LOSS: Final = 0.02
LIFETIME_S: Final = 0.005
LONGEST_S: Final = 5.0
AGEING: Final = 500
FILLING: Final = 10_000
PORT_SET: Final = {"psid": 1, "psid_length": 8}

GATEWAYS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "forwarding_fps": st.floats(min_value=100_000, max_value=1.5e6),
    "connection_rate_fps": st.floats(min_value=5000, max_value=900_000),
    "table_capacity": st.integers(min_value=20_000, max_value=500_000),
    "table_policy": st.sampled_from(TablePolicy),
    "tear_down_rate": st.floats(min_value=1e4, max_value=1e7),
    "clear_time": st.just(0.0) | st.floats(1e-9, 2),
    "forward_delay_ns": st.integers(min_value=0, max_value=1_000_000),
    "reverse_delay_ns": st.integers(min_value=0, max_value=1_000_000),
    "delay_spread_ns": st.integers(min_value=0, max_value=1_000_000),
}


@dataclass(frozen=True)
class Truth:
    """The results that a procedure must have against a gateway model.

    `figures` returns the value of every figure that the procedure declares. `experiment` is the experiment of the plan,
    without its name, gateway and search. `gateway` has settings that would disturb other procedures. `curve`, if given,
    returns the value of every curve at x. `over_connections` has the figures that differ over established connections.
    With `at_softwire`, the gateway is the core of softwires whose edge the
    tester plays; with `is_dns64`, it is a DNS64 server.
    """

    figures: Callable[[SimulatedConfig], Figures]
    experiment: dict[str, Any] = field(default_factory=dict)
    gateway: dict[str, st.SearchStrategy[Any]] = field(default_factory=dict)
    curve: Callable[[SimulatedConfig, float], object] | None = None
    over_connections: Callable[[SimulatedConfig], Figures] = field(default=lambda _: {})
    at_softwire: bool = False
    is_dns64: bool = False


def throughput(gateway: SimulatedConfig) -> Figures:
    return {"rate": found(gateway.forwarding_fps / 2)}


def ndr_pdr(gateway: SimulatedConfig) -> Figures:
    """The gateway loses what exceeds its rate."""
    lossless_fps = gateway.forwarding_fps / 2
    return {"rate": found(lossless_fps), "partial_drop_rate": found(lossless_fps / (1 - PARTIAL_LOSS))}


def frame_loss_rate(gateway: SimulatedConfig) -> Figures:
    limit_fps = gateway.forwarding_fps / 2
    offered = [MAXIMUM * percent / 100 for percent in range(10, 101, 10)]
    loss = loss_percent(gateway, 100)
    lossless = max((rate for rate in offered if rate <= limit_fps), default=0)
    return {"lossless_rate": pytest.approx(lossless)} | both("loss_at_maximum", loss, loss)


def frame_cost(gateway: SimulatedConfig) -> Figures:
    each = gateway.frame_instructions
    assert each
    return {
        "instructions": pytest.approx(each, abs=1),
        "single": pytest.approx(each, abs=1),
        "connection": None,
        "cycles": None,
        "background": pytest.approx(gateway.idle_instructions, rel=1e-3, abs=2000),
    }


def connection_cost(gateway: SimulatedConfig) -> Figures:
    each = gateway.frame_instructions
    assert each
    return {"connection": pytest.approx(each + gateway.connection_instructions, rel=1e-3, abs=1)}


def receive_rate(gateway: SimulatedConfig) -> Figures:
    # A frame may be delayed by up to 1 ms longer than the fastest.
    rate_fps = min(gateway.forwarding_fps / 2, MAXIMUM)
    truth = pytest.approx(rate_fps, rel=1.1e-3 / TRIAL_S)
    offered = {"offered_load": pytest.approx(MAXIMUM), "core_speed": None}
    return {"receive_rate": truth} | both("receive_rate", truth, truth) | offered


def loss_percent(gateway: SimulatedConfig, offered_percent: float) -> object:
    """Returns the loss of a trial, which counts whole frames."""
    offered_fps = MAXIMUM * offered_percent / 100
    truth = max(0.0, 1 - gateway.forwarding_fps / 2 / offered_fps)
    return pytest.approx(100 * truth, abs=100 * 1.001 / (offered_fps * TRIAL_S))


def overload(gateway: SimulatedConfig) -> Figures:
    single = gateway.forwarding_fps / 2
    many = single / (1 + gateway.flow_cost * (FLOWS - 1))
    degradation = pytest.approx(100 * (1 - many / single), abs=100 * 2 * ERROR / single)
    return {"degradation": degradation, "single": found(single), "many": found(many)}


def back_to_back(gateway: SimulatedConfig) -> Figures:
    """Each direction has half of the buffer, which fills with the frames that are not forwarded at once."""
    burst = gateway.buffer_frames / 2 / (1 - gateway.forwarding_fps / 2 / MAXIMUM)
    not_forwarded = 1 - KNOWN_RATE / MAXIMUM
    return {
        "burst": pytest.approx(burst, abs=1.001),
        "implied_buffer": pytest.approx(burst / MAXIMUM, abs=1.001 / MAXIMUM),
        "corrected_buffer": pytest.approx(burst / MAXIMUM * not_forwarded, abs=1.001 / MAXIMUM),
    }


def burst(gateway: SimulatedConfig) -> Figures:
    """The buffer holds one burst of both directions; the next may follow once that is forwarded."""
    limit_fps = gateway.forwarding_fps / 2
    # The last burst of a trial need not be forwarded within it.
    error = ERROR + 3 * BURST
    gap_ns = 1e9 * BURST / limit_fps
    return {"rate": pytest.approx(limit_fps, abs=error), "gap": pytest.approx(gap_ns, rel=1.1 * error / limit_fps)}


def system_recovery(gateway: SimulatedConfig) -> Figures:
    overload_fps = 1.1 * gateway.forwarding_fps / 2
    time_s = pytest.approx(gateway.recovery_time, abs=2.1 / overload_fps)
    loss = pytest.approx(100 * (1 - 1 / 1.1), abs=0.1)
    return {"recovery": time_s} | both("recovery", time_s, time_s) | both("overload_loss", loss, loss)


def reset(gateway: SimulatedConfig) -> Figures:
    time_s = pytest.approx(gateway.restart_time, abs=2.1 / KNOWN_RATE)
    return {
        name: time_s for method in ("loss", "timestamps") for name in (method, f"{method}_forward", f"{method}_reverse")
    }


def connection_rate(gateway: SimulatedConfig) -> Figures:
    return {"rate": found(min(gateway.connection_rate_fps, gateway.forwarding_fps))}


def tear_down_rate(gateway: SimulatedConfig) -> Figures:
    net_s = 5000 / gateway.tear_down_rate
    return {
        "rate": pytest.approx(gateway.tear_down_rate, rel=1e-6),
        "full": pytest.approx(gateway.clear_time + net_s),
        "empty": pytest.approx(gateway.clear_time),
        "net": pytest.approx(net_s, abs=1e-12),
    }


def table_capacity(gateway: SimulatedConfig) -> Figures:
    capacity = gateway.table_capacity
    safe = 1000 * 2 ** int(math.log2(capacity / 1000))
    rate = connection_rate(gateway)["rate"]
    return {"capacity": capacity, "c0": 1000, "r0": rate, "cs": safe, "rs": rate, "ct": 2 * safe}


def binding_check(gateway: SimulatedConfig) -> Figures:
    """The spoofed frames, a tenth of those of one direction, take room like any others."""
    limit_fps = gateway.forwarding_fps / 2
    beside_fps = limit_fps / 1.05
    frames = KNOWN_RATE * TRIAL_S / 10
    error = 100 * 2.1 * ERROR / limit_fps
    return {
        "passed": pytest.approx(100 * gateway.spoofed_ratio, abs=100 * 1.001 / frames),
        "spoofed": frames,
        "lost_alone": 0,
        "lost_beside": 0,
        "rate_alone": found(limit_fps),
        "rate_beside": found(beside_fps),
        "cost": pytest.approx(100 * (1 - 1 / 1.05), abs=error),
    }


def binding_churn(gateway: SimulatedConfig) -> Figures:
    """A quarter of 256 subscribers are old, and a quarter new. Frames count by whole ones."""
    old_fps = KNOWN_RATE / 4
    in_force_s = max(gateway.binding_delay, gateway.binding_outage)
    lost = pytest.approx(in_force_s * old_fps, abs=1.1)
    late_s = pytest.approx(gateway.binding_delay, abs=1.1 / old_fps)
    passed = gateway.binding_delay - max(gateway.binding_time, gateway.binding_outage)
    last_s = 0 if gateway.binding_outage >= gateway.binding_delay else late_s
    return {
        "unchanged_lost": pytest.approx(2 * gateway.binding_outage * 2 * old_fps, abs=2.1),
        "change": pytest.approx(gateway.binding_time),
        "bindings": pytest.approx(128 / gateway.binding_time) if gateway.binding_time else None,
    } | {
        f"{name}_{direction}": value
        for direction in ("forward", "reverse")
        for name, value in {
            "old_passed": pytest.approx(max(0, passed) * old_fps, abs=2.1),
            "old_time": pytest.approx(last_s, abs=1.1 / old_fps) if last_s == 0 else last_s,
            "new_lost": lost,
            "new_time": pytest.approx(in_force_s, abs=1.1 / old_fps),
            "new_whole": pytest.approx(in_force_s, abs=1.1 / old_fps),
        }.items()
    }


def port_set(gateway: SimulatedConfig) -> Figures:
    """Each port has one connection to each destination, and 63 ranges have 4 ports each (RFC 7597 §5.1)."""
    ranges = 1 if gateway.first_range_only else 63
    ports = 4 * ranges + gateway.ports_outside
    return {
        "connections": ports,
        "several": 4 * ports,
        "ports": pytest.approx(100 * ranges / 63),
        "ranges": pytest.approx(100 * ranges / 63),
        "outside": 5 * gateway.ports_outside,
    }


def tcp_connection_rate(gateway: SimulatedConfig) -> Figures:
    """Each connection has eight segments, of all of which the gateway forwards so many."""
    return {"rate": found(min(gateway.connection_rate_fps, gateway.forwarding_fps / 8))}


SOME_LOSS = pytest.approx(50, abs=50)


def churn(gateway: SimulatedConfig) -> Figures:
    """Each connection has four frames, and is then idle until it expires."""
    rate = min(gateway.connection_rate_fps, gateway.forwarding_fps / 4)
    forward_ns, reverse_ns = (
        pytest.approx(least + gateway.delay_spread_ns / 2, abs=1 + gateway.delay_spread_ns / PERIOD)
        for least in (gateway.forward_delay_ns, gateway.reverse_delay_ns)
    )
    return {
        "rate": found(rate),
        "entries": None,
        # As exact as the rate.
        "expected_entries": pytest.approx(rate * LIFETIME_S, abs=2 * ERROR * LIFETIME_S),
        "delay_new": forward_ns,
        "delay_old": reverse_ns if gateway.reverse_delay_ns > gateway.forward_delay_ns else forward_ns,
        **dict.fromkeys(("loss_new", "loss_old"), SOME_LOSS),
    }


def ageing(gateway: SimulatedConfig) -> Figures:
    assert gateway.lifetime
    near = pytest.approx(gateway.lifetime, abs=1.1 * LONGEST_S / AGEING)
    return dict.fromkeys(("lifetime", "youngest_gone", "oldest_kept"), near)


def fill(gateway: SimulatedConfig) -> Figures:
    """The table refuses what it cannot hold, and delays no frame."""
    held = min(FILLING, gateway.table_capacity)
    near = pytest.approx(gateway.forward_delay_ns + gateway.delay_spread_ns / 2, abs=1 + 0.06 * gateway.delay_spread_ns)
    # No frame arrives of the connections that are refused.
    return {
        "refused": FILLING - held,
        "forgotten": 0,
        "refused_from": 100 * held / FILLING if held < FILLING else None,
    } | {f"delay_{percent}": near if percent < 100 * held / FILLING else None for percent in FILLS_PERCENT}


def dns64_rate(gateway: SimulatedConfig) -> Figures:
    """Queries come from one side alone, and enough of them have each delay of the model."""
    delays = [model.of(frame) for model in delay_models(gateway)[:1] for frame in range(PERIOD)]
    typical, slow = (smallest_with_share(delays, share) for share in (0.5, 0.99))
    near_ns = 1 + gateway.delay_spread_ns / 50
    return {
        "rate": found(gateway.forwarding_fps),
        "delay_median": pytest.approx(typical, abs=near_ns),
        "delay_p99": pytest.approx(slow, abs=near_ns),
    }


def tcp_goodput(gateway: SimulatedConfig) -> Figures:
    """Two frames with a segment each are followed by one that acknowledges both."""
    both_bps = gateway.forwarding_fps * 2 / 3 * 8 * 1448
    share = pytest.approx(100 * both_bps / 2 / (10e9 * 1448 / 1538))
    one_bps = pytest.approx(both_bps / 2)
    figures = {"goodput": pytest.approx(both_bps), "line_share": share}
    return figures | both("goodput", one_bps, one_bps) | both("retransmits", 0, 0)


TRUTHS: Final[dict[str, Truth]] = {
    "throughput": Truth(throughput),
    "ndr-pdr": Truth(ndr_pdr, {"procedure": {"name": "ndr-pdr", "partial_loss": f"{PARTIAL_LOSS:.0%}"}}),
    "frame-loss-rate": Truth(
        frame_loss_rate, {"procedure": {"name": "frame-loss-rate", "maximum_rate": MAXIMUM}}, curve=loss_percent
    ),
    "receive-rate": Truth(
        receive_rate, {"procedure": {"name": "receive-rate", "maximum_rate": MAXIMUM, "trials": 2}}
    ),
    "frame-cost": Truth(
        frame_cost,
        {"procedure": {"name": "frame-cost", "rounds": 2, "burst": BURST}},
        {
            "frame_instructions": st.integers(1, 50_000),
            "connection_instructions": st.integers(0, 50_000),
            "idle_instructions": st.integers(0, 10_000_000),
            "buffer_frames": st.just(1000),
        },
        over_connections=connection_cost,
    ),
    "latency": Truth(
        latency, {"procedure": {"name": "latency", "tagged_frames": 2 * PERIOD}, "rate": KNOWN_RATE}
    ),
    "single-tag-latency": Truth(single_tag_latency, {"rate": KNOWN_RATE}),
    "back-to-back": Truth(
        back_to_back,
        {"procedure": {"name": "back-to-back", "maximum_rate": MAXIMUM, "longest_burst": 10**7}, "rate": KNOWN_RATE},
        {"buffer_frames": st.integers(min_value=10, max_value=20_000)},
    ),
    "pdv": Truth(pdv, {"rate": KNOWN_RATE}),
    "ipdv": Truth(ipdv, {"rate": KNOWN_RATE}),
    "overload": Truth(overload, {"flows": FLOWS}, {"flow_cost": st.floats(min_value=0, max_value=0.01)}),
    "burst": Truth(
        burst, {"procedure": {"name": "burst", "frames": BURST}}, {"buffer_frames": st.just(2 * BURST)}
    ),
    "system-recovery": Truth(
        system_recovery,
        {"rate": 100_000},
        {"forwarding_fps": st.just(200_000), "recovery_time": st.floats(min_value=0.001, max_value=0.45)},
    ),
    "reset": Truth(reset, {"rate": KNOWN_RATE}, {"restart_time": st.floats(min_value=0.001, max_value=0.2)}),
    "connection-rate": Truth(connection_rate, {"connections": 20_000}),
    "validated-connection-rate": Truth(connection_rate, {"connections": 20_000, "alpha": 0.4}),
    "tear-down-rate": Truth(tear_down_rate, {"connections": 5000, "phase1_rate": 1000}),
    "table-capacity": Truth(
        table_capacity, {"procedure": {"name": "table-capacity", "initial_connections": 1000}, "alpha": 1.0}
    ),
    "binding-check": Truth(
        binding_check, {"rate": KNOWN_RATE}, {"spoofed_ratio": st.floats(0, 1)}, at_softwire=True
    ),
    "binding-churn": Truth(
        binding_churn,
        {"rate": KNOWN_RATE, "subscribers": {}},
        {
            "binding_time": st.just(0.0) | st.floats(0.001, 0.1),
            "binding_delay": st.just(0.0) | st.floats(0.001, 0.2),
            "binding_outage": st.just(0.0) | st.floats(0.001, 0.2),
        },
        at_softwire=True,
    ),
    "port-set": Truth(
        port_set,
        {"procedure": {"name": "port-set", "port_set": PORT_SET}, "rate": 1000},
        {"port_set": st.just(PORT_SET), "first_range_only": st.booleans(), "ports_outside": st.integers(0, 20)},
    ),
    "tcp-connection-rate": Truth(tcp_connection_rate, {"connections": 20_000, "protocol": "tcp"}),
    "churn": Truth(
        churn,
        {
            "procedure": {"name": "churn", "step": 0.001, "age": 0.005, "lifetime": LIFETIME_S},
            "connections": 25_000,
        },
        # No more than are alive at once at the highest rate, and a gateway that keeps connections holds too few.
        {"table_capacity": st.just(12_000), "lifetime": st.just(LIFETIME_S)},
    ),
    "ageing": Truth(
        ageing,
        {"procedure": {"name": "ageing", "longest": LONGEST_S}, "connections": AGEING, "rate": 1000},
        {"lifetime": st.floats(min_value=0.5, max_value=LONGEST_S - 1)},
    ),
    "fill": Truth(
        fill,
        {"connections": FILLING, "rate": 1000},
        {"table_capacity": st.sampled_from([4400, 9400, 10_000, 20_000]), "table_policy": st.just(TablePolicy.KEEP)},
    ),
    "tcp-goodput": Truth(tcp_goodput, {"line_rate": "10Gbps"}),
    "dns64-rate": Truth(
        dns64_rate,
        {"family": "ipv6", "timing": {"drain": "1s"}},
        {"forwarding_fps": st.floats(min_value=100_000, max_value=900_000)},
        is_dns64=True,
    ),
}  # fmt: skip


def cases() -> Iterator[Any]:
    """Yields every procedure, and each that can run over established connections a second time with them."""
    for name, declaration in DECLARATIONS.items():
        yield pytest.param(name, False, id=name)
        if not declaration.stateful and "phase1_rate" in declaration.takes:
            yield pytest.param(name, True, id=f"{name}, phase 2")


@pytest.mark.parametrize(("procedure", "phase2"), [*cases()])
# Shrinking takes minutes, and says no more: one drawn gateway is as good as another.
@settings(max_examples=10, phases=[Phase.generate])
@given(data=st.data())
def test_finds_the_models_truth(procedure: str, phase2: bool, data: st.DataObject) -> None:
    truth = TRUTHS.get(procedure)
    assert truth, f"{procedure} is not proven to find the truth: add its Truth to {Path(__file__).name}"
    drawn = data.draw(st.fixed_dictionaries(GATEWAYS | truth.gateway))
    gateway = SimulatedConfig.model_validate(drawn)
    expected = truth.figures(gateway) | (truth.over_connections(gateway) if phase2 else {})
    assert set(expected) == {figure.name for figure in DECLARATIONS[procedure].figures}
    with TemporaryDirectory() as folder:
        assert run_plan(plan_of(procedure, drawn, phase2=phase2), Path(folder) / "run", RunListener()) == 0
        repetition = RunReader(Path(folder) / "run").run.experiments[0].repetitions[0]
    assert repetition.figures == expected
    if truth.curve:
        assert len(repetition.curves) == 2
        for x, y in (point for curve in repetition.curves for point in curve.points):
            assert y == truth.curve(gateway, x)


def plan_of(procedure: str, gateway: dict[str, Any], /, *, phase2: bool, **others: Any) -> ResolvedPlan:
    """Returns a plan that runs the procedure once, as its Truth describes, with `others` of an experiment's fields."""
    experiment = {"procedure": procedure} | TRUTHS[procedure].experiment
    if phase2:
        experiment |= {"connections": experiment.pop("flows", 5000), "phase1_rate": 1000}
    if "search" in DECLARATIONS[procedure].takes:
        experiment["search"] = SEARCH
    model: dict[str, Any] = {"driver": "simulated"} | gateway
    if TRUTHS[procedure].is_dns64:
        model |= {"dns64": "64:ff9b::/96"}
    if TRUTHS[procedure].at_softwire:
        model = {"driver": "chain", "gateways": ["tester", model]}
    whole = {"name": "x", "gateway": model, "max_invalid": 1} | experiment | others
    timing = {"preset": "lab", "trial": TRIAL_S}
    head = {"name": "p", "repeat": 1, "timing": timing, "testbed": {"kind": "simulated"}}
    return resolve(Plan.model_validate(head | {"experiments": [whole]}))


def found(rate: float) -> object:
    """Returns the rate that a search finds: whole frames are counted, in half a second or of 20,000 connections."""
    return pytest.approx(min(rate, 1e6), abs=ERROR + max(2.1, rate / 20_000))
