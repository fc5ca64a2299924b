# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

from natxy.export.benchmark_list import benchmark_list
from natxy.results.analysis.better import Better
from natxy.results.reader import RunReader
from tests.support.sample_runs import SampleRun, measured_latency, measured_rates


def test_each_figure_is_in_the_list_of_its_kind(tmp_path: Path) -> None:
    run = SampleRun(tmp_path, in_blocks=True)
    measured_rates(run, "base", [97.0, 98.0, 99.0, 101.0, 102.0, 103.0])
    measured_rates(run, "nat", [50.0], baseline="base")
    measured_rates(run, "two", [50.0, 52.0])
    measured_latency(run, "delay", 100.0, title="Delay", lost=(1, 1, 1))
    record = RunReader(run.end()).run
    bigger, smaller = (json.loads(benchmark_list(record, better)) for better in (Better.BIGGER, Better.SMALLER))
    assert bigger == [
        {"name": "base: Throughput", "unit": "fps", "value": 100.0, "range": "97 to 103"},
        {"name": "nat: Throughput", "unit": "fps", "value": 50.0},
        {"name": "nat: Share of the baseline", "unit": "percent", "value": 5000 / 97},
        {"name": "two: Throughput", "unit": "fps", "value": 51.0},
    ]
    assert [each["name"].partition(":")[0] for each in smaller] == ["delay"] * 8
    assert {each["unit"] for each in smaller} == {"ns", "frames"}
    assert benchmark_list(record, Better.BIGGER).endswith("]\n")
