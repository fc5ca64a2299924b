# SPDX-License-Identifier: Apache-2.0
"""Makes the testbed of a self-test, and shows what it found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from natxy.errors import PlanError
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.ports import TesterPort
from natxy.plan.yaml.loading import load_plan
from natxy.report.tables import selftest as selftest_table
from natxy.report.tables.table import to_rich
from natxy.results.selftest import SelfTest
from natxy.selftest.plan import loop_of
from natxy.terminal.console import LastingConsole

_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def testbed_of(
    plan: Path | None, ports: str | None, medium: Literal["veth", "memif"], io: Literal["af_xdp", "af_packet"]
) -> LoopConfig:
    if plan is not None:
        if ports is not None:
            raise PlanError("expected a plan or --ports, and not both: a plan's testbed names its ports")
        return loop_of(load_plan(plan).testbed)
    if ports is None:
        return LoopConfig(kind="loop", medium=medium, io=io)
    names = [name.strip() for name in ports.split(",")]
    try:
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(names)
        left, right = (TesterPort(pci=name) if _PCI.fullmatch(name) else TesterPort(interface=name) for name in names)
    except ValueError as error:
        raise PlanError(
            f"--ports: expected two ports such as ens1f0,ens1f1 or 0000:41:00.0,0000:41:00.1, got {ports}"
        ) from error
    return LoopConfig(kind="loop", medium="cable", left=left, right=right, io=io)


def show(found: SelfTest, console: LastingConsole) -> None:
    for table in selftest_table.tables(found):
        console.print(to_rich(table))
    for sentence in selftest_table.sentences(found):
        console.print(sentence)
