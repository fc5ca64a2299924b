# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import SampleRun, Sought
from tools.vm_tables import comparison_rows, gateway_rows


def measured(folder: Path, *, kernel: str | None = None) -> RunRecord:
    run = SampleRun(folder, loads=True)
    variant = {"kernel": kernel} if kernel else None
    for name in ("forwarding", "ipv6-forwarding"):
        run.experiment(name, Sought(200e3), title=name, variant=variant)
    for name in ("iptables-rate", "jool-rate"):
        rate: dict[str, Any] = {"procedure": "connection-rate", "connections": 1000}
        run.experiment(name, Sought(60e3), title=name, variant=variant, **rate)
    for name in ("iptables", "jool"):
        run.experiment(name, Sought(100e3), title=name, variant=variant, baseline="forwarding")
    return RunReader(run.end()).run


def test_a_line_has_the_rate_its_spread_the_ratio_and_the_cost(tmp_path: Path) -> None:
    run = measured(tmp_path)
    lines = [*gateway_rows(run)]
    found = {each.name: each for each in run.experiments}
    summary, ratio = found["jool"].statistics, found["jool"].baseline_ratio
    assert summary is not None
    assert ratio is not None
    [line] = [each for each in lines if each.startswith("| jool |")]
    assert f"| {summary.median / 1e3:.1f} k frames/s |" in line
    assert f"| {100 * ratio.value:.1f} % |" in line
    # Every frame of a sample run takes the DUT 2 µs.
    assert line.endswith("| 2.0 µs (2.0 – 2.0) |")
    assert lines[-1].startswith("Measured on ")
    assert "Virtual CPU @ 2.60GHz, 2 cores; gateway: " in lines[-1]


def test_the_comparison_counts_lines_without_tests(tmp_path: Path) -> None:
    code = tmp_path / "src/natxy/testbeds"
    for folder, lines in (("vm", 3), ("guest", 2)):
        (code / folder).mkdir(parents=True)
        (code / folder / "a.py").write_text("\n" * lines)
        (code / folder / "a_test.py").write_text("\n" * 100)
    for file in ("src/natxy/plan/testbeds/vm.py", "guest/vm.sh", "guest/build.sh", "guest/preload.c"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("\n")
    runs = (measured(tmp_path / "vm"), measured(tmp_path / "user-mode", kernel="user-mode"))
    rows = [*comparison_rows(*runs, tmp_path)]
    assert "| lines of code, without tests | 5 | 4 |" in rows
    assert sum(row.startswith("| jool |") for row in rows) == 1
    assert "user-mode Linux" in rows[-1]
