# SPDX-License-Identifier: Apache-2.0
"""Tests Jool in a lab, on the kernel that loads its module: the host's, or user-mode Linux."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import State
from natxy.testbeds.lab_kernels import takes_module
from tests.support import needs
from tests.support.command import natxy
from tests.support.sources import addresses_in_use

pytestmark = [
    *needs.LAB,
    pytest.mark.long,
    pytest.mark.built,
    pytest.mark.skipif(not takes_module("jool") and needs.GUEST_ERROR is not None, reason="no Jool: make jool"),
]

# Jool 4.1.9 spoils the checksum of one in 65,536 frames from IPv4 to IPv6.
PLAN = """
name: jool
timing: {preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
defaults:
  gateway: jool
  max_invalid: 20
  search: {min_rate: 2k, max_rate: 4k, error: 2k}
  loss_tolerance: {reverse: 1%}
experiments:
  - {name: siit, gateway: jool-siit, translation: siit, procedure: throughput}
  - {name: siit46, gateway: jool-siit, translation: nat46, procedure: throughput, loss_tolerance: 1%}
  - {name: rate, translation: nat64, procedure: validated-connection-rate, connections: 2k}
  - {name: emptying, translation: nat64, procedure: tear-down-rate, connections: 60k, phase1_rate: 10k, search: null,
     loss_tolerance: null}
  - {name: nat46, translation: nat46, procedure: throughput, loss_tolerance: 1%, ports: {destination: 5000},
     connections: 100, phase1_rate: 4k}
  - {name: lives, translation: nat64, protocol: tcp, procedure: tcp-connection-rate, connections: 2k}
  - {name: pool, translation: {kind: nat64, pool: 198.19.0.4/30}, procedure: validated-connection-rate, connections: 2k,
     ports: {source: 10000-10039, destination: 1000},
     addresses: {left_hosts: {first: "2001:2:0:1::2", last: "2001:2:0:1::31:2", low_bit: 16}}}
"""


def test_both_translators_are_measured_and_described(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    out = tmp_path / "out"
    done = natxy("run", tmp_path / "plan.yaml", "--output", out)
    # 4 where emptying the full table does not stand out from emptying the empty one, as on a busy machine.
    assert done.returncode in (0, 4), done.stdout + done.stderr
    siit, siit46, rate, emptying, nat46, lives, pool = RunReader(out).run.experiments
    assert [each.state for each in (siit, siit46, rate, nat46, lives, pool)] == [State.DONE] * 6
    # Jool translates far more, but a busy machine may be too slow for the search's highest rate.
    for each in (siit, siit46, rate, nat46, lives, pool):
        [value] = each.values
        assert value is not None
        assert 2000 <= value <= 4000
    [deletion] = emptying.repetitions
    assert deletion.figures["full"] is not None, done.stdout
    assert deletion.value is not None or "raise `connections`" in deletion.reason
    assert rate.duts[0].version.startswith("Jool 4.")
    assert '"pool6": "2001:2:0:64::/96"' in rate.duts[0].configuration
    # The 50 hosts share all public addresses, and replies to each of these come back.
    assert addresses_in_use(pool) == {4}
    assert addresses_in_use(rate) == {1}
