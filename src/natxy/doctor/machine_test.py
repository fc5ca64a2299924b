# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.doctor.machine import THIS_MACHINE, probe_machines


def test_every_finding_says_something_and_every_fault_has_a_remedy() -> None:
    found = probe_machines()
    assert [*found] == [THIS_MACHINE]
    findings = found[THIS_MACHINE]
    assert len({finding.name for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.value
        assert (finding.remedy is None) == (finding.ok is True), finding
