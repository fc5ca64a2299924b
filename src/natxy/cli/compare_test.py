# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from natxy.cli import app
from natxy.plan.model.timing import LAB_TIMING
from natxy.report.words import disturbances
from tests.support.sample_runs import SampleRun, Sought, quickstart


def compare(*folders: Path, form: str | None = None) -> Result:
    more = ["--format", form] if form else []
    return CliRunner().invoke(app, ["compare", *map(str, folders), *more], env={"COLUMNS": "160"})


def run(folder: Path, truth: float, **over: Any) -> Path:
    sample = SampleRun(folder)
    sample.experiment("forward", Sought(truth), title="Forwarding", **over)
    return sample.end()


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output
    return [row for row in csv.DictReader(result.output.splitlines()) if row["title"] == "Forwarding"]


@pytest.mark.parametrize(
    ("truth", "difference", "verdict"),
    [(231e3, 0, "none found"), (234e3, 1.37, "none found"), (300e3, 31.5, "differs")],
)
def test_a_difference_has_an_interval_and_a_verdict(
    tmp_path: Path, truth: float, difference: float, verdict: str
) -> None:
    first, second = run(tmp_path / "a", 231e3), run(tmp_path / "b", truth)
    base, other = rows(compare(first, second, form="csv"))
    told = ("run", "median", "repetitions", "difference_percent", "verdict")
    assert [base[name] for name in told] == ["1", "228125.0", "3", "", ""]
    assert [other["run"], other["repetitions"], other["verdict"]] == ["2", "3", verdict]
    low, exact, high = (float(other[f"difference_percent{end}"]) for end in ("_low", "", "_high"))
    assert exact == pytest.approx(difference, abs=0.01)
    # The bracket that both searches ended with is 1.4 % of the result.
    assert low < exact - 1.3 < exact + 1.3 < high < exact + 10
    assert (low > 0) == (verdict == "differs")


def test_a_difference_reads_as_percent_with_its_interval(tmp_path: Path) -> None:
    shown = compare(run(tmp_path / "a", 300e3), run(tmp_path / "b", 231e3)).output
    assert re.search(r"−24\.0 % \[−2[5-9]\.\d, −2[0-3]\.\d\]  *differs", shown), shown


def baselined(folder: Path, forwarding: float, nat: float) -> Path:
    sample = SampleRun(folder)
    sample.experiment("forward", Sought(forwarding), title="Plain")
    sample.experiment("nat", Sought(nat), title="Forwarding", baseline="forward")
    return sample.end()


def test_shares_of_a_baseline_are_compared_too(tmp_path: Path) -> None:
    # The machine is slower by a quarter, and the gateway takes the same share of it.
    first, second = baselined(tmp_path / "a", 300e3, 200e3), baselined(tmp_path / "b", 225e3, 150e3)
    found = {row["figure"]: row for row in rows(compare(first, second, form="csv")) if row["run"] == "2"}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "rate": "differs",
        "baseline_ratio": "none found",
    }
    assert float(found["baseline_ratio"]["median"]) == pytest.approx(66.7, abs=1)
    assert found["baseline_ratio"]["repetitions"] == "3"


def test_a_share_that_only_one_run_has_is_said_and_judged(tmp_path: Path) -> None:
    first, alone = baselined(tmp_path / "a", 300e3, 200e3), SampleRun(tmp_path / "b")
    alone.experiment("nat", Sought(100e3), title="Forwarding")
    options = ["--fail-below", "*:baseline_ratio=5%", "--undecided", "9"]
    done = CliRunner().invoke(app, ["compare", str(first), str(alone.end()), *options], env={"COLUMNS": "160"})
    assert done.exit_code == 9, done.output
    assert "Not in every run: nat (share of the baseline): only in run 1" in done.output
    assert "this run was measured without the baseline; measure that too" in " ".join(done.output.split())


def test_any_number_of_runs_each_against_the_first(tmp_path: Path) -> None:
    runs = [run(tmp_path / str(number), truth) for number, truth in enumerate((200e3, 100e3, 300e3))]
    assert [row["verdict"] for row in rows(compare(*runs, form="csv"))] == ["", "differs", "differs"]


def test_a_machine_that_was_busy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = run(tmp_path / "a", 231e3), run(tmp_path / "b", 234e3)
    assert "was busy" not in compare(first, second).output
    monkeypatch.setattr(disturbances, "busy", lambda _: "The machine was busy.")
    assert compare(first, second).output.count("The machine was busy. What disturbed all its repetitions") == 2


