# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from natxy.doctor import testbed
from natxy.doctor.testbed import probe_testbed
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.ssh import SshTransport
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.system.machine_sysctls import MachineSysctls


class Dut:
    """Simulates a DUT that still has the links of both pairs, and lacks the interface d-right2."""

    def __init__(self) -> None:
        self.machine = MachineSysctls()
        self.network = OwnSysctls(self)

    def describe(self) -> str:
        return "a DUT"

    def run(self, argv: Sequence[str], **_: object) -> CompletedCommand:
        match argv:
            case ["uname", *_]:
                out = "Linux 6.1"
            case ["id", *_]:
                out = "0"
            case ["ip", "-o", "address"]:
                out = "2: d-left    inet 198.18.0.1/24 scope global\n4: d-left2    inet 198.18.1.1/24 scope global\n"
            case ["ls", *_]:
                out = "rx-0"
            case _:
                out = ""
        return CompletedCommand(tuple(argv), 1 if argv[-1].endswith("d-right2") else 0, out, "")


def planned(tester: dict[str, Any] | None = None, **own: Any) -> ResolvedPlan:
    """Returns a plan of two pairs, of which the second may be another tester's."""
    cabled = {
        "kind": "hardware",
        "left": {"interface": "t-left"},
        "right": {"interface": "t-right"},
        "dut": {"namespace": "dut", "left": "d-left", "right": "d-right"},
        "more_pairs": [
            {
                "left": {"interface": "t-left2"},
                "right": {"interface": "t-right2"},
                "dut": {"left": "d-left2", "right": "d-right2"},
                "tester": tester,
            }
        ],
    }
    experiment = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
    return resolve(Plan.model_validate({"name": "p", "testbed": cabled, "experiments": [experiment | own]}))


def findings(monkeypatch: pytest.MonkeyPatch, **own: Any) -> dict[str, bool | None]:
    monkeypatch.setattr(testbed, "dut_transport", lambda *_: Dut())
    (found,) = probe_testbed(planned(**own)).values()
    return {finding.name: finding.ok for finding in found}


def test_further_pairs_are_examined_and_their_links_are_the_tests_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(monkeypatch, pairs=2)
    assert found["networks"] is True
    assert found["d-left: offloads"] is found["d-left2: offloads"] is True
    assert found["d-left2: receive queues"] is True
    assert found["d-right2"] is False


@pytest.mark.parametrize(
    ("present", "workers", "ok"),
    [((0, 1), None, True), ((0, 1, 2), [0, 1], True), ((0,), None, None), ((0, 1), [1, 0], None)],
)
def test_a_further_tester_needs_a_core_beside_its_workers(
    monkeypatch: pytest.MonkeyPatch, present: tuple[int, ...], workers: list[int] | None, ok: bool | None
) -> None:
    answers = {"-sr": "Linux 6.1", "-u": "0", "/sys/devices/system/cpu/online": ",".join(map(str, present))}

    def run(_: SshTransport, argv: Sequence[str], **__: object) -> CompletedCommand:
        return CompletedCommand(tuple(argv), 0, answers.get(argv[-1], ""), "")

    monkeypatch.setattr(SshTransport, "run", run)
    monkeypatch.setattr(testbed, "dut_transport", lambda *_: Dut())
    found = probe_testbed(planned({"ssh": "root@b", "cores": workers}))
    (cores,) = (finding for finding in found["tester, ssh root@b"] if finding.name == "cores")
    assert cores.ok is ok
    assert (cores.remedy is None) == bool(ok)


def test_without_traffic_a_further_interface_is_not_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(monkeypatch)["networks"] is False
