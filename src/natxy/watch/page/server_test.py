# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed (make setup-dev)")

from natxy.watch.page.server import OwnCores


def test_only_the_cores_that_measure_now_are_left_to_the_tester() -> None:
    allowed = frozenset(os.sched_getaffinity(0))

    def kept_off(cores: frozenset[int]) -> frozenset[int]:
        own.keep_off(cores)
        return frozenset(os.sched_getaffinity(0))

    # Cores are those of a thread, and pytest's keeps its own.
    with ThreadPoolExecutor(max_workers=1) as thread:
        own = thread.submit(OwnCores).result()
        for core in allowed:
            assert thread.submit(kept_off, frozenset({core})).result() == (allowed - {core} or allowed)
        for none_left in (frozenset(), allowed):
            assert thread.submit(kept_off, none_left).result() == allowed
