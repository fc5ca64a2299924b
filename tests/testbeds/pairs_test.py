# SPDX-License-Identifier: Apache-2.0
"""Tests network overload by pairs of interfaces (RFC 8219 §10): several pairs of a tester's own ports on one DUT, which
has a limit for all of them together that natxy does not know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState
from natxy.results.trials import TrialKind
from tests.support import needs
from tests.support.command import natxy
from tests.support.iproute import inside, ip
from tests.support.token_bucket import LATE_S, LIMIT, TRIAL_S, bounds_fps

pytestmark = needs.LAB

TESTER, DUT = (f"pairs-{os.getpid()}-{name}" for name in ("tester", "dut"))
PAIRS = 3
SEARCH_ERROR = 0.03
LEAST_FPS, MOST_FPS = bounds_fps(SEARCH_ERROR)

TESTBED = f"""
name: overload
timing: {{preset: lab, trial: {TRIAL_S} s, settle: 200 ms, max_pause: {LATE_S} s, overrun_floor: {LATE_S} s}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t-right}}
  io: af_packet
  more_pairs:
    - {{left: {{interface: t-left2}}, right: {{interface: t-right2}}, dut: {{left: d-left2, right: d-right2}}}}
    - {{left: {{interface: t-left3}}, right: {{interface: t-right3}}, dut: {{left: d-left3, right: d-right3}}}}
  dut: {{namespace: {DUT}, left: d-left, right: d-right}}
"""

OVERLOAD = f"""
defaults:
  procedure: throughput
  pairs: [1, 3]
  max_invalid: 20
  search: {{kind: binary, min_rate: 1k, max_rate: 5k, error: {SEARCH_ERROR:.0%}}}
experiments:
  - {{name: forwarding, gateway: linux-forward}}
  - {{name: nat, gateway: nftables, connections: 300, phase1_rate: 1k, pairs: 3}}
"""


# The second pair's frames leave the DUT more slowly than they come, so that each is held back for longer than the one
# before.
OFFERED_FPS, HELD_FPS = 500, 400
SHAPER = f"rate {8 * 60 * HELD_FPS}bit burst 120 limit 10m"

DELAYS = f"""
defaults: {{pairs: [1, 2], gateway: linux-forward, rate: {2 * OFFERED_FPS}, max_invalid: 20}}
experiments:
  - {{name: latency, procedure: {{name: latency, warm_up: 400 ms, tagging: 600 ms}}}}
  - {{name: pdv, procedure: pdv}}
"""


@pytest.fixture
def _cabled() -> Iterator[None]:
    """Joins three pairs of the tester's ports to a DUT."""
    with ExitStack() as stack:
        for namespace in (TESTER, DUT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
        for pair in ("", *(str(number + 1) for number in range(1, PAIRS))):
            for side in ("left", "right"):
                ends = f"t-{side}{pair}", f"d-{side}{pair}"
                ip("-n", TESTER, "link", "add", "name", ends[0], "type", "veth", "peer", "name", ends[1], "netns", DUT)
                for namespace, name in zip((TESTER, DUT), ends, strict=True):
                    inside(namespace, "ethtool", "-K", name, "tx", "off")
                    ip("-n", namespace, "link", "set", name, "up")
        inside(DUT, "nft", "-f", "-", text=LIMIT)
        yield


def measured(folder: Path, experiments: str) -> RunRecord:
    (folder / "plan.yaml").write_text(TESTBED + experiments)
    done = natxy("run", folder / "plan.yaml", "--output", folder / "out", inside=["ip", "netns", "exec", TESTER])
    assert done.returncode == 0, done.stdout + done.stderr
    run = RunReader(folder / "out").run
    assert run.state == RunState.DONE
    return run


@pytest.mark.usefixtures("_cabled")
def test_any_number_of_pairs_has_the_whole_limit(tmp_path: Path) -> None:
    run = measured(tmp_path, OVERLOAD)
    assert [experiment.planned.pairs for experiment in run.experiments] == [1, 3, 3]
    for experiment in run.experiments:
        assert experiment.statistics is not None
        assert LEAST_FPS <= experiment.statistics.median <= MOST_FPS
        trials = [trial for _, _, trial in experiment.all_trials if trial.kind == TrialKind.TRAFFIC]
        assert {len(trial.result.streams) for trial in trials} == {2 * (experiment.planned.pairs or 0)}
        assert not any(trial.misrouted for trial in trials if trial.verdict == "pass")
        losses = [
            {stream.name: stream.lost for stream in trial.result.streams} for trial in trials if trial.verdict == "fail"
        ]
        assert any(sum(1 for lost in each.values() if lost) > 1 for each in losses)
    # The DUT is as it was.
    assert "198.1" not in ip("-n", DUT, "-4", "address")
    assert "table ip natxy" not in inside(DUT, "nft", "list", "ruleset")


@pytest.mark.usefixtures("_cabled")
def test_a_direction_has_the_delays_of_all_its_pairs(tmp_path: Path) -> None:
    """The rate is shared equally, so that a pair has half of it, and the second pair's shaper holds back forward."""
    inside(DUT, "tc", "qdisc", "replace", "dev", "d-right2", "root", "tbf", *SHAPER.split())
    run = measured(tmp_path, DELAYS)
    for experiment in run.experiments:
        figure, traffic_s = ("wcl", 1.0) if experiment.name.startswith("latency") else ("pdv", TRIAL_S)
        held_ms = 1000 * traffic_s * (OFFERED_FPS - HELD_FPS) / HELD_FPS
        found = {name: (value or 0) / 1e6 for name, value in experiment.repetitions[0].figures.items()}
        assert found[f"{figure}_reverse"] < held_ms / 2
        if experiment.planned.pairs == 2:
            assert found[f"{figure}_forward"] == pytest.approx(held_ms, rel=0.2)
            # Half of the frames are those of the first pair.
            assert found.get("tl_forward", 0) < held_ms / 4
        else:
            assert found[f"{figure}_forward"] < held_ms / 2
