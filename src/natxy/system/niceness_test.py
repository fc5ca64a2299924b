# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest

from natxy.system.niceness import Niceness


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_the_foreground_has_the_original_priority_and_all_cores() -> None:
    before, cores = niceness(), os.sched_getaffinity(0)
    avoided = min(cores)
    own = Niceness()
    try:
        assert niceness() == 19
        with own.foreground():
            own.avoid([avoided])
            assert (niceness(), os.sched_getaffinity(0)) == (before, cores)
        assert (niceness(), os.sched_getaffinity(0)) == (19, cores - {avoided})
        own.avoid(cores)
        with own.foreground():
            pass
        assert os.sched_getaffinity(0) == cores, "with every core to avoid it stays where it is"
    finally:
        own.end()
    assert (niceness(), os.sched_getaffinity(0)) == (before, cores)
