# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.engine.messages.results import ArrivedFrame, LostBurst, LostFrame, StreamResult
from natxy.procedures.common.around import (
    first_arrived_s,
    last_arrived_s,
    last_lost_s,
    lost_from,
    passed_at,
    passed_from,
    to_the_end,
)

FPS = 1000.0
FRAMES = 2000


def stream(*lost: range, joined: bool = False) -> StreamResult:
    """Returns a stream of two seconds that has lost these frames, each range in a burst of its own, or `joined` in
    one."""
    gone = {sequence for each in lost for sequence in each}
    arrived = [sequence for sequence in range(FRAMES) if sequence not in gone]
    spans = [range(min(gone), max(gone) + 1)] if joined else lost
    bursts = [
        LostBurst(sequence=each.start, due_s=each.start / FPS, frames=len(each), lost=len(gone.intersection(each)))
        for each in spans
    ]
    values: dict[str, Any] = {
        "planned": FRAMES,
        "received": len(arrived),
        "lost": len(gone),
        "intended_rate_fps": FPS,
        "lost_bursts": bursts,
        "first_arrived": ArrivedFrame(sequence=arrived[0], due_s=arrived[0] / FPS) if arrived else None,
        "last_arrived": ArrivedFrame(sequence=arrived[-1], due_s=arrived[-1] / FPS) if arrived else None,
        "last_lost": LostFrame(sequence=max(gone), due_s=max(gone) / FPS) if gone else None,
    }
    return StreamResult.model_construct(**values)


@pytest.mark.parametrize(("sequence", "at_the_end"), [(1978, False), (1979, True), (1999, True)])
def test_the_last_hundredth_is_the_end(sequence: int, at_the_end: bool) -> None:
    assert to_the_end(stream(), sequence) == at_the_end


def test_withdrawn_at_the_moment_in_force_later() -> None:
    old = stream(range(1050, FRAMES))
    assert passed_from(old, 1.0) == 50
    assert passed_from(old, 1.02) == 30
    assert passed_from(old, 1.06) == 0
    assert last_arrived_s(old, 1.0) == pytest.approx(0.049)


def test_losses_before_the_moment_do_not_hide_what_passes_after_it() -> None:
    old = stream(range(100, 200), range(990, 1010), range(1050, FRAMES))
    assert passed_from(old, 1.0) == 40
    assert lost_from(old, 1.0) == 10 + 950


def test_a_change_one_by_one_is_blamed_for_no_loss_of_the_other_side() -> None:
    # A fourth of the frames, 0.25 ms apart, is in the middle of the change, and half of them pass: one burst.
    new = stream(range(1000), *(range(each, each + 1) for each in range(1000, 1100, 2)), joined=True)
    assert lost_from(new, 1.0) == 50
    old = stream(*(range(each, each + 1) for each in range(900, 1000, 2)), range(1000, FRAMES), joined=True)
    assert passed_from(old, 1.0) == 0


def test_losses_that_the_engine_does_not_keep_apart_give_no_count() -> None:
    many = stream(*(range(each, each + 1) for each in range(0, 640, 10)))
    assert len(many.lost_bursts) == 64
    assert lost_from(many, 1.0) is None
    assert passed_from(many, 1.0) is None
    assert lost_from(many, 0.6) == 4
    long = many.model_copy(update={"planned": (1 << 24) + 1})
    assert lost_from(long, 0.5) is None


def test_frames_that_arrive_to_the_end_have_no_last_one() -> None:
    assert last_arrived_s(stream(), 1.0) is None
    assert last_arrived_s(stream(range(900, FRAMES)), 1.0) == 0
    assert last_arrived_s(stream(range(FRAMES)), 1.0) == 0


def test_added_at_the_moment_in_force_later() -> None:
    new = stream(range(1080))
    assert lost_from(new, 1.0) == 80
    assert first_arrived_s(new, 1.0) == pytest.approx(0.08)
    assert last_lost_s(new, 1.0) == pytest.approx(0.079)
    assert not passed_at(new, 1.0)


def test_what_passed_at_the_beginning_alone_is_no_arrival() -> None:
    new = stream(range(20, 1080))
    assert first_arrived_s(new, 1.0) == pytest.approx(0.08)
    assert not passed_at(new, 1.0)


def test_a_frame_on_its_way_at_the_moment_has_come_after_it() -> None:
    new = stream(range(985))
    assert first_arrived_s(new, 1.0) == 0
    assert not passed_at(new, 1.0)


@pytest.mark.parametrize("lost", [[], [range(100)], [range(1020, 1040)]])
def test_what_passes_at_the_moment_has_no_first_frame(lost: list[range]) -> None:
    new = stream(*lost)
    assert first_arrived_s(new, 1.0) is None
    assert passed_at(new, 1.0)


@pytest.mark.parametrize("lost", [[range(FRAMES)], [range(20, FRAMES)]])
def test_what_never_arrives_has_no_first_frame_either(lost: list[range]) -> None:
    new = stream(*lost)
    assert first_arrived_s(new, 1.0) is None
    assert last_lost_s(new, 1.0) is None
    assert not passed_at(new, 1.0)


def test_no_loss_after_the_moment_takes_no_time() -> None:
    assert last_lost_s(stream(), 1.0) == 0
    assert last_lost_s(stream(range(900)), 1.0) == 0
