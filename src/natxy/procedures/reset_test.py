# SPDX-License-Identifier: Apache-2.0
"""Tests what a reset's trial says of the outage; `recovery_test.py` measures whole resets in virtual time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from natxy.dut.transport import boot as boot_module
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.ssh import UnreachableError
from natxy.engine.messages.results import LostFrame, Progress, Silence, StreamResult
from natxy.plan.procedures.reset import ResetConfig, ResetKind
from natxy.plan.resolve import resolve
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.traffic_test import plan_of
from natxy.procedures.registry import procedure_of
from natxy.procedures.reset import _apart, _loses_to_the_end, _not_back, _Reset, _silence_s
from tests.support.command import HANG_S


def stream(lost: int, *, silence_s: float | None = None, last: int | None = None, **given: Any) -> StreamResult:
    """Returns a stream of 1000 frames in a second."""
    values: dict[str, Any] = {
        "name": "forward",
        "planned": 1000,
        "lost": lost,
        "misrouted": 0,
        "intended_rate_fps": 1000.0,
        "last_lost": None if last is None else LostFrame(sequence=last, due_s=last / 1000),
        "longest_silence": None if silence_s is None else Silence(start_s=0.5, duration_s=silence_s),
    }
    return StreamResult.model_construct(**values | given)


@pytest.mark.parametrize(("last", "to_the_end"), [(None, False), (988, False), (989, True), (999, True)])
def test_loss_in_the_last_hundredth_may_have_gone_on(last: int | None, to_the_end: bool) -> None:
    assert _loses_to_the_end(stream(5, last=last)) == to_the_end
    assert ("lost to the end, forward" in _not_back([stream(5, last=last)])) == to_the_end


def test_a_gateway_is_back_if_every_stream_is() -> None:
    back, gone = stream(5, last=500), stream(5, last=999, name="reverse")
    assert _not_back([back, stream(0)]) == ""
    assert _not_back([back, gone]).startswith("frames are lost to the end, reverse: raise `recovery`")
    assert _not_back([back, stream(0, misrouted=1500)]).startswith("1,500 frames came through with other four-tuples")


def test_the_silence_of_a_stream_that_lost_nothing_is_none() -> None:
    assert _silence_s(stream(0, silence_s=0.3)) == 0
    assert _silence_s(stream(1, silence_s=0.3)) == 0.3
    assert _silence_s(stream(1)) is None


@pytest.mark.parametrize(
    ("lost", "silence_s", "apart"),
    [
        (100, 0.100, False), (100, 0.105, False), (105, 0.100, False), (100, 0.107, True), (107, 0.100, True),
        (4, None, False), (7, None, True),
    ],
)  # fmt: skip
def test_methods_differ_by_more_than_a_few_frames(lost: int, silence_s: float | None, apart: bool) -> None:
    said = _apart([stream(0), stream(lost, silence_s=silence_s, name="reverse")])
    assert said.startswith("the methods differ, reverse: ") if apart else said == ""


def _ran(done: list[str], argv: Sequence[str], timeout_s: float, **_: object) -> CompletedCommand:
    done.append(f"{' '.join(argv)} within {timeout_s:g} s")
    return CompletedCommand(tuple(argv), 0, "", "")


def waiting(**own: Any) -> tuple[_Reset, list[str]]:
    """Returns a reset of traffic that has begun, and a list of what has been reset."""
    # While a machine pauses, no traffic ends.
    timing = {"steady": "1s", "recovery": f"{HANG_S}s"}
    plan = resolve(plan_of({"name": "reset", "procedure": {"name": "reset"} | timing | own, "rate": 1000}))
    [experiment] = plan.experiments
    done: list[str] = []
    transport = SimpleNamespace(run=lambda argv, timeout_s, **_: _ran(done, argv, timeout_s))
    gateway = SimpleNamespace(restart=lambda: done.append("gateway"), transport=transport)
    repetition = SimpleNamespace(experiment=experiment, gateway=lambda: nullcontext(gateway))
    config = procedure_of(experiment).config
    assert isinstance(config, ResetConfig)
    return _Reset(cast("Repetition", repetition), config, 1000.0), done


def progress(elapsed_s: float, sent: int) -> Progress:
    return Progress(elapsed_s=elapsed_s, planned=5000, sent=sent, received=sent)


def test_a_gateway_is_reset_once_and_while_it_has_traffic() -> None:
    reset, done = waiting()
    reset.when_due(progress(2.0, 2000))
    assert done == [], "the traffic of phase 1 is not that of the reset"
    before = time.monotonic()
    request = reset.traffic(seed=1)
    experiment = reset.repetition.experiment
    assert before + experiment.traffic_s <= reset.ends_at <= time.monotonic() + experiment.traffic_s
    assert request.limits.link_may_fall
    steady_s = reset.config.steady_s(experiment.timing.trial)
    reset.when_due(progress(steady_s - 0.01, 900))
    reset.when_due(progress(2.0, 5000))
    assert done == []
    assert reset.awaited
    reset.when_due(progress(steady_s, 1000))
    reset.when_due(progress(steady_s + 0.2, 1200))
    assert done == ["gateway"]
    assert not reset.awaited


def test_the_plans_command_is_the_reset_if_there_is_one() -> None:
    reset, done = waiting()
    command = {"command": ["reload", "card-1"], "command_timeout": 7.0}
    reset.config = reset.config.model_copy(update=command)
    reset.traffic(seed=1)
    reset.when_due(progress(2.0, 2000))
    assert done == ["reload card-1 within 7 s"]


class Machine:
    """Answers with `boots`, one after the other; None is no answer. A command to it ends the connection."""

    def __init__(self, done: list[str], *boots: str | None) -> None:
        self._done = done
        self._boots = iter(boots)

    def run(self, argv: Sequence[str], timeout_s: float = 30, **_: object) -> CompletedCommand:
        if argv == ["reboot"]:
            self._done.append("reboot")
            raise UnreachableError("the connection was lost")
        boot = next(self._boots)
        if boot is None:
            raise UnreachableError("no answer")
        return CompletedCommand(tuple(argv), 0, f"{boot}\n", "")


def booting(monkeypatch: pytest.MonkeyPatch, *boots: str | None, has_machine: bool = True) -> tuple[_Reset, list[str]]:
    """Returns the reset of a machine, and a list of what has been done."""
    monkeypatch.setattr(boot_module, "_PAUSE_S", 0)
    reset, done = waiting()
    reset.config = reset.config.model_copy(update={"kind": ResetKind.OPERATING_SYSTEM, "command": ["reboot"]})
    gateway = SimpleNamespace(transport=Machine(done, *boots))
    own: Any = reset.repetition
    own.gateway = lambda: nullcontext(gateway)
    own.set_up_again = (lambda: done.append("set up")) if has_machine else None
    reset.traffic(seed=1)
    return reset, done


def test_a_machine_that_was_booted_is_set_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reset, done = booting(monkeypatch, "1", "1", None, "2")
    assert reset.remark() == ""
    reset.when_due(progress(2.0, 2000))
    assert done == ["reboot", "set up"]
    assert reset.remark().startswith("the DUT booted, and natxy set its gateway up again ")


def test_a_machine_that_does_not_boot_while_there_is_traffic_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    reset, done = booting(monkeypatch, *["1"] * 100_000)
    own: Any = reset.repetition
    in_hand = own.gateway

    def as_the_traffic_ends() -> Any:
        reset.ends_at = time.monotonic()
        return in_hand()

    own.gateway = as_the_traffic_ends
    reset.when_due(progress(2.0, 2000))
    assert done == ["reboot"]
    assert reset.remark() == ""


def test_where_the_dut_is_no_machine_of_its_own_an_error_of_the_command_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reset, done = booting(monkeypatch, has_machine=False)
    with pytest.raises(UnreachableError):
        reset.when_due(progress(2.0, 2000))
    assert done == ["reboot"]


def test_no_reset_is_awaited_until_its_traffic_begins() -> None:
    # A phase 1 that fails is followed by none.
    reset, _ = waiting()
    assert not reset.awaited


def test_a_late_message_resets_nothing() -> None:
    reset, done = waiting()
    reset.traffic(seed=1)
    reset.ends_at = time.monotonic() - 1e-3
    reset.when_due(progress(2.0, 2000))
    assert done == []
    assert reset.awaited
