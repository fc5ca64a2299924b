# SPDX-License-Identifier: Apache-2.0
"""Asks how a gateway is cabled, and writes the file of a first plan."""

from __future__ import annotations

from pathlib import Path
from re import fullmatch

from natxy.cli.guide.first_plan import Cabling, is_pci
from natxy.cli.guide.questions import answer, valid
from natxy.errors import PlanError
from natxy.plan.model.terms import NAME_PATTERN
from natxy.plan.model.units import BitRate
from natxy.plan.testbeds.machines import SshTarget
from natxy.plan.testbeds.ports import InterfaceName, TesterPort


def cabling_of(given: dict[str, str | None], line_rate: str | None) -> Cabling:
    port = valid(TesterPort, lambda text: {"pci" if is_pci(text) else "interface": text})
    interface = valid(InterfaceName)
    return Cabling(
        left=answer("--left", given["left"], "The tester's left port, an interface or PCI address", port),
        right=answer("--right", given["right"], "The tester's right port", port),
        dut=answer("--dut", given["dut"], "The gateway's machine, user@host", valid(SshTarget)),
        dut_left=answer("--dut-left", given["dut-left"], "Its interface on the left port", interface),
        dut_right=answer("--dut-right", given["dut-right"], "Its interface on the right port", interface),
        line_rate=answer("--line-rate", line_rate, "The links' bit rate", valid(BitRate), "10 Gbps"),
    )


def check_new(plan: Path) -> None:
    if plan.exists() or plan.is_symlink():
        raise PlanError(f"{plan} exists, and is left as it is; give the name of another file")
    if not fullmatch(NAME_PATTERN, plan.stem) or plan.suffix != ".yaml":
        raise PlanError(f"expected a file such as my-plan.yaml, of small letters, digits, '.', '_' and '-', got {plan}")
    if not plan.parent.is_dir():
        raise PlanError(f"{plan.parent} is no folder; make it first, or choose another")


def write(plan: Path, text: str) -> None:
    try:
        # Not even a file that came into being during the questions is replaced.
        with plan.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise PlanError(f"{plan} cannot be written: {error.strerror}; choose another file") from error
