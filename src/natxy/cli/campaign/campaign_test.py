# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from natxy.cleanup.leftovers import Returned
from natxy.cli import app
from natxy.cli.bodies import campaign as body
from natxy.errors import PlanError
from natxy.run.folder import sole_owner

PLAN = """
name: p
repeat: 2
defaults: {search: {min_rate: 1k, max_rate: 9k, error: 1k}, procedure: throughput, gateway: simulated}
experiments: [{name: a}, {name: b}]
"""
CAMPAIGN = """
name: night
description: two of a kind
testbeds:
  one: {testbed: {kind: simulated}, same_hardware: alike}
  two: {testbed: {kind: simulated}, same_hardware: alike}
runs:
  - {name: x, plan: p.yaml, on: [one, two]}
  - {name: y, plan: p.yaml, on: [alike], after: [x]}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: tmp_path / "ledger")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PLAN)
    path = tmp_path / "c.yaml"
    path.write_text(CAMPAIGN)
    return path


def natxy(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def test_check_lists_the_jobs_and_measures_nothing(file: Path, tmp_path: Path) -> None:
    done = natxy("campaign", file, "--check")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[:2] == ["night: two of a kind", "3 jobs: 2 runs on 2 testbeds"]
    assert lines[2].startswith("- x/one: 2 experiments on one, about ")
    assert lines[4].startswith("- y/alike: 2 experiments on one or two, about ")
    assert lines[4].endswith(", after x")
    assert lines[5].endswith(" one after the other.")
    assert {path.name for path in tmp_path.iterdir()} == {"c.yaml", "p.yaml"}


def test_an_error_is_bad_usage(file: Path) -> None:
    file.write_text(CAMPAIGN.replace("[one, two]", "[one, three]"))
    done = natxy("campaign", file, "--check")
    assert done.exit_code == 2
    assert "runs[0].on[1]: there is no testbed 'three'" in done.output


def test_a_word_of_a_command_has_no_nul(file: Path) -> None:
    file.write_text(CAMPAIGN.replace("{name: x, ", '{name: x, prepare: [["a\\0b"]], '))
    done = natxy("campaign", file, "--check")
    assert (done.exit_code, "expected text without a NUL" in done.output) == (2, True), done.output


def test_a_place_without_the_client_of_labgrid_is_an_error_before_anything_is_measured(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(CAMPAIGN.replace("two: {", "two: {place: rack2, "))
    monkeypatch.setenv("PATH", str(tmp_path))
    for options in (["--check"], []):
        done = natxy("campaign", file, *options)
        assert done.exit_code == 2
        assert "two: `place` needs labgrid-client, which no folder of PATH has" in " ".join(done.output.split())
        assert "- x/two: 2 experiments on two" in done.output
    assert not (tmp_path / "campaigns").exists()
    program = tmp_path / "labgrid-client"
    program.touch(0o755)
    assert natxy("campaign", file, "--check").exit_code == 0


def test_without_dask_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "natxy.campaign.cluster", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = natxy("campaign", file)
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "needs natxy's extra `campaign`" in said
    assert "pip install 'dask>=2025.1' 'distributed>=2025.1'" in said
    assert natxy("campaign", file, "--check").exit_code == 0


def test_all_is_measured_and_then_what_was_left_is_given_back(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    asked: list[bool] = []

    def give_back(_: object) -> list[Returned]:
        with pytest.raises(PlanError, match="another natxy is measuring into"), sole_owner(tmp_path / "out"):
            pass
        asked.append((tmp_path / "out/runs/x/one/results.sqlite").exists())
        return []

    monkeypatch.setattr(body, "give_back", give_back)
    file.write_text(CAMPAIGN.replace("[one, two]", "[one]").replace("  - {name: y", "#"))
    done = natxy("campaign", file, "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "1 of 1 job measured" in done.output
    assert (tmp_path / "out/report.html").exists()
    assert asked == [True]
    checked = natxy("campaign", file, "--output", tmp_path / "out", "--check").output.splitlines()
    assert checked[-2:] == ["- x/one: 2 experiments on one, done before", "All jobs were done before."]


def test_runs_that_are_left_have_an_exit_code_of_their_own(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    # The plan's file of the only job cannot be written.
    (tmp_path / "out/runs/x/one.yaml").mkdir(parents=True)
    file.write_text(
        CAMPAIGN.replace("[one, two]", "[one]").replace(", same_hardware: alike", "").replace("  - {name: y", "#")
    )
    done = natxy("campaign", file, "--output", tmp_path / "out")
    assert done.exit_code == 4, done.output
    assert "x/one: failed: the worker failed: " in done.output
    assert "0 of 1 job measured" in done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "tls://lab:1"], "give the folder of `--make-certificates` by --certificates"),
        (["--scheduler", "tls://lab:1", "--certificates", "none"], "No such file or directory"),
        (["--scheduler", "tls://lab:1", "--certificates", "shown"], "with mode 644"),
        (["--scheduler", "tcp://lab:1", "--certificates", "own"], "an address that begins with tls://"),
        (["--scheduler", "tcp://lab:1"], "could have commands run as root by its workers"),
        (["--make-certificates", "own"], "it exists; give the name of a new folder"),
    ],
)
def test_a_scheduler_that_others_may_command_is_refused(
    options: list[str], said: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if options[-1] == "tcp://lab:1":
        monkeypatch.setattr("natxy.cli.bodies.campaign.os.geteuid", lambda: 0)
    for name in ("own", "shown"):
        assert natxy("campaign", "--make-certificates", name).exit_code == 0
    (tmp_path / "shown/key.pem").chmod(0o644)
    done = natxy("campaign", file, "--check", *options)
    assert (done.exit_code, said in " ".join(done.output.split())) == (2, True), done.output


def test_a_scheduler_with_certificates_or_trust_is_used(file: Path) -> None:
    assert natxy("campaign", "--make-certificates", "own").exit_code == 0
    for options in (["tls://lab:1", "--certificates", "own"], ["tcp://lab:1", "--trust-network"]):
        assert natxy("campaign", file, "--check", "--scheduler", *options).exit_code == 0


def test_the_campaign_that_is_missing_is_named() -> None:
    done = natxy("campaign")
    assert (done.exit_code, "natxy campaign CAMPAIGN" in done.output) == (2, True), done.output
