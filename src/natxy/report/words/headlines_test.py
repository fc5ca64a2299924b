# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.export.rows import figure_rows
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.words.conditions import conditions
from natxy.report.words.headlines import rate_kind
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan


def measured(folder: Path, *experiments: dict[str, Any]) -> RunRecord:
    search = {"min_rate": "1k", "max_rate": "100k", "error": "1%"}
    fields = [{"gateway": "simulated", "procedure": "throughput", "search": search} | own for own in experiments]
    plan = {
        "name": "p", "timing": "lab", "repeat": 1, "line_rate": "1Gbps", "testbed": {"kind": "simulated"},
        "experiments": fields,
    }  # fmt: skip
    assert run_plan(resolve(Plan.model_validate(plan)), folder, RunListener()) == 0
    return RunReader(folder).run


def test_a_mix_has_its_bit_rate_and_its_sizes(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", {"name": "mix", "mix": "imix"}, {"name": "one", "frame_size": 64})
    mix, one = run.experiments
    assert mix.statistics
    mean_bytes = (7 * 64 + 4 * 594 + 1518) / 12
    assert mix.planned.maximum_fps == pytest.approx(1e9 / 8 / (mean_bytes + 20))
    assert f" · ≥ {8e-6 * mean_bytes * mix.statistics.median:.4g} Mbit/s of frames a direction" in rate_kind(mix)
    assert "bit/s" not in rate_kind(one)
    sizes = conditions(mix)["Frame size, FCS counted"]
    assert sizes == "7 × 64 + 4 × 594 + 1 × 1518 bytes (mean 361.8)"
    rows = {row["experiment"]: row for row in figure_rows(run)}
    assert (rows["mix"]["mix"], rows["mix"]["frame_size_bytes"]) == ("imix", pytest.approx(mean_bytes))
    assert (rows["one"]["mix"], rows["one"]["frame_size_bytes"]) == (None, 64)


def test_frames_that_are_longer_in_a_softwire_have_both_bit_rates(tmp_path: Path) -> None:
    [plain] = measured(tmp_path / "run", {"name": "x", "frame_size": 64}).experiments
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    chain = fields | {"gateway": {"driver": "chain", "gateways": ["softwire", "softwire"]}}
    planned = resolve(Plan.model_validate({"name": "p", "experiments": [chain]})).experiments[0]
    softwire = replace(plain, planned=planned)
    assert plain.statistics
    rate_fps = plain.statistics.median
    told = (
        f" · ≥ {8e-6 * 64 * rate_fps:.4g} Mbit/s of frames a direction, ≥ {8e-6 * 104 * rate_fps:.4g} Mbit/s of longer"
    )
    assert told in rate_kind(softwire)


def test_extension_headers_are_told(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", {"name": "options", "family": "ipv6", "extension_headers": "both"})
    [options] = run.experiments
    sizes = conditions(options)["Frame size, FCS counted"]
    assert sizes == "100 bytes, 16 of them extension headers (both)"
    assert next(iter(figure_rows(run)))["extension_headers"] == "both"
