# SPDX-License-Identifier: Apache-2.0
"""Measures latency and PDV over a path that adds a known delay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from natxy.dut import registry
from natxy.dut.drivers.linux import LinuxForwardGateway
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.run import run_plan
from natxy.system.process_owner import Owner
from natxy.testbeds.namespaces import LabNamespaces
from tests.support import hold, needs

pytestmark = needs.LAB

ADDED_NS = 20_000_000
MS_NS = 1_000_000


def holding(hold_s: float) -> type[LinuxForwardGateway]:
    """Returns a driver whose gateway is a program that holds every frame for `hold_s`."""

    class HoldGateway(LinuxForwardGateway):
        _program: subprocess.Popen[str] | None = None

        def apply(self) -> None:
            super().apply()
            # The kernel forwards no frame beside the program.
            self._write_sysctl("net.ipv4.ip_forward", "0")

        def install(self) -> None:
            argv = [sys.executable, str(Path(hold.__file__)), "dut-left", "dut-right", str(hold_s)]
            namespace = LabNamespaces(Owner.current()).dut
            within = ["ip", "netns", "exec", namespace, *argv]
            self._program = subprocess.Popen(within, stdout=subprocess.PIPE, text=True)
            assert self._program.stdout is not None
            assert self._program.stdout.readline() == "ready\n"

        def uninstall(self) -> None:
            if self._program:
                self._program.kill()
                self._program.communicate()
                self._program = None

    return HoldGateway


def figures(folder: Path) -> dict[str, float | None]:
    timing = {"preset": "lab", "trial": "400ms", "drain": "1s", "max_pause": "50ms", "overrun_floor": "50ms"}
    common: dict[str, Any] = {"gateway": "linux-forward", "rate": 500, "max_invalid": 20}
    experiments = [
        common | {"name": "latency", "procedure": {"name": "latency", "tagged_frames": 150}},
        common | {"name": "pdv", "procedure": "pdv"},
    ]
    plan = {"name": "p", "repeat": 1, "timing": timing, "experiments": experiments}
    assert run_plan(resolve(Plan.model_validate(plan)), folder, RunListener()) == 0
    return {
        name: value
        for experiment in RunReader(folder).run.experiments
        for name, value in experiment.repetitions[0].figures.items()
    }


def test_a_delay_that_a_path_adds_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for hold_s in (0.0, ADDED_NS / 1e9):
        monkeypatch.setitem(registry.GATEWAYS, "linux-forward", holding(hold_s))
        # On a busy machine even the typical delay of a trial may be that of a core that was away.
        measured = (figures(tmp_path / f"{hold_s}-{attempt}") for attempt in range(3))
        found.append(min(measured, key=lambda each: each["tl_forward"] or 0))
    without, added = found
    for direction in ("forward", "reverse"):
        least = [each[f"min_delay_{direction}"] or 0 for each in (without, added)]
        typical = [each[f"tl_{direction}"] or 0 for each in (without, added)]
        assert least[1] >= ADDED_NS
        assert least[1] - least[0] == pytest.approx(ADDED_NS, abs=MS_NS)
        assert typical[1] - typical[0] == pytest.approx(ADDED_NS, abs=2 * MS_NS)
    shown = {
        name: [f"{(each[name] or 0) / MS_NS:.3f} ms" for each in found] for name in ("min_delay_forward", "tl_forward")
    }
    with capsys.disabled():
        print(f" [without and with {ADDED_NS // MS_NS} ms: {shown}] ", end="")
