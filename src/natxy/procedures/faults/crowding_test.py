# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.engine.messages.results import Cause, StreamResult, TrialResult, Verdict
from natxy.procedures.faults.crowding import crowding
from natxy.results.dut_load import CoreLoad, DutLoad, InterfaceLoad

TIMES: dict[str, Any] = dict.fromkeys(("busy_s", "user_s", "system_s", "softirq_s", "irq_s", "steal_s", "idle_s"), 0.0)


def failed(lost: int = 22, cause: Cause = Cause.LOSS, verdict: Verdict = Verdict.FAIL, corrupt: int = 0) -> TrialResult:
    stream: dict[str, Any] = {"name": "validation", "planned": 500, "lost": lost, "corrupt": corrupt, "misrouted": 0}
    trial: dict[str, Any] = {"verdict": verdict, "cause": cause, "reason": "lost"}
    return TrialResult.model_construct(**trial, streams=[StreamResult.model_construct(**stream)])


def load(frames: int | None = 45_636, dropped: int | None = 4864, received: int = 478, lost: int = 22) -> DutLoad:
    """Returns what was measured while another program flooded a veth pair on the gateway's core."""
    interfaces = (
        InterfaceLoad(name="dut-left", received=0, sent=received),
        InterfaceLoad(name="dut-right", received=received, sent=0, lost={"rx_dropped": lost}),
    )
    return DutLoad(
        elapsed_s=0.69, cores=(CoreLoad(core=1, **TIMES, frames=frames, dropped=dropped),), interfaces=interfaces
    )


def test_frames_of_others_explain_what_the_queue_dropped() -> None:
    assert crowding(failed(), load()) == (
        "the kernel dropped 4,864 of 50,500 frames on the gateway's cores, most of them of other traffic: only "
        "500 came to the gateway"
    )


@pytest.mark.parametrize(
    "spent",
    [
        pytest.param(None, id="unknown"),
        pytest.param(load().model_copy(update={"interfaces": ()}), id="interfaces-unknown"),
        pytest.param(load(frames=None, dropped=None), id="queue-unknown"),
        pytest.param(load(dropped=21), id="the-queue-dropped-fewer"),
        pytest.param(load(frames=1900, dropped=100), id="as-many-as-the-gateway-may-cause"),
        pytest.param(load(received=45_000), id="a-gateway-that-sends-in-circles"),
    ],
)
def test_otherwise_the_loss_is_the_gateways(spent: DutLoad | None) -> None:
    assert crowding(failed(), spent) == ""


def test_only_lost_frames_are_explained() -> None:
    assert crowding(failed(verdict=Verdict.PASS), load()) == ""
    assert crowding(failed(cause=Cause.BACK_PRESSURE), load()) == ""
    assert crowding(failed(corrupt=1), load()) == ""
