# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from natxy import __version__
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.ssh import SshTransport, UnreachableError
from natxy.errors import DutError, FurtherTesterError, NatxyError, PlanError
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.testbeds.testers.remote import RemoteTester

PAIR: dict[str, Any] = {
    "tester": {"ssh": "root@b"},
    "left": {"interface": "a"},
    "right": {"interface": "b"},
    "dut": {"left": "e", "right": "f"},
}
CONFIG = HardwareConfig(
    kind="hardware",
    left={"interface": "a"},  # type: ignore[arg-type]
    right={"interface": "b"},  # type: ignore[arg-type]
    dut={"left": "c", "right": "d"},  # type: ignore[arg-type]
    more_pairs=[PAIR],  # type: ignore[list-item]
)
SAID = {"natxy-engine": f"natxy-engine {__version__}\n", "cat": "0-1\n"}


@pytest.mark.parametrize(
    ("program", "answer", "kind", "says"),
    [
        ("true", DutError("the login was refused"), FurtherTesterError, "the tester root@b: the login was refused; "),
        ("natxy-engine", DutError("it is not installed"), PlanError, "it is not installed; install natxy there"),
        ("natxy-engine", UnreachableError("the connection was lost"), FurtherTesterError, "the connection was lost"),
        ("natxy-engine", "natxy-engine 0.0.1", PlanError, "has natxy-engine 0.0.1, and this natxy is"),
        ("cat", "", PlanError, "the tester root@b lists no cores in /sys"),
        ("test", DutError("`test` did not end within 30 s"), FurtherTesterError, "the gateway is not to blame"),
    ],
)  # fmt: skip
def test_a_testers_fault_is_none_of_the_gateways(
    program: str, answer: DutError | str, kind: type[NatxyError], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: SshTransport, argv: Sequence[str], **__: object) -> CompletedCommand:
        said = answer if argv[0] == program else SAID.get(argv[0], "")
        if isinstance(said, DutError):
            raise said
        return CompletedCommand(tuple(argv), 0, said, "")

    monkeypatch.setattr(SshTransport, "run", run)
    tester = RemoteTester(CONFIG.further_testers[0], CONFIG, mtu=1500, pairs=2)
    with pytest.raises(kind, match=says), tester.taken():
        pytest.fail("the tester is at fault")
