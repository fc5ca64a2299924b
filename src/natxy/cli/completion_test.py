# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.results import RESULTS_FILE
from natxy.terminal.names import runs

_PLAN = """
name: mine
testbed: {kind: lab}
experiments:
  - {name: plain, gateway: linux-forward, procedure: throughput, search: {max_rate: 1M}}
  - {name: nat, gateway: nftables, procedure: connection-rate, connections: 1k, search: {max_rate: 1M}}
"""


def _completed(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns what natxy tells bash for TAB at the end of the line."""
    monkeypatch.chdir(folder)
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_NATXY_COMPLETE": "complete_bash"}
    return CliRunner().invoke(app, prog_name="natxy", env=environment).output.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "mine.yaml").write_text(_PLAN)
    (tmp_path / "broken.yaml").write_text("name: [")
    (tmp_path / "runs" / "mine-1").mkdir(parents=True)
    (tmp_path / "runs" / "mine-1" / RESULTS_FILE).touch()
    return tmp_path


def test_a_shell_does_not_wait_for_what_only_a_called_verb_needs() -> None:
    code = "import sys, natxy.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {*loaded} & {"asyncssh", "jinja2", "MLRsearch", "mpmath", "natxy.plan.experiment"}


def test_verbs_and_options(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _completed("natxy re", folder, monkeypatch) == ["resume", "report"]
    assert _completed("natxy lab ", folder, monkeypatch) == ["up", "down"]
    assert _completed("natxy run --o", folder, monkeypatch) == ["--output", "--only"]


def test_plans_and_their_experiments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _completed("natxy check ", folder, monkeypatch) == ["broken.yaml", "plans/mine.yaml"]
    assert _completed("natxy run plans/m", folder, monkeypatch) == ["plans/mine.yaml"]
    assert _completed("natxy run plans/mine.yaml --only ", folder, monkeypatch) == ["plain", "nat"]
    assert _completed("natxy run plans/mine.yaml --repeat 3 --only n", folder, monkeypatch) == ["nat"]
    assert _completed("natxy run broken.yaml --only ", folder, monkeypatch) == []
    assert _completed("natxy run --only ", folder, monkeypatch) == []


def test_runs_gateways_and_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _completed("natxy report ", folder, monkeypatch) == ["runs/mine-1"]
    assert _completed("natxy compare runs/mine-1 runs/", folder, monkeypatch) == ["runs/mine-1"]
    assert _completed("natxy init --gateway nft", folder, monkeypatch) == ["nftables"]
    assert _completed("natxy explain disturbe", folder, monkeypatch) == ["disturbed"]
    assert _completed("natxy help re", folder, monkeypatch)[:2] == ["resume", "report"]
    assert _completed("natxy help disturbe", folder, monkeypatch) == ["disturbed"]


def test_answers_of_a_first_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _completed("natxy init --testbed ", folder, monkeypatch) == ["lab", "hardware", "vm"]
    assert _completed("natxy init --gateway m", folder, monkeypatch) == ["map646"]
    assert _completed("natxy init --testbed vm --gateway m", folder, monkeypatch) == []
    assert _completed("natxy init --gateway nftables --translation ", folder, monkeypatch) == ["none"]
    assert _completed("natxy init --measure latency,", folder, monkeypatch) == [
        "latency,connections",
        "latency,throughput",
    ]


def test_help_completes_what_is_below_a_verb(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _completed("natxy help lab ", folder, monkeypatch) == ["up", "down"]
    assert _completed("natxy help invalid ", folder, monkeypatch) == []


def test_bash_asks_natxy(folder: Path) -> None:
    script = """
        eval "$(_NATXY_COMPLETE=source_bash natxy)"
        COMP_WORDS=(natxy check pl) COMP_CWORD=2
        _natxy_completion natxy
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True, env=os.environ | {"PATH": path}
    )
    assert (done.stdout, done.stderr) == ("plans/mine.yaml\n", "")


def test_names_that_a_shell_would_interpret_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("plain", "$(touch x)", "a;b", "a'b", "a b", "a\nb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / RESULTS_FILE).touch()
    monkeypatch.chdir(tmp_path)
    assert runs("") == ["plain"]
    assert runs(f"{tmp_path}/p") == [f"{tmp_path}/plain"]


def test_no_option_edits_the_user_s_files() -> None:
    assert "completion" not in CliRunner().invoke(app, ["--help"]).output
