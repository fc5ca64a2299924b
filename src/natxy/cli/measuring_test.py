# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from natxy.cli.measuring import _is_of
from natxy.plan.testbeds.machines import DutLocation, SshTarget
from natxy.system.ledger import Entry, Kind, Place


def test_what_is_left_concerns_the_plans_machines_by_their_whole_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dut = DutLocation(left="a", right="b", ssh=SshTarget(host="gw", user="root", config=Path("ours")))
    plan: Any = SimpleNamespace(testbed=SimpleNamespace(dut_location=dut, remote_hosts={}))

    def concerned(**target: object) -> bool:
        return _is_of(plan, entry_at(Place(boot_id="x", ssh=json.dumps({"host": "gw", "user": "root", **target}))))

    def entry_at(place: Place) -> Entry:
        return Entry(kind=Kind.SETTING, what="a sysctl", place=place, owner="1-1", boot_id="x")

    assert concerned(config=str(tmp_path / "ours"))
    assert not concerned(config="/another/config")
    assert not concerned(config=str(tmp_path / "ours"), port=2222)
    assert _is_of(plan, entry_at(Place(boot_id="x")))
