# SPDX-License-Identifier: Apache-2.0
"""Runs plans whose results a busy machine may spoil, until one has results that are the gateway's."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from natxy.errors import TesterLimitError
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from tests.support.command import natxy
from tests.support.undisturbed import undisturbed


def without_result(run: RunRecord) -> str:
    """Returns which experiments the tester could not measure, or found nothing in: the machine takes cores away."""
    found = []
    for each in run.experiments:
        if each.state == State.TESTER_LIMIT:
            found.append(f"{each.planned.name}: {each.reason}")
        elif each.statistics and each.statistics.median == 0:
            found.append(f"{each.planned.name} found no rate without loss")
    return ", ".join(found)


def late(run: RunRecord) -> str:
    """Returns why the tester could not measure what happens in traffic: it came to it when the traffic had ended."""
    return ", ".join(each.reason for each in run.experiments if each.state == State.TESTER_LIMIT)


def measured_run(
    plan: Path,
    folder: Path,
    *,
    inside: Sequence[str] = (),
    code: int = 0,
    blames: Callable[[RunRecord], str] = without_result,
) -> tuple[RunRecord, subprocess.CompletedProcess[str]]:
    """Runs a plan, and again while `blames` says what the machine has spoiled; returns the run, and what natxy wrote.

    `code`: the exit code that natxy should have. The runs are in a folder that may not be there yet.
    """
    folders = (folder / str(number) for number in count())
    folder.mkdir(exist_ok=True)

    def measured() -> tuple[RunRecord, subprocess.CompletedProcess[str]]:
        out = next(folders)
        done = natxy("run", plan, "--output", out, inside=inside)
        assert done.returncode in (code, TesterLimitError.exit_code), done.stdout + done.stderr
        return RunReader(out).run, done

    run, done = undisturbed(measured, lambda both: blames(both[0]))
    assert done.returncode == code, done.stdout + done.stderr
    return run, done
