# SPDX-License-Identifier: Apache-2.0
"""Tests what a trial of a system recovery asks for and says; `recovery_test.py` measures whole ones in virtual time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.results import Cause, LostFrame, StreamResult, TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.procedures.common.traffic_test import plan_of
from natxy.procedures.registry import procedure_of
from natxy.procedures.system_recovery import _recovered, _request


def experiment(trial_s: float = 0.5, **own: Any) -> Experiment:
    given = {"name": "recovery", "procedure": {"name": "system-recovery"}, "rate": 1000} | own
    return resolve(plan_of(given, timing={"preset": "lab", "trial": trial_s})).experiments[0]


def test_every_stream_goes_on_at_half_the_rate_when_the_overload_ends() -> None:
    request = _request(experiment(2.0), 1100.0, 3.0, seed=1)
    names = [stream.name for stream in request.streams]
    assert names == ["forward", "forward at half the rate", "reverse", "reverse at half the rate"]
    assert [stream.rate_fps for stream in request.streams] == [1100, 550] * 2
    assert [stream.frames for stream in request.streams] == [2200, 1650] * 2
    assert [stream.start_s for stream in request.streams] == [0, 2] * 2
    overload, afterwards = request.streams[:2]
    assert 1 - 1e-8 < overload.max_loss_ratio < 1
    assert overload.max_loss_ratio == pytest.approx(1 - 1e-9, abs=1e-12)
    assert afterwards.max_loss_ratio == 0
    assert {stream.frames for stream in _request(experiment(), 1.0, 0.1, seed=1).streams} == {1}


def test_background_traffic_stays_interleaved_with_its_own_half() -> None:
    request = _request(experiment(background="25%"), 1100.0, 3.0, seed=1)
    interleaved = {stream.name: stream.interleaved_with for stream in request.streams}
    late = {name: other for name, other in interleaved.items() if name.endswith(" at half the rate")}
    assert len(late) == len(interleaved) // 2
    for name, other in late.items():
        before = interleaved[name.removesuffix(" at half the rate")]
        assert other == (before and f"{before} at half the rate")
    assert any(late.values())


def stream(name: str, lost: int = 0, last: tuple[int, float] | None = None, planned: int = 1000) -> StreamResult:
    last_lost = LostFrame(sequence=last[0], due_s=last[1]) if last else None
    source = Side.RIGHT if name.startswith("reverse") else Side.LEFT
    role = StreamRole.BACKGROUND if "background" in name else StreamRole.FOREGROUND
    said: dict[str, Any] = {"name": name, "source": source, "role": role}
    values = said | {"planned": planned, "lost": lost, "intended_rate_fps": 500.0}
    return StreamResult.model_construct(**values, last_lost=last_lost)


def recovered(*streams: StreamResult, cause: Cause = Cause.LOSS) -> tuple[dict[str, Any], str]:
    result = SimpleNamespace(streams=streams, cause=cause, reason="the port was full")
    found = _recovered(cast("TrialResult", result))
    return dict(found.figures), found.remark


HALF = "forward at half the rate"


def test_the_recovery_ends_with_the_last_lost_frame_after_the_overload() -> None:
    figures, remark = recovered(stream("forward", 250), stream(HALF, 5, (40, 2.125)))
    # 1000 frames at 500 fps are an overload of two seconds.
    assert (figures["recovery"], figures["recovery_forward"], figures["recovery_reverse"]) == (0.125, 0.125, None)
    assert (figures["overload_loss_forward"], figures["overload_loss_reverse"]) == (25, None)
    assert remark == ""
    figures, _ = recovered(stream("forward", 250), stream(HALF))
    assert figures["recovery"] == 0


def test_a_direction_recovers_with_its_background_and_with_all_pairs() -> None:
    background = [stream("forward background", 500), stream("forward background at half the rate", 5, (40, 2.5))]
    further = [stream("forward 2", 100), stream("forward 2 at half the rate", 5, (40, 2.25))]
    figures, _ = recovered(stream("forward", 250), stream(HALF, 5, (40, 2.125)), *background, *further)
    # 1000 frames at 500 fps are an overload of two seconds.
    assert (figures["recovery"], figures["recovery_forward"]) == (0.5, 0.5)
    assert figures["overload_loss_forward"] == 25


def test_an_overload_without_loss_is_said() -> None:
    figures, remark = recovered(stream("forward"), stream(HALF))
    assert (figures["recovery"], figures["overload_loss_forward"]) == (0, 0)
    assert "the overload lost nothing" in remark


@pytest.mark.parametrize(("last", "recovers"), [(998, True), (999, False)])
def test_loss_of_the_last_frame_may_have_gone_on(last: int, recovers: bool) -> None:
    reverse = [stream("reverse", 1), stream("reverse at half the rate")]
    figures, remark = recovered(stream("forward", 1), stream(HALF, 5, (last, 3.5)), *reverse)
    assert figures["recovery"] == (1.5 if recovers else None)
    assert remark == ("" if recovers else "frames are lost to the end, forward: raise `recovery`")


def test_an_overload_that_was_not_sent_has_no_recovery() -> None:
    figures, remark = recovered(stream("forward", 250), stream(HALF), cause=Cause.BACK_PRESSURE)
    assert (figures["recovery"], figures["overload_loss_forward"]) == (None, 25)
    assert remark == "the overload could not be offered: the port was full"


@pytest.mark.parametrize(("trial_s", "short"), [(59.9, True), (60.0, False)])
def test_an_overload_of_less_than_a_minute_departs_from_rfc_2544(trial_s: float, short: bool) -> None:
    own = experiment(trial_s)
    said = [caveat for caveat in procedure_of(own).caveats(own) if "asks for at least 60 s" in caveat.text]
    assert len(said) == short
