# SPDX-License-Identifier: Apache-2.0
"""Measures with siitperf's scripts in a lab that stands, and with the imported plan, through the same gateway."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from natxy.plan.yaml.parsing import parse
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.siitperf.conf import parse_conf
from natxy.siitperf.importing.plan import import_plan
from natxy.siitperf.importing.source import Source
from tests.support.command import HANG_S
from tests.support.siitperf_bed import Ended, run_program

# Frames that are later give a limiter the time to let more of them pass.
PATIENCE_MS: Final = 100
# A limiter recovers while the gateway settles.
_TIMING: Final = {
    "preset": "lab", "trial": "1s", "settle": "1s", "max_pause": "100ms", "overrun_floor": f"{PATIENCE_MS}ms",
}  # fmt: skip
_CALLS: Final = 6

# A ledger of the tests' own, so that they neither remove the labs of others nor lose theirs; and rules beside those of
# the gateway's driver.
_NATXY: Final = """
import sys
from pathlib import Path
from natxy.dut import registry
from natxy.system import ledger
folder, rules = Path(sys.argv.pop(1)), sys.argv.pop(1)
ledger.default_folder = lambda: folder
create = registry.create
def create_limited(config, transport, interfaces, addresses):
    gateway = create(config, transport, interfaces, addresses)
    apply = gateway.apply
    def apply_limited():
        apply()
        text = rules.replace("LEFT", interfaces.left).replace("RIGHT", interfaces.right)
        transport.run(["nft", "-f", "/dev/stdin"], input=text)
    gateway.apply = apply_limited
    return gateway
registry.create = create_limited
from natxy.cli import main
main()
"""


@dataclass(frozen=True)
class ScriptLab:
    """Has a configuration and a gateway with a limit: `rules` of nftables beside those of its driver."""

    folder: Path
    conf: str
    driver: str
    rules: str

    def plan(self, **experiments: Mapping[str, Any]) -> Path:
        """Writes an imported plan with an experiment for each procedure, with fields of the test's own."""
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
        command = [sys.executable, "-c", _NATXY, self.folder / "ledger", self.rules, *arguments]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@dataclass(frozen=True)
class StandingBed:
    lab: ScriptLab
    exports: Mapping[str, str]

    def __call__(self, program: str, arguments: str) -> str:
        """Calls a program in the tester's namespace, and again if natxy says that the tester was disturbed.

        A loss that pauses could explain may be the gateway's all the same: after some calls it counts.
        """
        for _ in range(_CALLS):
            ended = self._call(program, arguments)
            if not ended.blame:
                break
        return "\n".join([*ended.lines, *ended.errors])

    def _call(self, program: str, arguments: str) -> Ended:
        (self.lab.folder / "siitperf.conf").write_text(self.lab.conf)
        environment = {**self.exports, "NATXY_SIITPERF_OVERRUN_FLOOR_MS": str(PATIENCE_MS)}
        environment["NATXY_SIITPERF_RUN"] = str(self.lab.folder / "scripts")
        inside = ["ip", "netns", "exec", self.exports["NATXY_LAB_TESTER"]]
        return run_program(program, arguments, self.lab.folder, prefix=inside, **environment)
