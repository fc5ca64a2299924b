# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.dut.base import Gateway
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import LostFrame, StreamResult, TrialResult
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.model.timing import LAB_TIMING, RFC_TIMING
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.expiry import CONNECTIONS, expiry, oldest_missing, wait_s
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.run.run import run_plan

PHASE2: Final = {"connections": 20_000, "phase1_rate": 2500}
SEARCH: Final = {"search": {"min_rate": "5k", "max_rate": "40k", "error": "50%"}}


def plan_of(own: dict[str, Any], gateway: dict[str, Any]) -> Plan:
    experiment = {"name": "x", "repeat": 1, "gateway": {"driver": "simulated"} | gateway} | own
    return Plan.model_validate(
        {"name": "p", "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    )


def ended(folder: Path, own: dict[str, Any], gateway: dict[str, Any], code: int) -> ExperimentRecord:
    assert run_plan(resolve(plan_of(own, gateway)), folder, RunListener()) == code
    return RunReader(folder).run.experiments[0]


class Bed:
    plan_seed = 1

    def __init__(self, **gateway: Any) -> None:
        [self.experiment] = resolve(plan_of({"procedure": "throughput"} | PHASE2 | SEARCH, gateway)).experiments
        assert isinstance(self.experiment.gateway, SimulatedConfig)
        self.dut = SimulatedDut(self.experiment.gateway)
        self.engine = SimulatedEngine(self.dut)

    def gateway(self) -> AbstractContextManager[Gateway[Any]]:
        return nullcontext(SimulatedGateway(self.dut))


def lifetime_s(sentence: str) -> float:
    found = re.search(r"after about ([\d.]+) (m?s) without a frame", sentence)
    assert found, sentence
    return float(found[1]) * {"ms": 0.001, "s": 1}[found[2]]


def test_a_lifetime_that_the_longest_wait_hardly_exceeds_is_found() -> None:
    # So it is at the upper bound of a capacity.
    assert lifetime_s(expiry(Bed(lifetime="1990ms"), 2.0)) == pytest.approx(2, abs=0.05)


@settings(max_examples=200, deadline=None)
@given(waited_s=st.floats(0.6, 60), share=st.floats(0.05, 0.95))
def test_the_lifetime_is_estimated_from_the_oldest_that_are_missing(waited_s: float, share: float) -> None:
    sentence = expiry(Bed(lifetime=waited_s * share), waited_s)
    # To two digits, and to a hundredth of the longest wait and what the replies take.
    tolerated_s = (0.03 + 0.06 * share) * waited_s
    assert lifetime_s(sentence) == pytest.approx(waited_s * share, abs=tolerated_s)


def test_the_time_before_the_replies_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine, the tester begins late: connections live for 6 s, and replies begin 1 s after phase 1.
    bed = Bed(lifetime="6s")
    run_trial = bed.engine.run_trial

    def and_wait(request: TrialRequest) -> TrialResult:
        result = run_trial(request)
        bed.engine.elapsed_s += request.phase1
        return result

    monkeypatch.setattr(bed.engine, "run_trial", and_wait)
    assert lifetime_s(expiry(bed, 10)) == pytest.approx(6, abs=0.15)


@pytest.mark.parametrize(
    ("gateway", "waited_s"),
    [
        ({}, 10),
        ({"lifetime": "11.5s"}, 10),
        ({"lifetime": "20s"}, 10),
        ({"lifetime": "100ms"}, 0.4),
        # All are missing: replies do not come through at all.
        ({"reverse_loss_ratio": 1.0}, 10),
        ({"reverse_loss_ratio": 0.3}, 10),
        ({"table_capacity": CONNECTIONS - 1, "lifetime": "5s"}, 10),
        ({"table_policy": "lru", "table_capacity": 200}, 10),
    ],
)
def test_nothing_is_said_of_other_losses(gateway: dict[str, Any], waited_s: float) -> None:
    assert expiry(Bed(**gateway), waited_s) == ""


@pytest.mark.parametrize("phase1", [True, False], ids=["a connection", "a reply"])
@pytest.mark.parametrize(("times", "told"), [(1, True), (2, False)])
def test_a_frame_that_is_lost_by_accident_is_sent_again(
    monkeypatch: pytest.MonkeyPatch, *, phase1: bool, times: int, told: bool
) -> None:
    bed = Bed(lifetime="6s")
    run_trial = bed.engine.run_trial
    left = times

    def and_lose(request: TrialRequest) -> TrialResult:
        nonlocal left
        result = run_trial(request)
        if request.phase1 != phase1 or not left:
            return result
        left -= 1
        own = result.streams[0]
        one = LostFrame(sequence=1, due_s=0)
        return result.model_copy(update={"streams": [own.model_copy(update={"lost": own.lost + 1, "first_lost": one})]})

    monkeypatch.setattr(bed.engine, "run_trial", and_lose)
    assert bool(expiry(bed, 10)) == told


def test_a_gateway_that_cannot_be_emptied_tells_nothing() -> None:
    bed = Bed(lifetime="5s")
    bed.dut.table.collapsed = True
    with bed.gateway() as gateway, pytest.raises(DutError):
        gateway.clear()
    assert expiry(bed, 10) == ""


@pytest.mark.parametrize(
    ("lost", "first", "last", "missing"),
    [
        (40, 60, 99, 40),
        (38, 60, 99, 40),
        (37, 60, 99, 0),
        # The first replies, which are those of the newest connections: the gateway had to learn something.
        (4, 0, 3, 0),
        (40, 59, 98, 0),
        (100, 0, 99, 0),
        (0, None, None, 0),
    ],
)
def test_the_missing_ones_have_to_be_the_oldest(lost: int, first: int | None, last: int | None, missing: int) -> None:
    ends = [None if sequence is None else LostFrame(sequence=sequence, due_s=0) for sequence in (first, last)]
    counts: dict[str, Any] = {"planned": 100, "lost": lost, "first_lost": ends[0], "last_lost": ends[1]}
    replies = StreamResult.model_construct(**counts)
    assert oldest_missing(replies) == missing


def test_a_drain_that_does_not_end_early_is_waited_for() -> None:
    assert wait_s(LAB_TIMING, 20_000, 2500, 1) == pytest.approx(9 + LAB_TIMING.learning_pause)
    assert wait_s(RFC_TIMING, 20_000, 2500, 1) == pytest.approx(9 + 2 + RFC_TIMING.learning_pause)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"procedure": "throughput"} | PHASE2 | SEARCH, id="throughput"),
        pytest.param(
            {"procedure": "throughput"} | PHASE2 | {"search": {"kind": "mlrsearch"} | SEARCH["search"]}, id="mlrsearch"
        ),
        pytest.param({"procedure": {"name": "frame-loss-rate", "maximum_rate": "40k"}} | PHASE2, id="frame-loss-rate"),
        pytest.param({"procedure": "latency", "rate": "5k"} | PHASE2, id="latency"),
        pytest.param({"procedure": "pdv", "rate": "5k"} | PHASE2, id="pdv"),
        pytest.param({"procedure": "tear-down-rate"} | PHASE2, id="tear-down-rate"),
        pytest.param(
            {
                "procedure": "validated-connection-rate",
                "connections": 20_000,
                "search": {"max_rate": "3k", "min_rate": "1k"},
            },
            id="validated-connection-rate",
        ),
        pytest.param(
            {
                "procedure": {"name": "table-capacity", "initial_connections": 1000, "max_connections": 40_000},
                "search": {"min_rate": 2000, "max_rate": 2000},
            },
            id="table-capacity",
        ),
    ],
)  # fmt: skip
def test_no_procedure_has_a_figure_of_connections_that_expired(tmp_path: Path, own: dict[str, Any]) -> None:
    sound = ended(tmp_path / "sound", own, {}, code=0)
    assert sound.repetitions[0].value is not None
    # More than half are left when phase 1 ends, so that the count is believed.
    expired = ended(tmp_path / "expired", own, {"lifetime": "5s"}, code=4)
    assert expired.state is State.NO_RESULT
    assert expired.repetitions[0].value is None
    assert lifetime_s(expired.reason) == pytest.approx(5, rel=0.1)
    assert "raise the gateway's timeouts" in expired.reason


def test_the_oldest_tell_where_nothing_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedGateway, "count", lambda _: None)
    monkeypatch.setattr(SimulatedGateway, "timed_clear", lambda gateway: gateway.clear() or 0.0)
    own = {"procedure": "tear-down-rate"} | PHASE2
    kept = ended(tmp_path / "kept", own, {}, code=4)
    assert "the difference has to be" in kept.reason
    expired = ended(tmp_path / "expired", own, {"lifetime": "5s"}, code=4)
    assert "of the 100 connections established first had a reply; the connections expired after" in expired.reason


def test_a_rate_that_passes_needs_no_further_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.run.repetition.expiry", lambda *_: pytest.fail("connections were examined"))
    slow = ended(tmp_path / "run", {"procedure": "throughput"} | PHASE2 | SEARCH, {"forwarding_fps": 20_000}, code=0)
    assert slow.repetitions[0].value == pytest.approx(10_000, rel=0.5)
