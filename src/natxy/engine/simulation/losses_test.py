# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import FrameFormat, StreamSpec
from natxy.engine.simulation.losses import received_per_second, sent_per_second


def stream(frames: int, rate_fps: float, start_s: float = 0.0) -> StreamSpec:
    return StreamSpec(
        name="forward", source=Side.LEFT, frame=FrameFormat(size=64), rate_fps=rate_fps, frames=frames,
        start_s=start_s,
    )  # fmt: skip


@given(
    frames=st.integers(1, 10**6), rate_fps=st.floats(10, 1e6), start_s=st.floats(0, 5), share=st.floats(0, 1),
    gap=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
)  # fmt: skip
def test_every_frame_is_in_one_second(
    frames: int, rate_fps: float, start_s: float, share: float, gap: tuple[int, int]
) -> None:
    if frames / rate_fps > 1000:
        return
    one = stream(frames, rate_fps, start_s)
    unheard = range(min(*gap, frames), min(max(gap), frames))
    received = int(share * (frames - len(unheard)))
    sent, arrived = sent_per_second(one), received_per_second(one, received, [unheard])
    assert sum(sent) == frames
    assert sum(arrived) == received
    assert all(a <= s for a, s in zip(arrived, sent, strict=True))


def test_an_outage_leaves_its_seconds_empty() -> None:
    one = stream(5000, 1000.0)
    assert sent_per_second(one) == [1000] * 5
    assert received_per_second(one, 3500, [range(1500, 3000)]) == [1000, 500, 0, 1000, 1000]
    assert received_per_second(one, 2500) == [500] * 5
