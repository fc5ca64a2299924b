# SPDX-License-Identifier: Apache-2.0
"""Carries out the remedies of `natxy doctor` that are safe, and says how to take them back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from natxy.doctor.finding import Change, Finding
from natxy.dut.transport.local import run_program
from natxy.errors import DutError
from natxy.system.interrupts import interrupts_held_back


def mend(findings: Sequence[Finding]) -> Iterator[str]:
    """Changes this machine as the findings say; yields what was done, how to undo that, and what failed.

    What was changed stays so until it is undone or, other than packages, the machine boots again. A change that has
    begun is carried out, whatever time it takes: to stop dpkg halfway would leave packages broken. An interrupt comes
    after it.
    """
    chosen = dict.fromkeys(change for finding in findings for change in finding.changes)
    if not chosen:
        yield "Nothing to fix: no finding has a remedy that natxy may carry out."
    begun: set[tuple[str, ...]] = set()
    for change in chosen:
        if change.first and change.first not in begun:
            begun.add(change.first)
            yield from _prepared(change.first)
        yield from _carried_out(change)


def _prepared(command: tuple[str, ...]) -> Iterator[str]:
    yield f"now: {shlex.join(command)}, which may take minutes"
    try:
        run_program(command, timeout_s=None)
    except DutError as error:
        # What needs it may work nevertheless.
        yield f"failed: {error}"


def _carried_out(change: Change) -> Iterator[str]:
    with interrupts_held_back():
        try:
            run_program(change.command, timeout_s=None)
        except DutError as error:
            yield f"failed: {error}"
        else:
            yield f"done: {shlex.join(change.command)}"
            yield f"  undo: {shlex.join(change.undo)}"
