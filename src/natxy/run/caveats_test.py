# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from typing import Any

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.caveats import caveats_of_plan
from natxy.run.caveats import caveats_of_run

GOODPUT = {"procedure": "tcp-goodput"}
THROUGHPUT = {"procedure": "throughput", "search": {"max_rate": "100k"}}
PORTS = {side: {"interface": f"natxy-none-{side[0]}"} for side in ("left", "right")}
FAR = {"ssh": {"host": "dut.example"}, "left": "eth1", "right": "eth2"}


@pytest.fixture(autouse=True)
def everything_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: f"/sbin/{program}")


def of_testbeds(testbed: dict[str, Any], *experiments: dict[str, Any]) -> str:
    """Returns the sentences of the caveats that are not the plan's."""
    each = [{"name": f"e{n}", "gateway": "linux-forward", **given} for n, given in enumerate(experiments)]
    plan = resolve(Plan.model_validate({"name": "p", "testbed": testbed, "experiments": each}))
    found = caveats_of_run(plan)
    assert len(found) == len({*found})
    assert {*caveats_of_plan(plan)} <= {*found}
    return "\n".join(caveat.text for caveat in found if caveat not in caveats_of_plan(plan))


def test_a_lab_is_asked_before_it_is_built() -> None:
    found = of_testbeds({"kind": "lab"}, THROUGHPUT, GOODPUT)
    for words in ("Measured in software", "A failed trial is repeated if", "The hosts' offloads are off"):
        assert found.count(words) == 1
    assert "The hosts' offloads are off" not in of_testbeds({"kind": "lab"}, THROUGHPUT)


def test_what_is_not_installed_departs_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert of_testbeds({"kind": "lab"}, THROUGHPUT) == ""


def test_a_port_that_is_not_here_and_a_machine_behind_ssh_say_nothing_yet() -> None:
    assert of_testbeds({"kind": "hardware", **PORTS, "dut": FAR}, THROUGHPUT) == ""
    near = of_testbeds({"kind": "hardware", **PORTS, "dut": {"left": "eth1", "right": "eth2"}}, THROUGHPUT)
    assert near == "Tester and DUT are one machine: they share its memory, its caches and maybe its cores."
