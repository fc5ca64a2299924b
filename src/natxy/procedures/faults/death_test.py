# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.engine.messages.results import StreamResult
from natxy.procedures.faults.death import came_through


def stream(*received: int, planned: int = 25_000) -> StreamResult:
    counts: dict[str, Any] = {"planned": planned, "intended_rate_fps": 10_000, "received": sum(received)}
    return StreamResult.model_construct(**counts, received_per_second=[*received])


@pytest.mark.parametrize(
    ("received", "said"),
    [
        ((0, 0, 0), "it forwarded no frame of this trial"),
        ((), "it forwarded no frame of this trial"),
        ((1, 0, 0), "it forwarded 1 frame of this trial, until about 0.1 ms of it"),
        ((4000, 0, 0), "it forwarded 4,000 frames of this trial, until about 400 ms of it"),
        ((10_000, 2500, 0), "it forwarded 12,500 frames of this trial, until about 1.25 s of it"),
        # It was too slow before it died.
        ((8000, 4000, 0), "it forwarded 12,000 frames of this trial, until about 1.5 s of it"),
    ],
)
def test_how_far_it_came(received: tuple[int, ...], said: str) -> None:
    assert came_through([stream(*received)]) == said


def test_the_direction_that_came_farther_says_until_when() -> None:
    both = [stream(4000, 0, 0), stream(8000, 0, 0)]
    assert came_through(both) == "it forwarded 12,000 frames of this trial, until about 800 ms of it"


def test_frames_that_come_until_the_end_need_not_be_the_gateways() -> None:
    said = came_through([stream(10_000, 10_000, 5000)])
    assert said.startswith("25,000 frames came through until the end of this trial, so that it died last or something ")
