# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from natxy.history.changes import changes
from natxy.history.past import PastExperiment, PastRun, past_run
from natxy.results.reader import RunReader
from tests.support.past_runs import night


def nat(folder: Path, number: int, **over: Any) -> tuple[PastRun, PastExperiment]:
    made = night(folder, number, **over)
    run = past_run(str(made), RunReader(made, trials=False).run)
    return run, run.experiments[1]


def described(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [str(each) for each in changes(nat(folder, 1, **before), nat(folder, 2, **after))]


def test_the_same_run_again_has_no_changes(tmp_path: Path) -> None:
    assert described(tmp_path, {}, {"truth": 250e3}) == []


def test_a_kernel_is_one_change_although_three_texts_contain_it(tmp_path: Path) -> None:
    assert described(tmp_path, {}, {"kernel": "6.12.5"}) == ["gateway's kernel: Linux 6.1.0-18-amd64 → Linux 6.12.5"]


def test_versions_come_before_settings(tmp_path: Path) -> None:
    found = described(tmp_path, {}, {"natxy_version": "0.2.0", "table_size": 1024, "max_invalid": 7})
    assert found == [
        "natxy: 0.1.0 → 0.2.0",
        "gateway's net.netfilter.nf_conntrack_buckets: 262144 → 1024",
        "gateway's net.netfilter.nf_conntrack_max: 262144 → 1024",
        "max_invalid: 3 → 7",
    ]


def test_what_a_gateway_reports_of_its_plan_is_one_change(tmp_path: Path) -> None:
    run, experiment = nat(tmp_path, 1)

    def forwarding(rate_fps: float) -> tuple[PastRun, PastExperiment]:
        reported = {"version": "1", "forwarding_fps": f"{rate_fps:.1f}"}
        planned = {"gateway.forwarding_fps": f"{rate_fps:g}"}
        return run, replace(experiment, gateway=json.dumps(reported), settings=json.dumps(planned))

    found = changes(forwarding(250e3), forwarding(225e3))
    assert [str(each) for each in found] == ["gateway.forwarding_fps: 250000 → 225000"]


def test_a_setting_that_only_one_version_of_natxy_has_is_no_change(tmp_path: Path) -> None:
    newer = {"natxy_version": "0.2.0", "flows": 5}
    assert described(tmp_path / "a", {}, newer) == ["natxy: 0.1.0 → 0.2.0"]
    assert described(tmp_path / "b", {"natxy_version": "0.2.0"}, newer) == ["flows: – → 5"]
