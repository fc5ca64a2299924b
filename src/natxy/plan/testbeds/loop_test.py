# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.testbeds.loop import LoopConfig

CABLE: dict[str, Any] = {"kind": "loop", "medium": "cable"}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (CABLE, "give both with `medium: cable`, else neither"),
        (CABLE | {"left": {"interface": "eth1"}}, "give both with `medium: cable`, else neither"),
        ({"kind": "loop", "left": {"interface": "eth1"}, "right": {"interface": "eth2"}}, "else neither"),
        (CABLE | {"left": {"interface": "eth1"}, "right": {"interface": "eth1"}}, "left and right are the same port"),
    ],
)
def test_a_cable_joins_two_ports(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        LoopConfig.model_validate(given)


def test_a_loop_has_no_core_of_a_dut() -> None:
    loop = LoopConfig.model_validate({"kind": "loop"})
    assert loop.dut_core_count(range(4), 2) == 0
    assert loop.assign_cores(range(4), 2).dut == ()
