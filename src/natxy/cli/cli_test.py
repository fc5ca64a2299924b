# SPDX-License-Identifier: Apache-2.0
"""Tests the command as users start it."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from natxy.cli import app
from natxy.installation import full_version
from natxy.plan.caveats import TITLES, CaveatKind, by_kind, counts
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from natxy.run import run as running
from tests.support import needs
from tests.support.command import HANG_S
from tests.support.timing import takes_at_most

PLAN = """\
name: small
testbed: {kind: simulated}
timing: lab
repeat: 2
defaults:
  gateway: {driver: simulated, forwarding_fps: 400000, connection_rate_fps: 90000}
  search: {min_rate: 10k, max_rate: 500k, error: 1k}
experiments:
  - {name: forwarding, procedure: throughput}
  - {name: rate, procedure: connection-rate, connections: 10k}
"""

LAB_GATEWAY = (
    "gateway: {driver: simulated, forwarding_fps: 400000, connection_rate_fps: 90000}",
    "gateway: nftables\n  connections: 10k\n  phase1_rate: 5k",
)


def called(*arguments: str | Path, cwd: Path) -> Result:
    """Returns what natxy answers in this process, which saves the second that a process takes to start."""
    with chdir(cwd):
        return CliRunner().invoke(app, [*map(str, arguments)])


def natxy(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "natxy", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=HANG_S, check=False)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)
    return file


@pytest.mark.parametrize(("verb", "argument"), [("compare", "RUN"), ("history", "FOLDER"), ("export", "RUN")])
def test_the_help_writes_no_type_of_python(verb: str, argument: str, tmp_path: Path) -> None:
    text = natxy(verb, "--help", cwd=tmp_path).stdout
    assert f"{argument} <path>...  " in text
    assert "list[" not in text


def test_no_verb_s_help_writes_a_list_as_python_does() -> None:
    names = [each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands]
    assert len(names) > 10
    for verb in names:
        text = CliRunner().invoke(app, [verb, "--help"]).output
        assert f" {verb} [OPTIONS]" in text
        assert "list[" not in text, verb


def test_version(tmp_path: Path) -> None:
    # Someone may change a file of the clone meanwhile.
    printed = natxy("--version", cwd=tmp_path).stdout
    assert printed.removesuffix("\n").removesuffix(".dirty") == f"natxy {full_version().removesuffix('.dirty')}"


def test_check_says_what_will_be_measured_and_touches_nothing(plan: Path, tmp_path: Path) -> None:
    done = called("check", plan, cwd=tmp_path)
    assert done.exit_code == 0
    assert "10,000 connections" in done.stdout
    assert "2 experiments on the testbed 'simulated'" in done.stdout
    assert [*tmp_path.iterdir()] == [plan]


@pytest.mark.parametrize(("goal", "said"), [("fast", ", trials of 200 ms"), ("robust", ", deciding trials of 40 ms")])
def test_check_says_when_a_goal_has_shorter_trials_than_the_timing(tmp_path: Path, goal: str, said: str) -> None:
    (tmp_path / "plan.yaml").write_text(
        "name: p\ntestbed: {kind: simulated}\ndefaults: {timing: {preset: lab, trial: 200ms}}\nexperiments:\n"
        "  - {name: rate, procedure: throughput, gateway: simulated, "
        f"search: {{kind: mlrsearch, goal: {goal}, max_rate: 1M}}}}\n"
    )
    assert said in called("check", tmp_path / "plan.yaml", cwd=tmp_path).stdout


def test_a_brief_check_has_numbers_in_place_of_lists(plan: Path, tmp_path: Path) -> None:
    caveats, effort = called("check", "--brief", plan, cwd=tmp_path).stdout.splitlines()
    assert caveats.endswith(", which `natxy check` lists without `--brief`.")
    assert called("check", plan, cwd=tmp_path).stdout.splitlines()[-1] == effort
    plan.write_text(PLAN.replace("repeat: 2", "repeat: often"))
    assert f"{plan}:4:1: repeat: expected" in called("check", "--brief", plan, cwd=tmp_path).stderr


def test_a_bad_plan_is_exit_2_with_line_and_field(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("repeat: 2", "repeat: often"))
    for verb in ("check", "run"):
        done = called(verb, plan, cwd=tmp_path)
        assert done.exit_code == 2
        assert f"{plan}:4:1: repeat: expected a whole number" in done.stderr
        assert "Traceback" not in done.stderr
    assert [*tmp_path.iterdir()] == [plan]


def test_run_leaves_a_run_folder_with_the_right_numbers(plan: Path, tmp_path: Path) -> None:
    done = natxy("run", plan, "--output", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("results: out\n")
    assert re.search(r"block 2 of 2, experiment \d of 2: forwarding; ", done.stdout)
    assert {file.name for file in (tmp_path / "out").iterdir()} >= {
        "plan.yaml",
        "results.sqlite",
        "foreign.pcap",
        "events.jsonl",
        "report.html",
    }
    forwarding, rate = RunReader(tmp_path / "out").run.experiments
    assert forwarding.values == [pytest.approx(200_000, abs=1010)] * 2
    assert rate.values == [pytest.approx(90_000, abs=1010)] * 2
    again = called("run", plan, "--output", "out", cwd=tmp_path)
    assert again.exit_code == 2
    assert "out exists already" in again.stderr


@pytest.mark.parametrize(("streams", "tester_limit", "code"), [("2>&-", "1M", 0), ("", "5k", 3), ("2>&1", "1M", 0)])
def test_a_run_goes_on_when_nobody_reads_what_it_says(
    plan: Path, tmp_path: Path, streams: str, tester_limit: str, code: int
) -> None:
    plan.write_text(PLAN.replace("{kind: simulated}", f"{{kind: simulated, tester_limit: {tester_limit}}}"))
    script = f"{sys.executable} -m natxy run plan.yaml --output out {streams}; echo $? > code"
    with subprocess.Popen(
        ["sh", "-c", f"({script}) | true"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.communicate(timeout=HANG_S) == ("", "")
    assert (tmp_path / "code").read_text() == f"{code}\n"
    run = RunReader(tmp_path / "out").run
    assert (run.state, len(run.experiments)) == (RunState.DONE, 2)
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("blocks", [8, 80])
def test_a_disk_that_is_full_from_the_beginning_leaves_nothing(plan: Path, tmp_path: Path, blocks: int) -> None:
    script = f"ulimit -f {blocks}; {sys.executable} -m natxy run plan.yaml --output out"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2  # the error and its page
    assert "make room, then try again" in done.stderr
    assert [*tmp_path.iterdir()] == [plan]


def test_only_and_repeat(plan: Path, tmp_path: Path) -> None:
    done = called("run", plan, "--only", "rate", "--repeat", "3", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    (experiment,) = RunReader(folder).run.experiments
    assert (experiment.name, len(experiment.values)) == ("rate", 3)


def test_a_tester_that_is_too_slow_is_exit_3(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("{kind: simulated}", "{kind: simulated, tester_limit: 5k}"))
    done = called("run", plan, "--output", "out", cwd=tmp_path)
    assert done.exit_code == 3, done.stderr
    assert re.search(r"tester limit reached in traffic at [\d.]+ kfps per direction: 3 attempts", done.stdout)
    assert "Exit code 3: the tester was too slow for a result, or a host failed" in done.stdout
    assert "docs/how-to/invalid-trials.md for a tester" in done.stdout


@pytest.mark.parametrize("output", ["plan.yaml/out", "/sys/natxy/out", "plan.yaml"])
def test_a_results_folder_that_cannot_be_made_is_exit_2_with_a_line(plan: Path, tmp_path: Path, output: str) -> None:
    done = called("run", plan, "--output", output, cwd=tmp_path)
    assert done.exit_code == 2
    assert f"{output} " in done.stderr
    assert "choose another --output" in done.stderr
    assert len(done.stderr.splitlines()) == 2  # the error and its page


@needs.OTHER_USERS
def test_a_lab_without_root_is_refused_before_any_folder_is_made(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("kind: simulated}", "kind: lab}").replace(*LAB_GATEWAY))
    tmp_path.chmod(0o777)
    code = "import os, sys; from natxy.cli import app; os.seteuid(65534); app(sys.argv[1:])"
    command = [sys.executable, "-c", code, "run", "plan.yaml", "--only", "forwarding", "--output", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 2
    assert "needs root" in done.stderr
    assert [*tmp_path.iterdir()] == [plan]


def test_check_looks_for_the_cores_of_a_lab(plan: Path, tmp_path: Path) -> None:
    lab = PLAN.replace(*LAB_GATEWAY)
    plan.write_text(lab.replace("kind: simulated}", "kind: lab, tester_cores: [4095]}"))
    done = called("check", plan, cwd=tmp_path)
    assert done.exit_code == 2
    assert "tester_cores names core 4095" in done.stderr
    plan.write_text(lab.replace("kind: simulated}", "kind: lab}"))
    done = called("check", plan, cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    looked_at = "the cores, the gateways' programs and nf_conntrack_max"
    assert f"Checked on this machine: {looked_at}; `natxy run` will check root and the timeouts." in done.stdout


def test_check_speaks_of_connection_tracking_only_where_a_gateway_has_it(plan: Path, tmp_path: Path) -> None:
    lab = "name: p\ntestbed: {kind: lab}\nexperiments:\n  - {name: a, gateway: linux-forward, procedure: throughput, "
    plan.write_text(lab + "search: {min_rate: 10k, max_rate: 100k, error: 1k}}")
    done = called("check", plan, cwd=tmp_path)
    assert (
        "Checked on this machine: the cores and the gateways' programs; `natxy run` will check root." in done.stdout
    ), done.stderr


def test_check_says_what_will_be_skipped_and_fails_only_where_nothing_is_left(plan: Path, tmp_path: Path) -> None:
    search = "search: {min_rate: 10k, max_rate: 100k, error: 1k}"
    own = f"{{name: siit, gateway: GATEWAYS, translation: siit, procedure: throughput, {search}}}"
    siit = f"name: p\nexperiments:\n  - {own}"
    absent = "{driver: map646, program: /nowhere/map646}"
    there = "{driver: command, wait_ready: ['true']}"
    plan.write_text(siit.replace("GATEWAYS", f"[{absent}, {there}]"))
    done = called("check", plan, cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "Will be skipped: siit/gateway=map646: map646: /nowhere/map646 is not installed" in done.stdout
    plan.write_text(siit.replace("GATEWAYS", absent))
    done = called("check", plan, cwd=tmp_path)
    assert done.exit_code == 4
    assert "this machine cannot run any of the plan's gateways:" in done.stderr


@pytest.mark.parametrize("command", ["apply: [[natxy-mistyped]]", "version: [natxy-mistyped, --version]"])
def test_run_begins_nothing_that_check_says_cannot_be_measured(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def begin(*_: object) -> int:
        raise AssertionError("the run began")

    monkeypatch.setattr(running, "make_folder", begin)
    search = "search: {min_rate: 10k, max_rate: 100k, error: 1k}"
    own = f"{{name: a, gateway: {{driver: command, {command}}}, procedure: throughput, {search}}}"
    plan.write_text(f"name: p\nexperiments:\n  - {own}")
    out = tmp_path / "out"
    checked = CliRunner().invoke(app, ["check", str(plan)])
    begun = CliRunner().invoke(app, ["run", str(plan), "--output", str(out)])
    assert (begun.exit_code, begun.stderr) == (checked.exit_code, checked.stderr)
    assert checked.exit_code == 4
    assert "command: natxy-mistyped is not installed: install it, or correct the gateway's commands" in begun.stderr
    assert not out.exists()


def test_check_and_run_list_the_same_caveats(plan: Path, tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["check", str(plan)]).stdout
    done = CliRunner().invoke(app, ["run", str(plan), "--output", str(tmp_path / "out")])
    found = by_kind(RunReader(tmp_path / "out").run.caveats)
    assert "Engine and gateway are models in virtual time: nothing real is measured." in found[CaveatKind.LIMITATION]
    assert re.findall("^• (.*)$", listed, re.MULTILINE) == [each for those in found.values() for each in those]
    assert [line for line in listed.splitlines() if line.removesuffix(":") in TITLES.values()] == [
        f"{TITLES[kind]}:" for kind in found
    ]
    assert f"{counts(RunReader(tmp_path / 'out').run.caveats)}: the report lists" in " ".join(done.stdout.split())


def test_a_secret_that_cannot_be_read_ends_check_and_run_alike(plan: Path, tmp_path: Path) -> None:
    plan.write_text(
        "name: p\nexperiments:\n  - {name: a, gateway: {driver: command, apply: [['true', '{env:NATXY_NONE}']]}, "
        "procedure: throughput, search: {max_rate: 100k}}"
    )
    checked = CliRunner().invoke(app, ["check", str(plan)])
    begun = CliRunner().invoke(app, ["run", str(plan), "--output", str(tmp_path / "out")])
    assert (begun.exit_code, begun.stderr) == (checked.exit_code, checked.stderr)
    assert checked.exit_code == 2
    assert "NATXY_NONE" in checked.stderr


def test_what_a_search_cut_off_is_told_as_a_bound(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("max_rate: 500k", "max_rate: 100k").replace("rate_fps: 90000", "rate_fps: 9000"))
    done = called("run", plan, "--output", "out", cwd=tmp_path)
    assert "median of 2: ≥ 100 kfps per direction" in done.stdout
    assert "median of 2: < 10 kcps" in done.stdout


def test_report_shows_a_run_again(plan: Path, tmp_path: Path) -> None:
    called("run", plan, "--output", "out", cwd=tmp_path)
    (tmp_path / "out" / "report.html").unlink()
    done = natxy("report", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists()
    assert called("report", tmp_path, cwd=tmp_path).exit_code == 2


def test_a_report_that_cannot_be_written_is_still_printed(plan: Path, tmp_path: Path) -> None:
    called("run", plan, "--output", "out", cwd=tmp_path)
    (tmp_path / "out" / "report.html").unlink()
    (tmp_path / "out" / "report.html").mkdir()
    done = called("report", "out", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "forwarding" in done.stdout
    assert done.stderr == "natxy: warning: out/report.html could not be written: Is a directory\n"
    assert not list((tmp_path / "out").glob("*.partial"))


@needs.OTHER_USERS
def test_somebody_elses_run_can_be_reported_by_one_without_a_home(plan: Path) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        called("run", plan, "--output", "out", cwd=folder)
        folder.chmod(0o755)
        code = "import os, sys; from natxy.cli import app; os.seteuid(65534); app(sys.argv[1:])"
        command = [sys.executable, "-c", code, "report", "out"]
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
            env={"HOME": "/nonexistent", "PATH": os.environ["PATH"]},
        )
    assert done.returncode == 0, done.stderr
    assert "forwarding" in done.stdout
    assert done.stderr == "natxy: warning: out/report.html could not be written: Permission denied\n"


@pytest.mark.lab
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_within_two_seconds_and_keeps_what_was_measured(
    plan: Path, tmp_path: Path, number: signal.Signals
) -> None:
    outputs = map("out{}".format, itertools.count())

    def interrupted() -> float:
        output = next(outputs)
        command = [sys.executable, "-m", "natxy", "run", str(plan), "--output", output, "--repeat", "10000"]
        piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=tmp_path, **piped) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            while "repetition 3:" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(number)
            started = time.monotonic()
            rest = process.stdout.read()
            assert process.wait(HANG_S) == 130
            took_s = time.monotonic() - started
            assert "interrupted" in process.stderr.read()
            assert f"What was measured is in {output}" in rest
        run = RunReader(tmp_path / output).run
        assert run.state == RunState.INTERRUPTED
        assert max(len(experiment.values) for experiment in run.experiments) >= 3
        return took_s

    takes_at_most(2, interrupted)
