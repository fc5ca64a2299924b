# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from natxy.campaign.attempt.task import Outcome, Task, ended
from natxy.campaign.jobs.queue import Ending


def reason(folder: Path, log: str, code: int = 2) -> str:
    given = Task("x/here", folder / "here", "", [])
    given.log.write_text(log)
    outcome = ended(given, code, 0, refused=False)
    assert outcome == Outcome(Ending.FAILED, code, outcome.reason)
    return outcome.reason


@pytest.mark.parametrize(
    ("log", "code", "said"),
    [
        ("step 1\nnatxy: no such gateway\n  → docs\n", 2, "no such gateway"),
        ("step 1\nstep 2\n", 1, "step 2"),
        ("", 1, "exit code 1"),
        ("step 1\n", -9, "killed by SIGKILL"),
    ],
)
def test_the_reason_is_what_natxy_said_last(tmp_path: Path, log: str, code: int, said: str) -> None:
    assert reason(tmp_path, log, code) == said


def test_a_full_disk_is_told_where_the_log_has_no_room_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
    said = f"no space is left on the disk of {tmp_path}; make room, then give the same command again"
    assert reason(tmp_path, "What was measured is in run\n") == said
    assert reason(tmp_path, "natxy: no such gateway\n") == "no such gateway"
