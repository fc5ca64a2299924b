# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.doctor import disturbances, machine
from natxy.doctor.disturbances import probe_disturbances
from natxy.doctor.finding import Change, Finding, install
from natxy.doctor.fixing import mend
from natxy.doctor.machine import THIS_MACHINE
from natxy.dut.transport.local import run_program
from natxy.system.interrupts import interrupts_held_back


@pytest.fixture
def cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Path, str]:
    """Makes two cores whose frequency changes; returns the text of each file."""
    monkeypatch.setattr(disturbances, "CPUS", tmp_path)
    files = {
        tmp_path / "cpu0/cpufreq/scaling_governor": "schedutil\n",
        tmp_path / "cpu1/cpufreq/scaling_governor": "powersave\n",
        tmp_path / "cpufreq/boost": "1\n",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return files


def test_frequencies_are_fixed_and_each_undo_takes_it_back(cpus: dict[Path, str]) -> None:
    lines = [*mend(probe_disturbances(None))]
    assert [file.read_text() for file in cpus] == ["performance\n", "performance\n", "0\n"]
    states = {each.name: each.ok for each in probe_disturbances(None)}
    assert (states["frequency scaling"], states["boost"]) == (True, True)
    undo = [line.removeprefix("  undo: ") for line in lines if line.startswith("  undo: ")]
    assert len(undo) == len(cpus)
    for command in undo:
        subprocess.run(shlex.split(command), check=True)
    assert {file: file.read_text() for file in cpus} == cpus


def test_the_same_change_of_two_findings_is_made_once_and_a_failure_is_said() -> None:
    fails = Change(("sh", "-c", "echo no such package >&2; exit 100"), ("true",))
    findings = [Finding(name, False, "missing", "install it", (fails,)) for name in ("one", "other")]
    (line,) = mend(findings)
    assert line.startswith("failed: ")
    assert "no such package" in line


def test_what_several_changes_need_first_is_done_once_and_may_fail(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = ("sh", "-c", f"echo first >> {log}; echo no network >&2; exit 100")
    changes = tuple(Change(("sh", "-c", f"echo {name} >> {log}"), ("true",), first) for name in ("one", "other"))
    lines = [*mend([Finding("packages", False, "missing", "install them", changes)])]
    assert log.read_text().split() == ["first", "one", "other"]
    assert [line.partition(": ")[0].strip() for line in lines] == ["now", "failed", "done", "undo", "done", "undo"]
    assert "no network" in lines[1]


def test_an_interrupt_waits_for_the_end_of_a_change_and_its_undo(tmp_path: Path) -> None:
    made = tmp_path / "made"
    change = Change(("sh", "-c", f"kill -INT {os.getpid()}; sleep 0.2; touch {made}"), ("rm", str(made)))
    never = Change(("touch", str(tmp_path / "never")), ("true",))
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        lines.extend(mend([Finding("file", False, "absent", "make it", (change, never))]))
    assert lines[1:] == [f"  undo: rm {made}"]
    assert [*tmp_path.iterdir()] == [made]


def test_a_daemon_of_a_package_has_no_signals_held_back() -> None:
    prefix = install("ethtool").command[:2]
    with interrupts_held_back():
        held, free = (run_program([*before, "cat", "/proc/self/status"]).stdout for before in ((), prefix))
    assert "SigBlk:\t0000000000000000" not in held
    assert "SigBlk:\t0000000000000000" in free


def test_to_remove_a_package_is_asked_for_by_name_alone() -> None:
    assert install("ethtool").undo == ("apt-get", "remove", "ethtool")


def test_nothing_to_fix_is_said() -> None:
    assert [*mend([Finding("load", None, "9", "stop other work")])] == [
        "Nothing to fix: no finding has a remedy that natxy may carry out."
    ]


def test_the_verb_examines_again_what_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made"

    def probe(_: object) -> dict[str, list[Finding]]:
        change = Change(("touch", str(made)), ("rm", str(made)))
        there = made.exists()
        return {THIS_MACHINE: [Finding("file", there, "there" if there else "absent", None if there else "make it",
                                       () if there else (change,))]}  # fmt: skip

    monkeypatch.setattr(machine, "probe_machines", probe)
    lacking = CliRunner().invoke(app, ["doctor"])
    assert (lacking.exit_code, made.exists()) == (4, False)
    fixed = CliRunner().invoke(app, ["doctor", "--fix"], env={"COLUMNS": "200"})
    assert fixed.exit_code == 0, fixed.output
    assert f"done: touch {made}\n  undo: rm {made}\n" in fixed.output
    assert "1 ok, 0 notes, 0 missing" in fixed.output


def test_where_this_machine_has_no_part_there_is_nothing_to_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "probe_machines", lambda _: {"DUT, ssh dut": [Finding("root", True, "yes")]})
    done = CliRunner().invoke(app, ["doctor", "--fix"])
    assert done.exit_code == 0, done.output
    assert "Nothing to fix" in done.output
