# SPDX-License-Identifier: Apache-2.0
"""Tests Tayga in a lab: it translates frames in both directions, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from tests.support import needs
from tests.support.command import natxy
from tests.support.measured_runs import measured_run
from tests.support.sources import addresses_in_use

pytestmark = [*needs.LAB, pytest.mark.same_machine, needs.programs("tayga"), needs.TUN]

PLAN = """
name: tayga
timing: {preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
defaults:
  procedure: throughput
  search: {min_rate: 1k, max_rate: 2k, error: 1k}
  # Tayga shares its core with the kernel here.
  max_invalid: 20
  loss_tolerance: 5%
experiments:
  - {name: missing, gateway: {driver: map646, program: no-map646}, translation: siit}
  - {name: siit, gateway: tayga, translation: siit, cores: 1}
  - {name: nat46, gateway: tayga, translation: nat46}
  - {name: nat64, gateway: tayga-netfilter, translation: nat64, connections: 1k, phase1_rate: 1k}
  - {name: pool, gateway: tayga-netfilter, translation: {kind: nat64, pool: 198.19.0.4/30}, connections: 1k,
     phase1_rate: 1k, ports: {source: 10000-10019, destination: 1000},
     addresses: {left_hosts: {first: "2001:2:0:1::2", last: "2001:2:0:1::31:2", low_bit: 16}}}
"""


# natxy and its gateways have a /run of their own here: other tests' gateways write to the machine's.
IN_OWN_RUN = ("unshare", "--mount", "--propagation", "private", "sh", "-c")


def test_frames_are_translated_both_ways(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    listed = (
        'mount -t tmpfs tmpfs /run && { "$@"; code=$?; echo "left: $(ls -d /run/natxy-* 2> /dev/null)"; exit $code; }'
    )
    # One experiment was skipped.
    run, done = measured_run(tmp_path / "plan.yaml", tmp_path / "out", inside=(*IN_OWN_RUN, listed, "sh"), code=4)
    assert done.stdout.endswith("left: \n")
    assert run.state == RunState.DONE
    missing, *others = run.experiments
    assert missing.state == State.SKIPPED
    assert "no-map646 is not installed" in missing.reason
    for experiment in others:
        assert experiment.state == State.DONE
        assert experiment.statistics is not None
        assert experiment.statistics.median >= 1000
    described = {experiment.name: experiment.duts[0] for experiment in others if experiment.duts}
    assert "map 198.18.0.2 2001:2::2" in described["siit"].configuration
    assert "dev natxy-tayga" in described["nat46"].configuration
    assert "snat to 198.19.0.1" in described["nat64"].configuration
    assert described["nat64"].settings["net.netfilter.nf_conntrack_max"]
    # Each of the 50 hosts has an address of the dynamic pool, and they share all public ones.
    *_, nat64, pool = others
    assert addresses_in_use(pool) == {4}
    assert addresses_in_use(nat64) == {1}


def test_a_full_disk_of_the_gateway_is_named(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.yaml", tmp_path / "out"
    plan.write_text(
        f"{PLAN.partition('experiments:')[0]}experiments: [{{name: siit, gateway: tayga, translation: siit}}]\n"
    )
    # It has no room.
    fill = 'mount -t tmpfs -o size=1m tmpfs /run && { cat /dev/zero > /run/full 2> /dev/null; exec "$@"; }'
    done = natxy("run", plan, "--output", out, inside=[*IN_OWN_RUN, fill, "sh"])
    assert done.returncode == 4, done.stdout + done.stderr
    [experiment] = RunReader(out).run.experiments
    assert experiment.state == State.FAILED
    assert "No space left on device; make room on that disk" in experiment.reason
