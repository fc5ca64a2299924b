# SPDX-License-Identifier: Apache-2.0
"""Carries out the remedies of `natxy doctor` that are safe, and says how to take them back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from natxy.doctor.finding import Change, Finding
from natxy.dut.transport.local import run_program
from natxy.errors import DutError

# To fetch and install a package may take minutes.
_PATIENCE_S = 600.0


def mend(findings: Sequence[Finding]) -> Iterator[str]:
    """Changes this machine as the findings say; yields what was done, how to undo that, and what failed.

    What was changed stays so until it is undone or the machine boots again.
    """
    chosen = dict.fromkeys(change for finding in findings for change in finding.changes)
    if not chosen:
        yield "Nothing to fix: no finding has a remedy that natxy may carry out."
    for change in chosen:
        yield from _carried_out(change)


def _carried_out(change: Change) -> Iterator[str]:
    try:
        run_program(change.command, timeout_s=_PATIENCE_S)
    except DutError as error:
        yield f"failed: {error}"
    else:
        yield f"done: {shlex.join(change.command)}"
        yield f"  undo: {shlex.join(change.undo)}"
