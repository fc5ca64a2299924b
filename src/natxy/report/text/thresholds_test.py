# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped

from natxy.export.benchmark_list import benchmark_list
from natxy.plan.model.thresholds import Thresholds
from natxy.report.text.thresholds import document, junit, markdown
from natxy.results.analysis.better import Better
from natxy.results.analysis.thresholds import Judged, judge_plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import HOSTILE, SampleRun, measured_latency, measured_rates

RATES = (97e3, 98e3, 99e3, 101e3, 102e3, 103e3)


@pytest.fixture
def run(tmp_path: Path) -> RunRecord:
    sample = SampleRun(tmp_path, name=HOSTILE)
    for name in ("met", "missed", "undecided"):
        measured_rates(sample, name, RATES)
    measured_latency(sample, "delay", 100e3, title="Delay")
    return RunReader(sample.end()).run


@pytest.fixture
def judged(run: RunRecord) -> list[Judged]:
    limits = {"met": "90k", "missed": "110k", "undecided": "102k"}
    return judge_plan(run, {name: Thresholds(at_least=limit) for name, limit in limits.items()}, lambda _: run)


def test_junit_has_a_case_for_each_threshold(judged: list[Judged]) -> None:
    [suite] = JUnitXml.fromstring(junit(HOSTILE, judged).encode())
    assert (suite.name, suite.tests, suite.failures, suite.skipped) == (HOSTILE, 3, 1, 1)
    results = {case.classname: case.result for case in suite}
    assert results["met"] == []
    [failure], [skipped] = results["missed"], results["undecided"]
    assert isinstance(failure, Failure)
    assert failure.message == "found 100 kfps [97, 103]"
    assert isinstance(skipped, Skipped)
    assert "repetitions may decide" in skipped.message


def test_markdown_says_the_worst_answer_first(judged: list[Judged]) -> None:
    text = markdown(judged)
    assert text.startswith("## natxy: a threshold is missed\n")
    assert r"| missed | Throughput | at least 110 kfps | 100 kfps \[97, 103\] | missed |" in text
    assert markdown(judged[:1]).startswith("## natxy: every threshold is met\n")


def test_json_has_plain_numbers(judged: list[Judged]) -> None:
    found = json.loads(document(judged))
    assert found["answer"] == "missed"
    first = found["thresholds"][0]
    assert [first[field] for field in ("experiment", "limit", "value", "low", "high", "answer")] == [
        "met", 90e3, 100e3, 97e3, 103e3, "met",
    ]  # fmt: skip


def test_a_figure_is_in_the_list_of_its_direction(run: RunRecord) -> None:
    bigger, smaller = (json.loads(benchmark_list(run, better)) for better in Better)
    assert bigger[0] == {"name": "met: Throughput", "unit": "fps", "value": 100e3, "range": "97000 to 103000"}
    assert "delay: Typical latency, the slower direction" in {entry["name"] for entry in smaller}
    assert not {entry["name"] for entry in bigger} & {entry["name"] for entry in smaller}
