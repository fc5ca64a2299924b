# SPDX-License-Identifier: Apache-2.0
"""Keeps one gateway standing in a lab, and measures it in two ways: by siitperf's programs, and by an imported plan."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import tests
from natxy.plan.yaml.parsing import parse
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord, State
from natxy.search.outcome import Outcome
from tests.replay.limits import INTERFACES, REST_S, Limit
from tests.support.command import HANG_S
from tests.support.own_ledger import natxy_with_ledger
from tests.support.siitperf_bed import run_program

PATIENCE_MS: Final = 20
"""The time that the last frame of a trial may be late, in both ways."""

_CALLS: Final = 3


@dataclass(frozen=True)
class Import:
    """A configuration of siitperf's, and what `natxy import` is asked to make of it.

    `fields` are of the experiment: what siitperf leaves to the variables of its scripts. A mapping adds to what the
    import made.
    """

    conf: str
    procedure: str
    arguments: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def experiment(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the experiment of the plan that was made of this, with the fields."""
        (made,) = plan["experiments"]
        added = {key: {**made.get(key, {}), **each} for key, each in self.fields.items() if isinstance(each, Mapping)}
        return {**made, **self.fields, **added}


class Blamed(StrEnum):
    """Names what natxy blamed on the tester: calls and steps that were repeated, and calls that count all the same."""

    CALLS_REPEATED = "calls_repeated"
    COUNTED = "calls_counted_though_blamed"
    STEPS_REPEATED = "steps_repeated"


@dataclass(frozen=True)
class TwoWays:
    """A gateway that stands. Both ways clear the same tables before a trial, and rest for the same time.

    `ledger` is the folder of the ledger that has the lab, None for this machine's. `blamed` counts what natxy blamed on
    the tester.
    """

    folder: Path
    ledger: Path | None
    exports: Mapping[str, str]
    gateway: Mapping[str, Any]
    limit: Limit
    blamed: Counter[Blamed] = field(default_factory=Counter)

    def call(self, conf: str, program: str, arguments: str) -> str:
        """Calls one of siitperf's programs as its scripts do, and again if natxy says that the tester was disturbed.

        A loss that a pause of the tester could explain is also the gateway's where it loses something: the last call
        counts in any case.
        """
        (self.folder / "siitperf.conf").write_text(conf, encoding="utf-8")
        environment = {**self.exports, "NATXY_SIITPERF_OVERRUN_FLOOR_MS": str(PATIENCE_MS)}

        for number in range(1, _CALLS + 1):
            self._clear()
            # The scripts' variable `sleept` is for this.
            time.sleep(REST_S)
            ended = run_program(program, arguments, self.folder, prefix=self._inside("TESTER"), **environment)
            if not ended.blame:
                break
            self.blamed[Blamed.COUNTED if number == _CALLS else Blamed.CALLS_REPEATED] += 1
        return "\n".join([*ended.lines, *ended.errors])

    def run(self, asked: Import) -> RepetitionRecord:
        """Runs the imported plan in the tester's namespace, from port to port through the gateway that stands."""
        # The probe before a run's first trial needs room in the tables.
        self._clear()
        plan = imported(self.folder, asked)
        changed = {"max_invalid": 50, **asked.experiment(plan), "gateway": self.gateway}
        ends: dict[str, Any] = {side: {"interface": side} for side in ("left", "right")}
        dut = {"left": INTERFACES[0], "right": INTERFACES[1], "namespace": self.exports["NATXY_LAB_DUT"]}
        timing = {"settle": f"{REST_S} s", "overrun_floor": f"{PATIENCE_MS} ms", "max_pause": "100 ms"}
        plan |= {
            "testbed": {
                "kind": "hardware", **ends, "dut": {**dut, "addresses": "keep"},
                "tester_cores": [int(core) for core in self.exports["NATXY_SIITPERF_CORES"].split(",")],
            },
            "timing": {"learning_pause": f"{REST_S} s", **plan.get("timing", {}), **timing, "drain_ends_early": True},
            "repeat": 1,
            "experiments": [changed],
        }  # fmt: skip
        path, out = self.folder / "plan.yaml", self.folder / f"run-{time.monotonic_ns()}"
        path.write_text(json.dumps(plan), encoding="utf-8")
        natxy(self.ledger, "run", path, "--output", out, inside=self._inside("TESTER"))
        (measured,) = RunReader(out).run.experiments
        (repetition,) = measured.repetitions
        self.blamed[Blamed.STEPS_REPEATED] += sum(each.outcome is Outcome.INVALID for each in repetition.steps)
        assert repetition.state == State.DONE, repetition.reason
        return repetition

    def put_up(self) -> None:
        for command, text in self.limit.put_up:
            self._in_dut(command, text)

    def _clear(self) -> None:
        for command in self.limit.clear:
            self._in_dut(command)

    def _in_dut(self, command: Sequence[str], text: str = "") -> None:
        done = subprocess.run([*self._inside("DUT"), *command], input=text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"

    def _inside(self, which: str) -> list[str]:
        return ["ip", "netns", "exec", self.exports[f"NATXY_LAB_{which}"]]


@contextmanager
def standing(
    folder: Path,
    ledger: Path | None,
    asked: Import,
    driver: str,
    limit: Limit,
    *,
    stateful: bool = False,
    masquerades: bool = False,
) -> Iterator[TwoWays]:
    """Keeps the lab of an imported plan standing, with the gateway of a driver, behind a limit."""
    plan = imported(folder, asked)
    path = folder / "lab.yaml"
    # The imported gateway has a table for so many connections, which is a setting of the whole machine.
    changed = {**asked.experiment(plan), "gateway": driver}
    path.write_text(json.dumps({**plan, "experiments": [changed]}))
    lines = natxy(ledger, "lab", "up", path).splitlines()
    try:
        words = [shlex.split(line)[1] for line in lines if line.startswith("export ")]
        exports = dict(word.split("=", 1) for word in words)
        gateway: dict[str, Any] = {"driver": "command"}
        if stateful:
            gateway |= {"stateful": True, "masquerades": masquerades}
            gateway["clear"] = [[*command] for command in limit.clear]
        ways = TwoWays(folder, ledger, exports, gateway, limit)
        ways.put_up()
        yield ways
    finally:
        natxy(ledger, "lab", "down")


def imported(folder: Path, asked: Import) -> dict[str, Any]:
    """Returns the plan that natxy makes of a configuration and of a program's arguments."""
    conf = folder / "imported.conf"
    conf.write_text(asked.conf, encoding="utf-8")
    words: list[str | Path] = ["import", conf, "--procedure", asked.procedure, "--arguments", asked.arguments]
    plan: dict[str, Any] = dict(parse(natxy(None, *words)))
    return plan


def natxy(ledger: Path | None, *words: str | Path, inside: Sequence[str] = ()) -> str:
    """Returns what natxy wrote."""
    own = [sys.executable, "-m", "natxy", *map(str, words)]
    command = [*inside, *(natxy_with_ledger(ledger, *words) if ledger else own)]
    pipe, folder = subprocess.PIPE, Path(*tests.__path__).parent
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=folder) as program:
        try:
            output, errors = program.communicate(timeout=HANG_S)
        except BaseException:
            # It removes a lab that it is building; killed, it would leave that standing.
            program.terminate()
            raise
    assert program.returncode == 0, f"{words}: {output}{errors}"
    return output
