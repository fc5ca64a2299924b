# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.errors import DutError
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.run import sysctls
from natxy.run.sysctls import check_sysctls

INTERFACES: dict[str, Any] = {"left": {"interface": "a"}, "right": {"interface": "b"}}
PCI: dict[str, Any] = {"left": {"pci": "0000:41:00.0"}, "right": {"pci": "0000:41:00.1"}}
HARDWARE: dict[str, Any] = {"kind": "hardware", "dut": {"left": "c", "right": "d"}}
BEHIND_SSH: dict[str, Any] = HARDWARE | {"dut": HARDWARE["dut"] | {"ssh": "dut"}}
ELSEWHERE: dict[str, Any] = HARDWARE | {"dut": HARDWARE["dut"] | {"addresses": "keep"}}
SECOND_PAIR: dict[str, Any] = {**INTERFACES, "dut": {"left": "c2", "right": "d2"}}
LOOP: dict[str, Any] = {"kind": "loop", "medium": "cable"}


@pytest.mark.parametrize(
    ("testbed", "gateway", "needed"),
    [
        ({"kind": "lab"}, "linux-forward", True),
        ({"kind": "memif"}, "reference", False),
        ({"kind": "simulated"}, "simulated", False),
        ({"kind": "loop"}, "wire", True),
        (LOOP | INTERFACES, "wire", True),
        (LOOP | PCI, "wire", False),
        (HARDWARE | PCI, "linux-forward", True),  # the DUT is this machine
        (ELSEWHERE | PCI, "linux-forward", False),
        (BEHIND_SSH | PCI, "linux-forward", False),
        (BEHIND_SSH | INTERFACES, "linux-forward", True),
        (BEHIND_SSH | PCI | {"more_pairs": [SECOND_PAIR]}, "linux-forward", True),
    ],
)
def test_a_read_only_proc_sys_is_an_error_where_sysctls_are_needed(
    monkeypatch: pytest.MonkeyPatch, testbed: dict[str, Any], gateway: str, *, needed: bool
) -> None:
    experiment = {"name": "x", "gateway": gateway, "procedure": "throughput", "search": {"max_rate": "1M"}}
    plan = resolve(Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [experiment]}))
    monkeypatch.setattr(sysctls, "is_read_only", lambda: False)
    check_sysctls(plan)
    monkeypatch.setattr(sysctls, "is_read_only", lambda: True)
    if not needed:
        check_sysctls(plan)
        return
    with pytest.raises(DutError, match="/proc/sys is read-only here"):
        check_sysctls(plan)
