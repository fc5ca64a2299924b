# SPDX-License-Identifier: Apache-2.0
"""Reads a run by every verb that reads runs: none changes a file of the run, except for the page that it writes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from tests.support.stored_values import measured

VERBS: Final = (
    ["report", "RUN"],
    ["judge", "RUN"],
    ["compare", "RUN", "RUN"],
    ["history", "RUN"],
    ["explain", "RUN"],
    ["export", "RUN", "--format", "csv"],
    ["export", "RUN", "--format", "json"],
    ["bundle", "RUN", "--output", "OUT"],
)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.suffix != ".html"}


def test_reading_a_run_leaves_it_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = measured(tmp_path / "run")
    before = digests(run)
    assert {"results.sqlite", "plan.yaml", "events.jsonl"} <= before.keys()
    for verb in VERBS:
        paths = {"RUN": str(run), "OUT": str(tmp_path / "bundle.zip")}
        done = CliRunner().invoke(app, [paths.get(word, word) for word in verb])
        # The thresholds of the run are not met, and an experiment to explain has to be named.
        assert done.exit_code == {"judge": 6, "explain": 2}.get(verb[0], 0), (verb, done.output)
        assert digests(run) == before, verb
