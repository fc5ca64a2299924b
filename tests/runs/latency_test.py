# SPDX-License-Identifier: Apache-2.0
"""Measures latency and PDV over a path that adds a known delay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from natxy.dut import registry
from natxy.dut.drivers.linux import LinuxForwardGateway
from natxy.errors import TesterLimitError
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
MOST_RUNS = 6
DIRECTIONS = ("forward", "reverse")


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


def figures(folder: Path) -> dict[str, float]:
    """Returns the figures of a run, fewer if the tester was disturbed in every attempt."""
    timing = {"preset": "lab", "trial": "400ms", "drain": "1s", "max_pause": "50ms", "overrun_floor": "50ms"}
    common: dict[str, Any] = {"gateway": "linux-forward", "rate": 500, "max_invalid": 20}
    experiments = [
        common | {"name": "latency", "procedure": {"name": "latency", "tagged_frames": 150}},
        common | {"name": "pdv", "procedure": "pdv"},
    ]
    plan = {"name": "p", "repeat": 1, "timing": timing, "experiments": experiments}
    assert run_plan(resolve(Plan.model_validate(plan)), folder, RunListener()) in (0, TesterLimitError.exit_code)
    return {
        name: value
        for experiment in RunReader(folder).run.experiments
        for repetition in experiment.repetitions
        for name, value in repetition.figures.items()
        if value is not None
    }


def differences(found: list[dict[str, float]], figure: str) -> list[float]:
    """Returns by how much a figure is higher with the delay than without, in each direction."""
    without, added = found
    names = [f"{figure}_{each}" for each in DIRECTIONS]
    return [added[name] - without[name] for name in names if name in added and name in without]


def test_a_delay_that_a_path_adds_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    found: list[dict[str, float]] = [{}, {}]
    for attempt in range(MOST_RUNS):
        for least, hold_s in zip(found, (0.0, ADDED_NS / 1e9), strict=True):
            monkeypatch.setitem(registry.GATEWAYS, "linux-forward", holding(hold_s))
            measured = figures(tmp_path / f"{hold_s}-{attempt}")
            # However busy the machine is, no frame is early.
            assert all(measured.get(f"min_delay_{each}", ADDED_NS) >= ADDED_NS for each in DIRECTIONS) or not hold_s
            # A busy machine adds to a delay, even to the typical one of a trial, and takes nothing away: the least of
            # many is the path's.
            least |= {name: min(value, least.get(name, value)) for name, value in measured.items()}
        if differences(found, "min_delay") == pytest.approx([ADDED_NS] * 2, abs=MS_NS) and differences(
            found, "tl"
        ) == pytest.approx([ADDED_NS] * 2, abs=2 * MS_NS):
            break
    assert differences(found, "min_delay") == pytest.approx([ADDED_NS] * 2, abs=MS_NS)
    assert differences(found, "tl") == pytest.approx([ADDED_NS] * 2, abs=2 * MS_NS)
    shown = {name: [f"{each[name] / MS_NS:.3f} ms" for each in found] for name in ("min_delay_forward", "tl_forward")}
    record_property(f"without and with {ADDED_NS // MS_NS} ms", str(shown))
