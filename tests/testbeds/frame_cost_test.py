# SPDX-License-Identifier: Apache-2.0
"""Tests the instructions that QEMU counts in a virtual machine, and that the next one goes on from a kept state."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from natxy.results.analysis.instructions import by_function, by_module, rounds_of
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.testbeds.vm.image import image_folder
from tests.support import needs
from tests.support.command import natxy

pytestmark = [*needs.LAB, *needs.COUNTER, needs.TUN, pytest.mark.long]

# A processor that waits long for a busy machine still executes the same.
PLAN: Final = """
name: cost
timing: {preset: lab, trial: 1s, max_pause: 50ms, overrun_floor: 50ms}
repeat: 1
testbed: {kind: vm, cpus: 1, accelerator: tcg}
defaults: {procedure: {name: frame-cost, rounds: 1}, max_invalid: 50}
experiments:
  - {name: forward, gateway: linux-forward}
  - {name: nat, gateway: nftables, connections: 20, phase1_rate: 200, baseline: forward}
"""


def test_a_nat_costs_more_than_forwarding_and_the_report_says_where(tmp_path: Path) -> None:
    forward, nat = measured(tmp_path, "first")
    [ratio] = [
        value / baseline for value, baseline in zip(nat.values, forward.values, strict=True) if value and baseline
    ]
    assert 1.3 < ratio < 1.6
    for each in (forward, nat):
        [figures] = [repetition.figures for repetition in each.repetitions]
        assert figures["instructions"]
        # A frame that comes alone wakes the kernel.
        assert figures["single"]
        assert figures["instructions"] < figures["single"]
    [connection] = [repetition.figures["connection"] for repetition in nat.repetitions]
    assert connection
    [rounds] = [rounds_of(repetition.trials) for repetition in nat.repetitions]
    modules, functions = by_module(rounds), by_function(rounds)
    assert 200 < modules["[nf_nat]"] < modules["[nf_conntrack]"] < modules["kernel"]
    assert functions["nf_conntrack_in [nf_conntrack]"] > 50
    assert sum(functions.values()) == pytest.approx(nat.values[0])
    # The kernel of the virtual machine is the same, and so is the cost of a frame, in one that has not booted again.
    assert [*image_folder().glob("booted-*")]
    [again] = measured(tmp_path, "again", "--only", "forward")
    assert again.duts[0].settings["boot"].endswith("from the state after an earlier boot")
    assert again.values[0] == pytest.approx(forward.values[0], rel=0.03)


def measured(folder: Path, name: str, *options: str) -> list[ExperimentRecord]:
    plan = folder / "plan.yaml"
    plan.write_text(PLAN)
    done = natxy("run", plan, "--output", folder / name, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {each.name: each for each in RunReader(folder / name).run.experiments}
    return [found[each] for each in ("forward", "nat") if each in found]
