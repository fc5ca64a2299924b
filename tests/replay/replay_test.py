# SPDX-License-Identifier: Apache-2.0
"""Compares siitperf's scripts with imported plans, at gateways of the kernel whose limits are known.

`python -m tools.siitperf_replay` does so for all scripts and gateways.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.replay.lab import TwoWays
from tests.replay.replays import (
    LINUX,
    NFTABLES,
    RATE,
    REPLAYS,
    ROUNDS,
    Compared,
    Replay,
    of_frames_in_time,
    of_new_connections,
)
from tests.support import needs

pytestmark = [*needs.LAB, pytest.mark.long, pytest.mark.alone, needs.programs("nft", "tc", "conntrack")]


def _name(replay: Replay) -> str:
    return f"{replay.driver}, {replay.script}"


LATENCY: Final = next(each for each in REPLAYS if (each.script, each.driver) == ("latency.sh", "linux-forward"))


# Four steps and three.
@pytest.mark.parametrize(
    "replay",
    [
        of_new_connections(NFTABLES, 250),
        pytest.param(of_frames_in_time(LINUX, 125), marks=pytest.mark.more),
    ],
    ids=_name,
)
def test_a_script_and_its_plan_find_what_is_known(tmp_path: Path, replay: Replay) -> None:
    with replay.standing(tmp_path, tmp_path / "ledger") as ways:
        assert not _alternating(replay, ways).differences()


@pytest.mark.more
def test_mistakes_are_noticed(tmp_path: Path) -> None:
    """Frames that are 20 bytes longer, by the script, and half the rate, by the plan, are other delays."""
    with LATENCY.standing(tmp_path, tmp_path / "ledger") as ways:
        right = _alternating(LATENCY, ways)
        assert not right.differences()
        longer = LATENCY.script_finds(ways, size=104)
        assert len(LATENCY.compared([longer], right.by_plan[:1]).differences()) == len(LATENCY.known)
        slower = replace(LATENCY, asked=replace(LATENCY.asked, fields={"rate": RATE // 2})).plan_finds(ways)
        assert len(LATENCY.compared(right.by_script[:1], [slower]).differences()) == len(LATENCY.known)


def _alternating(replay: Replay, ways: TwoWays) -> Compared:
    """Measures once, and more often if the ways differ: a busy machine may spoil one round, and a fault spoils all."""
    once = replay.alternating(ways, 1)
    return once.with_rounds(replay.alternating(ways, ROUNDS - 1)) if once.differences() else once
