# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of gateways in machines of their own from runs of plans/vm.yaml and plans/user-mode.yaml.

python -m tools.vm_tables VM_RUN USER_MODE_RUN
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit
from natxy.report.words import disturbances, wording
from natxy.results.analysis.dut_cost import cost
from natxy.results.reader import RunReader
from natxy.results.records import DutRecord, ExperimentRecord, RunRecord
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/how-to/vm.md")
_UNITS: Final = {Unit.FPS: "frames/s", Unit.CPS: "connections/s"}
_CODE: Final = {
    "vm": ("src/natxy/testbeds/vm", "src/natxy/plan/testbeds/vm.py", "guest/vm.sh"),
    "user mode": ("src/natxy/testbeds/guest", "guest/build.sh", "guest/preload.c"),
}
_COMPARED: Final = ("forwarding", "iptables-rate", "iptables", "ipv6-forwarding", "jool-rate", "jool")


def gateway_rows(run: RunRecord) -> Iterator[str]:
    """Yields a line for each experiment of a run in the virtual machine, and then the conditions."""
    yield "| | median | min – max | spread | N | of forwarding | DUT CPU time per frame |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for each in run.experiments:
        ratio = wording.ratio(each.baseline_ratio, gap="") if each.baseline else ""
        cells = (_median(each), _ends(each), _spread(each), f"{len(each.values)}", ratio, _cost(each))
        yield f"| {each.title} | {' | '.join(cells)} |"
    yield ""
    yield conditions(run)


def comparison_rows(vm: RunRecord, user_mode: RunRecord, root: Path = Path()) -> Iterator[str]:
    """Yields what the virtual machine and user-mode Linux are like, in the experiments that both have."""
    yield "| | virtual machine | user-mode Linux |"
    yield "|---|---:|---:|"
    ways = [{each.name: each for each in run.experiments} for run in (vm, user_mode)]
    for name in _COMPARED:
        found = [way[name] for way in ways]
        yield f"| {found[0].title} | {' | '.join(f'{_median(each)}, spread {_spread(each)}' for each in found)} |"
    yield f"| from the start of natxy to the first trial | {' | '.join(_start(run) for run in (vm, user_mode))} |"
    shares = (f"{_decided(run)} of {sum(1 for _ in run.all_trials)}" for run in (vm, user_mode))
    yield f"| trials that decided something | {' | '.join(shares)} |"
    lines = (f"{sum(_lines(root / each) for each in parts):,}" for parts in _CODE.values())
    yield f"| lines of code, without tests | {' | '.join(lines)} |"
    yield ""
    yield conditions(user_mode)


def conditions(run: RunRecord) -> str:
    """Returns where and when a run was measured, and what disturbed it."""
    duts = {f"{dut.settings.get('machine') or dut.settings['kernel']}" for dut in _duts(run.experiments)}
    first = datetime.fromisoformat(run.started_at)
    text = f"Measured on {first:%Y-%m-%d}, {run.machine['processor']}, {run.machine['cores']} cores; gateway: "
    return f"{text}{'; '.join(sorted(duts))}. {disturbances.validity(run)}"


def _duts(experiments: Iterable[ExperimentRecord]) -> Iterator[DutRecord]:
    return (dut for each in experiments for dut in each.duts)


def _median(experiment: ExperimentRecord) -> str:
    summary = experiment.statistics
    return wording.ABSENT if summary is None else f"{summary.bounded_median.text(_rate)} {_UNITS[experiment.unit]}"


def _ends(experiment: ExperimentRecord) -> str:
    summary = experiment.statistics
    if summary is None:
        return wording.ABSENT
    return " – ".join(summary.bounded(value).text(_rate) for value in (summary.minimum, summary.maximum))


def _spread(experiment: ExperimentRecord) -> str:
    return wording.ABSENT if experiment.statistics is None else wording.dispersion(experiment.statistics)


def _cost(experiment: ExperimentRecord) -> str:
    summary = cost(experiment)
    if summary is None:
        return wording.ABSENT
    return f"{summary.median / 1e3:.1f} µs ({summary.minimum / 1e3:.1f} – {summary.maximum / 1e3:.1f})"


def _rate(value: float) -> str:
    return f"{value / 1e3:.1f} k"


def _start(run: RunRecord) -> str:
    first = min(datetime.fromisoformat(placed.trial.started_at) for placed in run.all_trials)
    return f"{(first - datetime.fromisoformat(run.started_at)).total_seconds():.0f} s"


def _decided(run: RunRecord) -> int:
    return sum(placed.trial.verdict in (Verdict.PASS, Verdict.FAIL) for placed in run.all_trials)


def _lines(path: Path) -> int:
    files = path.glob("*.py") if path.is_dir() else [path]
    return sum(len(file.read_text().splitlines()) for file in files if not file.name.endswith("_test.py"))


if __name__ == "__main__":
    vm, user_mode = (RunReader(Path(folder)).run for folder in sys.argv[1:3])
    page = put(PAGE.read_text(encoding="utf-8"), "gateways", gateway_rows(vm))
    PAGE.write_text(put(page, "comparison", comparison_rows(vm, user_mode)), encoding="utf-8")
