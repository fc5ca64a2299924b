# SPDX-License-Identifier: Apache-2.0
"""Tests network overload by pairs of interfaces (RFC 8219 §10): several pairs of a tester's own ports on one DUT, which
has a limit for all of them together that natxy does not know."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.results.records import ExperimentRecord, RunRecord, RunState
from natxy.results.trials import TrialKind
from tests.support import needs
from tests.support.iproute import inside, ip
from tests.support.measured_runs import measured_run, without_result
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


def measured(folder: Path, experiments: str, blames: Callable[[RunRecord], str]) -> RunRecord:
    (folder / "plan.yaml").write_text(TESTBED + experiments)
    prefix = ["ip", "netns", "exec", TESTER]
    run, _ = measured_run(folder / "plan.yaml", folder / "out", inside=prefix, blames=blames)
    assert run.state == RunState.DONE
    return run


def too_low(run: RunRecord) -> str:
    """Returns the results that are too low, as a machine makes them that takes the DUT's core away."""
    low = [each.statistics.median for each in run.experiments if each.statistics and each.statistics.median < LEAST_FPS]
    return without_result(run) or ", ".join(f"{value:.0f} frames/s" for value in low)


def too_late(run: RunRecord) -> str:
    """Returns the delays that are longer than the shaper makes them: a machine that pauses adds to them."""
    late = []
    for each in run.experiments:
        figure, held_ms = figure_and_held_ms(each)
        for name, value in each.repetitions[0].figures.items() if each.repetitions else ():
            is_held = name == f"{figure}_forward" and each.planned.pairs == 2
            if name in (f"{figure}_forward", f"{figure}_reverse") and (value or 0) / 1e6 > (
                1.2 * held_ms if is_held else held_ms / 2
            ):
                late.append(f"{each.planned.name}: {name} {(value or 0) / 1e6:.0f} ms")
    return without_result(run) or ", ".join(late)


def figure_and_held_ms(experiment: ExperimentRecord) -> tuple[str, float]:
    """Returns the figure of an experiment of DELAYS, and for how long the shaper holds its last frames back."""
    figure, traffic_s = ("wcl", 1.0) if experiment.name.startswith("latency") else ("pdv", TRIAL_S)
    return figure, 1000 * traffic_s * (OFFERED_FPS - HELD_FPS) / HELD_FPS


@pytest.mark.more
@pytest.mark.usefixtures("_cabled")
def test_any_number_of_pairs_has_the_whole_limit(tmp_path: Path) -> None:
    run = measured(tmp_path, OVERLOAD, too_low)
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
    run = measured(tmp_path, DELAYS, too_late)
    for experiment in run.experiments:
        figure, held_ms = figure_and_held_ms(experiment)
        found = {name: (value or 0) / 1e6 for name, value in experiment.repetitions[0].figures.items()}
        assert found[f"{figure}_reverse"] < held_ms / 2
        if experiment.planned.pairs == 2:
            assert found[f"{figure}_forward"] == pytest.approx(held_ms, rel=0.2)
            # Half of the frames are those of the first pair.
            assert found.get("tl_forward", 0) < held_ms / 4
        else:
            assert found[f"{figure}_forward"] < held_ms / 2
