# SPDX-License-Identifier: Apache-2.0
"""Measures with siitperf's scripts in a lab that stands, and with the imported plan, through the same gateway.

The gateways have limits that natxy did not make, so that neither of the two can be right by agreeing with the other.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tests
from natxy.plan.yaml.parsing import parse
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.siitperf.conf import parse_conf
from natxy.siitperf.importing.plan import import_plan
from natxy.siitperf.importing.source import Source
from tests.support.command import HANG_S
from tests.support.siitperf_bed import Ended, run_program
from tests.support.undisturbed import undisturbed

RATE: Final = 400
BURST: Final = 400
LIMIT: Final = RATE + BURST
"""Frames that the limiter lets pass in each direction in a trial of 1 s. After its first frames the limiter is never
at rest, so that a pause of the machine, by which frames come later and faster, costs none of the others."""
# The limiter has recovered meanwhile.
_REST_S: Final = 1.2 * BURST / RATE

# A machine that pauses for longer disturbs the trial by more frames than the searches' margin.
PATIENCE_MS: Final = 200
_TIMING: Final = {
    "preset": "lab", "trial": "1s", "settle": f"{_REST_S}s", "max_pause": f"{PATIENCE_MS}ms",
    "overrun_floor": f"{PATIENCE_MS}ms",
}  # fmt: skip

LIMITER: Final = "add table netdev limiter; delete table netdev limiter\ntable netdev limiter {\n" + "".join(
    f"chain of_{side} {{ type filter hook ingress device {side} priority 0;\n"
    f"meta l4proto udp limit rate over {RATE}/second burst {BURST} packets drop; }}\n"
    for side in ("LEFT", "RIGHT")
) + "}\n"  # fmt: skip


@dataclass(frozen=True)
class ScriptLab:
    """Has a configuration and a gateway, with rules of nftables beside those of its driver."""

    folder: Path
    conf: str
    driver: str
    rules: str = LIMITER

    def plan(self, **experiments: Mapping[str, Any]) -> Path:
        """Writes an imported plan with an experiment for each procedure, with fields of the caller's own."""
        plans = [self._imported(procedure.replace("_", "-"), fields) for procedure, fields in experiments.items()]
        plan = plans[0] | {"experiments": [each["experiments"][0] for each in plans]}
        path = self.folder / "plan.yaml"
        path.write_text(json.dumps(plan))
        return path

    def measured(self, plan: Path) -> list[ExperimentRecord]:
        """Returns the results of the plan's way, an experiment each."""
        run = self.folder / "run"
        self._natxy("run", plan, "--output", run)
        return RunReader(run).run.experiments

    def _imported(self, procedure: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        plan = dict(parse(import_plan(Source(parse_conf(self.conf), procedure))))
        (imported,) = plan["experiments"]
        changed = {"max_invalid": 50, **imported, "gateway": self.driver, **fields, "name": procedure}
        return plan | {"timing": _TIMING, "repeat": 1, "experiments": [changed]}

    @contextmanager
    def standing(self, plan: Path) -> Iterator[StandingBed]:
        """Keeps the plan's lab standing for scripts."""
        lines = self._natxy("lab", "up", plan).splitlines()
        try:
            exports = dict(line.split(" ", 1)[1].split("=", 1) for line in lines if line.startswith("export "))
            yield StandingBed(self, {name: shlex.split(value)[0] for name, value in exports.items()})
        finally:
            self._natxy("lab", "down")

    def _natxy(self, *arguments: str | Path) -> str:
        command = [sys.executable, "-m", "tests.support.limited_natxy", self.folder / "ledger", self.rules, *arguments]
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, timeout=HANG_S, check=False,
            cwd=Path(*tests.__path__).parent,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@dataclass(frozen=True)
class StandingBed:
    lab: ScriptLab
    exports: Mapping[str, str]

    def __call__(self, program: str, arguments: str) -> str:
        """Calls a program in the tester's namespace, and again if natxy says that the tester was disturbed."""
        (self.lab.folder / "siitperf.conf").write_text(self.lab.conf)
        environment = {**self.exports, "NATXY_SIITPERF_OVERRUN_FLOOR_MS": str(PATIENCE_MS)}
        inside = ["ip", "netns", "exec", self.exports["NATXY_LAB_TESTER"]]

        def call_rested() -> Ended:
            # The scripts' own variable `sleept` has this purpose.
            time.sleep(_REST_S)
            return run_program(program, arguments, self.lab.folder, prefix=inside, **environment)

        ended = undisturbed(call_rested, lambda ended: ended.blame)
        return "\n".join([*ended.lines, *ended.errors])
