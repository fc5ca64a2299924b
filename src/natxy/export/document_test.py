# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path

from natxy.export.document import document
from natxy.results.analysis.ceilings import ceiling_share
from natxy.results.analysis.ceilings_test import FOUND, TESTER
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord, RunRecord
from natxy.results.trials import TrialRecord
from tests.support.sample_runs import quickstart


def test_a_document_has_all_that_is_stored_of_a_run(tmp_path: Path) -> None:
    run = RunReader(quickstart(tmp_path / "run")).run
    found = document(run)
    assert {*found} == {field.name for field in fields(RunRecord)}
    assert found["load"] == run.load.model_dump(mode="json")
    assert (found["tester"], found["self_test"]) == (None, None)
    for record, written in zip(run.experiments, found["experiments"], strict=True):
        assert written["duts"] == [*map(asdict, record.duts)]
        assert written["ceiling_share"] is None
        summaries = record.figure_statistics | (
            {record.declaration.headline().name: record.statistics} if record.statistics else {}
        )
        assert {*written["statistics"]} == {*summaries}
        for name, summary in summaries.items():
            interval = summary.interval and asdict(summary.interval)
            assert written["statistics"][name]["interval"] == interval
            assert written["statistics"][name]["median"] == summary.median
        for repetition, own in zip(record.repetitions, written["repetitions"], strict=True):
            assert {*own} == {field.name for field in fields(RepetitionRecord)}
            assert len(own["trials"]) == len(repetition.trials)
            for trial, result in zip(repetition.trials, own["trials"], strict=True):
                assert {*result} == {field.name for field in fields(TrialRecord)}
                assert result["result"] == trial.result.model_dump(mode="json")
    assert any(written["duts"] for written in found["experiments"])
    intervals = [each["interval"] for own in found["experiments"] for each in own["statistics"].values()]
    assert None in intervals
    assert any(intervals)


def test_a_document_has_what_is_known_of_the_tester(tmp_path: Path) -> None:
    run = RunReader(quickstart(tmp_path / "run")).run
    without = replace(run.experiments[0], duts=())
    known = replace(run, tester=TESTER, self_test=FOUND, experiments=[without])
    found = document(known)
    assert found["tester"] == TESTER.model_dump(mode="json")
    assert found["self_test"] == FOUND.model_dump(mode="json")
    [written] = found["experiments"]
    share = ceiling_share(without, FOUND)
    assert (written["duts"], written["ceiling_share"]) == ([], share and asdict(share))
