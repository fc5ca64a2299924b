# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from natxy.search.longest import LongestSearch


@given(st.integers(1, 10**9), st.integers(0, 10**9), st.integers(1, 1000), st.sampled_from([1, 2, 10, 1000]))
def test_the_truth_is_found_within_the_error_or_a_step(most: int, truth: int, error: int, step: int) -> None:
    tried: list[int] = []

    def passes(frames: int) -> bool:
        assert step <= frames <= most * step
        assert frames % step == 0
        tried.append(frames)
        return frames <= truth

    search = LongestSearch(most * step, error, step)
    found = search.run(passes)
    assert len(tried) == len(set(tried)) <= search.expected_steps() + 1
    assert found.passed <= truth
    if found.failed is None:
        assert found.passed == most * step <= truth
    else:
        assert truth < found.failed <= found.passed + max(error, step)
