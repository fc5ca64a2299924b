# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.locks.files import Holder, exclusive

_COMMAND = "/opt/natxy/.venv/bin/natxy run /home/someone/plans/a-plan-with-a-long-name.yaml --output runs/of-tonight"
_SINCE = "2026-03-01T02:00:00+00:00"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    holding = [("core 0", 71), ("core 1", 72), ("port ens1f0", 71)]
    found = [Holder(what=what, pid=pid, command=_COMMAND, since=_SINCE) for what, pid in holding]
    monkeypatch.setattr("natxy.locks.files.holders", lambda: found)


@pytest.mark.usefixtures("held")
def test_each_process_is_shown_once_with_its_whole_command_and_all_that_it_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert CliRunner().invoke(app, ["locks"]).output.splitlines() == [
        f"process 71: {_COMMAND}",
        f"  core 0, since {_SINCE}",
        f"  port ens1f0, since {_SINCE}",
        f"process 72: {_COMMAND}",
        f"  core 1, since {_SINCE}",
    ]
    monkeypatch.setattr("natxy.terminal.console.Console.is_terminal", True)
    shown = CliRunner().invoke(app, ["locks"]).output.splitlines()
    assert max(map(len, shown)) <= 80
    assert set(" ".join(shown).split()) >= set(_COMMAND.split()), "no word is broken"


@pytest.mark.usefixtures("held")
def test_programs_get_an_object_for_each_lock() -> None:
    listed = json.loads(CliRunner().invoke(app, ["locks", "--json"]).output)
    assert [(each["what"], each["pid"]) for each in listed] == [("core 0", 71), ("core 1", 72), ("port ens1f0", 71)]


def test_nothing_held_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: tmp_path)
    assert CliRunner().invoke(app, ["locks"]).output == "Nothing is held.\n"
    with exclusive(["core 0"], lambda _: pytest.fail("nobody else holds it")):
        assert "  core 0, since " in CliRunner().invoke(app, ["locks"]).output
