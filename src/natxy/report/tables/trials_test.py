# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

from natxy.engine.messages.results import Verdict
from natxy.report.page.html import write_report
from natxy.report.tables.trials import corrupt_frames, foreign_frames
from natxy.results.reader import RunReader
from natxy.results.records import State
from tests.support.sample_runs import SampleRun, Sought, quickstart, result, trial


def test_foreign_frames_are_added_up_by_port_and_kind_in_plain_words(tmp_path: Path) -> None:
    run = RunReader(quickstart(tmp_path)).run
    trials = sum(len(r.trials) for e in run.experiments for r in e.repetitions)
    assert foreign_frames(run).rows == (
        ("left", "ARP", f"{2 * trials:,}"),
        ("right", "other ICMPv6", f"{trials:,}"),
    )
    assert corrupt_frames(run) == {}


def test_frames_that_arrived_corrupt_are_told_with_whose_they_were(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("forward", Sought(None), title="Forwarding")
    jool = sample.experiment("jool", Sought(None), title="Jool NAT64")
    row = sample.store.start_repetition(jool, 4)
    sample.store.add_trial(row, trial(result(1e5, Verdict.FAIL, directions=2, corrupt=1)))
    sample.store.finish_repetition(row, State.DONE)
    folder = sample.end()
    run = RunReader(folder).run
    assert corrupt_frames(run) == {"Jool NAT64": 2}
    assert ("left", "test frame with a wrong checksum or length", "1") in foreign_frames(run).rows
    text = re.sub(r"<[^>]+>|\s+", " ", write_report(RunReader(folder)).read_text(encoding="utf-8"))
    assert "arrived with a wrong checksum or length. They count as lost" in text
    assert "2 of Jool NAT64." in text
