# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tools.bench.speed_tables import (
    KEPT,
    PAGE,
    TABLES,
    below_goal,
    cycle_rows,
    keep,
    put,
    ratio_rows,
    siitperf_rows,
    start_rows,
    wire_rows,
)

EPYC: Final = {"conditions": {"processor": "AMD EPYC"}}
XEON: Final = {"conditions": {"processor": "Intel(R) Xeon(R) Processor"}}


def ratio(name: str, median: float, goal: float | None = 1.5) -> dict[str, Any]:
    return {"name": name, "ratio_median": median, "ratio_min": 0.25, "ratio_max": 2.0, "goal": goal}


@pytest.mark.parametrize(("median", "below"), [(1.494, True), (1.496, False), (1.5, False), (0.9, True)])
def test_a_ratio_is_judged_as_it_is_shown(median: float, below: bool) -> None:
    assert below_goal(ratio("send", median)) is below
    assert not below_goal(ratio("send", median, None))


@pytest.mark.parametrize(("goal_ns", "below"), [(1000, True), (1001, False), (None, False)])
def test_lateness_is_judged_where_it_has_a_goal(goal_ns: int | None, below: bool) -> None:
    assert below_goal({"p999_ns": 1001, "goal_p999_ns": goal_ns}) is below
    assert not below_goal({"connections": 100_000_000})


def test_each_machine_has_a_column() -> None:
    machines = [
        EPYC | {"ratios": [ratio("send / testpmd", 1.99)]},
        XEON | {"ratios": [ratio("send / testpmd", 1.4), ratio("new / testpmd", 1.6, None)]},
    ]
    assert [*ratio_rows(machines)] == [
        "| task | goal | AMD EPYC | Intel Xeon |",
        "|---|---:|---:|---:|",
        "| `send` / testpmd | 1.50 | 1.99 (0.25–2.00) | 1.40 (0.25–2.00) below |",
        "| `new` / testpmd |  |  | 1.60 (0.25–2.00) |",
    ]


def test_siitperfs_own_ratio_is_beside_that_of_the_program() -> None:
    machines = [EPYC | {"siitperf": [ratio("fixed", 1.5) | {"siitperf": 0.57}]}]
    assert [*siitperf_rows(machines)][2:] == ["| fixed | 1.50 | 0.57 | 1.50 (0.25–2.00) |"]


def test_the_start_of_a_program_is_judged() -> None:
    def start(median_s: float) -> dict[str, Any]:
        return {"name": "plain", "median_s": median_s, "least_s": 0.4, "most_s": 2.0, "goal_s": 1.5, "load": 2.25}

    epyc, xeon = ({"conditions": each["conditions"] | {"cores": "2"}} for each in (EPYC, XEON))
    machines = [epyc | {"siitperf_start": [start(0.5)]}, xeon | {"siitperf_start": [start(1.6)]}]
    assert [*start_rows(machines)] == [
        "| call | goal | AMD EPYC | Intel Xeon |",
        "|---|---:|---:|---:|",
        "| plain | 1.5 s | 0.50 (0.40–2.00) | 1.60 (0.40–2.00) above |",
        "\nThe machine's load meanwhile: AMD EPYC: 2.2 on 2 cores; Intel Xeon: 2.2 on 2 cores.",
    ]


def test_parts_that_a_task_does_not_have_stay_empty_in_the_table_of_cycles() -> None:
    tasks = [
        {"name": "send", "unit": "ns", "parts": {"port": 15.6, "rest": 0.4}},
        {"name": "receive", "unit": "ns", "parts": {"judging": 20.0}},
    ]
    assert [*cycle_rows([EPYC | {"cycles": tasks}])] == [
        "\nAMD EPYC, in ns:\n",
        "| part | `send` | `receive` |",
        "|---|---:|---:|",
        "| port | 15.6 |  |",
        "| rest | 0.4 |  |",
        "| judging |  | 20.0 |",
        "| **all** | **16.0** | **20.0** |",
    ]


def test_each_way_over_the_wire_has_a_line() -> None:
    ways = [{"name": "af_xdp; discarded", "sent_fps": 1_234_567, "arrived_fps": 890_499}]
    assert [*wire_rows([EPYC | {"wire": ways}])][2:] == ["| AMD EPYC | af_xdp; discarded | 1,235 k/s | 890 k/s |"]


def test_what_one_machine_measured_replaces_only_its_own(tmp_path: Path) -> None:
    measured, kept = tmp_path / "measured", tmp_path / "kept"
    measured.mkdir()
    keep(measured, kept, XEON["conditions"])
    assert not kept.exists()
    for machine, median in ((EPYC, 1.0), (XEON, 2.0)):
        (measured / "conditions.json").write_text(json.dumps(machine["conditions"]))
        (measured / "ratios.json").write_text(json.dumps([ratio("send", median)]))
        keep(measured, kept, EPYC["conditions"])
    for name in ("conditions", "ratios"):
        (measured / f"{name}.json").unlink()
    (measured / "pacing.json").write_text("[]")
    keep(measured, kept, {"processor": "Other"})
    keep(measured, kept, XEON["conditions"])
    assert sorted(file.name for file in kept.iterdir()) == ["amd-epyc.json", "intel-xeon.json"]
    xeon = json.loads((kept / "intel-xeon.json").read_text())
    assert xeon == XEON | {"ratios": [ratio("send", 2.0)], "pacing": []}
    assert json.loads((kept / "amd-epyc.json").read_text())["ratios"] == [ratio("send", 1.0)]


def test_what_the_page_shows_is_kept() -> None:
    assert all("conditions" in json.loads(file.read_text()) for file in KEPT.glob("*.json"))
    assert {file.stem for file in KEPT.glob("*.json")} >= {"amd-epyc"}


@pytest.mark.parametrize(
    "page", ["", "<!-- ratios -->\n", "<!-- ratio -->\n<!-- end -->\n", 2 * "<!-- ratios -->\n<!-- end -->\n"]
)
def test_a_page_without_a_single_place_for_a_table_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match=r"expected one line <!-- ratios -->, with .* below it, and found [02]"):
        put(page, "ratios", ["| row |"])


def test_the_page_has_a_place_for_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in TABLES:
        assert "\n| a row |\n<!-- end -->" in put(page, name, ["| a row |"])