def test_one_repetition_has_no_interval(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a", 231e3), run(tmp_path / "b", 300e3, repeat=1)
    assert rows(compare(first, second, form="csv"))[1]["verdict"] == "one repetition"


def test_a_bound_only_tells_what_lies_below_it(tmp_path: Path) -> None:
    bound = SampleRun(tmp_path / "bound")
    bound.experiment("forward", Sought(None), title="Forwarding")
    folder, slower = bound.end(), run(tmp_path / "slower", 231e3)
    assert rows(compare(slower, folder, form="csv"))[1]["verdict"] == "differs"
    assert rows(compare(slower, folder, form="csv"))[1]["difference_bound"] == "≥"
    assert rows(compare(folder, slower, form="csv"))[1]["difference_bound"] == "≤"
    same = rows(compare(folder, folder, form="csv"))[1]
    assert (same["difference"], same["verdict"]) == ("", "a bound")


def test_what_differs_and_what_is_missing_is_said(tmp_path: Path) -> None:
    longer = LAB_TIMING.model_dump(mode="json") | {"trial": 60.0}
    done = compare(quickstart(tmp_path / "a"), run(tmp_path / "b", 231e3, timing=longer))
    assert done.exit_code == 0, done.output
    assert "timing.trial" in done.output
    assert "Not in every run: nat44-rate (connection-rate): only in run 1" in done.output
    assert "A run differs from the first when" in done.output
    assert "none found" in done.output


def test_other_traffic_is_not_alike_whatever_the_rates(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a", 231e3), run(tmp_path / "b", 300e3, family="ipv6", frame_size=84)
    assert rows(compare(first, second, form="csv"))[1]["verdict"] == "not alike"
    assert "not alike: frame_size, family" in compare(first, second).output


def test_settings_read_as_in_a_plan(tmp_path: Path) -> None:
    gateway = {"networks": ["2001:2::/64", "2001:2:1::/64"], "rate": 10000.0, "share": 0.25, "deep": [{"a": True}]}
    done = compare(run(tmp_path / "a", 231e3), run(tmp_path / "b", 231e3, variant=gateway), form="markdown")
    for told in ("2001:2::/64, 2001:2:1::/64 |", "| 10000 |", "| 0.25 |", "| {a: true} |"):
        assert told in done.output, told


def test_tables_say_what_is_not_in_every_run(tmp_path: Path) -> None:
    done = compare(quickstart(tmp_path / "a"), run(tmp_path / "b", 231e3), form="markdown")
    assert "**Not in every run**" in done.output
    assert "| nat44-rate (connection-rate): only in run 1 |" in done.output


def test_cells_are_matched_by_sweep_and_coordinates_however_they_were_written(tmp_path: Path) -> None:
    folders = []
    for folder, written, cells in (("a", "400k", (64, 400_000)), ("b", "400000", (400_000, 800_000))):
        sample = SampleRun(tmp_path / folder)
        for connections in cells:
            name = f"nat/connections={written if connections == 400_000 else connections}"
            sample.experiment(name, Sought(231e3), title="Forwarding", cell={"connections": connections})
        folders.append(sample.end())
    assert [row["run"] for row in rows(compare(*folders, form="csv"))] == ["1", "2"]
    done = compare(*folders)
    assert "Not in every run: nat (connections 64, throughput): only in run 1" in done.output
    assert "Not in every run: nat (connections 800000, throughput): only in run 2" in done.output


def test_cells_are_named_by_what_differs(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        sample = SampleRun(tmp_path / folder)
        for cores in (1, 2):
            for family in ("ipv4", "ipv6"):
                sample.experiment(
                    f"nat/cores={cores},family={family}", Sought(231e3), title=f"A long title of {cores} and {family}",
                    cell={"cores": cores, "family": family, "addresses": "single"},
                )  # fmt: skip
        sample.end()
    done = compare(tmp_path / "a", tmp_path / "b")
    assert "nat: CPU cores 2, IP version ipv6" in done.output
    assert "A long title" not in done.output


def test_one_run_or_nothing_in_common_is_exit_2(tmp_path: Path) -> None:
    first = run(tmp_path / "a", 231e3)
    other = SampleRun(tmp_path / "b")
    other.experiment("another", Sought(231e3), title="Another")
    assert compare(first).exit_code == 2
    assert compare(first, other.end()).exit_code == 2
