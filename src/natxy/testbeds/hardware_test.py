# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.testbeds.hardware import HardwareTestbed


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({}, ["Tester and DUT are one machine"]),
        ({"namespace": "dut", "addresses": "keep"}, ["Tester and DUT are one machine"]),
        ({"addresses": "keep"}, ["The DUT's commands ran on the tester's machine. If it is the DUT too"]),
    ],
)
def test_caveats_of_a_dut_on_the_testers_machine(place: dict[str, str], said: list[str]) -> None:
    dut = {"left": "d1", "right": "d2", **place}
    given = {"kind": "hardware", "left": {"interface": "t1"}, "right": {"interface": "t2"}, "dut": dut}
    caveats = HardwareTestbed(HardwareConfig.model_validate(given)).caveats()
    assert [caveat.text[: len(start)] for caveat, start in zip(caveats, said, strict=True)] == said
