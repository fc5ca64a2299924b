# SPDX-License-Identifier: Apache-2.0
"""Measures how `frame-cost` repeats beside busy programs, and whether it finds a planted difference.

    python -m tools.planted_cost FOLDER [--repeat 10] [--hogs 2]

A virtual machine without KVM forwards as three gateways in turn: two with the same filter, and a third one whose filter
has one rule more, which no frame matches. Meanwhile as many busy programs as `--hogs` take the machine's cores. Each
repetition of the three says what the rule costs. A difference of more than half a per cent of a frame's cost counts as
found: it has to be in every repetition for the third gateway, and in none for the second.

The table, in Markdown, has a row for each repetition. The exit code is 1 if a difference was missed, or found where
there is none, or if results of a gateway are further than half a per cent from their median. The run stays in FOLDER.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final
from unittest import mock

from natxy.dut.drivers.linux import LinuxForwardGateway
from natxy.dut.transport.base import Transport
from natxy.events.listener import RunListener
from natxy.events.run import RepetitionStarted
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan
from tools.repeated_tests import hogs

LEAST: Final = 0.005
_ONE, _SAME, _MORE = "one", "same", "more"
RULES: Final = {_ONE: 20, _SAME: 20, _MORE: 21}


def plan_of(repeat: int) -> ResolvedPlan:
    """Returns the plan: one gateway, the same again, and with one more rule."""
    own = {"procedure": {"name": "frame-cost", "rounds": 3}, "max_invalid": 50}
    plan = {
        "name": "planted-cost",
        "repeat": repeat,
        # A processor that others take away for a while executes as much as another.
        "timing": {"preset": "lab", "trial": "2s", "max_pause": "1s", "overrun_floor": "1s"},
        "testbed": {"kind": "vm", "cpus": 1, "accelerator": "tcg"},
        "experiments": [{"name": name, "gateway": "linux-forward"} | own for name in RULES],
    }
    return resolve(Plan.model_validate(plan))


class PlantedRules(RunListener):
    """Gives a Linux gateway a filter with the rules of the experiment that begins."""

    def __init__(self) -> None:
        self._rules = 0
        self._guest: Transport | None = None

    def repetition_started(self, event: RepetitionStarted) -> None:
        self._rules = RULES[event.experiment]
        # Another experiment of the same gateway finds it set up.
        if self._guest:
            self._plant(self._guest)

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Sets the filter up with each gateway within the context."""
        install = LinuxForwardGateway.install

        def installed(gateway: LinuxForwardGateway) -> None:
            install(gateway)
            self._guest = gateway.transport
            self._plant(gateway.transport)

        with mock.patch.object(LinuxForwardGateway, "install", installed):
            yield

    def _plant(self, guest: Transport) -> None:
        # No test frame has this port.
        rules = "; ".join(["udp dport 7"] * self._rules)
        forward = f"chain forward {{ type filter hook forward priority 0; {rules}; }}"
        guest.run(["nft", f"table ip planted; delete table ip planted; table ip planted {{ {forward}; }}"])


def table(run: RunRecord, repeat: int) -> tuple[list[str], bool]:
    """Returns the lines of the table, and whether everything is as it has to be."""
    found = {each.name: each.values for each in run.experiments}
    lines = ["| repetition | instructions | the same again | one rule more |", "|---|---:|---:|---:|"]
    good = all(len(values) == repeat for values in found.values())
    for number, (one, same, more) in enumerate(zip(found[_ONE], found[_SAME], found[_MORE], strict=False), 1):
        lines.append(f"| {number} | {one:,.0f} | {100 * (same / one - 1):+.2f} % | {100 * (more / one - 1):+.2f} % |")
        good &= abs(same / one - 1) <= LEAST < more / one - 1
    for name, values in found.items():
        middle = median(values)
        apart = max(abs(value / middle - 1) for value in values)
        lines.append(f"\n{name}: {middle:,.0f} instructions, {len(values)} results within {100 * apart:.2f} %")
        good &= apart <= LEAST
    return lines, good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--hogs", type=int, default=2)
    given = parser.parse_args()
    started = time.monotonic()
    rules = PlantedRules()
    with hogs(given.hogs), rules.planted():
        code = run_plan(plan_of(given.repeat), given.folder, rules)
    lines, good = table(RunReader(given.folder).run, given.repeat)
    print("\n".join(lines))
    print(f"\nmeasured in {(time.monotonic() - started) / 60:.0f} min beside {given.hogs} busy programs")
    return 0 if good and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
