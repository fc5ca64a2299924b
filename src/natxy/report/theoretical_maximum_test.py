# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.run.run import run_plan


def rows_of(folder: Path, experiment: dict[str, Any], **top: Any) -> dict[str, str]:
    gateway = {"driver": "simulated", "forwarding_fps": "2M"}
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}}
    given = head | top | {"experiments": [{"name": "e", "gateway": gateway} | experiment]}
    assert run_plan(resolve(Plan.model_validate(given)), folder, RunListener()) == 0
    table, *_ = results_tables.rfc_form(RunReader(folder).run)
    return {row[0]: row[1] for row in table.rows}


THROUGHPUT = {"procedure": "throughput", "search": {"max_rate": "2M", "error": 100}}


def test_the_share_of_the_theoretical_maximum_stands_beside_the_result(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", THROUGHPUT, line_rate="1Gbps")
    assert rows["Theoretical maximum"] == "1,488,095 frames/s per direction at 1 Gbit/s"
    assert rows["Median of the theoretical maximum"] == "67.20 %"


@pytest.mark.parametrize("search", [{"max_rate": "100%", "error": 100}, {"max_rate": "100%", "kind": "mlrsearch"}])
def test_what_passes_at_the_line_rate_is_exact_and_has_ratios(tmp_path: Path, search: dict[str, Any]) -> None:
    gateway = {"driver": "simulated", "forwarding_fps": "4M"}
    own = {"procedure": "throughput", "gateway": gateway, "search": search, "line_rate": "1Gbps"}
    experiments = [own | {"name": "base"}, own | {"name": "e", "baseline": "base"}]
    head = {"name": "p", "repeat": 2, "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": experiments}
    assert run_plan(resolve(Plan.model_validate(head)), tmp_path / "run", RunListener()) == 0
    run = RunReader(tmp_path / "run").run
    table, *_ = results_tables.rfc_form(run)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Median of the theoretical maximum"] == ("100.00 %", "100.00 %")
    assert rows["Relative to the baseline"][1] == "100.0 % [100.0, 100.0]"
    assert {experiment.reason for experiment in run.experiments} == {"the line rate: the theoretical maximum passed"}
    assert not any(experiment.is_only_a_lower_bound for experiment in run.experiments)


def test_below_the_line_rate_the_highest_that_passed_is_a_bound(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", {"procedure": "throughput", "search": {"max_rate": "50%"}}, line_rate="1Gbps")
    assert rows["Median of the theoretical maximum"] == "≥ 50.00 %"


def test_it_follows_the_frame_size_and_the_experiments_own_line(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", THROUGHPUT | {"frame_size": 1518, "line_rate": "100Gbps"}, line_rate="1Gbps")
    assert rows["Theoretical maximum"] == "8,127,438 frames/s per direction at 100 Gbit/s"


@pytest.mark.parametrize(
    ("convention", "directions", "longest"),
    [
        ("paired", "bidirectional", 1518),
        ("nominal", "bidirectional", 1538),
        ("nominal", "reverse", 1538),
        ("nominal", "forward", 1518),
    ],
)
def test_the_longer_frame_of_a_translation_counts(
    tmp_path: Path, convention: str, directions: str, longest: int
) -> None:
    own = {"translation": "siit", "frame_size": 1518, "size_convention": convention, "directions": directions}
    rows = rows_of(tmp_path / "run", THROUGHPUT | own, line_rate="100Gbps")
    assert rows["Theoretical maximum"].startswith(f"{100e9 / 8 / (longest + 20):,.0f} frames/s")


# RFC 8219, appendix A: 10 Gbit/s, and frames that are O = 20 or 40 bytes longer between the gateways.
@pytest.mark.parametrize(
    ("gateways", "size", "longer", "maximum_fps"),
    [
        (["tayga", "tayga-netfilter"], 64, 20, 12_019_230),
        (["softwire", "softwire", "nftables"], 64, 40, 10_080_645),
        (["softwire", "softwire", "nftables"], 128, 40, 6_648_936),
        (["softwire", "softwire", "nftables"], 1518, 40, 792_141),
        (["softwire", "tester"], 64, 40, 10_080_645),
    ],
)
def test_frames_that_are_longer_between_gateways_limit_the_maximum(
    gateways: list[str], size: int, longer: int, maximum_fps: int
) -> None:
    chain = {"driver": "chain", "gateways": gateways}
    kept = {} if "tester" in gateways else {"connections": 100, "phase1_rate": "1k"}
    own = {"name": "e", "gateway": chain, "frame_size": size} | kept | THROUGHPUT
    given = {"name": "p", "line_rate": "10Gbps", "experiments": [own]}
    (experiment,) = resolve(Plan.model_validate(given)).experiments
    assert experiment.longest_frame == size + longer
    assert experiment.maximum_fps is not None
    assert int(experiment.maximum_fps) == maximum_fps
    # The links take the longest frame whole, and what the kernel keeps free in a softwire.
    assert experiment.address_plan.mtu >= size + longer - 18


@pytest.mark.parametrize(
    ("experiment", "top"),
    [
        (THROUGHPUT, {}),
        (
            {"procedure": "connection-rate", "connections": "1k", "search": {"max_rate": "1M"}},
            {"line_rate": "1Gbps"},
        ),
    ],
)
def test_nothing_is_said_where_there_is_none(tmp_path: Path, experiment: dict[str, Any], top: dict[str, Any]) -> None:
    assert not [title for title in rows_of(tmp_path / "run", experiment, **top) if "heoretical" in title]


def test_a_latency_has_the_maximum_and_no_share_of_it(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", {"procedure": "latency", "rate": "10k"}, line_rate="10Gbps")
    assert "Theoretical maximum" in rows
    assert "Median of the theoretical maximum" not in rows
