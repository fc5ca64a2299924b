# SPDX-License-Identifier: Apache-2.0
"""Names a pipe into which nobody writes where each verb expects a file: none waits for it, and each says what it is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from natxy.cli import app

CAMPAIGN: Final = """
name: c
testbeds: {one: {testbed: {kind: simulated}}}
runs: [{name: r, plan: plan.yaml, on: [one]}]
"""
VERBS: Final = (
    ["check", "plan.yaml"],
    ["run", "plan.yaml", "--output", "out"],
    ["campaign", "plan.yaml", "--output", "out"],
    ["campaign", "campaign.yaml", "--output", "out"],
    ["lab", "up", "plan.yaml"],
    ["import", "plan.yaml"],
    ["verify", "plan.yaml"],
    ["report", "plan.yaml"],
    ["judge", "plan.yaml"],
    ["compare", "plan.yaml", "plan.yaml"],
    ["history", "plan.yaml"],
    ["export", "plan.yaml", "--format", "csv"],
    ["bundle", "plan.yaml", "--output", "out.zip"],
    ["resume", "plan.yaml"],
    ["watch", "plan.yaml"],
)


@pytest.mark.parametrize("words", VERBS, ids=lambda words: f"{words[0]} {words[1]}")
def test_no_verb_waits_for_a_pipe(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("plan.yaml")
    Path("campaign.yaml").write_text(CAMPAIGN)
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 2, ended.output
    assert re.search(
        r"plan\.yaml.*(is a pipe|not a run folder|Not a directory|nothing has begun)", " ".join(ended.output.split())
    )
